"""Reaching definitions: where the value in a register at an instruction was written.

Writers are numbered and the sets of them are the bits of whole numbers, so that all registers go around the blocks
together: a few operations per block, whatever the number of registers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from gpuprof.sass.cfg import Graph
from gpuprof.sass.def_use import Register, Roles, roles_of_all
from gpuprof.sass.opcodes import guarded


@dataclass(frozen=True)
class Definitions:
    """``sites``: indices of the instructions that may have written it; ``undefined``: a way in writes it nowhere."""

    sites: tuple[int, ...]
    undefined: bool = False


@dataclass
class Dataflow:
    """The registers read and written by each instruction, and the questions about them. Answers are remembered."""

    graph: Graph
    roles: list[Roles] = field(default_factory=list)
    #: chains of accumulation by opcode and stretch of code: the indices of each, as ``loops`` keeps them
    chains: dict[tuple[str, tuple[int, int, int]], list[list[int]]] = field(default_factory=dict)
    _at_entry: dict[tuple[int, Register], Definitions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.roles:
            self.roles = roles_of_all(self.graph.function.instructions)

    def definitions(self, index: int, register: Register) -> Definitions:
        """Who may have written ``register`` as instruction ``index`` reads it; nearest writers first."""
        block = self.graph.block_of[index]
        sites = []
        for site in reversed(self._writers[block].get(register, ())):
            if site < index:
                sites.append(site)
                if not guarded(self.graph.function.instructions[site]):
                    return Definitions(tuple(sites))
        above = self._entering(block, register)
        if not sites:
            return above
        return Definitions(tuple(dict.fromkeys((*sites, *above.sites))), above.undefined)

    def _entering(self, block: int, register: Register) -> Definitions:
        """Who may have written ``register`` as the block begins. Remembered: slices ask the same again and again."""
        key = (block, register)
        if key not in self._at_entry:
            reaching = self._reaching
            numbers = _ones(reaching.entering[block] & reaching.of_register.get(register, 0))
            sites = tuple(reaching.site[number] for number in numbers)
            undefined = self._is_entry(block) if register not in reaching.of_register else -1 in sites
            self._at_entry[key] = Definitions(tuple(site for site in sites if site >= 0), undefined)
        return self._at_entry[key]

    def _is_entry(self, block: int) -> bool:
        return self.graph.dominators.get(block) == block

    @cached_property
    def _writers(self) -> list[dict[Register, list[int]]]:
        """The writers of each register in each block, by address."""
        found: list[dict[Register, list[int]]] = []
        for block in self.graph.blocks:
            writers: dict[Register, list[int]] = {}
            for index in range(block.start, block.end):
                for register in self.roles[index].writes:
                    writers.setdefault(register, []).append(index)
            found.append(writers)
        return found

    @cached_property
    def _reaching(self) -> _Reaching:
        return _reaching(self)

    def leaving(self, block: int) -> dict[Register, tuple[list[int], bool]]:
        """The writers of a block that its end may see, by register, and whether nothing from above is left."""
        return {register: self._last(sites) for register, sites in self._writers[block].items()}

    def _last(self, sites: list[int]) -> tuple[list[int], bool]:
        for position in range(len(sites) - 1, -1, -1):
            if not guarded(self.graph.function.instructions[sites[position]]):
                return sites[position:], True
        return sites, False


@dataclass(frozen=True)
class _Reaching:
    """Bit n of a set stands for ``site[n]``: a writer, or -1 for a register as it is when the function begins."""

    site: list[int]
    of_register: dict[Register, int]
    entering: list[int]  #: by block


def _reaching(flow: Dataflow) -> _Reaching:
    graph = flow.graph
    site: list[int] = []
    of_register: dict[Register, int] = {}
    made: list[int] = []
    lasting: list[dict[Register, bool]] = []
    for block in graph.blocks:
        leaving = flow.leaving(block.index) if graph.is_reachable(block.index) else {}
        bits = 0
        for register, (sites, _) in leaving.items():
            if register not in of_register:
                of_register[register] = 1 << len(site)
                site.append(-1)
            new = ((1 << len(sites)) - 1) << len(site)
            of_register[register] |= new
            bits |= new
            site.extend(sites)
        made.append(bits)
        lasting.append({register: killed for register, (_, killed) in leaving.items()})
    at_start = sum(1 << number for number, index in enumerate(site) if index < 0)
    removed = [_union(of_register[one] for one, killed in registers.items() if killed) for registers in lasting]
    return _Reaching(site, of_register, _settle(graph, made, removed, at_start))


def _union(sets: Iterable[int]) -> int:
    total = 0
    for one in sets:
        total |= one
    return total


def _settle(graph: Graph, made: list[int], removed: list[int], at_start: int) -> list[int]:
    """What enters each block, once going around changes nothing any more; blocks by address, near their order."""
    entering = [at_start if graph.dominators.get(block.index) == block.index else 0 for block in graph.blocks]
    waiting = [block.index for block in reversed(graph.blocks) if graph.is_reachable(block.index)]
    heapq.heapify(waiting)
    queued = set(waiting)
    while waiting:
        number = heapq.heappop(waiting)
        queued.discard(number)
        leaving = made[number] | (entering[number] & ~removed[number])
        for successor in graph.blocks[number].successors:
            if leaving | entering[successor] != entering[successor]:
                entering[successor] |= leaving
                if successor not in queued:
                    queued.add(successor)
                    heapq.heappush(waiting, successor)
    return entering


def _ones(bits: int) -> list[int]:
    """The numbers of the bits that are set, from the lowest."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
