"""What names a variant: one rule for the YAML's ``reference``, ``baseline`` and ``expect``, and for ``--variant``.

A name is a label (``tiled/TILE=16/M=64``), a family (``tiled``), a label's beginning up to a slash
(``tiled/TILE=16``), or a shell pattern of any of these (``til*``, ``*/TILE=16``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from gpuprof.errors import UsageError


class Named(Protocol):
    """What has a variant's names and its point."""

    @property
    def label(self) -> str: ...
    @property
    def family(self) -> str: ...


class Point(Named, Protocol):
    """A variant: its names, sizes and parameters."""

    @property
    def sizes(self) -> Mapping[str, int | float]: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...


N = TypeVar("N", bound=Named)
P = TypeVar("P", bound=Point)


def matches(name: str, family: str, label: str) -> bool:
    """Whether ``name`` names the variant of that family and label."""
    if name in (family, label) or label.startswith(f"{name}/"):
        return True
    if not is_pattern(name):
        return False
    parts = label.split("/")
    beginnings = ("/".join(parts[: count + 1]) for count in range(len(parts)))
    return any(fnmatchcase(known, name) for known in (family, *beginnings))


def is_pattern(name: str) -> bool:
    """Whether it holds a character that only a shell pattern has."""
    return any(character in name for character in "*?[")


def select(variants: Iterable[N], name: str) -> tuple[N, ...]:
    """The variants that ``name`` names, in their order; the one of exactly that label alone, where there is one."""
    found = tuple(variant for variant in variants if matches(name, variant.family, variant.label))
    exact = tuple(variant for variant in found if variant.label == name)
    return exact or found


def select_all(variants: Sequence[N], names: Sequence[str], option: str = "--variant") -> tuple[N, ...]:
    """The variants that any of the names names, in their order; all without a name.

    Raises UsageError for a name that names none, with the nearest.
    """
    if not names:
        return tuple(variants)
    chosen: set[str] = set()
    for name in names:
        found = select(variants, name)
        if not found:
            raise UsageError(f"{option} {name!r} names no variant; there are {', '.join(nearest(variants, name))}")
        chosen.update(variant.label for variant in found)
    return tuple(variant for variant in variants if variant.label in chosen)


def nearest(variants: Iterable[Named], name: str) -> list[str]:
    """Names to suggest instead: the three nearest of the families and labels, else the first six."""
    variants = list(variants)
    known = [*dict.fromkeys(variant.family for variant in variants), *(variant.label for variant in variants)]
    return difflib.get_close_matches(name, known, n=3) or known[:6]


def counterpart(variants: Iterable[P], name: str, variant: P) -> P | None:
    """The variant called ``name`` that ``variant`` is compared with: its sizes, and the most equal parameters.

    The first of several; itself where ``name`` names it. None where no variant of that name has its sizes. This is how
    ``baseline: naive`` and ``reference: naive`` find their partner when sizes are lists.
    """
    candidates = [other for other in select(variants, name) if _differing(other.sizes, variant.sizes) == 0]

    def closeness(other: P) -> tuple[bool, int, int]:
        differing = _differing(other.parameters, variant.parameters)
        return other.label == variant.label, -differing, _equal(other.parameters, variant.parameters)

    return max(candidates, key=closeness, default=None)


def without_counterpart(variants: Sequence[P], name: str | None) -> Mapping[str, str]:
    """Labels of the variants that no variant called ``name`` can be compared with -> the reason."""
    if name is None:
        return {}
    reasons = {}
    for variant in variants:
        if counterpart(variants, name, variant) is None:
            sizes = ", ".join(f"{size}={value}" for size, value in variant.sizes.items())
            at = f" at {sizes}" if sizes and select(variants, name) else ""
            reasons[variant.label] = f"the baseline '{name}' names no variant{at}"
    return reasons


def unpaired_note(variants: Sequence[P], baseline: str | None) -> tuple[str, ...]:
    """One sentence on the variants that the baseline leaves without a partner; none when all have one."""
    reasons = without_counterpart(variants, baseline)
    if not reasons:
        return ()
    count = "no variant is" if len(reasons) == len(variants) else f"{len(reasons)} of {len(variants)} variants are not"
    examples = ", ".join(list(reasons)[:3]) + (", ..." if len(reasons) > 3 else "")
    return (f"{count} compared with a baseline ({examples}): {next(iter(reasons.values()))}",)


def _differing(first: Mapping[str, object], second: Mapping[str, object]) -> int:
    return sum(first[name] != second[name] for name in first.keys() & second.keys())


def _equal(first: Mapping[str, object], second: Mapping[str, object]) -> int:
    return sum(first[name] == second[name] for name in first.keys() & second.keys())
