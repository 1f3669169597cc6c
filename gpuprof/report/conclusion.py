"""Below the table of a run: which variant is best and by what, and the first finding in each variant's code."""

from __future__ import annotations

from collections.abc import Iterator

from gpuprof.report import units
from gpuprof.report.grouping import grouped
from gpuprof.report.sentences import shortened
from gpuprof.results.best import MODELLED, UNITS, Best, best_of
from gpuprof.results.model import Run, Status

#: Findings of more variants than this are named only of the best ones' code; ``gpuprof sass`` has them all.
SHOWN_FINDINGS = 8


def conclusion_lines(run: Run) -> Iterator[tuple[str, str]]:
    """(style, line): the best variant, then findings."""
    best = best_of(run)
    if best is not None:
        yield "bold", best_line(best)
    yield from finding_lines(run)


def best_line(best: Best) -> str:
    """``fastest: tiled/TILE=32, 873.4 µs (naive 1.204 ms)``; without times the counted basis in its own words."""
    name, other = best.result.variant, best.runner_up.variant
    if best.basis == "time":
        head = f"fastest: {name}, {units.microseconds(best.value)}"
        tail = f"then {other}, {units.microseconds(best.next_value)}"
        return f"{head}; {tail}" + ("" if best.clear else " (the intervals overlap: no clear winner)")
    if best.basis == MODELLED:
        head = f"fastest as modelled: {name}, {units.microseconds(best.value)}"
        tail = f"then {other}, {units.microseconds(best.next_value)}"
        return f"{head}; {tail}" + ("" if best.clear else " (too close for the model to tell)")
    value, following = (units.short_count(round(number)) for number in (best.value, best.next_value))
    if best.equal:
        return f"fewest {UNITS[best.basis]}: {shortened(list(best.equal))}, at least {value} each (counted, no time)"
    return f"fewest {UNITS[best.basis]}: {name}, at least {value}; then {other}, {following} (counted, no time)"


def finding_lines(run: Run) -> Iterator[tuple[str, str]]:
    """The first finding of every variant that ran; equal ones once, with the variants that they are of."""
    found = [
        (result.variant, result.sass.finding)
        for result in run.results
        if result.sass is not None and result.sass.finding and result.status is not Status.SKIPPED
    ]
    lines = list(grouped(found, len(run.results)))
    yield from (("", f"finding: {line}") for line in lines[:SHOWN_FINDINGS])
    if len(lines) > SHOWN_FINDINGS:
        yield "dim", f"{len(lines) - SHOWN_FINDINGS} further findings: gpuprof sass shows them, see also --json"
