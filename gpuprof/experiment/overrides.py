"""Sizes and parameters given on the command line in place of the YAML's: ``--set M=256 --set TILE=16,32``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpuprof.errors import UsageError

if TYPE_CHECKING:
    from gpuprof.experiment.schema import ExperimentModel


def parse_overrides(texts: Iterable[str]) -> dict[str, str]:
    """``NAME=VALUE[,VALUE...]`` texts as a mapping for ``load``; raises UsageError for a text that is none."""
    overrides: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"'{text}': expected NAME=VALUE or NAME=VALUE,VALUE, as in M=256 or TILE=16,32")
        if name.strip() in overrides:
            raise UsageError(f"'{name.strip()}' is set twice; write its values with commas: {name.strip()}=16,32")
        overrides[name.strip()] = value.strip()
    return overrides


def override_values(name: str, text: str) -> list[int | float | str]:
    """``16,32`` as values; a comma inside parentheses or template brackets does not split."""
    values = [part.strip() for part in re.split(r",(?![^()<>]*[)>])", text)]
    if not all(values):
        raise UsageError(f"{name}={text}: expected a value, or values with commas between: {name}=16,32")
    return [_literal(value) for value in values]


def _literal(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def check_overrides(model: ExperimentModel, overrides: Mapping[str, str]) -> None:
    """Raise UsageError for an override that names no size and no parameter."""
    from gpuprof.experiment.expressions import unknown

    known = set(model.sizes)
    for variant in model.variants.values():
        known.update(variant.sizes, variant.params)
    for name in overrides:
        if name not in known:
            raise UsageError(f"{name}={overrides[name]}: {unknown(name, sorted(known), 'size or parameter')}")
