"""``gpuprof counters``: the full list of counters per variant, from the emulator, from ncu, or both side by side."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuprof.cli.export_options import columns_option, export_options, takes_stdout, targets_of
from gpuprof.cli.ncu_options import NcuFlags, ncu_options, ncu_options_of
from gpuprof.cli.option_groups import read_flags
from gpuprof.emulator.options import ENGINES

if TYPE_CHECKING:
    from gpuprof.experiment.model import Experiment
    from gpuprof.profile.ncu.jobs import NcuOptions
    from gpuprof.profile.observer import Observer
    from gpuprof.profile.options import RunOptions
    from gpuprof.report.counter_table import ByInstruction
    from gpuprof.results.model import Run

SOURCES = ("emulated", "ncu")


@dataclass(frozen=True)
class CountersFlags:
    """The flags of ``gpuprof counters``."""

    variants: tuple[str, ...]
    by_line: bool
    by_instruction: bool
    hot: bool
    top: int | None
    compare: str | None
    arch: str | None
    overrides: tuple[str, ...]
    allow_python: bool
    emulate_budget: str | None
    engine: str | None
    cuda_home: Path | None
    emulate_limit: int | None
    ccbin: str | None
    jobs: int | None
    build_timeout: float
    launch_timeout: float | None
    columns: str | None
    json_file: str | None
    csv_file: str | None
    markdown_file: str | None
    html_file: str | None


@click.command()
@click.argument("config")
@click.option("--variant", "variants", multiple=True, metavar="LABEL", help="Only these: label, family or pattern.")
@click.option("--by-line", is_flag=True, help="Counters of each source line, from the emulator.")
@click.option("--by-instruction", is_flag=True, help="Counters of each SASS instruction beside its source line.")
@click.option("--hot", is_flag=True, help="With --by-instruction: the hottest first, not in the code's order.")
@click.option("--top", type=click.IntRange(0), metavar="N", help="With --by-instruction: only N rows  [default: all]")
@click.option("--compare", metavar="emulated,ncu", help="Run both and say equal or different for each counter.")
@ncu_options
@click.option("--arch", metavar="ARCH", help="sm_89, 8.9, native ...  [default: the GPU's, else sm_89]")
@click.option("--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Replace a size or parameter.")
@click.option("--allow-python", is_flag=True, help="Call Python functions of `reference:` (runs their code).")
@click.option("--emulate-budget", metavar="N", help="Thread instructions per emulated launch, or 'all'.")
@click.option("--engine", type=click.Choice(ENGINES), help="What executes on the emulator  [default: auto]")
@click.option(
    "--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="CUDA toolkit directory."
)
@click.option("--emulate-limit", type=click.IntRange(1), help="Instruction limit per warp (endless-loop guard).")
@click.option("--ccbin", metavar="PROGRAM", help="Host compiler for nvcc.")
@click.option("--jobs", type=click.IntRange(1), help="nvcc processes at once  [default: CPU count]")
@click.option("--build-timeout", type=click.FloatRange(0), default=300.0, help="Seconds per nvcc process.")
@click.option("--launch-timeout", type=click.FloatRange(0), help="Seconds per emulated launch  [default: 600]")
@columns_option
@export_options("json", "csv", "markdown", "html")
def command(config: str, **parsed: Any) -> None:
    """Count what each variant of CONFIG does, under Nsight Compute's metric names.

    Without a GPU, or without --ncu, the emulator counts by executing the machine code. With --compare both count, the
    emulator over whole grids, and every counter is called equal or different.
    """
    from gpuprof import experiment as experiments
    from gpuprof.cli.run_progress import make_observer
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.profile.lane_recording import with_accesses
    from gpuprof.report.column_choice import parse_columns
    from gpuprof.report.console import make_console
    from gpuprof.report.counter_exports import AGREEMENT_EXPORTERS, COUNTER_EXPORTERS
    from gpuprof.report.counter_table import disagreements, render_agreement, render_counters
    from gpuprof.report.exports import run_html, write_text
    from gpuprof.report.page.render import require_report_extra
    from gpuprof.results.expectations import load_experiment

    flags = read_flags(CountersFlags, parsed)
    files = {"json": flags.json_file, "csv": flags.csv_file, "markdown": flags.markdown_file, "html": flags.html_file}
    targets = targets_of(files)
    if "html" in targets:
        require_report_extra()
    compared = _compared(flags.compare)
    overrides = parse_overrides(flags.overrides)
    options = _options(flags, whole=compared)
    experiment = load_experiment(experiments.find_config(config), overrides=overrides, arch=options.arch)
    ncu = ncu_options_of(read_flags(NcuFlags, parsed), wanted=compared)
    with make_observer(quiet=takes_stdout(targets)) as observer:
        run = _count(experiment, options, ncu, observer, compared)
        if "html" in targets:
            run = with_accesses(run, experiment, options)
    if not takes_stdout(targets):
        if compared:
            render_agreement(run, make_console())
        else:
            render_counters(
                run,
                make_console(),
                lines=flags.by_line,
                instructions=_by_instruction(flags),
                columns=parse_columns(flags.columns),
            )
    for kind, target in targets.items():
        if kind == "html":
            write_text(run_html(run, parse_columns(flags.columns)), target)
            continue
        write_text((AGREEMENT_EXPORTERS if compared else COUNTER_EXPORTERS)[kind](run), target)
    sys.exit(_exit_code(run, disagreements(run) if compared else 0, ncu is not None))


def _by_instruction(flags: CountersFlags) -> ByInstruction | None:
    from gpuprof.report.counter_table import ByInstruction

    if not flags.by_instruction:
        return None
    return ByInstruction("hot" if flags.hot else "address", flags.top or None)


def _compared(text: str | None) -> bool:
    from gpuprof.errors import UsageError

    if text is None:
        return False
    if sorted(part.strip() for part in text.split(",")) != sorted(SOURCES):
        raise UsageError(f"--compare {text!r}: it takes emulated,ncu")
    return True


def _options(flags: CountersFlags, *, whole: bool) -> RunOptions:
    from gpuprof.arch.spelling import parse_arch
    from gpuprof.cli.run import parse_budget
    from gpuprof.profile.options import COMPILED_BUDGET, EMULATE_BUDGET, EMULATE_LIMIT, RunOptions

    budget = flags.emulate_budget
    return RunOptions(
        arch=parse_arch(flags.arch) if flags.arch else None,
        devices=("emulated",),
        variants=flags.variants,
        allow_python=flags.allow_python,
        cuda_home=flags.cuda_home,
        ccbin=flags.ccbin,
        jobs=flags.jobs,
        build_timeout=flags.build_timeout,
        launch_timeout=flags.launch_timeout,
        emulate_limit=flags.emulate_limit or EMULATE_LIMIT,
        emulate_budget=parse_budget(budget) if budget is not None else None if whole else EMULATE_BUDGET,
        compiled_budget=parse_budget(budget) if budget is not None else None if whole else COMPILED_BUDGET,
        engine=flags.engine,
        command=("gpuprof", *sys.argv[1:]),
    )


def _count(
    experiment: Experiment, options: RunOptions, ncu: NcuOptions | None, observer: Observer, compared: bool
) -> Run:
    """Emulated counters, ncu's, or both in one run; for the GPU's architecture where ncu counts."""
    from gpuprof.profile.ncu.counters import count_with_ncu, require_ncu, with_ncu
    from gpuprof.profile.run import run_experiment

    if ncu is None:
        return run_experiment(experiment, options, observer)
    setup = require_ncu(experiment, replace(options, devices=()))
    options = replace(options, arch=setup.default_arch)
    on_gpu = replace(options, devices=())
    run = run_experiment(experiment, options if compared else replace(options, devices=("none",)), observer)
    if compared:
        ncu = replace(ncu, metrics=tuple(dict.fromkeys((*_counted(run), *ncu.metrics))))
    return replace(with_ncu(run, count_with_ncu(experiment, on_gpu, ncu)), environment=setup.environment)


def _counted(run: Run) -> list[str]:
    """Every counter that the emulator gave a value, in order."""
    return list(dict.fromkeys(name for result in run.results if result.counters for name in result.counters.values))


def _exit_code(run: Run, different: int, by_ncu: bool) -> int:
    from gpuprof.results.model import Status

    if not run.complete:
        return 130
    failed = any(result.status not in (Status.OK, Status.SKIPPED) for result in run.results)
    silent = by_ncu and any(result.status is Status.OK and result.ncu is None for result in run.results)
    return int(failed or silent or different > 0)
