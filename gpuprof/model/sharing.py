"""Which sectors the blocks of a grid share, and so what each sector costs the DRAM and when it is there.

Four blocks are traced: one in the middle, and its neighbours along x, y and z. Where an access moves by the same number
of bytes for all lanes, its address is affine in the block's index, and the sectors of every other block follow. A
sector is fetched once for all blocks that run at the same time; one that an earlier wave fetched is in the L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import Dim3
from gpuprof.model.launch_trace import READS, WRITES, LaunchTrace, is_global
from gpuprof.model.timeline import NEVER, Touched, load_rounds, touched

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECTOR_BYTES = 32
#: The DRAM is read in pairs of sectors.
_PAIR_BYTES = 64.0
#: Sectors of local memory that a block has for itself, at least.
_LOCAL_SPAN = 1 << 22
#: Different strides above which addresses are taken to depend on data.
_MAX_STRIDES = 256
#: Sectors times blocks that are counted at most, and the span of addresses in sectors.
_MAX_TOUCHES, _MAX_SPAN = 400_000_000, 1 << 26


@dataclass(frozen=True, eq=False)
class Affine:
    """Accesses whose addresses move alike with the block: per index of the grid ``strides`` bytes."""

    reads: bool
    strides: Dim3
    sectors: NDArray[np.int64]  #: of the block in the middle, ascending
    rounds: NDArray[np.int32]  #: of each: the first in which the block touches it
    total: int  #: of its warps, each counted on its own


@dataclass(frozen=True, eq=False)
class Footprint:
    """Where all blocks of a grid go. ``irregular``: the share of accesses that the middle block's do not tell."""

    grid: Dim3
    middle: Dim3
    groups: tuple[Affine, ...]
    irregular: float
    instructions_per_block: float
    strides: NDArray[np.int64]  #: (accesses of the middle block, 3): bytes per index of the grid
    alike: bool  #: whether the neighbours execute the same code


def neighbours(grid: Dim3) -> tuple[Dim3, list[tuple[int, int]], list[int]]:
    """(the block in the middle, (axis, direction) of its neighbours, block numbers of all)."""
    x, y, _ = grid
    middle = (grid[0] // 2, grid[1] // 2, grid[2] // 2)
    axes = [(axis, 1 if middle[axis] + 1 < grid[axis] else -1) for axis in range(3) if grid[axis] > 1]
    places = [middle]
    for axis, step in axes:
        place = list(middle)
        place[axis] += step
        places.append((place[0], place[1], place[2]))
    return middle, axes, [a + x * (b + y * c) for a, b, c in places]


def footprint(trace: LaunchTrace, grid: Dim3, code: NDArray[np.void]) -> Footprint:
    """Of a trace of the blocks that ``neighbours`` names; ``code`` is the kernel's table."""
    middle, axes, _ = neighbours(grid)
    blocks = len(trace.blocks)
    bounds = trace.accesses_of[:: trace.warps]
    first = slice(int(bounds[0]), int(bounds[1]))
    mine, kinds = trace.accesses[first], trace.accesses["kind"][first]
    own = np.flatnonzero(np.isin(kinds, (*READS, *WRITES)))
    regular = np.ones(len(own), bool)
    strides = np.zeros((len(own), 3), np.int64)
    for number in range(1, blocks):
        theirs = slice(int(bounds[number]), int(bounds[number + 1]))
        if len(trace.accesses[theirs]) != len(mine) or not np.array_equal(trace.accesses["site"][theirs], mine["site"]):
            regular[:] = False
            continue
        regular &= (trace.shapes[theirs] == trace.shapes[first])[own]
        axis, step = axes[number - 1]
        strides[:, axis] = (trace.bases[theirs] - trace.bases[first])[own] * step
    every = np.zeros((len(mine), 3), np.int64)
    every[own] = strides
    lengths = np.diff(trace.runs_of).reshape(blocks, trace.warps)
    alike = bool((lengths == lengths[0]).all())
    reads = np.isin(kinds[own], READS)
    groups = _groups(trace, own, regular, strides, reads, load_rounds(trace, code))
    if len(groups) > _MAX_STRIDES:
        groups, regular = (), np.zeros(len(own), bool)
    irregular = 1 - float(regular.mean()) if len(own) else 0.0
    return Footprint(grid, middle, tuple(groups), irregular, trace.instructions / blocks, every, alike)


def replicated(trace: LaunchTrace, found: Footprint, strides: NDArray[np.int64], blocks: Sequence[int]) -> LaunchTrace:
    """The middle block's trace (the first of ``trace``) as that of other blocks: sectors moved, all else the same.

    ``strides`` are those of the trace's accesses.
    """
    x, y, _ = found.grid
    count = len(blocks)
    runs, accesses = int(trace.runs_of[trace.warps]), int(trace.accesses_of[trace.warps])
    sectors = sectors_of(trace, np.arange(accesses))
    lengths = trace.accesses["sectors"][:accesses].astype(np.int64)
    own = trace.accesses[:accesses].copy()
    own["first_sector"] = np.cumsum(lengths) - lengths
    everyone = np.tile(own, count)
    everyone["first_sector"] += np.repeat(np.arange(count) * len(sectors), accesses)
    moved = []
    local = ~is_global(sectors)
    for number, block in enumerate(blocks):
        place = np.array((block % x, block // x % y, block // (x * y))) - np.array(found.middle)
        shift = np.repeat(strides[:accesses] @ place, lengths)
        there = (sectors * SECTOR_BYTES + shift) >> 5
        moved.append(np.where(local, sectors + number * _LOCAL_SPAN, np.maximum(there, 0)))
    runs_of = [trace.runs_of[:1], *(trace.runs_of[1 : trace.warps + 1] + number * runs for number in range(count))]
    accesses_of = [
        trace.accesses_of[:1],
        *(trace.accesses_of[1 : trace.warps + 1] + number * accesses for number in range(count)),
    ]
    return LaunchTrace(
        blocks=np.asarray(blocks, np.int64),
        warps=trace.warps,
        runs=np.tile(trace.runs[:runs], count),
        lanes=np.tile(trace.lanes[:runs], count),
        runs_of=np.concatenate(runs_of),
        accesses=everyone,
        accesses_of=np.concatenate(accesses_of),
        bases=np.tile(trace.bases[:accesses], count),
        shapes=np.tile(trace.shapes[:accesses], count),
        sectors=np.concatenate(moved),
    )


def _groups(
    trace: LaunchTrace,
    own: NDArray[np.int64],
    regular: NDArray[np.bool_],
    strides: NDArray[np.int64],
    reads: NDArray[np.bool_],
    rounds: NDArray[np.int32],
) -> Sequence[Affine]:
    keys = np.column_stack((reads[regular], strides[regular]))
    if not len(keys):
        return ()
    found, which = np.unique(keys, axis=0, return_inverse=True)
    if len(found) > _MAX_STRIDES:
        return [Affine(True, (0, 0, 0), np.zeros(0, np.int64), np.zeros(0, np.int32), 0)] * len(found)
    chosen = own[regular]
    groups = []
    for number, key in enumerate(found.tolist()):
        accesses = chosen[np.ravel(which) == number]
        sectors, when = sectors_of(trace, accesses), np.repeat(rounds[accesses], trace.accesses["sectors"][accesses])
        order = np.lexsort((when, sectors))
        places, firsts = np.unique(sectors[order], return_index=True)
        groups.append(Affine(bool(key[0]), (key[1], key[2], key[3]), places, when[order][firsts], len(sectors)))
    return groups


def sector_places(trace: LaunchTrace, accesses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in ``trace.sectors`` of these accesses' sectors."""
    counts = trace.accesses["sectors"][accesses].astype(np.int64)
    starts = np.repeat(trace.accesses["first_sector"][accesses], counts)
    return np.asarray(starts + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts), np.int64)


def sectors_of(trace: LaunchTrace, accesses: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sectors of these accesses, one after the other."""
    return trace.sectors[sector_places(trace, accesses)]


@dataclass(frozen=True, eq=False)
class Costs:
    """Per sector of a trace: bytes of DRAM traffic that fall to it, and whether it has to come from there.

    ``read_bytes`` and ``written_bytes`` are what the whole grid touches; None where it could not be counted.
    """

    dram_bytes: NDArray[np.float32]
    cold: NDArray[np.uint8]
    read_bytes: float | None
    written_bytes: float | None
    local_bytes_per_block: float


class SharedSectors:
    """Counts who touches which sectors, for one grid."""

    def __init__(self, found: Footprint, trace: LaunchTrace, code: NDArray[np.void]) -> None:
        self._found, self._trace, self._code = found, trace, code
        self._total = found.grid[0] * found.grid[1] * found.grid[2]
        self._low, self._span = self._bounds()

    def costs(self, resident: int, l2_bytes: float) -> Costs:
        """The costs of the trace's sectors, where ``resident`` blocks of the grid run at a time.

        ``l2_bytes`` is what the L2 holds of data that are used again.
        """
        trace = self._trace
        cost, cold = np.zeros(len(trace.sectors), np.float32), np.zeros(len(trace.sectors), np.uint8)
        local = self._local_bytes()
        if not self._span or self._span > _MAX_SPAN or self._work() > _MAX_TOUCHES:
            self._as_traced(cost, cold, l2_bytes)
            return Costs(cost, cold, None, None, local)
        everyone = np.arange(self._total, dtype=np.int64)
        read = self._touches(True, everyone).first < NEVER
        written = self._touches(False, everyone).first < NEVER
        lonely = _without_partner(read, self._low)
        self._read_costs(cost, cold, lonely, resident, l2_bytes)
        stores = self._places(WRITES)
        total = sum(group.total for group in self._found.groups if not group.reads) * self._total
        if len(stores):
            cost[stores] = SECTOR_BYTES * (min(1.0, written.sum() / total) if total else 1.0)
        return Costs(cost, cold, float(read.sum()) * SECTOR_BYTES, float(written.sum()) * SECTOR_BYTES, local)

    def _read_costs(
        self, cost: NDArray[np.float32], cold: NDArray[np.uint8], lonely: NDArray[np.bool_], resident: int, l2: float
    ) -> None:
        """Wave by wave: a sector costs its bytes over the blocks that share it, nothing once the L2 has it."""
        places, waves, rounds = self._places(READS), self._waves(resident), self._rounds()
        before = np.zeros(self._span, bool)
        kept = 0.0
        for wave in range(int(waves.max(initial=0)) + 1):
            blocks = np.arange(wave * resident, min(self._total, (wave + 1) * resident), dtype=np.int64)
            found = self._touches(True, blocks)
            missed = self._evicted(found, self._touches(False, blocks), l2)
            mine = places[waves == wave]
            index = self._trace.sectors[mine] - self._low
            share = np.maximum(found.blocks[index], 1)
            again = rounds[waves == wave] > found.first[index]
            new = np.where(again, missed[index], ~before[index])
            cold[mine] = new
            cost[mine] = np.where(new, np.where(lonely[index], _PAIR_BYTES, SECTOR_BYTES) / share, 0)
            now = found.first < NEVER
            kept += float((now & ~before).sum()) * SECTOR_BYTES
            before = now if kept > l2 else before | now
            kept = float(before.sum()) * SECTOR_BYTES if kept > l2 else kept

    @staticmethod
    def _evicted(read: Touched, written: Touched, l2: float) -> NDArray[np.bool_]:
        """Which sectors have left the L2 when a later round of the same wave comes back to them.

        Where the wave touches more than the L2 holds, so many that the rest fits, spread evenly.
        """
        touched_bytes = float(((read.first < NEVER) | (written.first < NEVER)).sum()) * SECTOR_BYTES
        share = max(0.0, 1 - l2 / touched_bytes) if touched_bytes else 0.0
        places = np.arange(len(read.first), dtype=np.uint64)
        scrambled = (places * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        return np.asarray(scrambled < share * (1 << 24))

    def _as_traced(self, cost: NDArray[np.float32], cold: NDArray[np.uint8], l2_bytes: float) -> None:
        """Without the grid's addresses: every sector is cold the first time that a traced block touches it."""
        places = self._places(READS)
        if len(places):
            _, firsts = np.unique(self._trace.sectors[places], return_index=True)
            cold[places[firsts]] = 1
            cost[places[firsts]] = SECTOR_BYTES
        cost[self._places(WRITES)] = SECTOR_BYTES

    def _places(self, kinds: Sequence[int]) -> NDArray[np.int64]:
        chosen = np.flatnonzero(np.isin(self._trace.accesses["kind"], kinds))
        return sector_places(self._trace, chosen)

    def _waves(self, resident: int) -> NDArray[np.int64]:
        """The wave in which each place of ``_places(READS)`` is touched."""
        trace = self._trace
        chosen = np.flatnonzero(np.isin(trace.accesses["kind"], READS))
        warp = np.repeat(np.arange(len(trace.accesses_of) - 1), np.diff(trace.accesses_of))[chosen]
        wave = trace.blocks[warp // trace.warps] // resident
        return np.repeat(wave, trace.accesses["sectors"][chosen])

    def _rounds(self) -> NDArray[np.int32]:
        """The round of each place of ``_places(READS)``."""
        chosen = np.flatnonzero(np.isin(self._trace.accesses["kind"], READS))
        return np.repeat(load_rounds(self._trace, self._code)[chosen], self._trace.accesses["sectors"][chosen])

    def _shifts(self, group: Affine, blocks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        x, y, _ = self._found.grid
        index = (blocks % x, blocks // x % y, blocks // (x * y))
        moved = sum(
            stride * (place - middle)
            for stride, place, middle in zip(group.strides, index, self._found.middle, strict=True)
        )
        shifts, times = np.unique(np.asarray(moved, np.int64), return_counts=True)
        return shifts, times.astype(np.int64)

    def _touches(self, reads: bool, blocks: NDArray[np.int64]) -> Touched:
        own = [group for group in self._found.groups if group.reads is reads]
        return touched(self._low, self._span, [(g.sectors, g.rounds, *self._shifts(g, blocks)) for g in own])

    def _work(self) -> int:
        everyone = np.arange(self._total, dtype=np.int64)
        return sum(len(group.sectors) * len(self._shifts(group, everyone)[0]) for group in self._found.groups)

    def _bounds(self) -> tuple[int, int]:
        low, high = [], []
        for group in self._found.groups:
            if len(group.sectors):
                ends = [
                    sorted((stride * -middle, stride * (extent - 1 - middle)))
                    for stride, middle, extent in zip(group.strides, self._found.middle, self._found.grid, strict=True)
                ]
                low.append((int(group.sectors[0]) * 32 + sum(end[0] for end in ends)) >> 5)
                high.append((int(group.sectors[-1]) * 32 + sum(end[1] for end in ends)) >> 5)
        own = self._trace.sectors[self._places((*READS, *WRITES))]
        own = own[is_global(own)]
        if len(own):
            low.append(int(own.min()))
            high.append(int(own.max()))
        return (min(low), max(high) - min(low) + 1) if low else (0, 0)

    def _local_bytes(self) -> float:
        sectors = self._trace.sectors
        local = sectors[~is_global(sectors)]
        return len(np.unique(local >> 2)) * 128 / max(1, len(self._trace.blocks)) if len(local) else 0.0


def _without_partner(read: NDArray[np.bool_], low: int) -> NDArray[np.bool_]:
    """Sectors that are read while the other one of their 64 bytes is not."""
    padded = np.concatenate((np.zeros(low & 1, bool), read))
    padded = np.concatenate((padded, np.zeros(len(padded) & 1, bool)))
    pairs = padded.reshape(-1, 2)
    alone = np.repeat(pairs[:, 0] ^ pairs[:, 1], 2)
    return np.asarray(alone[low & 1 : (low & 1) + len(read)])
