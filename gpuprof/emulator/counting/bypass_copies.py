"""LDGSTS.BYPASS (cp.async.cg, 16 bytes per lane): what one warp's copy counts. Pure functions of its lanes' addresses.

Measured on an H200 (``tests/hardware``: copies by fourteen address patterns, and GEMM kernels). Data moves by sectors
of 32 bytes: a move is what lanes carry from one global sector to one shared sector by one distance, in whole or half.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from gpuprof.isa.memory_access import LINE_SHIFT, SECTOR_SHIFT

#: One reading lane: (lane, shared byte address, global byte address).
Lane = tuple[int, int, int]
#: Shared sector, global sector, and the distance in bytes between shared and global addresses.
Move = tuple[int, int, int]

_TO_LINE = LINE_SHIFT - SECTOR_SHIFT


def requested_sectors(lanes: Sequence[Lane]) -> int:
    """What l1tex counts: per global line the shared sectors that it fills.

    Of several lanes that write one shared address only the last counts.
    """
    last = {shared: source for _lane, shared, source in lanes}
    return len({(shared >> SECTOR_SHIFT, source >> LINE_SHIFT) for shared, source in last.items()})


def copied_sectors(lanes: Sequence[Lane]) -> int:
    """What the counters by instruction have: the moves."""
    return len(_moves(lanes))


def passes(lanes: Sequence[Lane]) -> int:
    """Wavefronts: moves go together if they lead from one line to one line, by one distance, with the same halves.

    A move of bytes that go to several places of the shared line goes half by half.
    """
    readers = Counter((shared >> LINE_SHIFT, source) for _lane, shared, source in lanes)
    together: set[tuple[int, int, int, frozenset[int]]] = set()
    for (target, source, distance), places in _moves(lanes).items():
        line = target >> _TO_LINE
        repeated = any(readers[line, place - distance] > 1 for place in places)
        halves = frozenset(place - (target << SECTOR_SHIFT) for place in places)
        parts = [frozenset({half}) for half in halves] if repeated else [halves]
        together.update((line, source >> _TO_LINE, distance, part) for part in parts)
    return len(together)


def _moves(lanes: Sequence[Lane]) -> Mapping[Move, set[int]]:
    """Every move, with the shared addresses that it writes."""
    places: dict[Move, set[int]] = defaultdict(set)
    for _lane, shared, source in lanes:
        places[shared >> SECTOR_SHIFT, source >> SECTOR_SHIFT, shared - source].add(shared)
    return places
