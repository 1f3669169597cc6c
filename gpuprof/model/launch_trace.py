"""Traced blocks as the timeline wants them: each warp's runs and accesses together, long loops shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator import trace as traces
from gpuprof.isa.opcodes import OPCODES, Access

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.trace import Trace
    from gpuprof.sass.model import Instruction


class AccessKind(IntEnum):
    """What an access does on its way to memory; order of runtime/machine.hpp."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    LOCAL_LOAD = 3
    LOCAL_STORE = 4
    SHARED = 5
    COPY_LOAD = 6
    COPY_STORE = 7


#: Kinds that read global memory, and that write it.
READS, WRITES = (AccessKind.LOAD, AccessKind.COPY_LOAD), (AccessKind.STORE, AccessKind.ATOMIC)
RUN = np.dtype([("first", np.int32), ("last", np.int32)])
#: ``Access`` of runtime/machine.hpp; ``run`` counts from the warp's first.
TIMED_ACCESS = np.dtype(
    [(name, np.int32) for name in ("run", "site", "kind", "passes", "sectors", "pad")] + [("first_sector", np.int64)]
)
#: A loop is shortened only if it goes round so often.
_FEWEST_TURNS = 12
#: Local memory of traced warps lies above every global address, in sectors.
_LOCAL_BASE = 1 << 28


@dataclass(frozen=True, eq=False)
class LaunchTrace:
    """Runs and accesses by warp: those of warp w are at ``runs_of[w]`` to ``runs_of[w + 1]``."""

    blocks: NDArray[np.int64]
    warps: int  #: per block
    runs: NDArray[np.void]  #: of ``RUN``
    lanes: NDArray[np.int32]  #: active in each run
    runs_of: NDArray[np.int64]
    accesses: NDArray[np.void]  #: of ``TIMED_ACCESS``
    accesses_of: NDArray[np.int64]
    bases: NDArray[np.int64]  #: byte offset of each access's first lane
    shapes: NDArray[np.uint32]  #: hash of the other lanes' distances from it, and how many they are
    sectors: NDArray[np.int64]

    @property
    def instructions(self) -> int:
        """Warp instructions of all traced blocks."""
        return int((self.runs["last"] - self.runs["first"]).sum())

    def executed(self, count: int) -> NDArray[np.int64]:
        """How often each of the program's ``count`` instructions was executed, by warps."""
        steps = np.zeros(count + 1, np.int64)
        np.add.at(steps, self.runs["first"], 1)
        np.add.at(steps, self.runs["last"], -1)
        return np.cumsum(steps)[:-1]


def launch_trace(trace: Trace, instructions: Sequence[Instruction]) -> LaunchTrace:
    """A trace sorted by warp."""
    warps = len(trace.blocks) * trace.warps
    order = np.argsort(trace.runs["warp"], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    runs = np.zeros(len(order), RUN)
    bounds = trace.segments[trace.runs["segment"][order]]
    runs["first"], runs["last"] = bounds[:, 0], bounds[:, 1]
    runs_of = _starts(trace.runs["warp"], warps)
    by_warp = np.argsort(trace.accesses["warp"], kind="stable")
    found = trace.accesses[by_warp]
    accesses = np.zeros(len(found), TIMED_ACCESS)
    accesses["run"] = place[found["run"]] - runs_of[found["warp"]]
    accesses["site"], accesses["passes"] = found["site"], found["passes"]
    accesses["sectors"], accesses["first_sector"] = found["sectors"], found["first_sector"]
    accesses["kind"] = _kinds(found, instructions)
    sectors = trace.sectors.astype(np.int64)
    _place_local(sectors, found)
    return LaunchTrace(
        blocks=trace.blocks,
        warps=trace.warps,
        runs=runs,
        lanes=trace.runs["lanes"][order].astype(np.int32),
        runs_of=runs_of,
        accesses=accesses,
        accesses_of=_starts(trace.accesses["warp"], warps),
        bases=found["base"].astype(np.int64),
        shapes=found["shape"] ^ (found["lanes"] << np.uint32(26)),
        sectors=sectors,
    )


def _starts(warp: NDArray[np.uint32], warps: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(warp, minlength=warps)))).astype(np.int64)


def _kinds(found: NDArray[np.void], instructions: Sequence[Instruction]) -> NDArray[np.int32]:
    """``AccessKind`` of each access, by its space and what its instruction does."""
    rows = [OPCODES.get(instruction.opcode) for instruction in instructions]
    store = np.array([row is not None and row.is_store for row in rows])[found["site"]]
    atomic = np.array([row is not None and row.is_atomic for row in rows])[found["site"]]
    copy = np.array([row is not None and row.access is Access.COPY for row in rows])[found["site"]]
    space = found["space"]
    globally = np.select([atomic, store, copy], [AccessKind.ATOMIC, AccessKind.STORE, AccessKind.COPY_LOAD], 0)
    locally = np.where(store, AccessKind.LOCAL_STORE, AccessKind.LOCAL_LOAD)
    others = [space == traces.SHARED, space == traces.COPY, space == traces.LOCAL]
    kinds = np.select(others, [AccessKind.SHARED, AccessKind.COPY_STORE, locally], globally)
    return kinds.astype(np.int32)


def _place_local(sectors: NDArray[np.int64], found: NDArray[np.void]) -> None:
    """Give every warp's local memory sectors of its own."""
    local = np.flatnonzero(found["space"] == traces.LOCAL)
    if not len(local):
        return
    counts = found["sectors"][local].astype(np.int64)
    where = np.repeat(found["first_sector"][local].astype(np.int64), counts)
    where += np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    size = int(sectors[where].max()) + 1
    sectors[where] += _LOCAL_BASE + np.repeat(found["warp"][local].astype(np.int64), counts) * size


def is_global(sectors: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether sectors belong to global memory."""
    return np.asarray(sectors < _LOCAL_BASE)


@dataclass(frozen=True)
class Loop:
    """A stretch of every warp's runs that repeats: ``turns`` times ``period`` runs from ``start`` (per warp) on."""

    starts: tuple[int, ...]
    period: int
    turns: int
    all_turns: int = 0  #: that the kernel goes round; more than ``turns`` where the trace is shortened


def main_loop(trace: LaunchTrace) -> Loop | None:
    """The loop that all warps go round equally often and in which most of their time passes; None without one.

    Every turn has the same runs of code and as many accesses: what is left out may be continued.
    """
    if trace.runs_of[1] == trace.runs_of[0]:
        return None
    found = _longest_period(trace.runs[trace.runs_of[0] : trace.runs_of[1]]["first"])
    if found is None:
        return None
    first, period, turns = found
    head = trace.runs["first"][trace.runs_of[0] + first : trace.runs_of[0] + first + period]
    starts = []
    for warp in range(len(trace.runs_of) - 1):
        begin, end = int(trace.runs_of[warp]), int(trace.runs_of[warp + 1])
        own = trace.runs["first"][begin:end]
        place = first if np.array_equal(own[first : first + period], head) else _find(own, head)
        if place < 0 or place + period * turns > len(own):
            return None
        if not np.array_equal(own[place : place + period * (turns - 1)], own[place + period : place + period * turns]):
            return None
        starts.append(place)
    loop = Loop(tuple(starts), period, turns, turns)
    return loop if _equal_accesses(trace, loop) else None


def _find(runs: NDArray[np.int32], head: NDArray[np.int32]) -> int:
    for place in np.flatnonzero(runs == head[0])[:64].tolist():
        if np.array_equal(runs[place : place + len(head)], head):
            return int(place)
    return -1


def _longest_period(runs: NDArray[np.int32]) -> tuple[int, int, int] | None:
    """(start, period, turns) of the repetition that covers most of the runs, the longest period first."""
    best: tuple[int, int, int] | None = None
    values, counts = np.unique(runs, return_counts=True)
    for value in values[np.argsort(counts)][:64]:
        places = np.flatnonzero(runs == value)
        if len(places) < _FEWEST_TURNS:
            continue
        period = int(np.median(np.diff(places)))
        equal = runs[:-period] == runs[period:]
        breaks = np.concatenate(([-1], np.flatnonzero(~equal), [len(equal)]))
        longest = int(np.argmax(np.diff(breaks)))
        start, length = int(breaks[longest]) + 1, int(breaks[longest + 1] - breaks[longest]) - 1 + period
        turns = length // period
        if turns >= _FEWEST_TURNS and (best is None or turns * period > best[1] * best[2] * 1.02):
            best = (start, period, turns)
    return best


def _equal_accesses(trace: LaunchTrace, loop: Loop) -> bool:
    """Whether the first warp's turns have as many accesses each, of as many sectors and passes, within a tenth."""
    own = trace.accesses[: trace.accesses_of[1]]
    turn = (own["run"] - loop.starts[0]) // loop.period
    inside = (own["run"] >= loop.starts[0]) & (turn < loop.turns)
    counts = np.bincount(turn[inside], minlength=loop.turns)[: loop.turns]
    return bool(counts.min() == counts.max()) if len(counts) else True


def only_block(trace: LaunchTrace, number: int) -> LaunchTrace:
    """One of the traced blocks alone; its sectors stay where they are."""
    first, last = number * trace.warps, (number + 1) * trace.warps
    runs = slice(int(trace.runs_of[first]), int(trace.runs_of[last]))
    accesses = slice(int(trace.accesses_of[first]), int(trace.accesses_of[last]))
    return replace(
        trace,
        blocks=trace.blocks[number : number + 1],
        runs=trace.runs[runs],
        lanes=trace.lanes[runs],
        runs_of=trace.runs_of[first : last + 1] - trace.runs_of[first],
        accesses=trace.accesses[accesses],
        accesses_of=trace.accesses_of[first : last + 1] - trace.accesses_of[first],
        bases=trace.bases[accesses],
        shapes=trace.shapes[accesses],
    )


def kept_accesses(trace: LaunchTrace, loop: Loop, turns: int) -> NDArray[np.bool_]:
    """Which accesses ``shortened`` keeps."""
    keep = np.ones(len(trace.accesses), bool)
    cut = loop.period * (loop.turns - turns)
    for warp, start in enumerate(loop.starts):
        first = start + loop.period * turns
        own = slice(int(trace.accesses_of[warp]), int(trace.accesses_of[warp + 1]))
        run = trace.accesses["run"][own]
        keep[own] = (run < first) | (run >= first + cut)
    return keep


def shortened(trace: LaunchTrace, loop: Loop, turns: int) -> LaunchTrace:
    """The trace with only the first ``turns`` turns of the loop."""
    keep_run = np.ones(len(trace.runs), bool)
    keep_access = kept_accesses(trace, loop, turns)
    accesses = trace.accesses.copy()
    cut = loop.period * (loop.turns - turns)
    for warp, start in enumerate(loop.starts):
        first = start + loop.period * turns
        begin = int(trace.runs_of[warp])
        keep_run[begin + first : begin + first + cut] = False
        own = slice(int(trace.accesses_of[warp]), int(trace.accesses_of[warp + 1]))
        run = accesses["run"][own]
        accesses["run"][own] = np.where(run >= first + cut, run - cut, run)
    runs_of = np.concatenate(([0], np.cumsum(keep_run)))[trace.runs_of]
    accesses_of = np.concatenate(([0], np.cumsum(keep_access)))[trace.accesses_of]
    return replace(
        trace,
        runs=trace.runs[keep_run],
        lanes=trace.lanes[keep_run],
        runs_of=runs_of.astype(np.int64),
        accesses=accesses[keep_access],
        accesses_of=accesses_of.astype(np.int64),
        bases=trace.bases[keep_access],
        shapes=trace.shapes[keep_access],
    )
