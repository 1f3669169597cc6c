"""``gpuprof tune``: a search over the points of an experiment, one table of the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gpuprof.cli.option_groups import GroupedCommand, field_options, field_values, heading, read_flags
from gpuprof.cli.run import (
    ExecutionFlags,
    driver_option,
    emulate_budget_option,
    engine_option,
    execution_options,
)
from gpuprof.profile.options import RunOptions, TimingOptions
from gpuprof.search.strategy import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuprof.results.model import Run


@dataclass(frozen=True)
class TuneFlags(ExecutionFlags):
    """The flags of ``gpuprof tune`` that are no field of RunOptions or TimingOptions by themselves."""

    families: tuple[str, ...]
    strategy: str | None
    trials: int | None
    minutes: float | None
    objective: str | None
    seed: int | None


_FILE = click.Path(dir_okay=False, allow_dash=True)
_KINDS = "\n\n".join(f"{name}: {kind.meaning}" for name, kind in STRATEGIES.items())


@click.command("tune", cls=GroupedCommand, context_settings={"show_default": True})
@click.argument("config")
@heading("Search")
@click.option("--strategy", metavar="NAME", help=f"{', '.join(STRATEGIES)}  [default: the YAML's, else forest]")
@click.option(
    "--trials", type=click.IntRange(1), metavar="N", help="Points to try at most  [default: the YAML's, else 100]"
)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="M", help="Minutes to search at most.")
@click.option(
    "--objective", metavar="VALUE", help="time, energy, -gflops, a value or an expression of values; least is best."
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Of the strategy's random choices  [default: 0]")
@heading("What to run")
@click.option(
    "--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Replace a size or parameter of the YAML."
)
@click.option("--variant", "families", multiple=True, metavar="FAMILY", help="Search only these variants of the YAML.")
@click.option("--arch", metavar="ARCH", help="sm_89, 8.9, 89, native ...  [default: the GPU's, else sm_89]")
@click.option("--device", metavar="DEVICE", help="emulated, gpu, gpu:0,gpu:1  [default: a GPU if there is one]")
@driver_option
@field_options(RunOptions, title="What to run")
@heading("Timing")
@click.option("--warm", is_flag=True, help="Time back to back instead of with a flushed L2 (cold).")
@click.option("--max-noise", type=click.FloatRange(0), default=0.5, help="Relative standard deviation, in percent.")
@field_options(TimingOptions, title="Timing")
@click.option("--no-lock", is_flag=True, help="Time although another gpuprof run is using the GPU.")
@heading("Checks")
@field_options(RunOptions, title="Checks")
@heading("Output")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write all trials as JSON, updated on the way.")
@click.option("--csv", "csv_file", type=_FILE, metavar="FILE", help="Write all trials as CSV.")
@click.option("--markdown", "markdown_file", type=_FILE, metavar="FILE", help="Write all trials as Markdown.")
@click.option("--html", "html_file", type=_FILE, metavar="FILE", help="Write all trials as one HTML page.")
@field_options(RunOptions, title="Output")
@click.option("--no-history", is_flag=True, help="Do not store the trials.")
@click.option("--history", type=click.Path(dir_okay=False), metavar="FILE", help="Store them in this database.")
@heading("Build")
@field_options(RunOptions, title="Build")
@heading("Emulator")
@emulate_budget_option
@engine_option
@field_options(RunOptions, title="Emulator")
def command(config: str, **flags: Any) -> None:
    """Search the parameters of CONFIG for the best variant, within a budget of trials or minutes.

    The space is that of `params:` and `where:`, of up to 10 million points. Every trial is built, checked and timed as
    `gpuprof run` does it; the leaders are timed again, longer. Exit code 0: some trial ran and verified; 1: none did;
    2: the command or the YAML is wrong; 3: a tool or device is missing; 130: interrupted.
    """
    from gpuprof.cli.prewarm import head_start
    from gpuprof.cli.run import check_targets, stored

    given = read_flags(TuneFlags, flags)
    settings: dict[type, dict[str, Any]] = {kind: field_values(kind, flags) for kind in (TimingOptions, RunOptions)}
    check_targets(given.targets)
    options = _options(given, settings)
    with head_start(options.devices) as worker:
        run, said = _tune(config, given, options, worker)
    run = stored(run, no_history=given.no_history, history=given.history)
    _print(run, given, said)
    raise click.exceptions.Exit(exit_code(run))


def _tune(config: str, flags: TuneFlags, options: RunOptions, worker: Any) -> tuple[Run, list[str]]:
    from gpuprof import experiment as experiments
    from gpuprof.cli.run_progress import make_observer
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.profile.tuning import TuneOptions, tune
    from gpuprof.results.expectations import value_kinds

    tunable = experiments.load_tunable(
        experiments.find_config(config),
        overrides=parse_overrides(flags.overrides),
        arch=options.arch,
        values=value_kinds(),
        families=flags.families,
    )
    wanted = TuneOptions(flags.strategy, flags.trials, flags.minutes, flags.objective, flags.seed, options.resume)
    with make_observer(quiet="-" in flags.targets.values()) as observer:
        return tune(tunable, options, wanted, observer, worker), list(observer.messages)


def _options(flags: TuneFlags, settings: Mapping[type, Mapping[str, Any]]) -> RunOptions:
    from gpuprof.errors import UsageError

    options = execution_options(flags, settings, flags.arch, flags.device)
    if options.devices == ("none",):
        raise UsageError("--device none: a search needs a device that executes: gpu or emulated")
    return options


def _print(run: Run, flags: TuneFlags, said: list[str]) -> None:
    from dataclasses import replace

    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_exports
    from gpuprof.report.tune_table import render_search

    if "-" not in flags.targets.values():
        render_search(replace(run, notes=tuple(note for note in run.notes if note not in said)), make_console())
    write_exports(run, flags.targets)


def exit_code(run: Run) -> int:
    """The process's exit code for a search, see ``gpuprof tune --help``."""
    if not run.complete:
        return 130
    return int(run.search is None or run.search.best is None)
