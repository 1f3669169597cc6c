"""A run on the terminal: head lines, one table, and below it what failed, what did not hold, and the warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.column_choice import choose
from gpuprof.report.columns import (
    BUILT,
    COUNTED,
    COUNTED_BESIDE_TIMES,
    DEVICE,
    MODELLED,
    ON_REQUEST,
    SASS,
    STATUS_STYLES,
    TIMED,
    VARIANT,
    ColumnSpec,
    draw,
    rows_of,
    status_word,
)
from gpuprof.report.conclusion import conclusion_lines
from gpuprof.report.grouping import grouped
from gpuprof.report.label_columns import label_specs
from gpuprof.report.ncu_table import ncu_columns
from gpuprof.report.printed import printed_lines
from gpuprof.report.sentences import coverage_lines, describe_difference, head_lines
from gpuprof.report.step_table import render_steps, step_lines
from gpuprof.report.tables import print_columns
from gpuprof.report.verdict import verdict
from gpuprof.results.lookup import is_baseline
from gpuprof.results.model import Result, Run, Status

if TYPE_CHECKING:
    from rich.console import Console


#: From this number of timed variants on, the fastest are named below the table.
LONG_SWEEP = 10
SHOWN_FASTEST = 3
#: This number of failures is printed in full; of further ones a line for each kind.
SHOWN_FAILURES = 10


ALL_SPECS = (*TIMED, *(spec for spec in MODELLED if spec not in TIMED), *COUNTED, *SASS, *ON_REQUEST, DEVICE)


def render_run(
    run: Run, console: Console, *, sass: bool = False, steps: bool = False, columns: Sequence[str] = ()
) -> None:
    """Print the run: fits the console's width, adds the machine-code columns with ``sass``, and each step's line.

    ``columns`` are the names of ``--columns``. Raises UsageError for a name that no column has.
    """
    from rich.text import Text

    console.print(Text(f"{run.experiment}: {run.description}" if run.description else run.experiment, style="bold"))
    for line in head_lines(run):
        console.print(Text(line, style="dim"))
    if run.results:
        console.print()
        bold = [n for n, result in enumerate(run.results) if is_baseline(run, result)]
        named = label_specs(run.results, console.width)
        if VARIANT not in named and len({result.family for result in run.results}) == 1:
            console.print(Text(f"variants of {run.results[0].family}", style="dim"))
        specs = specs_for(run, sass=sass, columns=columns)
        drawn = draw((*named, *specs[1:]), rows_of(run.results))
        print_columns(drawn, console, {"status": STATUS_STYLES}, bold)
    rates = ncu_columns(run)
    if rates:
        console.print()
        print_columns(rates, console)
    if steps:
        render_steps(run, console)
    for style, line in below(run):
        console.print(Text(line, style=style))


def specs_for(run: Run, *, sass: bool = False, columns: Sequence[str] = ()) -> tuple[ColumnSpec, ...]:
    """The columns for what this run has (times, counters, both, or builds only), as the YAML and ``columns`` choose.

    The row's name comes first. Raises UsageError for a name in ``columns`` that no column has.
    """
    rows = rows_of(run.results)
    specs = choose(_usual(run, sass=sass), ALL_SPECS, run.columns, rows, strict=False)
    return choose(specs, ALL_SPECS, columns, rows)


def _usual(run: Run, *, sass: bool) -> tuple[ColumnSpec, ...]:
    timed = any(result.timing is not None for result in run.results)
    counted = any(result.counters is not None or result.ncu is not None for result in run.results)
    if timed:
        specs = (*TIMED, *COUNTED_BESIDE_TIMES) if counted else TIMED
        if len({result.timing.device for result in run.results if result.timing is not None}) > 1:
            specs = (*specs[:2], DEVICE, *specs[2:])
    elif run.environment.modelled_gpu is not None:
        specs = (*MODELLED, *COUNTED_BESIDE_TIMES)
    else:
        specs = COUNTED if counted else BUILT
    return (*specs, *SASS) if sass else specs


def below(run: Run) -> Iterator[tuple[str, str]]:
    """(style, line): failures with their reasons, expectations that failed, warnings, notes."""
    yield from conclusion_lines(run)
    yield from _fastest(run)
    yield from _failures(run)
    yield from _verdicts(run)
    yield from _expectations(run)
    yield from _warnings(run)
    yield from _not_modelled(run)
    yield from _row_notes(run)
    yield from printed_lines(run)
    yield from step_lines(run)
    yield from (("dim", line) for line in coverage_lines(run))
    for note in run.notes:
        yield "dim", f"note: {note}"
    if run.dropped:
        points = "point" if run.dropped == 1 else "points"
        yield "dim", f"where: dropped {run.dropped:,} {points}"
    if not run.complete:
        yield "yellow", "this run was interrupted: only the variants above completed"


def _fastest(run: Run) -> Iterator[tuple[str, str]]:
    """The best of a sweep that is too long to find them at a glance."""
    timed = [(r.timing.median_us, r.variant) for r in run.results if r.timing is not None and r.status is Status.OK]
    if len(timed) >= LONG_SWEEP:
        best = [f"{label} {units.microseconds(time)}" for time, label in sorted(timed)[:SHOWN_FASTEST]]
        yield "", f"fastest three: {', '.join(best)}"


def _failures(run: Run) -> Iterator[tuple[str, str]]:
    failed = [result for result in run.results if result.status is not Status.OK]
    if failed:
        yield "", ""
    for result in failed[:SHOWN_FAILURES]:
        style = "yellow" if result.status is Status.SKIPPED else "red"
        yield style, f"{result.variant}: {status_word(result)}: {_reason(result)}"
        for line in describe_difference(result):
            yield "", f"    {line}"
    rest = ((r.variant, f"{status_word(r)}: {_reason(r).splitlines()[0]}") for r in failed[SHOWN_FAILURES:])
    yield from (("red", line) for line in grouped(rest, len(run.results)))


def _reason(result: Result) -> str:
    return (result.reason or "").rstrip() or "no reason was recorded"


def _verdicts(run: Run) -> Iterator[tuple[str, str]]:
    """What bounds each variant, where ncu's rates say so."""
    for result in run.results:
        found = verdict(result) if result.ncu is not None else None
        if found is not None and found.side:
            yield "", f"{result.variant}: {found.text}"
    for result in run.results:
        if result.ncu is None and "ncu" in result.missing and result.status is Status.OK:
            yield "yellow", f"{result.variant}: no counters by ncu: {result.missing['ncu']}"


def _expectations(run: Run) -> Iterator[tuple[str, str]]:
    for outcome in run.expectations:
        if outcome.held is False:
            where = f"{outcome.variant}: " if outcome.variant else ""
            detail = f" ({outcome.detail})" if outcome.detail else ""
            yield "red", f"expectation failed: {where}{outcome.expression}{detail}"
    held = sum(1 for outcome in run.expectations if outcome.held)
    if run.expectations:
        undecided = sum(1 for outcome in run.expectations if outcome.held is None)
        tail = f", {undecided} cannot be decided here" if undecided else ""
        yield "dim", f"expectations: {held} of {len(run.expectations)} hold{tail}"


def _warnings(run: Run) -> Iterator[tuple[str, str]]:
    """Each kind of warning once, with the variants that it concerns."""
    messages = ((r.variant, text) for r in run.results if r.timing is not None for text in r.timing.warnings)
    yield from (("yellow", f"warning: {line}") for line in grouped(messages, len(run.results)))


def _not_modelled(run: Run) -> Iterator[tuple[str, str]]:
    """Why a row has no modelled time, each reason once."""
    reasons = ((r.variant, r.missing["modelled"]) for r in run.results if "modelled" in r.missing)
    yield from (("yellow", f"no modelled time: {line}") for line in grouped(reasons, len(run.results)))


def _row_notes(run: Run) -> Iterator[tuple[str, str]]:
    """What the compiler said and what a check cannot see: each once, with the variants that it concerns."""
    notes = ((r.variant, text) for r in run.results for text in r.notes)
    yield from (("yellow", f"note: {line}") for line in grouped(notes, len(run.results)))
