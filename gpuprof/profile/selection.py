"""Which variants run, in which order they are built, and which one each is compared with."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gpuprof.errors import UsageError
from gpuprof.experiment.model import Experiment, Variant


def select(variants: Sequence[Variant], wanted: Sequence[str]) -> tuple[Variant, ...]:
    """The variants that ``--variant`` names by label, family or shell pattern; all when it names none.

    Raises UsageError for a name that fits nothing, with the nearest.
    """
    if not wanted:
        return tuple(variants)
    for name in wanted:
        if not any(_fits(variant, name) for variant in variants):
            known = [*dict.fromkeys(variant.family for variant in variants), *(variant.label for variant in variants)]
            near = difflib.get_close_matches(name, known, n=3) or known[:6]
            raise UsageError(f"--variant {name!r} names no variant; there are {', '.join(near)}")
    return tuple(variant for variant in variants if any(_fits(variant, name) for name in wanted))


def _fits(variant: Variant, name: str) -> bool:
    return name in (variant.label, variant.family) or fnmatchcase(variant.label, name)


def with_references(experiment: Experiment, chosen: Sequence[Variant]) -> tuple[Variant, ...]:
    """The chosen variants, and before them those that they are compared with as a reference."""
    labels = {variant.label for variant in chosen}
    needed = {variant.reference.variant for variant in chosen if variant.reference.variant} - labels
    return tuple(v for v in experiment.variants if v.label in labels or v.label in needed)


def baseline_of(variant: Variant, variants: Sequence[Variant], baseline: str | None) -> str | None:
    """The label that a variant's times are compared with: of the baseline's points the one with the same sizes and the
    most equal parameters, the first of those; None when the experiment has no baseline or none of the same sizes."""
    if baseline is None:
        return None
    candidates = [
        other for other in variants if baseline in (other.label, other.family) and other.sizes == variant.sizes
    ]
    return max(candidates, key=lambda other: _agreement(variant, other)).label if candidates else None


def _agreement(variant: Variant, other: Variant) -> int:
    return sum(other.parameters.get(name) == value for name, value in variant.parameters.items())


def build_order(variants: Sequence[Variant], baseline: str | None) -> tuple[Variant, ...]:
    """Baselines and references first, so that the others need not wait for them."""
    references = {variant.reference.variant for variant in variants}
    return tuple(sorted(variants, key=lambda v: not (v.label in references or baseline in (v.label, v.family))))
