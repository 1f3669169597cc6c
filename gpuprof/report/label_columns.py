"""A variant's label in the table: one column, or a column for each swept value where one would be too wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuprof.report.columns import VARIANT, Head, Row
from gpuprof.report.layout import ALWAYS, FOLD_SHARE
from gpuprof.results.model import Result

#: A head with a longer name is broken at its underscores.
HEAD_WIDTH = 8


def label_heads(results: Sequence[Result], width: int) -> tuple[Head, ...]:
    """The columns that name each row in a table of that width."""
    labels = [result.variant for result in results]
    longest = max((len(label) for label in labels), default=0)
    parts = {label: split_label(label) for label in labels}
    values = [found[1] for found in parts.values() if found is not None]
    if longest <= FOLD_SHARE * width or len(values) < len(parts):
        return (VARIANT,)
    families = dict.fromkeys(label.split("/", 1)[0] for label in labels)
    heads = [Head("variant", "variant", ALWAYS, _family, right=False, shrink_to=12)] if len(families) > 1 else []
    taken = max(map(len, families)) if heads else 0
    for name in dict.fromkeys(name for found in values for name in found):
        widest = max(len(found.get(name, "")) for found in values)
        short = broken(name, max(widest, HEAD_WIDTH))
        taken += 1 + max(widest, *(len(line) for line in short.split("\n")))
        heads.append(Head(name, short, ALWAYS, _value(name)))
    return tuple(heads) if heads and taken <= FOLD_SHARE * width else (VARIANT,)


def split_label(label: str) -> tuple[str, dict[str, str]] | None:
    """``family/NAME=VALUE/...`` as family and values; None for a label of another form."""
    family, *parts = label.split("/")
    pairs = [part.partition("=") for part in parts]
    if not all(name and equals for name, equals, _ in pairs):
        return None
    return family, {name: value for name, _, value in pairs}


def broken(name: str, width: int) -> str:
    """The name in lines of at most ``width`` where its underscores allow it."""
    lines = [""]
    words = name.split("_")
    for word in [*(f"{word}_" for word in words[:-1]), words[-1]]:
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _family(row: Row) -> str:
    return row.result.variant.split("/", 1)[0]


def _value(name: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        found = split_label(row.result.variant)
        return found[1].get(name, "") if found is not None else ""

    return text
