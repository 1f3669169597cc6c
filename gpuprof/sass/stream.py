"""The stream of arithmetic in a stretch of code: runs, what breaks them, reuse, register banks, dependent pairs.

Register banks: two per sub-core, register number modulo 2 (Jia et al., arXiv 1804.06826 and 1903.07486). Since sm_80
each bank reads one register per cycle and an instruction has three cycles for its reads (Huerta et al., MICRO 2025,
arXiv 2503.20481, the listing of FFMA pairs: 5, 6 or 7 cycles as 0, 1 or 2 more reads fall on the crowded bank, which
this model gives). On sm_75 a bank reads two per cycle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuprof.isa.constant_bank import compute_capability
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import destination_count
from gpuprof.sass.loops import chain_lengths
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import is_math

#: Cycles from issue to the use of a result on the same pipe.
_LATENCY = {"FFMA": 4, "FADD": 4, "FMUL": 4, "IMAD": 4, "HFMA2": 5, "HADD2": 5, "HMUL2": 5, "FFMA2": 4}
_SLOTS = 3
_READ_WINDOW = 3


@dataclass(frozen=True)
class Run:
    """Instructions of one opcode without another between: ``length`` of them from ``address`` on."""

    address: int
    length: int
    broken_by: str  #: mnemonic of the instruction behind it, "" at the end


@dataclass(frozen=True)
class Stream:
    """Facts about the instructions of opcode ``math`` in one stretch of code."""

    math: str
    count: int
    runs: tuple[Run, ...]
    breakers: Mapping[str, int]  #: mnemonic -> how many runs it ends
    operands: int  #: register sources of the arithmetic
    reused: int  #: of those, marked ``.reuse``
    bank_conflict_cycles: int
    accumulators: int
    longest_chain: int
    dependent_pairs: int  #: a result read by an instruction closer than the latency
    closest_pair: int | None  #: issue cycles between such a pair, at least
    latency: int | None

    @property
    def longest(self) -> int:
        return max((run.length for run in self.runs), default=0)


def longest_run(instructions: Sequence[Instruction], math: str) -> int:
    """The longest run of one opcode."""
    return max((run.length for run in _runs(instructions, math)), default=0)


def stream_of(flow: Dataflow, indices: Sequence[int], math: str, arch: str) -> Stream:
    """The stream of ``math`` in the instructions at ``indices``, which stand in code order."""
    code = flow.graph.function.instructions
    part = [code[index] for index in indices]
    runs = _runs(part, math)
    sources = [operand for one in part if is_math(one, math) for operand in _sources(one)]
    pairs = _dependent_pairs(flow, indices, math)
    chains = chain_lengths(flow.graph, flow, indices, math) if math in _LATENCY or math.endswith("MMA") else []
    return Stream(
        math=math,
        count=sum(is_math(one, math) for one in part),
        runs=tuple(runs),
        breakers=dict(Counter(run.broken_by for run in runs if run.broken_by).most_common()),
        operands=len(sources),
        reused=sum(operand.reuse for operand in sources),
        bank_conflict_cycles=bank_conflict_cycles(part, math, arch),
        accumulators=len(chains),
        longest_chain=max(chains, default=0),
        dependent_pairs=len(pairs),
        closest_pair=min(pairs, default=None),
        latency=_LATENCY.get(math),
    )


def _runs(instructions: Sequence[Instruction], math: str) -> list[Run]:
    runs: list[Run] = []
    start, length = 0, 0
    for instruction in instructions:
        if is_math(instruction, math):
            start = start if length else instruction.address
            length += 1
        elif length:
            runs.append(Run(start, length, instruction.mnemonic))
            length = 0
    if length:
        runs.append(Run(start, length, ""))
    return runs


def _sources(instruction: Instruction) -> list[Operand]:
    return [one for one in instruction.operands[1:] if one.kind is OperandKind.REGISTER and not one.is_zero]


def bank_conflict_cycles(instructions: Sequence[Instruction], math: str, arch: str) -> int:
    """Cycles that register reads add to the runs of ``math``, by the model in this module's head."""
    cost = 0.5 if compute_capability(arch) < 80 else 1.0
    cached: list[int | None] = [None] * _SLOTS
    even = odd = now = added = 0.0  # when each bank is free again; the clock; what conflicts added to it
    for instruction in instructions:
        arithmetic = is_math(instruction, math)
        first = 1 if arithmetic else destination_count(instruction)
        slots = instruction.operands[first : first + _SLOTS]
        if arithmetic:
            on_even, on_odd = _bank_reads(slots, cached)
            even = (even if even > now else now) + on_even * cost
            odd = (odd if odd > now else now) + on_odd * cost
            delay = (even if even > odd else odd) - now - _READ_WINDOW
            if delay > 0:
                added += delay
                now += delay
        _remember(slots, cached)
        now += instruction.stall or 1
    return round(added)


def _bank_reads(slots: Sequence[Operand], cached: Sequence[int | None]) -> tuple[int, int]:
    """Distinct registers read from the even and from the odd bank, those in the reuse cache left out."""
    distinct = {
        operand.index
        for slot, operand in enumerate(slots)
        if operand.kind is OperandKind.REGISTER and not operand.is_zero and cached[slot] != operand.index
    }
    on_odd = sum(register & 1 for register in distinct)
    return len(distinct) - on_odd, on_odd


def _remember(slots: Sequence[Operand], cached: list[int | None]) -> None:
    """An operand marked ``.reuse`` stays in its slot's cache for the next instruction that reads the slot."""
    for slot, operand in enumerate(slots):
        if operand.kind is OperandKind.REGISTER:
            cached[slot] = operand.index if operand.reuse else None


def _dependent_pairs(flow: Dataflow, indices: Sequence[int], math: str) -> list[int]:
    """For each result of ``math`` that a following one reads within the latency: instructions between the two."""
    latency = _LATENCY.get(math)
    if latency is None:
        return []
    code = flow.graph.function.instructions
    written: dict[tuple[str, int], int] = {}
    distances = []
    for position, index in enumerate(indices):
        arithmetic = is_math(code[index], math)
        if arithmetic:
            near = [position - written[one] for one in flow.roles[index].reads if one in written]
            if near and min(near) < latency:
                distances.append(min(near))
        for register in flow.roles[index].writes:
            if arithmetic:
                written[register] = position
            else:
                written.pop(register, None)
    return distances
