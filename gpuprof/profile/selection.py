"""Which variants run, in which order they are built, and which one each is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprof.experiment.model import Experiment, Variant
from gpuprof.experiment.naming import counterpart, matches


def with_references(experiment: Experiment, chosen: Sequence[Variant]) -> tuple[Variant, ...]:
    """The chosen variants, and before them those that they are compared with as a reference."""
    labels = {variant.label for variant in chosen}
    needed = {variant.reference.variant for variant in chosen if variant.reference.variant} - labels
    return tuple(v for v in experiment.variants if v.label in labels or v.label in needed)


def baseline_of(variant: Variant, variants: Sequence[Variant], baseline: str | None) -> str | None:
    """The label that a variant's times are compared with (``naming.counterpart``); None without a baseline, or where
    it names no variant of the same sizes."""
    found = None if baseline is None else counterpart(variants, baseline, variant)
    return None if found is None else found.label


def build_order(variants: Sequence[Variant], baseline: str | None) -> tuple[Variant, ...]:
    """Baselines and references first, so that the others need not wait for them."""
    references = {variant.reference.variant for variant in variants}
    return tuple(sorted(variants, key=lambda v: not (v.label in references or _names(baseline, v))))


def _names(baseline: str | None, variant: Variant) -> bool:
    return baseline is not None and matches(baseline, variant.family, variant.label)
