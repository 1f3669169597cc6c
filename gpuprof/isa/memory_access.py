"""What one access of a warp costs: sectors and lines of global memory, wavefronts of shared memory.

Pure functions of byte addresses and enabled lanes, for the emulator's counters and for static analysis alike.
Addresses come as (warps, 32) int64 arrays with a mask of the same shape; widths are bytes per lane.

The rules were measured on an H200 (``tests/hardware/h200``, which the suite replays). A sector is 32 bytes and a line
(a tag) 128. An aligned access never straddles a sector, so each lane touches one sector, whatever its width; what is
touched by several lanes counts once over the whole warp (32-, 64- and 128-bit loads, stores, RED and ATOM alike).
Words of shared memory are 4 bytes, the bank of a word is its number modulo 32; moving a pattern by whole rows of 128
bytes changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import BANK_BYTES, LINE_BYTES, SECTOR_BYTES, SHARED_BANKS, WARP_LANES
from gpuprof.isa.opcodes import Access

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]

SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1
LINE_SHIFT = LINE_BYTES.bit_length() - 1
#: Rows of 16 bytes in one 8x8 matrix of LDSM and STSM.
_MATRIX_ROWS = 8
MATRIX_ROW_BYTES = 16


def swizzled(addresses: Int64, row_bytes: int) -> Int64:
    """Shared addresses of tensor copies and warpgroup products: bits 4 to 6 take bits 7 to 9, as far as a row goes.

    ``row_bytes``: 32, 64 or 128; 16 and less is not swizzled.
    """
    bits = max(0, row_bytes // 16 - 1)
    return addresses ^ (addresses >> 7 & bits) << 4


def global_sectors(addresses: Int64, mask: Bool) -> int:
    """Distinct sectors of the enabled lanes per warp, summed over warps."""
    return count_distinct(addresses >> SECTOR_SHIFT, mask)


def global_lines(addresses: Int64, mask: Bool) -> int:
    """Distinct lines of 128 bytes of the enabled lanes per warp, summed over warps."""
    return count_distinct(addresses >> LINE_SHIFT, mask)


def ideal_sectors(lanes: int, width: int) -> int:
    """The sectors that the bytes of ``lanes`` enabled lanes fill: what a request needs at least without sharing."""
    return -(-lanes * width // SECTOR_BYTES)


def distinct_per_row(keys: Int64) -> int:
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
    return distinct_per_row(np.where(mask, keys, first))


def shared_wavefronts(access: Access, addresses: Int64, mask: Bool, width: int) -> Int64:
    """Wavefronts per warp of a shared-memory load, store or matrix access.

    ``width`` is bytes per lane; of a matrix access, 4 bytes for each of its matrices. Atomics have functions of their
    own below.
    """
    if access in (Access.MATRIX_LOAD, Access.MATRIX_STORE):
        return matrix_wavefronts(addresses, mask, width // 4)
    rule = store_wavefronts if access is Access.STORE else load_wavefronts
    return rule(addresses, mask, width)


def shared_ideal_wavefronts(access: Access, mask: Bool, width: int) -> Int64:
    """Wavefronts of the same access without bank conflicts; ``width`` as in ``shared_wavefronts``."""
    if access in (Access.MATRIX_LOAD, Access.MATRIX_STORE):
        return np.full(len(mask), width // 4, np.int64)
    return ideal_wavefronts(mask, width)


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
    """LDSM, STSM: lanes 8q to 8q+7 name the rows of matrix q; each matrix counts like a quarter warp of 128 bits.

    Measured for LDSM; STSM is taken to follow it.
    """
    lanes = matrices * _MATRIX_ROWS
    return _by_groups(addresses[:, :lanes], mask[:, :lanes], MATRIX_ROW_BYTES, matrices)


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
    counts: Int64 = mask.reshape(len(mask), parts, WARP_LANES // parts).any(axis=2).sum(axis=1)
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
        for lanes in np.split(np.arange(WARP_LANES), parts):
            on = lanes[mask[row, lanes]]
            totals[row] += _copy_group(shared[row, on], source[row, on], reads[row, on], width)
    return totals


def _copy_group(shared: Int64, source: Int64, reads: Bool, width: int) -> int:
    steps = np.arange(max(width // 4, 1))
    shared_banks = (shared[:, None] // BANK_BYTES + steps) % SHARED_BANKS
    source_banks = (source[:, None] // BANK_BYTES + steps) % SHARED_BANKS
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
        total += max(1, int(np.max(np.bincount(source_banks[reading].reshape(-1), minlength=SHARED_BANKS))))
        waiting = left
    return total


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
    cells = (np.arange(rows)[:, None] * SHARED_BANKS + (words & (SHARED_BANKS - 1)))[enabled]
    most: Int64 = np.bincount(cells, minlength=rows * SHARED_BANKS).reshape(rows, SHARED_BANKS).max(axis=1)
    return most


def _partners_equal(addresses: Int64, mask: Bool, distance: int) -> Bool:
    """Per warp: whether all enabled lanes n and n^distance have equal addresses."""
    partner = np.arange(WARP_LANES) ^ distance
    differs = addresses != addresses[:, partner]
    result: Bool = ~(differs & mask & mask[:, partner]).any(axis=1)
    return result
