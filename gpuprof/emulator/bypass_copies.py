"""LDGSTS.BYPASS (cp.async.cg, 16 bytes per lane): what one warp's copy counts. Pure functions of its lanes' addresses.

Measured on an H200 (``tests/hardware``: recorded GEMM kernels and copies). A warp goes by quarters of eight lanes, and
data arrives by sectors of 32 bytes, which land as sectors of shared memory where both are aligned alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuprof.emulator.sectors import LINE_SHIFT, SECTOR_SHIFT

_QUARTER = 8

#: One reading lane: (lane, shared byte address, global byte address).
Lane = tuple[int, int, int]


def requested_sectors(lanes: Sequence[Lane]) -> int:
    """What l1tex counts: per quarter and global line, the sectors of the side that has more of them.

    Of several lanes that write one shared address only the last counts.
    """
    last = {shared: (lane, source) for lane, shared, source in lanes}
    sides: dict[tuple[int, int], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for shared, (lane, source) in last.items():
        targets, sources = sides[lane // _QUARTER, source >> LINE_SHIFT]
        targets.add(shared >> SECTOR_SHIFT)
        sources.add(source >> SECTOR_SHIFT)
    return sum(max(len(targets), len(sources)) for targets, sources in sides.values())


def copied_sectors(lanes: Sequence[Lane]) -> int:
    """What the counters by instruction have: distinct moves of (a part of) a global sector to a shared sector."""
    return len({(shared >> SECTOR_SHIFT, source >> SECTOR_SHIFT, shared - source) for _lane, shared, source in lanes})


def passes(lanes: Sequence[Lane]) -> int:
    """Wavefronts: per quarter, global line and shared line, as many as its most contended sector needs.

    A sector needs one for each sector of the other side that it exchanges data with; a global sector of which several
    lanes read the same bytes needs one for each of its lanes.
    """
    groups: dict[tuple[int, int, int], list[Lane]] = defaultdict(list)
    for lane, shared, source in lanes:
        groups[lane // _QUARTER, source >> LINE_SHIFT, shared >> LINE_SHIFT].append((lane, shared, source))
    return sum(_contention(group) for group in groups.values())


def _contention(group: Sequence[Lane]) -> int:
    by_source: dict[int, list[Lane]] = defaultdict(list)
    by_target: dict[int, set[int]] = defaultdict(set)
    for entry in group:
        by_source[entry[2] >> SECTOR_SHIFT].append(entry)
        by_target[entry[1] >> SECTOR_SHIFT].add(entry[2] >> SECTOR_SHIFT)
    return max(*map(_readers, by_source.values()), *map(len, by_target.values()))


def _readers(entries: Sequence[Lane]) -> int:
    if len({source for _lane, _shared, source in entries}) < len(entries):
        return len(entries)
    return len({shared >> SECTOR_SHIFT for _lane, shared, _source in entries})
