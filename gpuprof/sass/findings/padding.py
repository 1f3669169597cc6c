"""Layouts of shared memory tried on a kernel's addresses: rows padded, or columns exchanged by the row's number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.sass.lane_value import Value

if TYPE_CHECKING:
    from gpuprof.isa.memory_access import Bool
    from gpuprof.sass.active_lanes import Active
    from gpuprof.sass.lane_value import Lanes

_PADS = (4, 8, 16, 32)
_SWIZZLES = (4, 8, 16)  #: bytes that move together
_MIN_ROW, _MAX_ROW = 16, 4096
Count = Callable[[int, "Lanes", "Bool"], tuple["Lanes", "Lanes"]]


@dataclass(frozen=True)
class Layout:
    """A layout under which the accesses were counted again."""

    text: str
    before: int
    after: int


def tried_layout(known: Mapping[int, tuple[Value, Active]], indices: Sequence[int], count: Count) -> Layout | None:
    """The smallest change of layout that spares the accesses at ``indices`` the most wavefronts.

    ``known`` holds every access of the kernel to shared memory whose lanes are known: none of them may get worse.
    None where nothing that was tried is better. Rows are taken to begin at the first lane's address.
    """
    before = _total(known, indices, count, None)
    others = [index for index in known if index not in indices]
    other_before = _total(known, others, count, None)
    best: Layout | None = None
    for row in _row_lengths(known, indices):
        for name, change in _changes(row):
            after = _total(known, indices, count, change)
            if after is None or before is None or after >= (best.after if best is not None else before):
                continue
            other_after = _total(known, others, count, change)
            if other_after is not None and other_before is not None and other_after <= other_before:
                best = Layout(f"{name}: {before} wavefronts become {after}", before, after)
    return best


def _row_lengths(known: Mapping[int, tuple[Value, Active]], indices: Sequence[int]) -> list[int]:
    """Distances between lanes that may be the length of a row, the shortest first."""
    found: set[int] = set()
    for index in indices:
        addresses = np.unique(known[index][0].known[0])
        found |= {int(step) for step in np.diff(addresses) if _MIN_ROW <= step <= _MAX_ROW and step % 4 == 0}
    widest = {row * 2**power for row in found for power in range(4) if row * 2**power <= _MAX_ROW}
    return sorted(found | {row for row in widest if row >= 64})[:12]


def _changes(row: int) -> list[tuple[str, Callable[[Lanes], Lanes]]]:
    padded = [(f"tried: rows of {row} bytes padded by {pad}", _pad(row, pad)) for pad in _PADS]
    if row < 128 or row & (row - 1):
        return padded
    swizzled = [
        (
            f"tried: the {part}-byte columns of rows of {row} bytes exchanged by XOR with the row's number",
            _swap(row, part),
        )
        for part in _SWIZZLES
    ]
    return [*padded, *swizzled]


def _pad(row: int, pad: int) -> Callable[[Lanes], Lanes]:
    return lambda addresses: addresses + addresses // row * pad


def _swap(row: int, part: int) -> Callable[[Lanes], Lanes]:
    columns = min(row, 128) // part
    return lambda addresses: addresses ^ (addresses // row % columns * part)


def _total(
    known: Mapping[int, tuple[Value, Active]],
    indices: Sequence[int],
    count: Count,
    change: Callable[[Lanes], Lanes] | None,
) -> int | None:
    """Wavefronts of some accesses by the warp that is worst off; None where a change breaks an alignment."""
    total = 0
    for index in indices:
        value, active = known[index]
        addresses = value.known - value.known.min(axis=1, keepdims=True)
        if change is not None:
            changed = change(addresses)
            lowest = np.bitwise_or.reduce(addresses.ravel())
            alignment = min(16, int(lowest & -lowest) or 16)
            if (changed % alignment).any():
                return None
            addresses = changed
        total += int(count(index, addresses, active.mask)[0].max())
    return total
