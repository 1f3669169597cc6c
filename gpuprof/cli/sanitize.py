"""``gpuprof sanitize``: races, uninitialised memory, barriers and bounds, on the emulator."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuprof.cli.option_groups import read_flags

if TYPE_CHECKING:
    from gpuprof.profile.sanitizing import SanitizedRun
    from gpuprof.sanitizer.findings import Severity
    from gpuprof.sanitizer.launch import SanitizerSettings

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FAIL_ON = ("error", "warning", "note", "never")


@dataclass(frozen=True)
class SanitizeFlags:
    """The flags of ``gpuprof sanitize``."""

    variants: tuple[str, ...]
    tools: tuple[str, ...]
    orders: int
    seed: int
    fail_on: str
    sample: str | None
    all_blocks: bool
    arch: str | None
    overrides: tuple[str, ...]
    cuda_home: Path | None
    json_file: str | None
    sarif_file: str | None


@click.command()
@click.argument("config")
@click.option("--variant", "variants", multiple=True, metavar="LABEL", help="Only these: label, family or pattern.")
@click.option("--tool", "tools", multiple=True, type=click.Choice(TOOLS), help="Only these checks.  [default: all]")
@click.option("--orders", type=click.IntRange(0), default=0, help="Also run in N random orders of warps and blocks.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed of --orders.")
@click.option("--fail-on", type=click.Choice(FAIL_ON), default="warning", show_default=True, help="Exit code 1 from.")
@click.option("--sample", metavar="N", help="Thread instructions of one run, above which a part of the blocks runs.")
@click.option("--all-blocks", is_flag=True, help="Run every block of every grid.")
@click.option("--arch", metavar="ARCH", help="sm_89, 8.9 ...  [default: the YAML's, else sm_89]")
@click.option("--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Replace a size or parameter.")
@click.option("--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="A CUDA toolkit.")
@click.option("--json", "json_file", metavar="FILE", help="Write the findings as JSON (- for stdout).")
@click.option("--sarif", "sarif_file", metavar="FILE", help="Write them as SARIF, as code hosts read it.")
def command(config: str, **parsed: Any) -> None:
    """Check every variant of CONFIG for races, uninitialised memory, wrong barriers and bounds. Needs no GPU.

    Exit code 1 when a finding is as bad as --fail-on, when a race that the YAML expects is not there, or when a
    variant could not be checked.
    """
    import gpuprof
    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_text
    from gpuprof.report.sanitize_report import findings_json, findings_sarif, render_findings

    flags = read_flags(SanitizeFlags, parsed)
    run = sanitized(config, settings_of(flags), flags)
    if "-" not in (flags.json_file, flags.sarif_file):
        render_findings(run, make_console())
    if flags.json_file:
        write_text(json.dumps(findings_json(run), indent=2) + "\n", flags.json_file)
    if flags.sarif_file:
        write_text(json.dumps(findings_sarif(run, gpuprof.__version__), indent=2) + "\n", flags.sarif_file)
    sys.exit(int(run.fails(fail_level(flags.fail_on))))


def settings_of(flags: SanitizeFlags) -> SanitizerSettings:
    """The checks that the flags ask for; raises UsageError."""
    from gpuprof.cli.run import parse_budget
    from gpuprof.sanitizer.findings import Tool
    from gpuprof.sanitizer.launch import BUDGET, SanitizerSettings

    budget = None if flags.all_blocks else parse_budget(flags.sample) if flags.sample else BUDGET
    chosen = frozenset(Tool(name) for name in flags.tools) or frozenset(Tool)
    return SanitizerSettings(tools=chosen, budget=budget, orders=flags.orders, seed=flags.seed)


def fail_level(word: str) -> Severity | None:
    """The severity that ``--fail-on`` names; None: findings never fail."""
    from gpuprof.sanitizer.findings import Severity

    return None if word == "never" else Severity(word)


def sanitized(config: str, settings: SanitizerSettings, flags: SanitizeFlags) -> SanitizedRun:
    """The experiment, checked."""
    from gpuprof import experiment as experiments
    from gpuprof.arch.spelling import DEFAULT_ARCH, parse_arch
    from gpuprof.experiment.naming import select_all
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.profile.sanitizing import sanitize_experiment

    explicit = parse_arch(flags.arch) if flags.arch else None
    path = experiments.find_config(config)
    experiment = experiments.load(
        path, overrides=parse_overrides(flags.overrides), arch=explicit, default_arch=DEFAULT_ARCH
    )

    def arch_of(variant: Any) -> str:
        chosen = explicit or (parse_arch(variant.arch) if variant.arch else None)
        return chosen or (parse_arch(experiment.arch) if experiment.arch else DEFAULT_ARCH)

    chosen = select_all(experiment.variants, flags.variants)
    return sanitize_experiment(experiment, chosen, settings, arch_of, cuda_home=flags.cuda_home)
