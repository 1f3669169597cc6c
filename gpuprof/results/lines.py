"""Counters by source line: the instructions' counts added up, with the same derived values as a kernel's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpuprof.isa.counters import Number
from gpuprof.results.derived import counted_values
from gpuprof.results.model import Counters


@dataclass(frozen=True)
class LineCounters:
    """One source line of one step; ``line`` is None for instructions that the compiler gave no line."""

    step: str
    file: str
    line: int | None
    instructions: int
    counters: Mapping[str, Number]
    values: Mapping[str, float]


def by_line(counters: Counters) -> tuple[LineCounters, ...]:
    """The lines of a pass in the order of step, file and line; without a line last."""
    totals: dict[tuple[str, str, int | None], Counter[str]] = {}
    sizes: Counter[tuple[str, str, int | None]] = Counter()
    for entry in counters.per_instruction:
        key = (entry.step, entry.file, entry.line)
        totals.setdefault(key, Counter()).update(entry.counters)
        sizes[key] += 1
    ordered = sorted(totals, key=lambda key: (key[0], key[2] is None, key[1], key[2] or 0))
    return tuple(_line(key, sizes[key], totals[key], counters) for key in ordered)


def _line(key: tuple[str, str, int | None], size: int, total: Mapping[str, Number], counters: Counters) -> LineCounters:
    values = counted_values(replace(counters, values=dict(total), per_instruction=()))
    return LineCounters(*key, instructions=size, counters=dict(total), values=values)
