"""Warnings of one kind as one line: equal but for their numbers, they are printed with the range of each number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpuprof.report.sentences import shortened

#: A number with its sign and percent sign; digits within a word (``float32``, ``L2``) are none.
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?(?!\w)")
#: So many variants are named without counting them.
_MAX_NAMES = 4


def grouped(messages: Iterable[tuple[str, str]], total: int) -> Iterator[str]:
    """One line per kind of text, in order of appearance.

    ``messages`` are (variant, text); ``total`` is how many variants there are. A line names the variants, unless the
    text concerns all of them: ``3 variants ...: noise 2.1% to 6.1% is above 0.5%``.
    """
    kinds: dict[str, dict[str, str]] = {}
    for variant, text in messages:
        kinds.setdefault(_NUMBER.sub("#", text), {})[variant] = text
    for texts in kinds.values():
        names = list(texts)
        yield _where(names, total) + merged(list(texts.values()))


def _where(names: list[str], total: int) -> str:
    if len(names) == total:
        return ""
    listed = shortened(names, _MAX_NAMES)
    return f"{listed}: " if len(names) <= _MAX_NAMES else f"{len(names)} of {total} variants ({listed}): "


def merged(texts: Sequence[str]) -> str:
    """Texts that differ only in numbers as one; a number that differs is given as ``lowest to highest``."""
    pieces = _NUMBER.split(texts[0])
    columns = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    numbers = [_range(column) for column in columns]
    return "".join(piece + number for piece, number in zip(pieces, [*numbers, ""], strict=True))


def _range(numbers: Sequence[str]) -> str:
    low, high = min(numbers, key=_value), max(numbers, key=_value)
    return low if low == high else f"{low} to {high}"


def _value(number: str) -> float:
    return float(number.rstrip("%").replace(",", ""))
