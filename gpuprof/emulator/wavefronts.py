"""How many wavefronts a warp's shared-memory access takes: pure functions of addresses and enabled lanes.

The rules were measured on an H200 (``tests/hardware/h200``, which the suite replays). Words are 4 bytes, the bank of
a word is its number modulo 32. Addresses come as (warps, 32) arrays with a mask of the same shape; results are per
warp. Moving a pattern by whole words changes nothing, so ``WavefrontMemo`` keeps the counts of patterns seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]

BANKS = 32
WARP = 32
#: Rows of 16 bytes in one 8x8 matrix of LDSM.
_MATRIX_ROWS = 8


def load_wavefronts(addresses: Int64, mask: Bool, width: int) -> Int64:
    """Loads of ``width`` bytes. 64 bits go by halves, 128 by quarters of the warp; pairs of equal lanes merge.

    A load merges when for every pair of enabled lanes n and n^1 (or every pair n and n^2) the addresses are equal:
    then the groups double, and conflicts count within the doubled groups.
    """
    split = _by_groups(addresses, mask, width, _parts(width))
    if width < 8:
        return split
    merges = np.logical_or(_partners_equal(addresses, mask, 1), _partners_equal(addresses, mask, 2))
    if not merges.any():
        return split
    return np.where(merges, _by_groups(addresses, mask, width, _parts(width) // 2), split)


def store_wavefronts(addresses: Int64, mask: Bool, width: int) -> Int64:
    """Stores: as loads, but they never merge."""
    return _by_groups(addresses, mask, width, _parts(width))


def matrix_wavefronts(addresses: Int64, mask: Bool, matrices: int) -> Int64:
    """LDSM: lanes 8q to 8q+7 name the rows of matrix q; each matrix counts like a quarter warp of 128 bits."""
    lanes = matrices * _MATRIX_ROWS
    return _by_groups(addresses[:, :lanes], mask[:, :lanes], 16, matrices)


def atomic_wavefronts(addresses: Int64, mask: Bool, width: int) -> Int64:
    """ATOMS: lanes on one bank go one after another, those on equal words too."""
    words = _expand(addresses, width)
    return _most_per_bank(words, _expand_mask(mask, width), distinct=False)


def compare_and_swap_wavefronts(addresses: Int64, mask: Bool, width: int) -> Int64:
    """ATOMS.CAS takes twice as many."""
    return 2 * atomic_wavefronts(addresses, mask, width)


def spin_wavefronts(addresses: Int64, mask: Bool, width: int) -> Int64:
    """ATOMS.CAST.SPIN: one lane per bank succeeds in each execution, and an execution costs 2 wavefronts."""
    return 2 * mask.any(axis=1).astype(np.int64)


def ideal_wavefronts(mask: Bool, width: int) -> Int64:
    """Wavefronts without any bank conflict or merging: one per part of the warp that has an enabled lane."""
    parts = _parts(width)
    counts: Int64 = mask.reshape(len(mask), parts, WARP // parts).any(axis=2).sum(axis=1)
    return counts


def copy_wavefronts(shared: Int64, source: Int64, mask: Bool, reads: Bool, width: int) -> Int64:
    """LDGSTS through L1 (cp.async.ca): groups as for stores; shared banks and source banks can both conflict.

    Enabled lanes that do not read fill with zeros: they have no source. Equal words never combine. Conflicts on one
    side are exact on an H200; where both sides conflict the rule here (passes of free shared banks in lane order, then
    source banks within each) is exact in 8 of 15 measured cases and one off in the others.
    """
    parts = _parts(width)
    totals = np.zeros(len(shared), np.int64)
    for row in range(len(shared)):
        for lanes in np.split(np.arange(WARP), parts):
            on = lanes[mask[row, lanes]]
            totals[row] += _copy_group(shared[row, on], source[row, on], reads[row, on], width)
    return totals


def _copy_group(shared: Int64, source: Int64, reads: Bool, width: int) -> int:
    steps = np.arange(max(width // 4, 1))
    shared_banks = (shared[:, None] // 4 + steps) % BANKS
    source_banks = (source[:, None] // 4 + steps) % BANKS
    total, waiting = 0, list(range(len(shared)))
    while waiting:
        taken: set[int] = set()
        passed: list[int] = []
        left: list[int] = []
        for lane in waiting:
            banks = set(shared_banks[lane].tolist())
            (left if banks & taken else passed).append(lane)
            if not banks & taken:
                taken |= banks
        reading = [lane for lane in passed if reads[lane]]
        total += max(1, int(np.max(np.bincount(source_banks[reading].reshape(-1), minlength=BANKS))))
        waiting = left
    return total


class WavefrontMemo:
    """Counts of patterns seen, for one kind of access: (wavefronts, ideal wavefronts) of one warp."""

    def __init__(self, rule: Callable[[Int64, Bool], Int64], ideal: Callable[[Bool], Int64]) -> None:
        self._rule = rule
        self._ideal = ideal
        self._known: dict[tuple[bytes, bytes], tuple[int, int]] = {}

    def count(self, addresses: Int64, mask: Bool) -> tuple[int, int]:
        """Sums over warps; ``addresses`` and ``mask`` are (warps, 32)."""
        line = np.int64(BANKS * 4 - 1)
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


def _parts(width: int) -> int:
    """Into how many groups of lanes a warp is split."""
    return {8: 2, 16: 4}.get(width, 1)


def _expand(addresses: Int64, width: int) -> Int64:
    """(warps, lanes) addresses to (warps, lanes * words) word numbers."""
    words = addresses >> 2
    count = width // 4
    if count <= 1:
        return words
    return (words[:, :, None] + np.arange(count)).reshape(len(words), -1)


def _expand_mask(mask: Bool, width: int) -> Bool:
    return np.repeat(mask, width // 4, axis=1) if width > 4 else mask


def _by_groups(addresses: Int64, mask: Bool, width: int, parts: int) -> Int64:
    rows, _lanes = addresses.shape
    words = _expand(addresses, width).reshape(rows * parts, -1)
    enabled = _expand_mask(mask, width).reshape(rows * parts, -1)
    totals: Int64 = _most_per_bank(words, enabled, distinct=True).reshape(rows, parts).sum(axis=1)
    return totals


def _most_per_bank(words: Int64, enabled: Bool, *, distinct: bool) -> Int64:
    """Per row: the largest number of enabled (distinct) words in one bank; 0 for a row with none enabled."""
    rows = len(words)
    if distinct:
        words = np.sort(np.where(enabled, words, -1), axis=1)
        enabled = words >= 0
        enabled[:, 1:] &= words[:, 1:] != words[:, :-1]
    cells = (np.arange(rows)[:, None] * BANKS + (words & (BANKS - 1)))[enabled]
    most: Int64 = np.bincount(cells, minlength=rows * BANKS).reshape(rows, BANKS).max(axis=1)
    return most


def _partners_equal(addresses: Int64, mask: Bool, distance: int) -> Bool:
    """Per warp: whether all enabled lanes n and n^distance have equal addresses."""
    partner = np.arange(WARP) ^ distance
    differs = addresses != addresses[:, partner]
    result: Bool = ~(differs & mask & mask[:, partner]).any(axis=1)
    return result
