"""Live registers at each instruction, by the usual backward analysis over the blocks.

Calls of local subroutines are followed: a call leads to the subroutine's entry, its RET to after every call of it, so
that what the caller keeps in registers is live in the subroutine as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuprof.sass.cfg import Graph, is_jump, target_address
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.opcodes import guarded


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
    following = _following(graph)
    live_in = _live_in(graph, flow, following)
    counts = [0] * len(graph.function.instructions)
    for block in graph.blocks:
        live: set[Register] = set()
        for successor in following[block.index]:
            live |= live_in[successor]
        for index in range(block.end - 1, block.start - 1, -1):
            written = {write for write in flow.roles[index].writes if write[0] == "R"}
            read = {register for register in flow.roles[index].reads if register[0] == "R"}
            counts[index] = len(live | written | read) if graph.is_reachable(block.index) else 0
            live = (live if guarded(graph.function.instructions[index]) else live - written) | read
    return Liveness(tuple(counts))


def _following(graph: Graph) -> list[tuple[int, ...]]:
    """Successors of each block with calls and returns joined up; other calls only fall through."""
    code = graph.function.instructions
    entries = set(graph.function.subroutines.values())
    block_at = {code[block.start].address: block.index for block in graph.blocks}
    following = [block.successors for block in graph.blocks]
    behind: dict[str, list[int]] = {}
    for block in graph.blocks:
        last = code[block.end - 1]
        target = target_address(last) if last.opcode == "CALL" and not is_jump(last) else None
        if target in entries and target in block_at:
            entry = block_at[target]
            behind.setdefault(graph.subroutine_of.get(entry, ""), []).extend(block.successors)
            kept = block.successors if guarded(last) else ()
            following[block.index] = (entry, *kept)
    for block in graph.blocks:
        if code[block.end - 1].opcode == "RET":
            name = graph.subroutine_of.get(block.index, "")
            following[block.index] = tuple(dict.fromkeys((*block.successors, *behind.get(name, ()))))
    return following


def _live_in(graph: Graph, flow: Dataflow, following: list[tuple[int, ...]]) -> list[set[Register]]:
    uses: list[set[Register]] = []
    kills: list[set[Register]] = []
    for block in graph.blocks:
        used: set[Register] = set()
        killed: set[Register] = set()
        for index in range(block.start, block.end):
            used |= {read for read in flow.roles[index].reads if read[0] == "R"} - killed
            if not guarded(graph.function.instructions[index]):
                killed |= {write for write in flow.roles[index].writes if write[0] == "R"}
        uses.append(used)
        kills.append(killed)
    live = [set(used) for used in uses]
    before: list[list[int]] = [[] for _ in graph.blocks]
    for number, successors in enumerate(following):
        for successor in successors:
            before[successor].append(number)
    waiting = list(range(len(graph.blocks)))
    while waiting:
        number = waiting.pop()
        out: set[Register] = set()
        for successor in following[number]:
            out |= live[successor]
        now = uses[number] | (out - kills[number])
        if now != live[number]:
            live[number] = now
            waiting.extend(before[number])
    return live
