"""What one iteration of a loop does: instructions, arithmetic, memory, barriers, issue cycles, unrolling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.isa.opcodes import Computes, Control, Kind, opcode
from gpuprof.sass.backward_slice import Tracer
from gpuprof.sass.cfg import Graph, Loop, call_name
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.model import Instruction, OperandKind, SourceLine
from gpuprof.sass.opcodes import LOADS, MATH_OPCODES, STORES, access_bits, guarded, is_math, kind_of, kind_of_opcode
from gpuprof.sass.trip_count import Trip, trip_of

_MATH = frozenset(MATH_OPCODES)
_ADDS = frozenset(name for name in MATH_OPCODES if opcode(name).computes is Computes.ADD)
_ACCUMULATING = frozenset(name for name in MATH_OPCODES if opcode(name).computes is not Computes.MULTIPLY)


@dataclass(frozen=True)
class Unrolling:
    """``steps`` updates of each of ``accumulators`` values per iteration; ``text`` is the sentence."""

    steps: int
    accumulators: int
    text: str


@dataclass(frozen=True)
class LoopFacts:
    """One loop. Counts are of its own code: what is in an inner loop counts there."""

    number: int
    parent: int | None
    depth: int
    start: int  #: address of the header
    end: int  #: address after the last instruction
    trip: Trip
    instructions: int  #: own instructions
    conditional: int  #: of those, in blocks that not every iteration runs
    predicated: int
    mix: Mapping[str, int]
    math: str  #: the main arithmetic opcode, "" when there is none
    math_count: int
    loads: Mapping[str, int]  #: ``shared 128-bit`` -> count
    stores: Mapping[str, int]
    barriers: int
    issue_cycles: int  #: sum of the stall counts of the code that every iteration runs: the least one warp needs
    unrolling: Unrolling | None
    exits: int
    calls: tuple[str, ...]
    subroutine: str  #: the local subroutine it is in
    source: tuple[SourceLine, SourceLine] | None  #: least and greatest line of the most frequent file
    children: tuple[int, ...]

    @property
    def math_share(self) -> float:
        """Main arithmetic instructions per instruction."""
        return self.math_count / self.instructions if self.instructions else 0.0

    @property
    def shared_loads(self) -> int:
        return sum(count for name, count in self.loads.items() if name.startswith("shared"))


def loop_facts(graph: Graph, flow: Dataflow, tracer: Tracer) -> tuple[LoopFacts, ...]:
    """The facts of every loop, in the order of their headers."""
    return tuple(_facts(graph, flow, tracer, loop) for loop in graph.loops)


def hottest(loops: Sequence[LoopFacts]) -> LoopFacts | None:
    """The loop to look at first: the most arithmetic weighted by depth, then the longest."""
    outside = [loop for loop in loops if not loop.subroutine] or list(loops)
    return max(
        outside, key=lambda one: (one.math_count * 8.0 ** (one.depth - 1), one.depth, one.instructions), default=None
    )


def own_indices(graph: Graph, number: int) -> list[int]:
    """Indices of a loop's own instructions, by address."""
    return graph.indices(graph.own_blocks(graph.loops[number - 1]))


def _facts(graph: Graph, flow: Dataflow, tracer: Tracer, loop: Loop) -> LoopFacts:
    blocks = graph.own_blocks(loop)
    always = {block.index for block in blocks if graph.always_runs(block.index, loop)}
    code = graph.function.instructions
    own = [code[index] for index in graph.indices(blocks)]
    certain = [code[index] for index in graph.indices([block for block in blocks if block.index in always])]
    math, math_count = main_math(own)
    everything = [graph.blocks[index] for index in loop.blocks]
    return LoopFacts(
        number=loop.number,
        parent=loop.parent,
        depth=loop.depth,
        start=code[graph.blocks[loop.header].start].address,
        end=code[max(block.end for block in everything) - 1].address + INSTRUCTION_BYTES,
        trip=trip_of(loop, flow, tracer),
        instructions=len(own),
        conditional=len(own) - len(certain),
        predicated=sum(guarded(instruction) and kind_of(instruction) is not Kind.CONTROL for instruction in own),
        mix=dict(Counter(instruction.opcode for instruction in own).most_common()),
        math=math,
        math_count=math_count,
        loads=accesses(own, LOADS),
        stores=accesses(own, STORES),
        barriers=sum(opcode(instruction.opcode).control is Control.BLOCK_BARRIER for instruction in own),
        issue_cycles=sum(max(1, instruction.stall) for instruction in certain),
        unrolling=_unrolling(graph, flow, loop, math),
        exits=len(loop.exits),
        calls=tuple(dict.fromkeys(name for instruction in own if (name := call_name(instruction)) is not None)),
        subroutine=graph.subroutine_of.get(loop.header, ""),
        source=_source_range(own),
        children=loop.children,
    )


def main_math(instructions: Sequence[Instruction]) -> tuple[str, int]:
    """The arithmetic opcode that a stretch of code is about: tensor opcodes first, then the most frequent."""
    counts = Counter(
        instruction.opcode
        for instruction in instructions
        if instruction.opcode in _MATH and kind_of(instruction) is not Kind.MOVE
    )
    if not counts:
        return "", 0
    tensor = [name for name in counts if kind_is_tensor(name)]
    names = tensor or list(counts)
    best = max(names, key=lambda name: (counts[name], -MATH_OPCODES.index(name)))
    return best, counts[best]


def kind_is_tensor(name: str) -> bool:
    """Whether an opcode runs on the tensor cores."""
    return kind_of_opcode(name) is Kind.TENSOR


def accesses(instructions: Sequence[Instruction], spaces: Mapping[str, str]) -> dict[str, int]:
    """Memory instructions by space and width: ``{"shared 128-bit": 16}``."""
    names = (
        f"{spaces[instruction.opcode]} {access_bits(instruction)}-bit"
        for instruction in instructions
        if instruction.opcode in spaces
    )
    return dict(sorted(Counter(names).items()))


def _source_range(instructions: Sequence[Instruction]) -> tuple[SourceLine, SourceLine] | None:
    lines = [outermost(instruction.source) for instruction in instructions if instruction.source is not None]
    if not lines:
        return None
    file = Counter(line.file for line in lines).most_common(1)[0][0]
    numbers = [line.line for line in lines if line.file == file]
    return SourceLine(file, min(numbers)), SourceLine(file, max(numbers))


def outermost(source: SourceLine) -> SourceLine:
    """The line of the kernel itself that an inlined instruction belongs to."""
    return source.inlined_at[-1] if source.inlined_at else source


def own_line(source: SourceLine) -> SourceLine:
    """The innermost line in the kernel's own file: inside a lambda or helper there, not inside a header."""
    frames = (source, *source.inlined_at)
    return next(frame for frame in frames if frame.file == frames[-1].file)


def _unrolling(graph: Graph, flow: Dataflow, loop: Loop, math: str) -> Unrolling | None:
    """Chains of accumulation within one iteration: how many, and how long."""
    if math not in _ACCUMULATING:
        return None
    chains = _chains_of(graph, flow, graph.indices(graph.own_blocks(loop)), math)
    lengths = [len(chain) for chain in chains]
    if not lengths:
        return None
    steps, count = max(lengths), len(lengths)
    if any(length != steps for length in lengths) or not all(_is_carried(graph, flow, loop, chain) for chain in chains):
        return Unrolling(steps, count, _chains_text(math, lengths))
    tiled = any(block_has_barrier(graph, block) for block in loop.blocks)
    noun = "k-step" if tiled else "step"
    many = f"{steps} {noun}{'s' if steps != 1 else ''} x {count} {math} = {sum(lengths)} per iteration"
    if steps == 1:
        return Unrolling(1, count, f"{many}: not unrolled")
    if not all(_is_one_line(graph, chain) for chain in chains):
        return Unrolling(steps, count, many)
    how = "fully unrolled" if tiled and not loop.children else f"unrolled {steps} times"
    return Unrolling(steps, count, f"{many}: {how}")


def _chains_text(math: str, lengths: Sequence[int]) -> str:
    """What is said of chains that are no steps of one sum."""
    if max(lengths) == 1:
        return f"{len(lengths)} {math} per iteration, not a sum over iterations"
    chains = "1 chain" if len(lengths) == 1 else f"{len(lengths)} chains"
    return f"{chains} of {math}, the longest {max(lengths)}: {sum(lengths)} per iteration"


def _is_carried(graph: Graph, flow: Dataflow, loop: Loop, chain: Sequence[int]) -> bool:
    """Whether a chain goes on with what an iteration before left: a quotient's chain, say, begins anew each time."""
    before = {index for block in loop.blocks for index in range(graph.blocks[block].start, graph.blocks[block].end)}
    sites = (flow.definitions(chain[0], addend).sites for addend in _addends(graph.function.instructions[chain[0]]))
    return any(site in before and site >= chain[0] for found in sites for site in found)


def _is_one_line(graph: Graph, chain: Sequence[int]) -> bool:
    """Whether one source line made all of a chain, as an unrolled loop does; true where no lines are known."""
    sources = {graph.function.instructions[index].source for index in chain}
    return len({(source.file, source.line) for source in sources if source is not None}) < 2


def block_has_barrier(graph: Graph, block: int) -> bool:
    """Whether a block holds a block-wide barrier."""
    part = graph.blocks[block]
    code = graph.function.instructions[part.start : part.end]
    return any(opcode(instruction.opcode).control is Control.BLOCK_BARRIER for instruction in code)


def chain_lengths(graph: Graph, flow: Dataflow, indices: Sequence[int], math: str) -> list[int]:
    """Lengths of the chains in which one result of ``math`` goes into the next, in code order."""
    return [len(chain) for chain in _chains_of(graph, flow, indices, math)]


def _chains_of(graph: Graph, flow: Dataflow, indices: Sequence[int], math: str) -> list[list[int]]:
    """Those chains, as the indices of their instructions. Kept in ``flow``."""
    key = (math, (indices[0], indices[-1], len(indices)) if indices else (0, 0, 0))
    if key not in flow.chains:
        flow.chains[key] = _chains(graph, flow, indices, math)
    return flow.chains[key]


def _chains(graph: Graph, flow: Dataflow, indices: Sequence[int], math: str) -> list[list[int]]:
    code = graph.function.instructions
    chains: list[list[int]] = []
    chain_of: dict[Register, list[int]] = {}  # register -> the chain whose last result it holds
    for index in indices:
        instruction = code[index]
        writes = flow.roles[index].writes
        if not writes or not is_math(instruction, math):
            for register in writes:
                chain_of.pop(register, None)
            continue
        chain = next((chain_of[addend] for addend in _addends(instruction) if addend in chain_of), None)
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(index)
        for register in writes:
            chain_of.pop(register, None)
        chain_of[writes[0]] = chain
    return chains


def _addends(instruction: Instruction) -> list[Register]:
    """The registers that may carry the value so far: of a multiply-add the addend first (a sum), then the factors
    (Horner's scheme); of an add either source."""
    operands = instruction.operands
    sources = operands[1:] if instruction.opcode in _ADDS else (*operands[3:4], *operands[1:3])
    return [("R", source.index) for source in sources if source.kind is OperandKind.REGISTER and not source.is_zero]
