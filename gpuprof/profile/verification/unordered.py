"""Outputs whose elements may come in any order: compaction by an atomic counter, hash sets, edge lists.

Sorting both sides first keeps a tolerance's meaning: the largest difference of two sorted sequences is at most that of
any pairing of their elements (the pairing in order is the one that makes the largest difference smallest).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.experiment.model import ElementOrder, Tolerance
from gpuprof.profile.verification.compare import OutputCheck, comparable, compare_output, never_written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.generic]


@dataclass(frozen=True)
class Ordering:
    """How an output's elements are compared: in which order, and how many of the first (None: all)."""

    order: ElementOrder = "kept"
    count: int | None = None

    @property
    def is_plain(self) -> bool:
        return self.order == "kept" and self.count is None


def compare_unordered(
    name: str,
    got: Array,
    want: Array,
    tolerance: Tolerance,
    ordering: Ordering,
    unwritten: NDArray[np.bool_] | None = None,
    poison: int | None = None,
) -> OutputCheck:
    """The check of one output of any shape; ``want`` is broadcast to it. Places are those in sorted order.

    ``unwritten`` and ``poison`` as in ``compare_output``: what was not stored to is wrong whatever it holds.
    """
    count = got.size if ordering.count is None else min(ordering.count, got.size)
    flat_got, flat_want = (values[:count] for values in comparable(got, want))
    if unwritten is not None and (never := unwritten.reshape(-1)[:count]).any():
        return never_written(name, flat_got, never)
    if ordering.order == "set":
        check = _compare_sets(name, np.unique(flat_got), np.unique(flat_want), tolerance, poison)
    else:
        check = compare_output(name, np.sort(flat_got), np.sort(flat_want), tolerance, poison=poison)
    where = f"{check.where} when sorted" if check.where else ""
    return replace(check, where=where, drawing=(), checked=count, total=got.size)


def _compare_sets(name: str, got: Array, want: Array, tolerance: Tolerance, poison: int | None) -> OutputCheck:
    """Both sorted, without repetition: every value found is near one wanted, and every one wanted near one found."""
    if not got.size or not want.size:
        return OutputCheck(name, 0.0, 0.0, 0, 0, max(got.size, want.size))
    check = compare_output(name, got, _nearest(want, got), tolerance, poison=poison)
    return check if check.wrong else compare_output(name, _nearest(got, want), want, tolerance, poison=poison)


def _nearest(values: Array, to: Array) -> Array:
    """For each element of ``to`` the nearest of ``values``, which are sorted."""
    above = np.minimum(np.searchsorted(values, to), values.size - 1)
    below = np.maximum(above - 1, 0)
    with np.errstate(all="ignore"):
        targets = to.astype(np.float64)
        is_below = np.abs(targets - values[below].astype(np.float64)) < np.abs(
            values[above].astype(np.float64) - targets
        )
    exact = values[above] == to
    return values[np.where(is_below & ~exact, below, above)]


def in_order(output: Array, ordering: Ordering) -> Array:
    """The elements that count, in the order in which they are compared: what names an output's content."""
    if ordering.is_plain:
        return output
    flat = output.reshape(-1)[: ordering.count]
    return np.unique(flat) if ordering.order == "set" else np.sort(flat)
