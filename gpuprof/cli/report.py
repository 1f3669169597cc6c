"""``gpuprof report``: several runs or experiments in one page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gpuprof.cli.export_options import columns_option, history_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuprof.results.model import Run


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="CONFIG|RUN|FILE.json...")
@click.option("--html", "html_file", metavar="FILE", required=True, help="The page (- for standard output).")
@click.option("--device", metavar="DEVICE", help="What runs the configs: emulated, none, gpu, gpu:0,gpu:1.")
@click.option("--arch", metavar="ARCH", help="What the configs are built for: sm_89, 8.9, native ...")
@columns_option
@history_option
def command(
    targets: tuple[str, ...],
    html_file: str,
    device: str | None,
    arch: str | None,
    columns: str | None,
    history_file: str | None,
) -> None:
    """Write one page of several runs and experiments.

    A JSON file, and a run as gpuprof show names it, is shown as it is stored; a YAML file and a bundled experiment is
    run. Exit code as that of gpuprof run, the worst of those that ran.

    \b
    gpuprof report coalescing transpose --html lessons.html
    gpuprof report monday.json friday.json --html week.html
    """
    from gpuprof.cli.pages import past_of
    from gpuprof.cli.run import exit_code
    from gpuprof.report.column_choice import parse_columns
    from gpuprof.report.exports import runs_html, write_text
    from gpuprof.report.page.render import require_report_extra
    from gpuprof.results.json import check_target

    require_report_extra()
    if html_file != "-":
        from pathlib import Path

        check_target(Path(html_file))
    runs: list[Run] = []
    worst = 0
    for target, known in _known(targets, history_file):
        run = known or _run(target, device, arch)
        worst = max(worst, 0 if known else exit_code(run, check=False))
        runs.append(run)
    past = {run.experiment: past_of(run, history_file) for run in runs}
    write_text(runs_html(runs, parse_columns(columns), past), html_file)
    sys.exit(worst)


def _known(targets: Sequence[str], history: str | None) -> list[tuple[str, Run | None]]:
    """Each target with its stored run; None for one that has to be run. Raises before anything runs."""
    from gpuprof.errors import UsageError
    from gpuprof.experiment import find_config
    from gpuprof.results.reference import load_run

    found: list[tuple[str, Run | None]] = []
    for target in targets:
        if not target.endswith(".json"):
            try:
                find_config(target)
            except UsageError as nothing:
                if target.endswith((".yaml", ".yml")):
                    raise
                try:
                    found.append((target, load_run(target, history)))
                except UsageError as unknown:
                    raise UsageError(f"{nothing}; {unknown}") from None
            else:
                found.append((target, None))
        else:
            found.append((target, load_run(target, history)))
    return found


def _run(config: str, device: str | None, arch: str | None) -> Run:
    """The experiment as gpuprof run runs it."""
    from gpuprof.arch.spelling import parse_arch
    from gpuprof.cli.run_progress import make_observer
    from gpuprof.device.choice import parse_devices
    from gpuprof.experiment import find_config
    from gpuprof.profile.lane_recording import with_accesses
    from gpuprof.profile.options import COMPILED_BUDGET, RunOptions
    from gpuprof.profile.run import run_experiment
    from gpuprof.results.expectations import load_experiment

    options = RunOptions(
        arch=parse_arch(arch) if arch else None,
        devices=parse_devices(device) if device else (),
        compiled_budget=COMPILED_BUDGET,
        command=("gpuprof", *sys.argv[1:]),
    )
    experiment = load_experiment(find_config(config), arch=options.arch)
    with make_observer(quiet=True) as observer:
        return with_accesses(run_experiment(experiment, options, observer), experiment, options)
