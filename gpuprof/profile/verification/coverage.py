"""Was everything stored to that should have been? Whole grids by element, samples of blocks by estimate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.device.jobs import BufferSpec, Job
from gpuprof.device.session import Coverage
from gpuprof.experiment.element_types import as_numbers, kind_of
from gpuprof.profile.verification.cache import WRITTEN_SUFFIX, Limits
from gpuprof.profile.verification.unordered import Ordering

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A sample whose blocks stand for less than this share of what the reference has is not enough for ``ok``. The
#: estimate is exact where blocks of a class (corner, edge, interior) store alike, and off by a per cent or two where
#: rows are shared out unevenly.
ENOUGH = 0.95
#: Elements compared at a time.
_PIECE = 1 << 20


def limits_of(job: Job, coverage: Mapping[str, Coverage], names: frozenset[str]) -> dict[str, Limits]:
    """What of each output counts. ``names`` are the outputs that must be stored to: those that a reference has.

    An output with a first content may keep it. Where the device does not know what was stored, the poison tells.
    """
    found = {}
    for spec in job.buffers:
        if not spec.output:
            continue
        known, must = coverage.get(spec.name), spec.name in names and not spec.holds_something
        if known is None:
            found[spec.name] = Limits(may_be_left=must)
        elif known.sampled:
            found[spec.name] = Limits(written=known.mask)
        elif must and known.mask is not None:
            found[spec.name] = Limits(unwritten=~known.mask)
    return found


def orderings_of(
    job: Job, references: Mapping[str, Path], outputs: Mapping[str, NDArray[np.generic]] | None = None
) -> dict[str, Ordering]:
    """How the elements of each unordered output are compared; how many count is the reference's number or its own."""
    found = {}
    for spec in job.buffers:
        if spec.output and spec.order != "kept":
            found[spec.name] = Ordering(spec.order, _count(spec.count or "", references, outputs or {}))
    return found


def _count(counter: str, references: Mapping[str, Path], outputs: Mapping[str, NDArray[np.generic]]) -> int | None:
    """The first element of the output that counts another's elements; None where there is none."""
    if counter in references:
        return max(0, int(np.load(references[counter], mmap_mode="r").reshape(-1)[0]))
    return max(0, int(outputs[counter].reshape(-1)[0])) if counter in outputs else None


def shortfall(job: Job, coverage: Mapping[str, Coverage], references: Mapping[str, Path]) -> str:
    """What a sample of blocks left unwritten, as a sentence; empty where it covered its share."""
    for spec in job.buffers:
        known, reference = coverage.get(spec.name), references.get(spec.name)
        if known is not None and reference is not None and spec.order != "kept" and known.sampled:
            return f"{spec.name} is unordered, and only a sample of blocks ran: --emulate-budget all runs every block"
        if known is None or reference is None or not known.sampled or known.expected_elements is None:
            continue
        if reference.with_name(reference.stem + WRITTEN_SUFFIX).exists():
            continue  # a sample of blocks made it: how much there is nobody knows
        needed = _needed(spec, reference)
        if known.expected_elements < ENOUGH * needed:
            share = f"{100 * known.expected_elements / needed:.3g} %"
            return (
                f"the sampled blocks stored to {_stored(spec, known):,} elements of {spec.name}, which stands for "
                f"{share} of the {needed:,} that the reference has: --emulate-budget all runs every block"
            )
    return ""


def _stored(spec: BufferSpec, known: Coverage) -> int:
    return int(np.prod(spec.shape)) if known.mask is None else int(np.count_nonzero(known.mask))


def _needed(spec: BufferSpec, reference: Path) -> int:
    """Elements that some block must store to: all, or of an in-out buffer those whose value changes."""
    want: NDArray[np.generic] = np.load(reference, mmap_mode="r")
    total = int(np.prod(spec.shape))
    if spec.file is None:
        return total
    stored = np.load(spec.file, mmap_mode="r")
    if spec.element and kind_of(spec.element) != "c":
        stored = as_numbers(stored, spec.element)
        want, total = np.broadcast_to(want, stored.shape), stored.size
        return int(np.count_nonzero(want != stored)) * int(np.prod(spec.shape)) // total
    before = stored.reshape(-1)
    flat = np.broadcast_to(want, spec.shape).reshape(-1)
    pieces = range(0, total, _PIECE)
    return sum(int(np.count_nonzero(flat[at : at + _PIECE] != before[at : at + _PIECE])) for at in pieces)
