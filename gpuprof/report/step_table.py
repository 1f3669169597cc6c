"""The steps of variants that have several: a line under the run's table, and a table of their own on demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.columns import COUNTED, MAX_ABS, STATUS, VARIANT, ColumnSpec, Row, draw, rows_of
from gpuprof.report.grouping import grouped
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns
from gpuprof.results.model import Result, Run, StepFacts
from gpuprof.results.steps import as_result

if TYPE_CHECKING:
    from rich.console import Console


def step_lines(run: Run) -> Iterator[tuple[str, str]]:
    """(style, line): of which step a row's resources are, where there are several kernels."""
    several = (result for result in run.results if _kernels(result) > 1 and result.main_step)
    messages = ((result.variant, _message(result)) for result in several)
    yield from (("dim", line) for line in grouped(messages, len(run.results)))


def _message(result: Result) -> str:
    return (
        f"registers, shared memory, occupancy and code are of step {result.main_step} "
        f"({result.main_step_share}; {_kernels(result)} kernel launches, --steps shows each)"
    )


def _kernels(result: Result) -> int:
    return sum(step.kind == "kernel" for step in result.steps)


def render_steps(run: Run, console: Console) -> None:
    """A table per variant with several steps, one line per step in their order."""
    from rich.text import Text

    for result in run.results:
        if not result.steps:
            continue
        console.print()
        console.print(Text(f"steps of {result.variant}", style="bold"))
        main = [number for number, step in enumerate(result.steps) if step.name == result.main_step]
        print_columns(step_columns(result), console, {}, main)


def step_columns(result: Result) -> list[Column]:
    """The steps of a variant, a row each."""
    return draw(_specs(result.steps), rows_of(tuple(as_result(result, step) for step in result.steps)))


def _specs(steps: tuple[StepFacts, ...]) -> tuple[ColumnSpec, ...]:
    kinds = {step.name: _kind(step) for step in steps}
    shown = [spec for spec in COUNTED if spec not in (VARIANT, STATUS, MAX_ABS)]
    return (
        ColumnSpec("step", "step", ALWAYS, lambda row: row.result.variant, right=False, shrink_to=12),
        ColumnSpec("kind", "kind", 50, lambda row: kinds[row.result.variant], right=False, hide=("kernel",)),
        ColumnSpec("grid", "grid", 70, lambda row: _extents(row, "grid")),
        ColumnSpec("block", "block", 70, lambda row: _extents(row, "block")),
        *shown,
    )


def _kind(step: StepFacts) -> str:
    if step.once:
        return f"{step.kind}, once"
    return step.kind if step.timed or step.kind == "fill" else f"{step.kind}, untimed"


def _extents(row: Row, which: str) -> str:
    launch = row.result.launch
    if launch is None:
        return units.NOTHING
    extents = list(getattr(launch, which))
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return "x".join(f"{extent}" for extent in extents)
