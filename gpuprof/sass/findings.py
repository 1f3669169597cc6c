"""Findings: facts about the code that a person would want pointed out, each one sentence with number and place.

A finding never promises a speed-up: it says what stands in the machine code, where, and its typical fix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.isa.opcodes import Computes, Kind, names_where
from gpuprof.sass.cfg import Graph, call_name
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.lane_values import LaneEvaluator, Value, ideal_sectors, sectors, wavefronts
from gpuprof.sass.loops import LoopFacts, own_indices, own_line
from gpuprof.sass.model import Instruction, OperandKind, SourceLine
from gpuprof.sass.opcodes import LOADS, STORES, access_bits, is_shared_access, kind_of

#: Bytes of code above which a loop no longer fits the instruction caches near the scheduler (about 32 KiB of L1.5 on
#: sm_70 and later: Jia et al., arXiv 1804.06826 and 1903.07486, instruction cache sections).
CODE_CACHE_BYTES = 32 * 1024
_FEW_FFMA_PER_BARRIER = 32
_SLOW_CONVERSIONS = names_where(lambda row: row.computes in (Computes.CONVERT, Computes.SPECIAL_FUNCTION))
_DIVISION_CALLS = ("div", "rem", "rcp", "sqrt")


@dataclass(frozen=True)
class Finding:
    """``weight`` orders findings; ``place`` is the first address, ``source`` its line."""

    kind: str
    weight: float
    number: int
    address: int
    source: SourceLine | None
    sentence: str
    fix: str


@dataclass(frozen=True)
class _Case:
    """What the rules read."""

    graph: Graph
    flow: Dataflow
    lanes: LaneEvaluator
    loops: Sequence[LoopFacts]
    spill_bytes: int | None

    def code(self, index: int) -> Instruction:
        return self.graph.function.instructions[index]

    def loop_at(self, index: int) -> LoopFacts | None:
        loop = self.graph.loop_of(self.graph.block_of[index])
        return self.loops[loop.number - 1] if loop is not None else None

    def depth(self, index: int) -> int:
        loop = self.loop_at(index)
        return loop.depth if loop is not None else 0


def find_all(
    graph: Graph, flow: Dataflow, lanes: LaneEvaluator, loops: Sequence[LoopFacts], spill_bytes: int | None = None
) -> tuple[Finding, ...]:
    """All findings, weightiest first. ``spill_bytes`` is what ptxas reported, None when its log is not there."""
    case = _Case(graph, flow, lanes, loops, spill_bytes)
    found = [finding for rule in _RULES for finding in rule(case)]
    return tuple(sorted(found, key=lambda finding: (-finding.weight, finding.address)))


def _local_memory(case: _Case) -> Iterator[Finding]:
    """Local memory in a loop: spills, or arrays indexed at run time."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for index, instruction in enumerate(case.graph.function.body):
        loop = case.loop_at(index)
        if instruction.opcode in ("LDL", "STL"):
            groups.setdefault((loop.number if loop else 0, _is_stack_slot(instruction)), []).append(index)
    for (number, slot), indices in groups.items():
        first = indices[0]
        place = f"in loop {number}" if number else "outside of loops"
        weight = 90 + 10 * case.depth(first) if number else 25
        if not slot:
            yield _finding(
                case, "local array", weight, indices, "local memory accesses at run-time addresses",
                place, "a local array indexed at run time lives in memory: unroll its loops or use shared memory",
            )  # fmt: skip
        elif case.spill_bytes:
            yield _finding(
                case, "spill", weight + 5, indices, "accesses to spilled registers", place,
                "use fewer live values, a smaller tile per thread, or __launch_bounds__ that allow more registers",
            )  # fmt: skip
        elif number:
            yield _finding(
                case, "stack", weight - 5, indices, "accesses to the thread's stack in local memory", place,
                "spilled registers or a local array: use fewer live values, or unroll so that indices are constant",
            )  # fmt: skip


def _is_stack_slot(instruction: Instruction) -> bool:
    """``[R1+0x10]``: a fixed place on the stack."""
    operand = next((one for one in instruction.operands if one.kind is OperandKind.MEMORY), None)
    if operand is None:
        return False
    bases = [part for part in (operand.base, operand.uniform) if part is not None and not part.is_zero]
    return all(part.kind is OperandKind.REGISTER and part.index == 1 for part in bases)


def _uncoalesced(case: _Case) -> Iterator[Finding]:
    """Global accesses whose lanes provably touch more sectors than their bytes need."""
    groups: dict[tuple[int, int, int, str], list[int]] = {}
    for index, instruction in enumerate(case.graph.function.body):
        if (LOADS.get(instruction.opcode) or STORES.get(instruction.opcode)) != "global":
            continue
        value = case.lanes.address(index)
        size = access_bits(instruction) // 8
        if value is None:
            continue
        touched, ideal = sectors(value, size), ideal_sectors(size)
        if touched > ideal:
            loop = case.loop_at(index)
            key = (loop.number if loop else 0, touched, ideal, _stride_words(value))
            groups.setdefault(key, []).append(index)
    for (number, touched, ideal, stride), indices in groups.items():
        place = f"in loop {number}" if number else "outside of loops"
        weight = (60 if number else 30) + 10 * case.depth(indices[0]) + min(20, 20 * touched / ideal / 8)
        names = " and ".join(sorted({case.code(index).opcode for index in indices}))
        what = f"{names} touch {touched} sectors per request where {ideal} hold the data ({stride})"
        yield _finding(
            case, "uncoalesced", weight, indices, what, place,
            "let consecutive threadIdx.x touch consecutive addresses, or go through shared memory",
        )  # fmt: skip


def _stride_words(value: Value) -> str:
    """How far apart neighbouring lanes are, in words."""
    step = Counter(after - before for before, after in pairwise(value.known)).most_common(1)[0][0]
    names = " and ".join(name for name, _ in value.scaled)
    if any(all(after != before for before, after in pairwise(lanes)) for _, lanes in value.scaled):
        return f"neighbouring lanes are a multiple of {names} apart"
    rows = f", rows a multiple of {names} apart" if names else ""
    return f"neighbouring lanes are {step} bytes apart{rows}"


def _bank_conflicts(case: _Case) -> Iterator[Finding]:
    """Shared accesses whose lanes provably meet in a bank."""
    groups: dict[tuple[int, str, int, int], list[int]] = {}
    for index, instruction in enumerate(case.graph.function.body):
        if not is_shared_access(instruction):
            continue
        value = case.lanes.address(index)
        passes = wavefronts(instruction, value) if value is not None else None
        if passes is not None and passes[0] > passes[1]:
            loop = case.loop_at(index)
            groups.setdefault((loop.number if loop else 0, instruction.mnemonic, *passes), []).append(index)
    for (number, mnemonic, needed, least), indices in groups.items():
        place = f"in loop {number}" if number else "outside of loops"
        weight = (58 if number else 28) + 10 * case.depth(indices[0]) + min(20, 20 * needed / least / 8)
        what = f"{mnemonic} with {needed} wavefronts ({least} without bank conflicts)"
        yield _finding(
            case, "bank conflict", weight, indices, what, place,
            "pad the rows of the tile by one element (or 4 for 128-bit access), or swizzle the column",
        )  # fmt: skip


def _narrow_loads(case: _Case) -> Iterator[Finding]:
    """Scalar loads of consecutive words from one base register in one block."""
    for space, weight in (("global", 40), ("shared", 35)):
        for loop in case.loops:
            hits = _consecutive_words(case, own_indices(case.graph, loop.number), space)
            if not hits:
                continue
            bits = 128 if len(hits) % 4 == 0 else 64
            what = f"32-bit {space} loads of consecutive words instead of {bits}-bit loads"
            yield _finding(
                case, "narrow load", weight + 10 * loop.depth, hits, what, f"in loop {loop.number}",
                "read float4 (or float2) from addresses aligned to its size",
            )  # fmt: skip


def _consecutive_words(case: _Case, indices: Sequence[int], space: str) -> list[int]:
    """Indices of loads that stand in a row of at least 4 consecutive words off the same base value."""
    rows: dict[tuple[object, ...], dict[int, int]] = {}
    for index in indices:
        instruction = case.code(index)
        if LOADS.get(instruction.opcode) != space or access_bits(instruction) != 32:
            continue
        operand = next((one for one in instruction.operands if one.kind is OperandKind.MEMORY), None)
        if operand is None or operand.base is None or operand.base.is_zero:
            continue
        sites = case.flow.definitions(index, ("R", operand.base.index)).sites
        uniform = operand.uniform.text if operand.uniform is not None else ""
        key = (operand.base.text.replace(".reuse", ""), uniform, sites, case.graph.block_of[index])
        rows.setdefault(key, {})[int(operand.value or 0)] = index
    hits: list[int] = []
    for offsets in rows.values():
        hits.extend(_rows_of_four(offsets))
    return sorted(hits)


def _rows_of_four(offsets: dict[int, int]) -> list[int]:
    ordered = sorted(offsets)
    hits: list[int] = []
    row: list[int] = []
    for offset in [*ordered, ordered[-1] + 64]:
        if row and offset != row[-1] + 4:
            if len(row) >= 4:
                hits.extend(offsets[one] for one in row)
            row = []
        row.append(offset)
    return hits


def _slow_integer(case: _Case) -> Iterator[Finding]:
    """Division (a call, or the reciprocal sequence) and conversions in a hot loop."""
    for loop in case.loops:
        indices = own_indices(case.graph, loop.number)
        calls = [index for index in indices if call_name(case.code(index)) is not None]
        named = [name for name in loop.calls if any(word in name for word in _DIVISION_CALLS)]
        if calls and named:
            yield _finding(
                case, "division call", 70 + 10 * loop.depth, calls, f"calls of {', '.join(named)}",
                f"in loop {loop.number}", "hoist the division, multiply by a reciprocal, or use a power of two",
            )  # fmt: skip
        slow = [index for index in indices if case.code(index).opcode in _SLOW_CONVERSIONS]
        reciprocals = [index for index in slow if _starts_integer_division(case.code(index))]
        if reciprocals:
            yield _finding(
                case, "integer division", 65 + 10 * loop.depth, reciprocals, "integer divisions or remainders",
                f"in loop {loop.number}", "make the divisor a power of two or a constant, or count instead of dividing",
            )  # fmt: skip
        elif len([index for index in slow if case.code(index).opcode != "MUFU"]) >= 2:
            conversions = [index for index in slow if case.code(index).opcode != "MUFU"]
            yield _finding(
                case, "conversion", 32 + 10 * loop.depth, conversions,
                "conversions (a quarter or less of the FP32 rate)", f"in loop {loop.number}",
                "keep the loop in one type",
            )  # fmt: skip


def _starts_integer_division(instruction: Instruction) -> bool:
    """``I2F.U32.RP``: the conversion that begins every 32-bit integer division by a variable."""
    return instruction.opcode in ("I2F", "UI2F") and "RP" in instruction.modifiers


def _barriers(case: _Case) -> Iterator[Finding]:
    for loop in case.loops:
        math = loop.math_count
        if not loop.barriers or loop.math != "FFMA" or loop.children or math >= _FEW_FFMA_PER_BARRIER * loop.barriers:
            continue
        hits = [index for index in own_indices(case.graph, loop.number) if case.code(index).opcode == "BAR"]
        yield _finding(
            case, "barrier", 38 + 10 * loop.depth, hits, f"block barriers for {math} FFMA per iteration",
            f"in loop {loop.number}", "give each barrier more work: a deeper tile, or more results per thread",
        )  # fmt: skip


def _double_in_single(case: _Case) -> Iterator[Finding]:
    body = case.graph.function.body
    counts = Counter(kind_of(one) for one in body)
    if not counts[Kind.FP64] or counts[Kind.FP64] > counts[Kind.FP32]:
        return
    hits = [index for index, one in enumerate(body) if kind_of(one) is Kind.FP64]
    hits = [index for index in hits if not case.graph.subroutine_of.get(case.graph.block_of[index])]
    inside = [index for index in hits if case.depth(index)]
    if hits:
        where = f"in loop {_loop_number(case, inside[0])}" if inside else "outside of loops"
        yield _finding(
            case, "fp64", 72 if inside else 26, inside or hits, "FP64 instructions in FP32 code", where,
            "write constants as 1.0f, and call the float functions (sqrtf, expf)",
        )  # fmt: skip


def _loop_number(case: _Case, index: int) -> int:
    loop = case.loop_at(index)
    return loop.number if loop is not None else 0


def _large_loop(case: _Case) -> Iterator[Finding]:
    for loop in case.loops:
        size = (loop.end - loop.start) or loop.instructions * INSTRUCTION_BYTES
        if size > CODE_CACHE_BYTES and not loop.children:
            hits = own_indices(case.graph, loop.number)
            what = (
                f"instructions ({size} bytes) in one loop, more than the {CODE_CACHE_BYTES // 1024} KiB of code cache"
            )
            yield _finding(case, "large loop", 50, hits, what, f"in loop {loop.number}", "unroll less")


def _finding(case: _Case, kind: str, weight: float, indices: Sequence[int], what: str, place: str, fix: str) -> Finding:
    first = case.code(indices[0])
    source = own_line(first.source) if first.source is not None else None
    where = f", from 0x{first.address:04x}"
    if source is not None:
        where += f" ({source.file.rsplit('/', 1)[-1]}:{source.line})"
    sentence = f"{what[0].upper()}{what[1:]}: {len(indices)} {place}{where}"
    return Finding(kind, weight, len(indices), first.address, source, sentence, fix)


_RULES: tuple[Callable[[_Case], Iterator[Finding]], ...] = (
    _local_memory,
    _uncoalesced,
    _bank_conflicts,
    _narrow_loads,
    _slow_integer,
    _barriers,
    _double_in_single,
    _large_loop,
)
