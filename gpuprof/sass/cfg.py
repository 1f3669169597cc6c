"""Basic blocks, dominators and natural loops of one code section.

Graph algorithms are networkx's, which is imported here and nowhere else. Roots are the kernel's entry and the entry
of each local subroutine, so that a subroutine's loops are found too; a call falls through to the instruction after it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gpuprof.isa.opcodes import Control, opcode
from gpuprof.sass.model import Function, Instruction, OperandKind
from gpuprof.sass.opcodes import guarded, is_conditional_branch

if TYPE_CHECKING:
    import networkx as nx

_ENDS = frozenset((Control.EXIT, Control.RETURN))
_BLOCK_ENDS = _ENDS | {Control.JUMP, Control.INDIRECT, Control.CALL}
_ROOT = -1


@dataclass(frozen=True)
class Block:
    """Instructions ``start`` up to, not including, ``end`` (indices into ``Function.instructions``)."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Loop:
    """A natural loop. ``number`` counts from 1 in the order of the headers' addresses."""

    number: int
    header: int  #: block index
    blocks: frozenset[int]
    latches: tuple[int, ...]  #: blocks that jump back to the header
    exits: tuple[int, ...]  #: blocks of the loop with a way out: a successor outside, or an EXIT
    parent: int | None  #: number of the enclosing loop
    depth: int  #: 1 for an outermost loop
    children: tuple[int, ...] = ()


@dataclass(frozen=True)
class Graph:
    """The control flow of one function."""

    function: Function
    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]  #: instruction index -> block index
    dominators: dict[
        int, int
    ]  #: block -> its immediate dominator; roots map to themselves; unreachable ones are absent
    loops: tuple[Loop, ...]
    irreducible: bool  #: some cycle has more than one entry, so that it is not among the loops
    subroutine_of: dict[int, str]  #: reachable block -> the local subroutine it belongs to

    def dominates(self, above: int, below: int) -> bool:
        """Whether every way to ``below`` goes through ``above``."""
        current = below
        while current != above:
            up = self.dominators.get(current, current)
            if up == current:
                return False
            current = up
        return True

    def is_reachable(self, block: int) -> bool:
        return block in self.dominators

    def loop_of(self, block: int) -> Loop | None:
        """The innermost loop around a block."""
        return self._innermost.get(block)

    @cached_property
    def _innermost(self) -> dict[int, Loop]:
        found: dict[int, Loop] = {}
        for loop in sorted(self.loops, key=lambda one: one.depth):
            found.update(dict.fromkeys(loop.blocks, loop))
        return found

    @cached_property
    def depths(self) -> dict[int, int]:
        """How deep each reachable block is in the dominator tree; a root is at 0."""
        return _tree_depths(self.dominators)

    def common_dominator(self, blocks: Iterable[int]) -> int | None:
        """The lowest block that dominates all of them; None when they have different roots."""
        waiting = [(-self.depths.get(block, 0), block) for block in set(blocks)]
        heapq.heapify(waiting)
        known = {block for _, block in waiting}
        while len(waiting) > 1:  # the deepest of them is none that dominates the rest
            depth, block = heapq.heappop(waiting)
            above = self.dominators.get(block, block)
            if above == block:
                return None
            if above not in known:
                known.add(above)
                heapq.heappush(waiting, (depth + 1, above))
        return waiting[0][1] if waiting else None

    def own_blocks(self, loop: Loop) -> list[Block]:
        """The blocks of a loop that are in none of its inner loops, by address."""
        return [self.blocks[index] for index in sorted(loop.blocks) if self._innermost[index] is loop]

    def always_runs(self, block: int, loop: Loop) -> bool:
        """Whether each full iteration executes the block: it dominates every latch."""
        return all(self.dominates(block, latch) for latch in loop.latches)

    def indices(self, blocks: Iterable[Block]) -> list[int]:
        """Instruction indices of some blocks, in order."""
        return [index for block in blocks for index in range(block.start, block.end)]


def target_address(instruction: Instruction) -> int | None:
    """Where a branch, call or BSSY points in its own section; None for elsewhere or for a computed target."""
    for operand in reversed(instruction.operands):
        if operand.kind is OperandKind.LABEL:
            return int(operand.value) if operand.value is not None else None
    return None


def is_jump(instruction: Instruction) -> bool:
    """A branch to a label: also the CALL.REL.NOINC to a plain label, with which ptxas leaves a loop now and then."""
    control = opcode(instruction.opcode).control
    if control is Control.JUMP:
        return True
    if control is not Control.CALL or len(instruction.operands) != 1:
        return False
    return instruction.operands[0].kind is OperandKind.LABEL and instruction.operands[0].name.startswith(".L")


def call_name(instruction: Instruction) -> str | None:
    """The function that a CALL names, without the ``$kernel$`` prefix; None for another opcode.

    A call through a register is named ``(pointer)``.
    """
    if opcode(instruction.opcode).control is not Control.CALL or is_jump(instruction):
        return None
    labels = [operand for operand in instruction.operands if operand.kind is OperandKind.LABEL]
    if not labels or len(instruction.operands) > 1:
        return "(pointer)"
    return plain_name(labels[0].name)


def plain_name(symbol: str) -> str:
    """``__cuda_sm20_div_s64`` for ``$__internal_2_$__cuda_sm20_div_s64``, ``_Z4slowff`` for ``$sw$_Z4slowff``."""
    return symbol.rsplit("$", 1)[-1] if symbol.startswith("$") else symbol


def build_graph(function: Function) -> Graph:
    """Blocks, dominators and loops of a function; linear in its size but for the loops' bodies."""
    blocks, block_of = _blocks(function)
    graph = _digraph(blocks)
    entries = _entries(function, blocks, block_of)
    for entry in entries:
        graph.add_edge(_ROOT, entry)
    dominators = _dominators(graph, entries)
    loops, irreducible = _loops(function, blocks, graph, dominators)
    subroutines = _subroutines(function, blocks, block_of)
    return Graph(function, blocks, block_of, dominators, loops, irreducible, subroutines)


def _blocks(function: Function) -> tuple[tuple[Block, ...], tuple[int, ...]]:
    instructions = function.instructions
    index_of = {instruction.address: number for number, instruction in enumerate(instructions)}
    starts = {0} | {index_of[address] for address in function.subroutines.values() if address in index_of}
    for number, instruction in enumerate(instructions):
        starts.update(_targets(function, instruction, index_of))
        if _ends_block(instruction):
            starts.add(number + 1)
    ordered = sorted(start for start in starts if start < len(instructions))
    block_of = [0] * len(instructions)
    ends = [*ordered[1:], len(instructions)]
    for block, (start, end) in enumerate(zip(ordered, ends, strict=True)):
        block_of[start:end] = [block] * (end - start)
    successors = [
        tuple(block_of[target] for target in _successors(function, end - 1, index_of) if target < len(instructions))
        for end in ends
    ]
    predecessors: list[list[int]] = [[] for _ in ordered]
    for block, following in enumerate(successors):
        for successor in following:
            predecessors[successor].append(block)
    blocks = tuple(
        Block(number, start, end, successors[number], tuple(predecessors[number]))
        for number, (start, end) in enumerate(zip(ordered, ends, strict=True))
    )
    return blocks, tuple(block_of)


def _ends_block(instruction: Instruction) -> bool:
    return opcode(instruction.opcode).control in _BLOCK_ENDS


def _targets(function: Function, instruction: Instruction, index_of: dict[int, int]) -> list[int]:
    """Indices that an instruction may jump to, fall-through not included."""
    row = opcode(instruction.opcode)
    collective = row.control is Control.WARP_BARRIER and row.is_conditional(instruction.modifiers)
    if is_jump(instruction) or collective:
        target = target_address(instruction)
        return [index_of[target]] if target in index_of else []
    if row.control is Control.INDIRECT:
        addresses = [function.labels.get(name) for name in instruction.targets]
        return [index_of[address] for address in addresses if address in index_of]
    return []


def _successors(function: Function, last: int, index_of: dict[int, int]) -> list[int]:
    instruction = function.instructions[last]
    targets = _targets(function, instruction, index_of)
    if is_jump(instruction):
        never = instruction.predicate is not None and instruction.predicate.is_zero and instruction.predicate.negate
        if never:
            return [last + 1]
        return list(dict.fromkeys([*targets, last + 1])) if is_conditional_branch(instruction) else targets
    control = opcode(instruction.opcode).control
    if control is Control.INDIRECT or control in _ENDS:
        return [*targets, last + 1] if guarded(instruction) else targets
    return [*targets, last + 1]


def _digraph(blocks: tuple[Block, ...]) -> nx.DiGraph[int]:
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(blocks)))
    graph.add_edges_from((block.index, successor) for block in blocks for successor in block.successors)
    return graph


def _entries(function: Function, blocks: tuple[Block, ...], block_of: tuple[int, ...]) -> list[int]:
    """The kernel's entry, and the subroutines'."""
    if not blocks:
        return []
    index_of = {instruction.address: number for number, instruction in enumerate(function.instructions)}
    starts = [index_of[address] for address in function.subroutines.values() if address in index_of]
    return list(dict.fromkeys([0, *(block_of[start] for start in starts)]))


def _dominators(graph: nx.DiGraph[int], entries: list[int]) -> dict[int, int]:
    import networkx as nx

    if not entries:
        return {}
    found = dict(nx.immediate_dominators(graph, _ROOT))
    return {
        block: block if above is None or above == _ROOT else above for block, above in found.items() if block != _ROOT
    }


def _loops(
    function: Function, blocks: tuple[Block, ...], graph: nx.DiGraph[int], dominators: dict[int, int]
) -> tuple[tuple[Loop, ...], bool]:
    latches: dict[int, list[int]] = {}
    depth_of = _tree_depths(dominators)
    for block in blocks:
        for successor in block.successors:
            if block.index in dominators and _is_above(successor, block.index, dominators, depth_of):
                latches.setdefault(successor, []).append(block.index)
    padding = _padding_block(function, blocks)
    latches.pop(padding, None)
    bodies = {header: _body(blocks, header, ends) for header, ends in latches.items()}
    irreducible = _has_other_cycle(graph, latches, dominators, padding)
    return _nested(function, blocks, latches, bodies), irreducible


def _tree_depths(dominators: dict[int, int]) -> dict[int, int]:
    """How deep each block is in the dominator tree."""
    depths: dict[int, int] = {}
    for block in dominators:
        path = []
        current = block
        while current not in depths and dominators[current] != current:
            path.append(current)
            current = dominators[current]
        depth = depths.setdefault(current, 0)
        for step in reversed(path):
            depth += 1
            depths[step] = depth
    return depths


def _is_above(above: int, below: int, dominators: dict[int, int], depth_of: dict[int, int]) -> bool:
    while depth_of[below] > depth_of[above]:
        below = dominators[below]
    return below == above


def _padding_block(function: Function, blocks: tuple[Block, ...]) -> int:
    """The self-branch after the last instruction; -1 when there is none."""
    body = function.body_length
    for block in reversed(blocks):
        if block.start >= body:
            if function.instructions[block.start].opcode == "BRA":
                return block.index
        else:
            break
    return -1


def _body(blocks: tuple[Block, ...], header: int, latches: list[int]) -> frozenset[int]:
    """The blocks that reach a latch without passing the header."""
    body = {header}
    waiting = [latch for latch in latches if latch != header]
    while waiting:
        block = waiting.pop()
        if block not in body:
            body.add(block)
            waiting.extend(blocks[block].predecessors)
    return frozenset(body)


def _has_other_cycle(
    graph: nx.DiGraph[int], latches: dict[int, list[int]], dominators: dict[int, int], padding: int
) -> bool:
    """Whether a cycle is left once every back edge is taken out."""
    import networkx as nx

    rest: nx.DiGraph[int] = nx.DiGraph()
    rest.add_edges_from(
        (start, end)
        for start, end in graph.edges
        if start in dominators and start not in latches.get(end, ()) and end != padding
    )
    return not nx.is_directed_acyclic_graph(rest)


def _nested(
    function: Function, blocks: tuple[Block, ...], latches: dict[int, list[int]], bodies: dict[int, frozenset[int]]
) -> tuple[Loop, ...]:
    order = sorted(bodies, key=lambda header: (blocks[header].start, -len(bodies[header])))
    number_of = {header: number for number, header in enumerate(order, 1)}
    parents = {header: _parent(header, bodies) for header in order}
    depths: dict[int, int] = {}
    for header in sorted(order, key=lambda one: -len(bodies[one])):
        parent = parents[header]
        depths[header] = 1 if parent is None else depths[parent] + 1
    loops = []
    for header in order:
        body, parent = bodies[header], parents[header]
        children = tuple(number_of[inner] for inner in order if parents[inner] == header)
        loops.append(
            Loop(
                number=number_of[header],
                header=header,
                blocks=body,
                latches=tuple(sorted(latches[header])),
                exits=tuple(block for block in sorted(body) if _leaves(function, blocks[block], body)),
                parent=number_of[parent] if parent is not None else None,
                depth=depths[header],
                children=children,
            )
        )
    return tuple(loops)


def _parent(header: int, bodies: dict[int, frozenset[int]]) -> int | None:
    """The header of the smallest other loop around this one."""
    around = [other for other, body in bodies.items() if other != header and header in body]
    return min(around, key=lambda other: len(bodies[other])) if around else None


def _leaves(function: Function, block: Block, body: frozenset[int]) -> bool:
    if any(successor not in body for successor in block.successors):
        return True
    return opcode(function.instructions[block.end - 1].opcode).control in _ENDS


def _subroutines(function: Function, blocks: tuple[Block, ...], block_of: tuple[int, ...]) -> dict[int, str]:
    """Blocks that lie in a local subroutine: from its symbol to the next one."""
    entries = sorted((address, name) for name, address in function.subroutines.items())
    found: dict[int, str] = {}
    for block in blocks:
        address = function.instructions[block.start].address
        inside = [name for start, name in entries if start <= address]
        if inside and block.start < function.body_length:
            found[block.index] = plain_name(inside[-1])
    return found
