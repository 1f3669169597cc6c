"""A variant's label in the table: one column, or a column for each swept value where one would be too wide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpuprof.report.columns import VARIANT, ColumnSpec, Row
from gpuprof.report.layout import ALWAYS, FOLD_SHARE
from gpuprof.results.model import Result

#: A head with a longer name is broken at its underscores.
HEAD_WIDTH = 8
FAMILY = ColumnSpec("variant", "variant", ALWAYS, lambda row: row.result.family, right=False, shrink_to=12)


def label_specs(results: Sequence[Result], width: int) -> tuple[ColumnSpec, ...]:
    """The columns that name each row in a table of that width."""
    longest = max((len(result.variant) for result in results), default=0)
    values = {result.variant: values_of(result.variant) for result in results}
    known = [found for found in values.values() if found is not None]
    if longest <= FOLD_SHARE * width or len(known) < len(values):
        return (VARIANT,)
    families = {result.family for result in results}
    specs = [FAMILY] if len(families) > 1 else []
    taken = max(map(len, families)) if specs else 0
    for name in dict.fromkeys(name for found in known for name in found):
        widest = max(len(found.get(name, "")) for found in known)
        short = broken(name, max(widest, HEAD_WIDTH))
        taken += 1 + max(widest, *(len(line) for line in short.split("\n")))
        specs.append(ColumnSpec(name, short, ALWAYS, _value(values, name)))
    return tuple(specs) if specs and taken <= FOLD_SHARE * width else (VARIANT,)


def values_of(label: str) -> dict[str, str] | None:
    """The values of ``family/NAME=VALUE/...``; None for a label of another form."""
    pairs = [part.partition("=") for part in label.split("/")[1:]]
    if not all(name and equals for name, equals, _ in pairs):
        return None
    return {name: value for name, _, value in pairs}


def broken(name: str, width: int) -> str:
    """The name in lines of at most ``width`` where its underscores allow it."""
    lines = [""]
    words = name.split("_")
    for word in [*(f"{word}_" for word in words[:-1]), words[-1]]:
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _value(values: Mapping[str, Mapping[str, str] | None], name: str) -> Callable[[Row], str]:
    return lambda row: (values[row.result.variant] or {}).get(name, "")
