"""Picking variants by what a YAML or a command line calls them."""

from __future__ import annotations

from collections.abc import Iterable

from gpuprof.experiment.model import Variant


def matches(name: str, family: str, label: str) -> bool:
    """Whether ``name`` is the family, the label, or a label's beginning up to a slash."""
    return name in (family, label) or label.startswith(f"{name}/")


def counterpart(variants: Iterable[Variant], name: str, variant: Variant) -> Variant | None:
    """The variant called ``name`` at the sizes of ``variant``; of several, one whose shared parameters agree.

    This is how ``baseline: naive`` and ``reference: naive`` find their partner when sizes are lists.
    """
    candidates = [other for other in variants if matches(name, other.family, other.label)]
    same_sizes = [other for other in candidates if _agree(dict(other.sizes), dict(variant.sizes))]
    same_parameters = [other for other in same_sizes if _agree(dict(other.parameters), dict(variant.parameters))]
    return next(iter(same_parameters or same_sizes), None)


def _agree(first: dict[str, object], second: dict[str, object]) -> bool:
    return all(first[name] == second[name] for name in first.keys() & second.keys())
