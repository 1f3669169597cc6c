"""Reaching definitions on demand: where the value in a register at an instruction was written.

Answers are found by walking the blocks backwards from the instruction asked about, so that nothing is computed for
registers nobody asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuprof.sass.cfg import Graph
from gpuprof.sass.opcodes import guarded
from gpuprof.sass.roles import Register, Roles, roles_of_all

#: How many blocks one question may visit; beyond it the answer is "unknown".
_MOST_BLOCKS = 4000


@dataclass(frozen=True)
class Definitions:
    """``sites``: indices of the instructions that may have written it; ``undefined``: a way in writes it nowhere."""

    sites: tuple[int, ...]
    undefined: bool = False
    complete: bool = True


@dataclass
class Dataflow:
    """The registers read and written by each instruction, and the questions about them. Answers are remembered."""

    graph: Graph
    roles: list[Roles] = field(default_factory=list)
    #: chains of accumulation by opcode and stretch of code, as ``loops.chain_lengths`` keeps them
    chains: dict[tuple[str, tuple[int, int, int]], list[int]] = field(default_factory=dict)
    _by_block: dict[tuple[int, Register], tuple[tuple[int, ...], bool]] = field(default_factory=dict)
    _at_entry: dict[tuple[int, Register], Definitions] = field(default_factory=dict)
    _writers: dict[int, dict[Register, list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.roles:
            self.roles = roles_of_all(self.graph.function.instructions)

    def definitions(self, index: int, register: Register) -> Definitions:
        """Who may have written ``register`` as instruction ``index`` reads it."""
        block = self.graph.block_of[index]
        sites, killed = self._in_block(block, register, index)
        if killed:
            return Definitions(sites)
        above = self._entering(block, register)
        return Definitions(tuple(dict.fromkeys((*sites, *above.sites))), above.undefined, above.complete)

    def _entering(self, block: int, register: Register) -> Definitions:
        """Who may have written ``register`` as the block begins. Remembered: slices ask the same again and again."""
        key = (block, register)
        if key not in self._at_entry:
            self._at_entry[key] = self._search(block, register)
        return self._at_entry[key]

    def _search(self, block: int, register: Register) -> Definitions:
        found: list[int] = []
        seen: set[int] = set()
        waiting = list(self.graph.blocks[block].predecessors)
        undefined = self._is_entry(block)
        while waiting:
            current = waiting.pop()
            if current in seen or not self.graph.is_reachable(current):
                continue
            seen.add(current)
            if len(seen) > _MOST_BLOCKS:
                return Definitions(tuple(dict.fromkeys(found)), undefined, complete=False)
            sites, killed = self._whole_block(current, register)
            found.extend(sites)
            if not killed:
                undefined = undefined or self._is_entry(current)
                waiting.extend(self.graph.blocks[current].predecessors)
        return Definitions(tuple(dict.fromkeys(found)), undefined)

    def _is_entry(self, block: int) -> bool:
        return self.graph.dominators.get(block) == block

    def _whole_block(self, block: int, register: Register) -> tuple[tuple[int, ...], bool]:
        key = (block, register)
        if key not in self._by_block:
            self._by_block[key] = self._in_block(block, register, self.graph.blocks[block].end)
        return self._by_block[key]

    def _in_block(self, block: int, register: Register, before: int) -> tuple[tuple[int, ...], bool]:
        """Writers of a register in a block, last first, up to one that certainly writes; whether there is one."""
        writers = self._block_writers(block).get(register, ())
        sites = []
        for index in reversed(writers):
            if index >= before:
                continue
            sites.append(index)
            if not guarded(self.graph.function.instructions[index]):
                return tuple(sites), True
        return tuple(sites), False

    def _block_writers(self, block: int) -> dict[Register, list[int]]:
        found = self._writers.get(block)
        if found is None:
            found = self._writers[block] = {}
            for index in range(self.graph.blocks[block].start, self.graph.blocks[block].end):
                for register in self.roles[index].writes:
                    found.setdefault(register, []).append(index)
        return found
