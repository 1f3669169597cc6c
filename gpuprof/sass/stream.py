"""The stream of arithmetic in a stretch of code: runs, what breaks them, reuse, register banks, dependent pairs.

Register banks are modelled, by number modulo the banks, and only for architectures on which the model was held against
measurements (``arch/data/pipeline.json`` says which): each bank reads one register per cycle, and an instruction has
three cycles for its reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuprof.arch.pipeline import RegisterBanks, pipeline_facts
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import destination_count
from gpuprof.sass.loops import chain_lengths
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import is_math

_SLOTS = 3


@dataclass(frozen=True)
class Run:
    """Instructions of one opcode without another between: ``length`` of them from ``address`` on."""

    address: int
    length: int
    broken_by: str  #: mnemonic of the instruction after it, "" at the end


@dataclass(frozen=True)
class Stream:
    """Facts about the instructions of opcode ``math`` in one stretch of code."""

    math: str
    count: int
    runs: tuple[Run, ...]
    breakers: Mapping[str, int]  #: mnemonic -> how many runs it ends
    operands: int  #: register sources of the arithmetic
    reused: int  #: of those, marked ``.reuse``
    bank_conflict_cycles: int | None  #: modelled; None where no model was held against this architecture
    accumulators: int
    longest_chain: int
    dependent_pairs: int  #: a result read by an instruction closer than the latency
    closest_pair: int | None  #: issue cycles between such a pair, at least
    latency: int | None  #: cycles, None where no source says it for this architecture
    latency_source: str = ""
    bank_model: str = ""  #: what the model of register banks was held against

    @property
    def longest(self) -> int:
        return max((run.length for run in self.runs), default=0)


def longest_run(instructions: Sequence[Instruction], math: str) -> int:
    """The longest run of one opcode."""
    return max((run.length for run in _runs(instructions, math)), default=0)


def stream_of(flow: Dataflow, indices: Sequence[int], math: str, arch: str) -> Stream:
    """The stream of ``math`` in the instructions at ``indices``, which are in code order."""
    code = flow.graph.function.instructions
    part = [code[index] for index in indices]
    runs = _runs(part, math)
    sources = [operand for instruction in part if is_math(instruction, math) for operand in _sources(instruction)]
    facts = pipeline_facts(arch)
    latency = facts.latencies.get(math)
    pairs = _dependent_pairs(flow, indices, math, latency.value if latency is not None else None)
    chains = chain_lengths(flow.graph, flow, indices, math)
    return Stream(
        math=math,
        count=sum(is_math(instruction, math) for instruction in part),
        runs=tuple(runs),
        breakers=dict(Counter(run.broken_by for run in runs if run.broken_by).most_common()),
        operands=len(sources),
        reused=sum(operand.reuse for operand in sources),
        bank_conflict_cycles=bank_conflict_cycles(part, math, arch),
        accumulators=len(chains),
        longest_chain=max(chains, default=0),
        dependent_pairs=len(pairs),
        closest_pair=min(pairs, default=None),
        latency=latency.value if latency is not None else None,
        latency_source=latency.source if latency is not None else "",
        bank_model=facts.register_banks.source if facts.register_banks is not None else "",
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
    return [
        operand for operand in instruction.operands[1:] if operand.kind is OperandKind.REGISTER and not operand.is_zero
    ]


def bank_conflict_cycles(instructions: Sequence[Instruction], math: str, arch: str) -> int | None:
    """Cycles that register reads add to the runs of ``math``, modelled; None where the architecture has no model."""
    banks = pipeline_facts(arch).register_banks
    return None if banks is None else modelled_conflict_cycles(instructions, math, banks)


def modelled_conflict_cycles(instructions: Sequence[Instruction], math: str, banks: RegisterBanks) -> int:
    """The same by a given model of two banks."""
    cost = banks.cycles_per_read
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
            delay = (even if even > odd else odd) - now - banks.window
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


def _dependent_pairs(flow: Dataflow, indices: Sequence[int], math: str, latency: int | None) -> list[int]:
    """For each result of ``math`` that a following one reads within the latency: instructions between the two."""
    if latency is None:
        return []
    code = flow.graph.function.instructions
    written: dict[tuple[str, int], int] = {}
    distances = []
    for position, index in enumerate(indices):
        arithmetic = is_math(code[index], math)
        if arithmetic:
            near = [position - written[read] for read in flow.roles[index].reads if read in written]
            if near and min(near) < latency:
                distances.append(min(near))
        for register in flow.roles[index].writes:
            if arithmetic:
                written[register] = position
            else:
                written.pop(register, None)
    return distances
