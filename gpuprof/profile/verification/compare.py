"""Outputs against a reference: pure functions over arrays.

A float passes when ``|got - want| <= atol + rtol * |want|``, when both are NaN, or when both are the same infinity;
NaN or Inf anywhere else never passes. Integers are compared as integers when the tolerance is zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.experiment.model import Tolerance
from gpuprof.profile.verification.error_pattern import picture, where_wrong
from gpuprof.results.model import Difference, Verification

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Elements compared at a time: small enough that the temporaries (two of float64) stay in the cache of one core.
CHUNK = 1 << 14

#: Why a variant may be compared with nothing and still be in order, and the verdict then.
NO_REFERENCE = "the YAML gives no reference"
IS_REFERENCE = "it is the reference"
NOTHING_TO_COMPARE: Mapping[str, str] = {NO_REFERENCE: "ran", IS_REFERENCE: "reference"}


@dataclass(frozen=True)
class OutputCheck:
    """One output against its reference. ``max_rel`` is over elements whose reference is not 0.

    ``wrong`` includes the ``unwritten`` elements; ``where`` and ``first`` are of the others where there are any.
    """

    buffer: str
    max_abs: float
    max_rel: float
    checked: int
    total: int
    wrong: int
    where: str = ""
    drawing: tuple[str, ...] = ()
    first: Difference | None = None
    unwritten: int = 0
    where_unwritten: str = ""


def compare_output(
    name: str,
    got: NDArray[np.generic],
    want: NDArray[np.generic],
    tolerance: Tolerance,
    written: NDArray[np.bool_] | None = None,
    unwritten: NDArray[np.bool_] | None = None,
    poison: int | None = None,
) -> OutputCheck:
    """Compare ``got`` with ``want`` (same number of elements); with ``written`` only where it is true.

    ``unwritten`` marks elements that should have been stored to and were not: they are wrong whatever they hold.
    Where nobody knows, a wrong element of nothing but ``poison`` bytes counts as one of them.
    """
    flat_got, flat_want = comparable(got, want)
    mask = None if written is None else written.reshape(-1)
    wrong, max_abs, max_rel = _scan(flat_got, flat_want, tolerance, mask)
    if unwritten is not None:
        wrong = unwritten.reshape(-1) if wrong is None else wrong | unwritten.reshape(-1)
    count = 0 if wrong is None else int(np.count_nonzero(wrong))
    checked = got.size if mask is None else int(np.count_nonzero(mask))
    if wrong is None or not count:
        return OutputCheck(name, max_abs, max_rel, checked, got.size, 0)
    if unwritten is not None:
        never = unwritten.reshape(-1)
    elif poison is not None:
        never = _left_over(got.reshape(-1), wrong, poison)
    else:
        never = np.zeros_like(wrong)
    others = wrong & ~never
    pattern = others if others.any() else wrong
    first = int(np.argmax(pattern))
    index = tuple(int(i) for i in np.unravel_index(first, got.shape))
    missing = int(np.count_nonzero(never))
    return OutputCheck(
        name,
        max_abs,
        max_rel,
        checked,
        got.size,
        count,
        where_wrong(pattern.reshape(got.shape)),
        picture(wrong.reshape(got.shape)),
        Difference(name, index, _plain(flat_got[first]), _plain(flat_want[first])),
        missing,
        where_wrong(never.reshape(got.shape)) if missing else "",
    )


def never_written(name: str, output: NDArray[np.generic], unwritten: NDArray[np.bool_]) -> OutputCheck:
    """The check of an output that is compared with nothing: only that all of it was stored to."""
    missing = int(np.count_nonzero(unwritten))
    if not missing:
        return OutputCheck(name, 0.0, 0.0, 0, output.size, 0)
    where = where_wrong(unwritten)
    return OutputCheck(
        name, 0.0, 0.0, 0, output.size, missing, where, picture(unwritten), unwritten=missing, where_unwritten=where
    )


def _left_over(got: NDArray[np.generic], wrong: NDArray[np.bool_], poison: int) -> NDArray[np.bool_]:
    """Of the wrong elements those that hold the poison in every byte."""
    found = np.zeros_like(wrong)
    places = np.flatnonzero(wrong)
    values = np.ascontiguousarray(got[places]).view(np.uint8).reshape(places.size, -1)
    found[places] = (values == poison).all(axis=1)
    return found


def comparable(got: NDArray[np.generic], want: NDArray[np.generic]) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Both flat. Integers in the output's width, as C converts them; booleans by their byte: poison is not one.

    Floats that numpy itself does not have (ml_dtypes) become float32, which holds them exactly.
    """
    flat_got, flat_want = got.reshape(-1), np.broadcast_to(want, got.shape).reshape(-1)
    if flat_got.dtype.kind == "V" or flat_got.dtype.name.startswith("float8"):
        return flat_got.astype(np.float32), flat_want
    if flat_got.dtype.kind == "b":
        return flat_got.view(np.uint8), (flat_want != 0).view(np.uint8)
    if flat_got.dtype.kind in "iu" and flat_want.dtype.kind in "iub":
        return flat_got, flat_want.astype(flat_got.dtype, copy=False)
    return flat_got, flat_want


def _scan(
    got: NDArray[np.generic], want: NDArray[np.generic], tolerance: Tolerance, mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.bool_] | None, float, float]:
    """The mask of wrong elements (None: none is), and the largest absolute and relative difference.

    The differences are NaN when one is not a number.
    """
    wrong: NDArray[np.bool_] | None = None
    max_abs = max_rel = 0.0
    exact = got.dtype.kind not in "fc" and tolerance.rtol == 0 and tolerance.atol == 0
    scratch = _Scratch()
    for start in range(0, got.size, CHUNK):
        part = slice(start, start + CHUNK)
        here = None if mask is None else mask[part]
        largest = scratch.passing(got[part], want[part], tolerance, exact) if here is None else None
        if largest is not None:
            max_abs, max_rel = max(max_abs, largest[0]), max(max_rel, largest[1])
            continue
        bad, absolute, relative = _compare(got[part], want[part], tolerance, exact)
        if here is not None:
            bad &= here
            absolute, relative = absolute[here], relative[here]
        if bad.any():
            wrong = np.zeros(got.size, dtype=np.bool_) if wrong is None else wrong
            wrong[part] = bad
        if absolute.size:
            max_abs, max_rel = max(max_abs, float(np.max(absolute))), max(max_rel, float(np.max(relative)))
    return wrong, max_abs, max_rel


class _Scratch:
    """Takes the common case, a chunk that passes and is finite, in few passes over memory that is reused."""

    def __init__(self) -> None:
        self._difference = np.empty(CHUNK)
        self._size = np.empty(CHUNK)

    def passing(
        self, got: NDArray[np.generic], want: NDArray[np.generic], tolerance: Tolerance, exact: bool
    ) -> tuple[float, float] | None:
        """The largest absolute and relative difference of a chunk that passes; None: look at it element by element."""
        if exact:
            return (0.0, 0.0) if np.array_equal(got, want) else None
        if got.dtype.kind not in "fiu" or want.dtype.kind not in "fiub":
            return None
        difference, size = self._difference[: got.size], self._size[: got.size]
        with np.errstate(all="ignore"):
            np.copyto(difference, got)
            np.subtract(difference, want, out=difference, dtype=np.float64, casting="same_kind")
            np.abs(difference, out=difference)
            np.copyto(size, want)
            np.abs(size, out=size)
            max_abs = float(np.max(difference))
            if max_abs == 0:
                return 0.0, 0.0
            # below atol alone nothing can be wrong, whatever rtol adds; NaN is never below
            if not max_abs <= tolerance.atol and not np.all(difference <= tolerance.atol + tolerance.rtol * size):
                return None
            max_rel = float(np.max(np.divide(difference, size, out=size)))
        # a reference of 0 or one that is not finite gives a quotient that is not finite: not for here
        return (max_abs, max_rel) if np.isfinite(max_abs) and np.isfinite(max_rel) else None


def _compare(
    got: NDArray[np.generic], want: NDArray[np.generic], tolerance: Tolerance, exact: bool
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    left, right = _wide(got), _wide(want)
    with np.errstate(all="ignore"):
        alike = (left == right) | (np.isnan(left) & np.isnan(right))
        absolute = np.abs(left - right)
        absolute[alike] = 0.0
        absolute[np.isnan(absolute)] = np.inf
        size = np.abs(right)
        relative = np.divide(absolute, size, out=np.zeros_like(absolute), where=size > 0)
        relative[np.isnan(relative)] = np.inf
        if exact:
            return got != want, absolute, relative
        bad = ~alike & ~(absolute <= tolerance.atol + tolerance.rtol * size)
        bad |= ~alike & ~(np.isfinite(left) & np.isfinite(right))
    return bad, absolute, relative


def _wide(values: NDArray[np.generic]) -> NDArray[np.float64]:
    return values.astype(np.float64)


def _plain(value: np.generic) -> float | int:
    item = value.item()
    return item if isinstance(item, int | float) else int(item)


def summarize(
    checks: Sequence[OutputCheck],
    why: str,
    outputs: Mapping[str, str] | None = None,
    *,
    shortfall: str = "",
    notes: tuple[str, ...] = (),
) -> Verification:
    """One verdict over all outputs; the first output that differs gives the picture.

    ``shortfall`` says what of a sample was not stored to: then what passed is not enough for ``ok``.
    """
    worst = next((check for check in checks if check.wrong), None)
    total = sum(check.total for check in checks)
    if total and not any(check.checked for check in checks) and worst is None:
        why = shortfall or "none of the sampled blocks wrote a checked element"
        return not_compared(total, why, outputs)
    enough = "unchecked" if shortfall else "ok"
    return Verification(
        verdict=enough if worst is None else "differs",
        max_abs=max((check.max_abs for check in checks), default=None),
        max_rel=max((check.max_rel for check in checks), default=None),
        checked=sum(check.checked for check in checks),
        total=total,
        why=shortfall if shortfall and worst is None else why,
        wrong=sum(check.wrong for check in checks),
        where_wrong=worst.where if worst else "",
        picture=worst.drawing if worst else (),
        first_difference=worst.first if worst else None,
        output_sha256=dict(outputs or {}),
        never_written=sum(check.unwritten for check in checks),
        where_unwritten="; ".join(_where_unwritten(checks)),
        notes=notes,
    )


def _where_unwritten(checks: Sequence[OutputCheck]) -> Iterator[str]:
    """``y: never written: 2,800 elements (right edge)``."""
    for check in checks:
        if check.unwritten:
            plural = "s" if check.unwritten != 1 else ""
            yield f"{check.buffer}: never written: {check.unwritten:,} element{plural} ({check.where_unwritten})"


def not_compared(total: int, why: str, outputs: Mapping[str, str] | None = None) -> Verification:
    """A verdict for outputs that nothing was compared with: ``unchecked`` where something should have been."""
    verdict = NOTHING_TO_COMPARE.get(why, "unchecked")
    return Verification(verdict, None, None, 0, total, why=why, output_sha256=dict(outputs or {}))


def explain(verification: Verification) -> str | None:
    """One line for the table about what differs; None when nothing does."""
    if verification.verdict != "differs":
        return None
    parts = [verification.read_unset] if verification.read_unset else []
    parts += [verification.where_unwritten] if verification.never_written else []
    first, others = verification.first_difference, verification.wrong - verification.never_written
    if first is not None and others:
        index = ", ".join(str(i) for i in first.index)
        parts.append(
            f"{others:,} of {verification.checked:,} checked elements differ ({verification.where_wrong}), "
            f"first {first.buffer}[{index}]: got {first.got!r}, expected {first.expected!r} ({verification.why})"
        )
    return "; ".join(parts)


def digest(array: NDArray[np.generic]) -> str:
    """SHA-256 of the array's bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()
