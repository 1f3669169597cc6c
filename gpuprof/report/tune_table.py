"""A search on the terminal: the best trials, how the best came down, what matters, and what is sure of the winner."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.grouping import grouped
from gpuprof.report.layout import Column
from gpuprof.report.sentences import head_lines
from gpuprof.report.tables import print_columns
from gpuprof.results.derived import derived_values, describe
from gpuprof.results.model import Result, Run, SearchFacts, Status

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 10
#: Parameters of less than this share are not named.
MIN_SHARE = 0.02


def render_search(run: Run, console: Console) -> None:
    """Print the search of ``gpuprof tune``."""
    from rich.text import Text

    search = run.search
    assert search is not None
    console.print(Text(f"{run.experiment}: {run.description}" if run.description else run.experiment, style="bold"))
    for line in head_lines(run):
        console.print(Text(line, style="dim"))
    console.print(Text(_headline(search), style="dim"))
    rows = {row.variant: row for row in run.results}
    best = [rows[label] for label in sorted(search.costs, key=lambda each: search.costs[each])[:SHOWN]]
    if best:
        console.print()
        print_columns(_columns(best, search), console, bold=(0,))
    for style, line in below(run, search):
        console.print(Text(line, style=style))


def _headline(search: SearchFacts) -> str:
    ended = {
        "points": "every point was tried",
        "minutes": "time was up",
        "interrupted": "interrupted",
    }.get(search.stopped_by, "")
    tail = f"; {ended}" if ended else ""
    return (
        f"{search.trials:,} of {search.points:,} points, strategy {search.strategy}, seed {search.seed}; minimised: "
        f"{search.objective} ({search.basis}){tail}"
    )


def cost_text(cost: float, search: SearchFacts) -> str:
    """A cost in the objective's unit."""
    entry = describe(search.objective)
    return f"{cost:.6g}" if entry is None else units.FORMATTERS[entry.unit](cost)


def _columns(best: list[Result], search: SearchFacts) -> list[Column]:
    least = search.costs[best[0].variant]
    place = {label: number for number, label in enumerate(search.order, 1)}
    names = [name for name in best[0].parameters if len({str(row.parameters.get(name)) for row in best}) > 1]
    same = [name for name in best[0].parameters if name not in names]
    label = "variant" if len({row.family for row in best}) > 1 or not names else None
    columns = [Column("", tuple(str(number) for number in range(1, len(best) + 1)), 100)]
    if label:
        columns.append(Column(label, tuple(row.family for row in best), 99, right=False))
    columns += [Column(name, tuple(str(row.parameters.get(name, "-")) for row in best), 98) for name in (*names, *same)]
    costs = [search.costs[row.variant] for row in best]
    columns.append(Column(search.objective, tuple(cost_text(cost, search) for cost in costs), 97))
    if least > 0:
        columns.append(Column("over\nbest", tuple(f"{cost / least - 1:.1%}" for cost in costs), 90))
    columns.append(Column("trial", tuple(str(place.get(row.variant, "-")) for row in best), 80))
    for name, head in (("gflops", "GFLOP/s"), ("registers", "regs"), ("spill_bytes", "spills"), ("occupancy", "occ %")):
        values = [derived_values(row).get(name) for row in best]
        if name != search.objective and any(value for value in values):
            cells = tuple("-" if value is None else f"{value:,.0f}" for value in values)
            columns.append(Column(head, cells, 60))
    return columns


def below(run: Run, search: SearchFacts) -> Iterator[tuple[str, str]]:
    """(style, line): the course, what matters, the winner, failures, notes."""
    yield "", ""
    if search.best is not None:
        yield "", f"best: {search.best}, {cost_text(search.costs[search.best], search)}"
    course = best_so_far(search)
    if len(course) > 1:
        marks = [number for number in (1, 5, 10, 25, 50, 100, 200, 500, 1000, 5000) if number < len(course)]
        known = [(number, course[number - 1]) for number in (*marks, len(course))]
        said = [f"{number}: {cost_text(cost, search)}" for number, cost in known if cost is not None]
        yield "", f"best after trial {', '.join(said)}"
    if search.importance:
        shares = [f"{name} {share:.0%}" for name, share in search.importance.items() if share >= MIN_SHARE]
        yield "", f"what the costs vary by, in the trials: {', '.join(shares)}"
    yield from _confirmation(search)
    failed = [row for row in run.results if row.status not in (Status.OK, Status.UNCHECKED)]
    if failed:
        yield "yellow", f"{len(failed)} of {search.trials} trials failed:"
        reasons = ((row.variant, f"{row.status.value}: {(row.reason or '').splitlines()[0]}") for row in failed)
        yield from (("yellow", f"  {line}") for line in grouped(reasons, len(run.results)))
    for note in run.notes:
        yield "dim", f"note: {note}"
    if not run.complete:
        yield "yellow", "interrupted: gpuprof tune --resume goes on from these trials"


def _confirmation(search: SearchFacts) -> Iterator[tuple[str, str]]:
    if search.runner_up is None:
        return
    if search.comparison is None:
        if search.basis == "measured":
            yield "yellow", f"the best was not compared in turn with {search.runner_up}"
        return
    interval = search.speedup_interval or (float("nan"), float("nan"))
    figures = f"{search.speedup:.4f} times [{interval[0]:.4f}, {interval[1]:.4f}]"
    style = "green" if search.comparison == "faster" else "yellow"
    yield style, f"timed in turn with {search.runner_up}: {search.comparison}, {figures}"


def best_so_far(search: SearchFacts) -> list[float | None]:
    """The least cost after each trial; None before the first that has one."""
    costs = (search.costs.get(label) for label in search.order)
    return list(accumulate(costs, _lesser))


def _lesser(first: float | None, second: float | None) -> float | None:
    known = [cost for cost in (first, second) if cost is not None]
    return min(known, default=None)
