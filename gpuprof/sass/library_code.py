"""Code of the CUDA libraries inside a kernel: what the source did not write and its author cannot rewrite line by line.

Recognised by what it is made of, since the math library carries the line of its caller: subroutines by symbol, a
division by its FCHK, the range reduction of sinf, cosf and tanf by its bound, the scaling of denormal arguments around
MUFU by its constants; and code of the toolkit's headers by the file that its line information names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuprof.sass.cfg import Graph, call_name
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.model import Instruction, OperandKind, SourceLine
from gpuprof.sass.opcodes import guarded, is_conditional_branch

DIVISION, SQUARE_ROOT, RECIPROCAL = "single-precision division", "single-precision square root", "reciprocal"
DOUBLE_DIVISION, DOUBLE_ROOT = "double-precision division", "double-precision square root"
WIDE_DIVISION, RANGE_REDUCTION = "64-bit integer division", "range reduction of sinf, cosf or tanf"
SCALING, HEADER, OTHER = "scaling of denormal arguments", "code of a CUDA header", "library routine"

#: A subroutine that the toolkit brings: ``$__internal_3_$__cuda_sm3x_div_rn_noftz_f32_slowpath``.
_SYMBOL = re.compile(r"\b_*cuda_sm\w+|__internal_\w+", re.IGNORECASE)
_BY_SYMBOL = (
    (re.compile(r"(div|rem)_[su](64|32_64|64_\w*)|(div|rem)_\w*[su]64"), WIDE_DIVISION),
    (re.compile(r"(d?div_rn|d?div)_\w*f64|f64_div|dblrcp|drcp|rcp_\w*f64"), DOUBLE_DIVISION),
    (re.compile(r"d?sqrt\w*f64|dsqrt|drsqrt"), DOUBLE_ROOT),
    (re.compile(r"div_\w*f32|div_rn_noftz"), DIVISION),
    (re.compile(r"sqrt\w*f32|sqrt_rn"), SQUARE_ROOT),
    (re.compile(r"rcp\w*f32|rcp_rn"), RECIPROCAL),
    (re.compile(r"trig_reduction"), RANGE_REDUCTION),
)
#: The least |x| that sinf, cosf and tanf reduce by 192 bits of 2/pi.
_RANGE_BOUND = 105615
#: What denormal arguments are multiplied by before MUFU, and the results after it.
_SCALES = (0.5, 0.25, 2.0, 4.0, 8388608.0, 16777216.0, 4096.0, 5.9604644775390625e-08, 1.52587890625e-05, 65536.0)
_HEADER_FOLDERS = ("/include/", "\\include\\", "/targets/", "/cccl/", "/cuda/std/", "/cooperative_groups/", "/crt/")
_HEADER_FILES = re.compile(
    r"(device_functions|math_functions|cuda_fp16|cuda_bf16|cuda_fp8|sm_\d+_intrinsics|cooperative_groups|mma|"
    r"device_atomic_functions|helper_math_builtin|vector_functions|sm_\d+_rt|cuda_pipeline\w*)\.(hpp|h|cuh|inl)$"
)


@dataclass(frozen=True)
class LibraryUse:
    """One use of a library sequence: ``at`` is its first instruction in the kernel's own code, ``common`` the indices
    that every use executes, ``rare`` those of a slow path that only unusual arguments take."""

    name: str
    at: int
    common: tuple[int, ...]
    rare: tuple[int, ...] = ()


@dataclass(frozen=True)
class LibraryCode:
    """Which instructions belong to libraries, by index, and their uses."""

    of: Mapping[int, str]
    uses: tuple[LibraryUse, ...]

    def holds(self, index: int) -> bool:
        """Whether an instruction is the library's own doing. What a header only wraps (an asynchronous copy, an
        atomic) does what its caller asked for."""
        return self.of.get(index, HEADER) != HEADER


def routine_name(symbol: str) -> str | None:
    """What a subroutine's symbol stands for; None for a function of the user's, whatever letters it has."""
    if not _SYMBOL.search(symbol):
        return None
    return next((name for pattern, name in _BY_SYMBOL if pattern.search(symbol)), OTHER)


def is_header(source: SourceLine | None) -> bool:
    """Whether a line is in the toolkit: a header named by the inlined-at chain's innermost frame."""
    if source is None or not source.inlined_at:
        return False
    return source.file != source.inlined_at[-1].file and (
        _HEADER_FILES.search(source.file) is not None
        or (any(folder in source.file for folder in _HEADER_FOLDERS) and "cuda" in source.file.lower())
    )


def library_code(graph: Graph, flow: Dataflow) -> LibraryCode:
    """All library code of a function."""
    body = graph.function.body
    uses = [use for rule in (_calls, _divisions, _range_reductions, _scalings) for use in rule(graph, flow)]
    of: dict[int, str] = {}
    for index, instruction in enumerate(body):
        subroutine = graph.subroutine_of.get(graph.block_of[index])
        name = routine_name(subroutine) if subroutine else None
        if name is not None:
            of[index] = name
        elif is_header(instruction.source):
            of[index] = HEADER
    for use in uses:
        of.update(dict.fromkeys((*use.common, *use.rare), use.name))
    return LibraryCode(of, tuple(_joined(uses)))


def _joined(uses: list[LibraryUse]) -> Iterator[LibraryUse]:
    """A division that is found by its FCHK is not reported again by the call on its slow path."""
    rare = {index for use in uses if use.name == DIVISION for index in use.rare}
    for use in uses:
        if use.rare or use.at not in rare or use.name != DIVISION:
            yield use


def _calls(graph: Graph, flow: Dataflow) -> Iterator[LibraryUse]:
    for index, instruction in enumerate(graph.function.body):
        called = call_name(instruction)
        name = routine_name(called) if called else None
        if name is not None and not graph.subroutine_of.get(graph.block_of[index]):
            block = graph.blocks[graph.block_of[index]]
            yield LibraryUse(name, index, tuple(range(block.start, block.end)))


def _divisions(graph: Graph, flow: Dataflow) -> Iterator[LibraryUse]:
    """MUFU.RCP, FCHK and FFMA in one block, a branch over the block that calls the slow path."""
    code = graph.function.instructions
    for index, instruction in enumerate(graph.function.body):
        if instruction.opcode != "FCHK":
            continue
        block = graph.blocks[graph.block_of[index]]
        operands = {operand.index for operand in instruction.operands[1:] if operand.kind is OperandKind.REGISTER}
        common = [index, block.end - 1] if is_conditional_branch(code[block.end - 1]) else [index]
        common += _refinement(flow, block.start, block.end, operands)
        rare = [
            at
            for successor in block.successors
            for at in range(graph.blocks[successor].start, graph.blocks[successor].end)
            if (name := call_name(code[graph.blocks[successor].end - 1])) and routine_name(name)
        ]
        yield LibraryUse(DIVISION, index, tuple(sorted(set(common))), tuple(rare))


def _refinement(flow: Dataflow, start: int, end: int, operands: set[int]) -> list[int]:
    """The reciprocal of a divisor and the multiply-adds that follow from it, within one block."""
    code = flow.graph.function.instructions
    made: set[int] = set()
    found = []
    for index in range(start, end):
        reads = {register[1] for register in flow.roles[index].reads if register[0] == "R"}
        writes = {register[1] for register in flow.roles[index].writes if register[0] == "R"}
        instruction = code[index]
        begins = instruction.opcode == "MUFU" and "RCP" in instruction.modifiers and reads & operands
        if begins or (instruction.opcode == "FFMA" and reads & made):
            found.append(index)
            made |= writes
        else:
            made -= writes
    return found


def _range_reductions(graph: Graph, flow: Dataflow) -> Iterator[LibraryUse]:
    """What follows the comparison of |x| with 105615, up to where the short way joins it again."""
    code = graph.function.instructions
    for block in graph.blocks:
        last = block.end - 1
        if not graph.is_reachable(block.index) or not is_conditional_branch(code[last]):
            continue
        bounds = [site for register in flow.roles[last].reads if register[0] == "P"
                  for site in flow.definitions(last, register).sites if _has_bound(code[site])]  # fmt: skip
        if not bounds:
            continue
        inside = [
            index
            for successor in block.successors
            if graph.blocks[successor].predecessors == (block.index,)
            for other in graph.blocks
            if graph.is_reachable(other.index) and graph.dominates(successor, other.index)
            for index in range(other.start, other.end)
        ]
        if any(code[index].opcode in ("I2F", "DMUL", "CALL") for index in inside):
            yield LibraryUse(RANGE_REDUCTION, bounds[0], (bounds[0], last), tuple(sorted(inside)))


def _has_bound(instruction: Instruction) -> bool:
    return instruction.opcode == "FSETP" and any(operand.value == _RANGE_BOUND for operand in instruction.operands)


def _scalings(graph: Graph, flow: Dataflow) -> Iterator[LibraryUse]:
    """Guarded multiplications by a power of two, or of a result by itself, next to a MUFU."""
    code = graph.function.instructions
    readers: dict[int, list[int]] = {}
    for index, instruction in enumerate(graph.function.body):
        if instruction.opcode == "MUFU":
            for register in flow.roles[index].reads:
                for site in flow.definitions(index, register).sites:
                    readers.setdefault(site, []).append(index)
    for index, instruction in enumerate(graph.function.body):
        if instruction.opcode not in ("FMUL", "FADD") or not guarded(instruction):
            continue
        sources = instruction.operands[1:3]
        scaled = any(abs(float(operand.value or 0)) in _SCALES for operand in sources if operand.value is not None)
        squared = len(sources) == 2 and sources[0].index == sources[1].index and sources[0].kind == sources[1].kind
        added = instruction.opcode == "FADD" and any(operand.value is not None for operand in sources)
        before = [site for register in flow.roles[index].reads if register[0] == "R"
                  for site in flow.definitions(index, register).sites if code[site].opcode == "MUFU"]  # fmt: skip
        if ((scaled or squared) and (before or index in readers)) or (added and before):
            yield LibraryUse(SCALING, index, (index,))
