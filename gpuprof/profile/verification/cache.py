"""Outputs of a pass against their references, without comparing the same bytes twice.

Variants of one experiment mostly give the same bits. An output that equals, byte by byte, one that was compared with
the same reference before has the same verdict: that test costs a tenth of a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.experiment.model import Tolerance
from gpuprof.profile.messages import Check
from gpuprof.profile.verification.compare import OutputCheck, compare_output, digest, never_written
from gpuprof.profile.verification.precision import BITS, Precision, usual_precision
from gpuprof.profile.verification.tolerance import Sums, default_tolerance, width
from gpuprof.profile.verification.unordered import Ordering, compare_unordered, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beside a reference that is another variant's output, when a sample of blocks made it: which elements it wrote.
WRITTEN_SUFFIX = ".written.npy"

#: Outputs that are kept per buffer, reference and tolerance: variants that add in another order give other bits, and a
#: space has a handful of orders. Beyond these bytes only the latest is.
KEPT_OUTPUTS = 4
KEPT_BYTES = 256 << 20

#: A tolerance above this share of a typical term may hide one.
MISSING_TERM_SHOWS = 0.25

_Key = tuple[str, Path | None, Tolerance | None, Ordering]


@dataclass(frozen=True)
class Limits:
    """What of an output counts: only ``written`` elements of a sample; ``unwritten`` ones are wrong in any case.

    ``may_be_left``: a wrong element that holds the poison was never written.
    """

    written: NDArray[np.bool_] | None = None
    unwritten: NDArray[np.bool_] | None = None
    may_be_left: bool = False


@dataclass(frozen=True)
class Comparison:
    """The checks of every referenced output, the tolerances in words, and SHA-256 of every output."""

    checks: tuple[OutputCheck, ...]
    why: str
    digests: Mapping[str, str]
    wide: str = ""


@dataclass(frozen=True)
class _Known:
    output: NDArray[np.generic]
    digest: str
    check: OutputCheck | None
    rule: str
    wide: str = ""


@dataclass(frozen=True)
class _Rules:
    """What decides the tolerances of one pass."""

    request: Check
    sums: Mapping[str, Sums]
    precision: Callable[[str], Precision | None]
    orderings: Mapping[str, Ordering]

    def ordering(self, name: str) -> Ordering:
        return self.orderings.get(name, Ordering())


class Comparer:
    """Remembers the latest outputs per buffer, reference and tolerance."""

    def __init__(self) -> None:
        self._known: dict[_Key, list[_Known]] = {}
        self._tolerances: dict[tuple[Path, str, Sums], Tolerance] = {}

    def recall(
        self,
        request: Check,
        references: Mapping[str, Path],
        names: Iterable[str],
        holds: Callable[[str, NDArray[np.generic]], bool],
        orderings: Mapping[str, Ordering] | None = None,
    ) -> Comparison | None:
        """What is known of these outputs, where ``holds`` says that each equals one from before; None: compare them."""
        known = []
        for name in names:
            ordering = (orderings or {}).get(name, Ordering())
            entry = self._recalled((name, references.get(name), request.tolerance, ordering), holds)
            if entry is None:
                return None
            known.append((name, entry))
        return _comparison(dict(known))

    def _recalled(self, key: _Key, holds: Callable[[str, NDArray[np.generic]], bool]) -> _Known | None:
        return next((entry for entry in self._known.get(key, ()) if holds(key[0], entry.output)), None)

    def compare(
        self,
        request: Check,
        references: Mapping[str, Path],
        outputs: Mapping[str, NDArray[np.generic]],
        limits: Mapping[str, Limits] | None = None,
        sums: Mapping[str, Sums] | None = None,
        precision: Callable[[str], Precision | None] = lambda _: None,
        orderings: Mapping[str, Ordering] | None = None,
    ) -> Comparison:
        """Compare every output that has a reference, within its ``limits``.

        Without a tolerance of the YAML it follows from ``sums``. ``precision`` reads, for a dtype, what the machine
        code does, and is asked only where an output differs by the rule for the usual precision.
        """
        limits, sums = limits or {}, sums or {}
        rules = _Rules(request, sums, precision, orderings or {})
        known = {
            name: self._one(rules, name, references.get(name), array, limits.get(name, Limits()))
            for name, array in outputs.items()
        }
        return _comparison(known)

    def _one(
        self,
        rules: _Rules,
        name: str,
        reference: Path | None,
        output: NDArray[np.generic],
        limits: Limits,
    ) -> _Known:
        ordering = rules.ordering(name)
        key = (name, reference, rules.request.tolerance, ordering)
        whole = limits.written is None and limits.unwritten is None
        before = self._recalled(key, lambda _, known: same_bytes(known, output)) if whole else None
        if before is not None:
            return before
        check, rule, wide = None, "", ""
        if reference is not None and (ordering.is_plain or limits.written is None):
            check, rule, wide = self._compared(rules, name, reference, output, limits)
        elif limits.unwritten is not None:
            count = ordering.count
            if count is None:
                check = never_written(name, output, limits.unwritten)
            else:
                check = never_written(name, output.reshape(-1)[:count], limits.unwritten.reshape(-1)[:count])
        found = _Known(output, digest(in_order(output, ordering)), check, rule, wide)
        if whole:
            kept = max(1, min(KEPT_OUTPUTS, KEPT_BYTES // max(1, output.nbytes)))
            self._known[key] = [found, *self._known.get(key, ())][:kept]
        return found

    def _compared(
        self, rules: _Rules, name: str, reference: Path, output: NDArray[np.generic], limits: Limits
    ) -> tuple[OutputCheck, str, str]:
        """The check, the tolerance in words, and why a missing term might not show."""
        want: NDArray[np.generic] = np.load(reference, mmap_mode="r")
        if want.dtype.kind == "c":  # another variant's outputs, which were saved for the user as well
            want = np.ascontiguousarray(want).view(f"f{want.itemsize // 2}").reshape(*want.shape, 2)
        written = _both(limits.written, reference)
        unwritten = _wanted(limits.unwritten, reference)
        poison = rules.request.poison if limits.may_be_left else None
        ordering = rules.ordering(name)

        def compared(tolerance: Tolerance) -> OutputCheck:
            if ordering.is_plain:
                return compare_output(name, output, want, tolerance, written, unwritten, poison)
            if written is None:
                return compare_unordered(name, output, want, tolerance, ordering, unwritten, poison)
            some = None if unwritten is None else unwritten.reshape(output.shape)[written]
            chosen = np.broadcast_to(want, output.shape)[written]
            return compare_unordered(name, output[written], chosen, tolerance, ordering, some, poison)

        if rules.request.tolerance is not None:
            return compared(rules.request.tolerance), describe(rules.request.tolerance), ""
        dtype, sums = output.dtype.name, rules.sums.get(name, Sums())
        key = (reference, dtype, sums)
        if key not in self._tolerances:
            self._tolerances[key] = default_tolerance(dtype, sums, want)
        tolerance = self._tolerances[key]
        check = compared(tolerance)
        if check.wrong > check.unwritten and dtype in BITS:
            done = rules.precision(dtype)
            if done is not None and done != usual_precision(dtype):
                tolerance = default_tolerance(dtype, sums, want, done)
                check = compared(tolerance)
        return check, describe(tolerance), _why_wide(name, tolerance, sums, want)


def _why_wide(name: str, tolerance: Tolerance, sums: Sums, want: NDArray[np.generic]) -> str:
    """Why a missing term might pass; empty where it would show."""
    if sums.terms is None or sums.terms.count < 2:
        return ""
    widest = width(tolerance, want)
    if widest <= MISSING_TERM_SHOWS * sums.terms.typical_term:
        return ""
    than = "any term" if widest > sums.terms.largest_term else "some terms"
    return f"{name}: a difference of {widest:.2g} passes, more than {than} (largest {sums.terms.largest_term:.2g})"


def _comparison(known: Mapping[str, _Known]) -> Comparison:
    return Comparison(
        checks=tuple(entry.check for entry in known.values() if entry.check is not None),
        why="; ".join(dict.fromkeys(entry.rule for entry in known.values() if entry.rule)),
        digests={name: entry.digest for name, entry in known.items()},
        wide="; ".join(entry.wide for entry in known.values() if entry.wide),
    )


def _both(written: NDArray[np.bool_] | None, reference: Path) -> NDArray[np.bool_] | None:
    """Where there is something on both sides; None: everywhere."""
    beside = reference.with_name(reference.stem + WRITTEN_SUFFIX)
    if not beside.exists():
        return written
    known: NDArray[np.bool_] = np.load(beside)
    return known if written is None else known & written


def _wanted(unwritten: NDArray[np.bool_] | None, reference: Path) -> NDArray[np.bool_] | None:
    """Of the elements that were not stored to, those that the reference asks for."""
    beside = reference.with_name(reference.stem + WRITTEN_SUFFIX)
    if unwritten is None or not beside.exists():
        return unwritten
    wanted: NDArray[np.bool_] = np.load(beside).reshape(unwritten.shape)
    return unwritten & wanted


def same_bytes(left: NDArray[np.generic], right: NDArray[np.generic]) -> bool:
    """Equal in shape, type and every bit, NaN included."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    width = np.uint64 if left.nbytes % 8 == 0 else np.uint8
    return bool(np.array_equal(left.reshape(-1).view(width), right.reshape(-1).view(width)))


def describe(tolerance: Tolerance) -> str:
    """The tolerance in words: which numbers, and where they come from."""
    if tolerance.source == "yaml":
        return f"tolerance rtol {tolerance.rtol:g}, atol {tolerance.atol:g} from the YAML"
    return f"tolerance by rule: {tolerance.source}"
