"""``gpuprof run``: flags to options, one call, one table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuprof.arch.gpu_constants import DEFAULT_GPU
from gpuprof.cli.export_options import columns_option, sort_option
from gpuprof.cli.ncu_options import NcuFlags, ncu_options, ncu_options_of
from gpuprof.cli.option_groups import GroupedCommand, field_options, field_values, heading, read_flags
from gpuprof.emulator.options import ENGINES
from gpuprof.profile.options import RunOptions, TimingOptions

if TYPE_CHECKING:
    from gpuprof.device.process import ChildProcess
    from gpuprof.experiment.model import Experiment
    from gpuprof.profile.ncu.jobs import NcuOptions
    from gpuprof.results.model import Run


@dataclass(frozen=True)
class ExecutionFlags:
    """The flags of ``run`` and of ``tune`` that are no field of RunOptions or TimingOptions by themselves."""

    overrides: tuple[str, ...]
    arch: str | None
    device: str | None
    warm: bool
    max_noise: float
    no_lock: bool
    json_file: str | None
    csv_file: str | None
    markdown_file: str | None
    html_file: str | None
    no_history: bool
    history: str | None
    emulate_budget: str | None
    engine: str | None

    @property
    def targets(self) -> dict[str, str | None]:
        """Kind of export -> where it goes."""
        return {"json": self.json_file, "csv": self.csv_file, "markdown": self.markdown_file, "html": self.html_file}

    @property
    def writes_stdout(self) -> bool:
        return "-" in self.targets.values()


@dataclass(frozen=True)
class RunFlags(ExecutionFlags):
    """And those of ``run`` alone."""

    variants: tuple[str, ...]
    no_overlap: bool
    check: bool
    sort: str | None
    columns: str | None
    sass: bool
    steps: bool
    predict: str | None


_FILE = click.Path(dir_okay=False, allow_dash=True)


def choose_driver_package(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    """Make ``--driver`` known to this process and its workers."""
    import os

    from gpuprof.device.drivers import ENVIRONMENT_VARIABLE

    if name is not None:
        os.environ[ENVIRONMENT_VARIABLE] = name


#: What ``tune`` takes as well.
driver_option = click.option(
    "--driver",
    type=click.Choice(("pycuda", "cuda")),
    expose_value=False,
    callback=choose_driver_package,
    help="The package that calls the GPU's driver.  [default: pycuda where it is installed]",
)
emulate_budget_option = click.option(
    "--emulate-budget",
    metavar="N",
    help="Thread instructions per emulated launch, or 'all'  [default: 1e8; compiled 1e10]",
)
engine_option = click.option(
    "--engine", type=click.Choice(ENGINES), help="What executes on the emulator  [default: auto]"
)


@click.command("run", cls=GroupedCommand, context_settings={"show_default": True})
@click.argument("config")
@heading("What to run")
@click.option(
    "--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Replace a size or parameter of the YAML."
)
@click.option("--variant", "variants", multiple=True, metavar="LABEL", help="Only these: label, family or pattern.")
@click.option("--arch", metavar="ARCH", help="sm_89, 8.9, 89, native ...  [default: the GPU's, else sm_89]")
@click.option("--device", metavar="DEVICE", help="emulated, none, gpu, gpu:0,gpu:1  [default: a GPU if there is one]")
@driver_option
@field_options(RunOptions, title="What to run")
@heading("Timing")
@click.option("--warm", is_flag=True, help="Time back to back instead of with a flushed L2 (cold).")
@click.option("--max-noise", type=click.FloatRange(0), default=0.5, help="Relative standard deviation, in percent.")
@field_options(TimingOptions, title="Timing")
@click.option("--no-lock", is_flag=True, help="Time although another gpuprof run is using the GPU.")
@click.option("--no-overlap", is_flag=True, help="Time only after all builds have ended.")
@click.option(
    "--predict",
    is_flag=False,
    flag_value=DEFAULT_GPU,
    metavar="[GPU]",
    help="Model the times on a GPU that is not here, from the emulator: h200, or a file of constants.",
)
@heading("Checks")
@field_options(RunOptions, title="Checks")
@click.option("--check", is_flag=True, help="Exit with 1 when an expectation of the YAML does not hold.")
@heading("Output")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write the run as JSON, updated after each row.")
@click.option("--csv", "csv_file", type=_FILE, metavar="FILE", help="Write the table as CSV.")
@click.option("--markdown", "markdown_file", type=_FILE, metavar="FILE", help="Write the table as Markdown.")
@click.option("--html", "html_file", type=_FILE, metavar="FILE", help="Write the run as one HTML page.")
@sort_option
@columns_option
@click.option("--sass", is_flag=True, help="Add columns of machine-code facts.")
@click.option("--steps", is_flag=True, help="Show each step of variants that have several.")
@field_options(RunOptions, title="Output")
@click.option("--no-history", is_flag=True, help="Do not store the run.")
@click.option("--history", type=click.Path(dir_okay=False), metavar="FILE", help="Store the run in this database.")
@heading("Nsight Compute")
@ncu_options
@heading("Build")
@field_options(RunOptions, title="Build")
@heading("Emulator")
@emulate_budget_option
@engine_option
@field_options(RunOptions, title="Emulator")
def command(config: str, **flags: Any) -> None:
    """Build every variant of CONFIG, check it, time it, and print one table.

    CONFIG is a YAML file or the name of a bundled experiment. Exit code 0: all variants ran and verified; 1: some
    variant failed or differed; 2: the command or the YAML is wrong; 3: a tool or device is missing; 130: interrupted.
    """
    from gpuprof.cli.prewarm import head_start
    from gpuprof.results.lookup import parse_order

    given, ncu = read_flags(RunFlags, flags), read_flags(NcuFlags, flags)
    settings: dict[type, dict[str, Any]] = {kind: field_values(kind, flags) for kind in (TimingOptions, RunOptions)}
    options = _options(given, settings, ncu=ncu.given)
    order = parse_order(given.sort) if given.sort else None
    check_targets(given.targets)
    with ExitStack() as stack:
        worker = stack.enter_context(head_start(options.devices))
        experiment = _experiment(config, given, options)
        identifier = _announce(stack, experiment.path, given, resume=options.resume)
        run, reported = _run(experiment, given, ncu_options_of(ncu), options, worker)
        run = stored(replace(run, identifier=identifier), no_history=given.no_history, history=given.history)
    _print(order.of(run) if order else run, given, reported)
    raise click.exceptions.Exit(exit_code(run, check=given.check))


def _experiment(config: str, flags: RunFlags, options: RunOptions) -> Experiment:
    """Read CONFIG and check the columns that are asked for."""
    from functools import partial

    from gpuprof import experiment as experiments
    from gpuprof.device.gpus import sm_count
    from gpuprof.errors import UsageError
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.report.column_choice import check_names, parse_columns
    from gpuprof.report.run_table import ALL_SPECS
    from gpuprof.results.expectations import load_experiment

    if config.endswith((".cu", ".cuh")):
        raise UsageError(f"{config} is a CUDA source: gpuprof new --from {config} writes a YAML that runs it")
    path = experiments.find_config(config)
    overrides = parse_overrides(flags.overrides)
    count = partial(sm_count, options.devices)
    experiment = load_experiment(path, overrides=overrides, arch=options.arch, sm_count=count)
    names = {name for variant in experiment.variants for name in (*variant.sizes, *variant.parameters)}
    check_names(parse_columns(flags.columns), ALL_SPECS, (*experiment.values, *names))
    return experiment


def _run(
    experiment: Experiment, flags: RunFlags, ncu: NcuOptions | None, options: RunOptions, worker: ChildProcess | None
) -> tuple[Run, Collection[str]]:
    """The run, and the notes that were reported while it went on."""
    from gpuprof.cli.run_progress import make_observer
    from gpuprof.profile.lane_recording import with_accesses
    from gpuprof.profile.ncu.counters import count_with_ncu, require_ncu, with_ncu
    from gpuprof.profile.run import run_experiment

    if ncu is not None:
        require_ncu(experiment, options)
    with make_observer(quiet=flags.writes_stdout) as observer:
        run = run_experiment(experiment, options, observer, worker)
        if ncu is not None and run.complete:
            run = with_ncu(run, count_with_ncu(experiment, options, ncu))
        if flags.html_file is not None:
            run = with_accesses(run, experiment, options)
    return run, observer.messages


def _options(flags: RunFlags, settings: Mapping[type, Mapping[str, Any]], *, ncu: bool) -> RunOptions:
    arch, device = (flags.arch, flags.device) if flags.predict is None else _for_prediction(flags)
    return replace(
        execution_options(flags, settings, arch, device),
        overlap=not flags.no_overlap,
        variants=flags.variants,
        predict=flags.predict,
        ncu=ncu,
    )


def execution_options(
    flags: ExecutionFlags, settings: Mapping[type, Mapping[str, Any]], arch: str | None, device: str | None
) -> RunOptions:
    """What the common flags ask for; ``settings`` are the fields that are options by themselves."""
    import sys

    from gpuprof.arch.spelling import parse_arch
    from gpuprof.device.choice import parse_devices
    from gpuprof.profile.options import COMPILED_BUDGET

    timing = TimingOptions(
        protocol="warm" if flags.warm else "cold",
        max_noise=flags.max_noise / 100,
        **settings[TimingOptions],
    )
    json_file = flags.json_file
    return RunOptions(
        arch=parse_arch(arch) if arch else None,
        devices=parse_devices(device) if device else (),
        timing=timing,
        lock=not flags.no_lock,
        json=Path(json_file) if json_file not in (None, "-") else None,
        emulate_budget=parse_budget(flags.emulate_budget),
        compiled_budget=COMPILED_BUDGET if flags.emulate_budget is None else parse_budget(flags.emulate_budget),
        engine=flags.engine,
        command=("gpuprof", *sys.argv[1:]),
        **settings[RunOptions],
    )


def _for_prediction(flags: RunFlags) -> tuple[str, str]:
    """(architecture, device) of a run with modelled times; raises UsageError for flags that do not go with it."""
    from gpuprof.arch.gpu_constants import gpu_constants
    from gpuprof.errors import UsageError

    gpu = gpu_constants(flags.predict or DEFAULT_GPU)
    if flags.device not in (None, "emulated"):
        raise UsageError(f"--predict models times from the emulator, and --device is {flags.device}: leave one out")
    if flags.warm:
        raise UsageError("--predict models cold times: leave out --warm")
    if flags.arch is not None and not flags.arch.replace(".", "").endswith(gpu.arch.removeprefix("sm_")):
        raise UsageError(f"--arch {flags.arch} does not go with --predict: {gpu.name} is {gpu.arch}")
    return gpu.arch, "emulated"


def parse_budget(text: str | None) -> int | None:
    """``None``: the default; ``all`` (formerly also 0): no budget; else a number such as 1e8. Raises UsageError."""
    from gpuprof.errors import UsageError
    from gpuprof.profile.options import EMULATE_BUDGET

    if text is None:
        return EMULATE_BUDGET
    if text.strip() in ("all", "0"):
        return None
    try:
        budget = int(float(text))
    except (ValueError, OverflowError):
        budget = 0
    if budget < 1:
        raise UsageError(f"--emulate-budget {text!r}: expected a number of thread instructions like 1e8, or all")
    return budget


def check_targets(targets: Mapping[str, str | None]) -> None:
    """Raise StoreError now for a file that could not be written at the end, MissingToolError for a page's extra."""
    from gpuprof.results.json import check_target

    if targets.get("html") is not None:
        from gpuprof.report.page.render import require_report_extra

        require_report_extra()
    for kind, target in targets.items():
        if target in (None, "-"):
            continue
        if kind == "json":
            with suppress(OSError):
                Path(str(target)).parent.mkdir(parents=True, exist_ok=True)
        check_target(Path(str(target)))


def stored(run: Run, *, no_history: bool, history: str | None) -> Run:
    """The run with the identifier under which the history has it, or a note why it has it not."""
    if no_history:
        return run
    from gpuprof.errors import StoreError
    from gpuprof.results.history import History, history_path

    try:
        return replace(run, identifier=History(history_path(history)).store(run))
    except StoreError as error:
        if history:
            raise
        return replace(run, notes=(*run.notes, f"The run was not stored: {error}"))


def _announce(stack: ExitStack, config: Path, flags: RunFlags, *, resume: bool) -> str:
    """Say that the run of ``config`` is to be stored, so that it is also if it is killed; its identifier.

    Killed runs from before are stored now, but for one whose rows this run takes over.
    """
    if flags.no_history:
        return ""
    from gpuprof.results.history import History, history_path
    from gpuprof.results.pending import store_killed_runs, to_be_stored

    path = history_path(flags.history)
    if not resume:
        store_killed_runs(History(path))
    return stack.enter_context(to_be_stored(config, path))


def _print(run: Run, flags: RunFlags, reported: Collection[str]) -> None:
    """The table, without the notes that were reported already, and the files."""
    from gpuprof.cli.pages import past_of
    from gpuprof.report.column_choice import parse_columns
    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_exports
    from gpuprof.report.run_table import render_run

    names = parse_columns(flags.columns)
    if not flags.writes_stdout:
        shown = replace(run, notes=tuple(note for note in run.notes if note not in reported))
        render_run(shown, make_console(), sass=flags.sass, steps=flags.steps, columns=names)
    past = past_of(run, flags.history) if flags.html_file is not None else ()
    write_exports(run, flags.targets, columns=names, past=past)


def exit_code(run: Run, *, check: bool) -> int:
    """The process's exit code for a run, see ``gpuprof run --help``."""
    from gpuprof.results.model import Status

    if not run.complete:
        return 130
    if any("arguments" in result.missing for result in run.results):
        return 2
    if any(result.status not in (Status.OK, Status.SKIPPED) for result in run.results):
        return 1
    return int(check and any(outcome.held is False for outcome in run.expectations))
