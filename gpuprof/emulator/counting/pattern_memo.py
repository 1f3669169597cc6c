"""Costs of memory access patterns already seen, so that the rules of ``isa.memory_access`` run once per pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import LINE_BYTES
from gpuprof.isa.memory_access import (
    LINE_SHIFT,
    SECTOR_SHIFT,
    distinct_per_row,
    global_lines,
    global_sectors,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]


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
        return distinct_per_row(addresses >> SECTOR_SHIFT), distinct_per_row(addresses >> LINE_SHIFT)
    return global_sectors(addresses, mask), global_lines(addresses, mask)


def _moved(relative: Int64, first: Int64, memo: PatternMemo) -> tuple[int, int]:
    if len(first) == 1:
        return memo.lookup(relative, int(first[0]) % LINE_BYTES)
    places = np.bincount(first & (LINE_BYTES - 1))
    sectors = lines = 0
    for place in np.flatnonzero(places).tolist():
        once = memo.lookup(relative, place)
        sectors += once[0] * int(places[place])
        lines += once[1] * int(places[place])
    return sectors, lines


class WavefrontMemo:
    """Counts of patterns seen, for one kind of access: (wavefronts, ideal wavefronts) of one warp."""

    def __init__(self, rule: Callable[[Int64, Bool], Int64], ideal: Callable[[Bool], Int64]) -> None:
        self._rule = rule
        self._ideal = ideal
        self._known: dict[tuple[bytes, bytes], tuple[int, int]] = {}

    def count(self, addresses: Int64, mask: Bool) -> tuple[int, int]:
        """Sums over warps; ``addresses`` and ``mask`` are (warps, 32)."""
        line = np.int64(LINE_BYTES - 1)
        lowest = np.where(mask, addresses, np.iinfo(np.int64).max).min(axis=1, keepdims=True) & ~line
        words = np.where(mask, addresses - lowest, 0)
        if len(addresses) > 1:
            same = (words == words[0]).all() and (mask == mask[0]).all()
            if not same:
                return self._count_rows(words, mask)
        wavefronts, ideal = self._one(words[:1], mask[:1])
        return wavefronts * len(addresses), ideal * len(addresses)

    def _one(self, words: Int64, mask: Bool) -> tuple[int, int]:
        key = (words.tobytes(), mask.tobytes())
        found = self._known.get(key)
        if found is None:
            found = (int(self._rule(words, mask)[0]), int(self._ideal(mask)[0]))
            self._known[key] = found
        return found

    def _count_rows(self, words: Int64, mask: Bool) -> tuple[int, int]:
        if len(words) <= 8:
            pairs = [self._one(words[i : i + 1], mask[i : i + 1]) for i in range(len(words))]
            return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        return int(self._rule(words, mask).sum()), int(self._ideal(mask).sum())
