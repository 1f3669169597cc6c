"""Live registers at each instruction, by the usual backward analysis over the blocks."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprof.sass.cfg import Graph
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.opcodes import guarded
from gpuprof.sass.roles import Register


@dataclass(frozen=True)
class Liveness:
    """Counts per instruction of the general registers that hold a value still needed, as it executes."""

    counts: tuple[int, ...]

    @property
    def peak(self) -> int:
        return max(self.counts, default=0)

    @property
    def peak_index(self) -> int:
        """Index of the first instruction with the most live registers."""
        return self.counts.index(self.peak) if self.counts else 0


def liveness(graph: Graph, flow: Dataflow) -> Liveness:
    """Live general registers (file R) at each instruction: those it reads or writes and those live across it."""
    live_in = _live_in(graph, flow)
    counts = [0] * len(graph.function.instructions)
    for block in graph.blocks:
        live: set[Register] = set()
        for successor in block.successors:
            live |= live_in[successor]
        for index in range(block.end - 1, block.start - 1, -1):
            written = {one for one in flow.roles[index].writes if one[0] == "R"}
            read = {one for one in flow.roles[index].reads if one[0] == "R"}
            counts[index] = len(live | written | read) if graph.is_reachable(block.index) else 0
            live = (live if guarded(graph.function.instructions[index]) else live - written) | read
    return Liveness(tuple(counts))


def _live_in(graph: Graph, flow: Dataflow) -> list[set[Register]]:
    uses: list[set[Register]] = []
    kills: list[set[Register]] = []
    for block in graph.blocks:
        used: set[Register] = set()
        killed: set[Register] = set()
        for index in range(block.start, block.end):
            used |= {one for one in flow.roles[index].reads if one[0] == "R"} - killed
            if not guarded(graph.function.instructions[index]):
                killed |= {one for one in flow.roles[index].writes if one[0] == "R"}
        uses.append(used)
        kills.append(killed)
    live = [set(used) for used in uses]
    waiting = list(range(len(graph.blocks)))
    while waiting:
        number = waiting.pop()
        out: set[Register] = set()
        for successor in graph.blocks[number].successors:
            out |= live[successor]
        now = uses[number] | (out - kills[number])
        if now != live[number]:
            live[number] = now
            waiting.extend(graph.blocks[number].predecessors)
    return live
