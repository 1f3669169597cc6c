"""How many sectors and lines a warp's global access touches: pure functions of addresses and enabled lanes.

A sector is 32 bytes and a line (a tag) 128. An aligned access never straddles a sector, so each lane touches one
sector, whatever its width; what is touched by several lanes counts once over the whole warp (measured on an H200,
``tests/hardware/h200``: 32-, 64- and 128-bit loads, stores, RED and ATOM alike).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]

SECTOR_SHIFT = 5
LINE_SHIFT = 7
_LINE_BYTES = 1 << LINE_SHIFT


class PatternMemo:
    """Sectors and lines of patterns already seen: relative addresses and the place within a line decide."""

    def __init__(self) -> None:
        self.known: dict[tuple[bytes, int], tuple[int, int]] = {}

    def lookup(self, relative: Int64, place: int) -> tuple[int, int]:
        """(sectors, lines) of one warp whose first address is ``place`` modulo 128."""
        key = (relative.tobytes(), place)
        found = self.known.get(key)
        if found is None:
            moved = relative + place
            found = (len(np.unique(moved >> SECTOR_SHIFT)), len(np.unique(moved >> LINE_SHIFT)))
            self.known[key] = found
        return found


def count_sectors(addresses: Int64, mask: Bool | None, memo: PatternMemo) -> tuple[int, int]:
    """(sectors, lines) summed over warps.

    ``addresses`` is (warps, lanes) with 32 lanes or 1 (all lanes the same); ``mask`` the enabled lanes in the same
    shape with 32 lanes, or None for all. Most warps' patterns are one pattern moved: that is looked for first.
    """
    if mask is None:
        if addresses.shape[1] == 1:
            return len(addresses), len(addresses)
        relative = addresses - addresses[:, :1]
        if len(relative) == 1 or bool((relative == relative[0]).all()):
            return _moved(relative[0], addresses[:, 0], memo)
        return _distinct(addresses >> SECTOR_SHIFT), _distinct(addresses >> LINE_SHIFT)
    return count_distinct(addresses >> SECTOR_SHIFT, mask), count_distinct(addresses >> LINE_SHIFT, mask)


def _moved(relative: Int64, first: Int64, memo: PatternMemo) -> tuple[int, int]:
    if len(first) == 1:
        return memo.lookup(relative, int(first[0]) % _LINE_BYTES)
    places = np.bincount(first & (_LINE_BYTES - 1))
    sectors = lines = 0
    for place in np.flatnonzero(places).tolist():
        once = memo.lookup(relative, place)
        sectors += once[0] * int(places[place])
        lines += once[1] * int(places[place])
    return sectors, lines


def _distinct(keys: Int64) -> int:
    """Distinct keys per row, summed over rows."""
    ordered = np.sort(keys, axis=1)
    return len(keys) + int(np.count_nonzero(ordered[:, 1:] != ordered[:, :-1]))


def count_distinct(keys: Int64, mask: Bool) -> int:
    """Distinct keys of the enabled lanes per row, summed over rows."""
    rows = mask.any(axis=1)
    if not rows.all():
        keys, mask = keys[rows], mask[rows]
    if not len(keys):
        return 0
    keys = np.broadcast_to(keys, mask.shape)
    first = np.take_along_axis(keys, mask.argmax(axis=1)[:, None], axis=1)
    return _distinct(np.where(mask, keys, first))
