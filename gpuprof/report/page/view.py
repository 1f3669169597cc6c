"""What a page says of a run: every part of it, from the run's JSON alone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from gpuprof.report import units
from gpuprof.report.ncu_table import ncu_columns
from gpuprof.report.page.code import code_views
from gpuprof.report.page.model import Fact, Figure, Note, PageView, Table
from gpuprof.report.page.pictures.difference import difference
from gpuprof.report.page.pictures.ladder import ladder
from gpuprof.report.page.pictures.lanes import access_groups
from gpuprof.report.page.pictures.occupancy import occupancy_curves
from gpuprof.report.page.pictures.roofline import roofline
from gpuprof.report.page.pictures.sweep import sweeps
from gpuprof.report.page.pictures.trend import trend
from gpuprof.report.page.tables import (
    agreement_tables,
    checks_table,
    counters_table,
    expectations_table,
    plain_table,
    run_table,
)
from gpuprof.report.run_table import below
from gpuprof.report.sentences import head_lines
from gpuprof.report.step_table import step_columns
from gpuprof.results.history import PastResult
from gpuprof.results.model import Run

KINDS = {"bold": "key", "red": "bad", "yellow": "warn"}
#: Pictures of wrong outputs in one page.
MAX_DIFFERENCES = 8


def run_view(run: Run, identifier: str, columns: Sequence[str] = (), past: Sequence[PastResult] = ()) -> PageView:
    """The parts of a page that are of this run; ``identifier`` begins the names of its places.

    ``columns`` are those of ``--columns``; ``past`` are earlier results of the same experiment, oldest first.
    """
    codes, code_note = code_views(run)
    return PageView(
        identifier=identifier,
        title=run.experiment,
        description=run.description,
        origin=tuple(head_lines(run)),
        table=run_table(run, columns),
        notes=tuple(_notes(run)),
        further=tuple(_further(run)),
        figures=tuple(_figures(run, past)),
        accesses=access_groups(run),
        codes=codes,
        code_note=code_note,
        checks=checks_table(run),
        differences=tuple(figure for result in run.results if (figure := difference(result)) is not None)[
            :MAX_DIFFERENCES
        ],
        expectations=expectations_table(run),
        environment=tuple(_environment(run)),
    )


def _notes(run: Run) -> Iterator[Note]:
    """What is below the table on a terminal; pictures of characters have pictures of their own here."""
    for style, line in below(run):
        if line and not line.startswith("    "):
            yield Note(line, KINDS.get(style, ""))


def _further(run: Run) -> Iterator[Table]:
    """Rates of Nsight Compute, steps, the emulator's counters beside ncu's, and every counter."""
    tables = [plain_table("rates", "Nsight Compute: rates", ncu_columns(run))]
    for number, result in enumerate((result for result in run.results if result.steps), 1):
        tables.append(plain_table(f"steps-{number}", f"Steps of {result.variant}", step_columns(result)))
    tables += agreement_tables(run)
    tables.append(counters_table(run))
    yield from (table for table in tables if table is not None)


def _figures(run: Run, past: Sequence[PastResult]) -> Iterator[Figure]:
    bars = ladder(run)
    if bars is not None:
        yield bars
    roof = roofline(run)
    if roof is not None:
        yield roof
    yield from sweeps(run)
    over_time = trend(run, past)
    if over_time is not None:
        yield over_time
    yield from occupancy_curves(run)


def _environment(run: Run) -> Iterator[Fact]:
    environment = run.environment
    if environment.command:
        yield Fact("command", shlex.join(environment.command), code=True)
    yield Fact("experiment", run.config)
    yield Fact("started", f"{run.started.replace('T', ' ')}, took {units.seconds(run.seconds)}")
    facts = (
        ("GPU", ", ".join(environment.gpus) or environment.gpu or "none: the emulator executed the machine code"),
        ("compute capability", environment.compute_capability),
        ("driver", environment.driver),
        ("nvcc", environment.nvcc),
        ("nvdisasm", environment.nvdisasm),
        ("Nsight Compute", environment.ncu),
        ("gpuprof", environment.gpuprof),
        ("Python", f"{environment.python} on {environment.platform}"),
    )
    yield from (Fact(name, text) for name, text in facts if text)
    if environment.clocks_mhz:
        clocks = (
            f"{name.replace('_', ' ')} {units.significant(mhz)} MHz" for name, mhz in environment.clocks_mhz.items()
        )
        yield Fact("clocks", ", ".join(clocks))
    if environment.temperature_c is not None:
        yield Fact("temperature", f"{environment.temperature_c} °C")
    if environment.throttle_reasons:
        yield Fact("throttled by", ", ".join(environment.throttle_reasons))
    yield from (Fact(name, text, code=True) for name, text in environment.variables.items())
    commands = dict.fromkeys(
        shlex.join(result.build.command) for result in run.results if result.build and result.build.command
    )
    if commands:
        yield Fact("first build" if len(commands) > 1 else "build", next(iter(commands)), code=True)
    if run.identifier:
        yield Fact("run", run.identifier, code=True)
