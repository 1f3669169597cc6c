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
from gpuprof.profile.verification.tolerance import default_tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Beside a reference that is another variant's output, when a sample of blocks made it: which elements it wrote.
WRITTEN_SUFFIX = ".written.npy"

#: Outputs that are kept per buffer, reference and tolerance: variants that add in another order give other bits, and a
#: space has a handful of orders. Beyond these bytes only the latest is.
KEPT_OUTPUTS = 4
KEPT_BYTES = 256 << 20

_Key = tuple[str, Path | None, Tolerance | None]


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


@dataclass(frozen=True)
class _Known:
    output: NDArray[np.generic]
    digest: str
    check: OutputCheck | None
    rule: str


class Comparer:
    """Remembers the latest outputs per buffer, reference and tolerance."""

    def __init__(self) -> None:
        self._known: dict[_Key, list[_Known]] = {}
        self._tolerances: dict[tuple[Path, str, int], Tolerance] = {}

    def recall(
        self,
        request: Check,
        references: Mapping[str, Path],
        names: Iterable[str],
        holds: Callable[[str, NDArray[np.generic]], bool],
    ) -> Comparison | None:
        """What is known of these outputs, where ``holds`` says that each equals one from before; None: compare them."""
        known = []
        for name in names:
            entry = self._recalled((name, references.get(name), request.tolerance), holds)
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
    ) -> Comparison:
        """Compare every output that has a reference, within its ``limits``."""
        limits = limits or {}
        known = {
            name: self._one(request, name, references.get(name), array, limits.get(name, Limits()))
            for name, array in outputs.items()
        }
        return _comparison(known)

    def _one(
        self,
        request: Check,
        name: str,
        reference: Path | None,
        output: NDArray[np.generic],
        limits: Limits,
    ) -> _Known:
        key = (name, reference, request.tolerance)
        whole = limits.written is None and limits.unwritten is None
        before = self._recalled(key, lambda _, known: same_bytes(known, output)) if whole else None
        if before is not None:
            return before
        check, rule = None, ""
        if reference is not None:
            want = np.load(reference, mmap_mode="r")
            tolerance = request.tolerance
            if tolerance is None:
                tolerance = self._default(reference, output.dtype.name, request.reductions.get(name, 1), want)
            rule = describe(tolerance)
            written = _both(limits.written, reference)
            poison = request.poison if limits.may_be_left else None
            check = compare_output(name, output, want, tolerance, written, limits.unwritten, poison)
        elif limits.unwritten is not None:
            check = never_written(name, output, limits.unwritten)
        found = _Known(output, digest(output), check, rule)
        if whole:
            kept = max(1, min(KEPT_OUTPUTS, KEPT_BYTES // max(1, output.nbytes)))
            self._known[key] = [found, *self._known.get(key, ())][:kept]
        return found

    def _default(self, reference: Path, dtype: str, terms: int, want: NDArray[np.generic]) -> Tolerance:
        key = (reference, dtype, terms)
        if key not in self._tolerances:
            self._tolerances[key] = default_tolerance(dtype, terms, want)
        return self._tolerances[key]


def _comparison(known: Mapping[str, _Known]) -> Comparison:
    return Comparison(
        checks=tuple(entry.check for entry in known.values() if entry.check is not None),
        why="; ".join(dict.fromkeys(entry.rule for entry in known.values() if entry.rule)),
        digests={name: entry.digest for name, entry in known.items()},
    )


def _both(written: NDArray[np.bool_] | None, reference: Path) -> NDArray[np.bool_] | None:
    """Where there is something on both sides; None: everywhere."""
    beside = reference.with_name(reference.stem + WRITTEN_SUFFIX)
    if not beside.exists():
        return written
    known: NDArray[np.bool_] = np.load(beside)
    return known if written is None else known & written


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
