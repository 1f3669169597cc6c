"""``gpuprof check``: validate a YAML file and list the variants that it expands to; build nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.table import Table

    from gpuprof.experiment.model import Experiment, Step, Variant


@click.command()
@click.argument("config")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUES", help="Replace a size or parameter: M=256.")
@click.option("--arch", help="Check shared memory against this architecture's limit (default: the YAML's, or sm_89).")
@click.option("--json", "as_json", is_flag=True, help="Print the variants as JSON.")
def command(config: str, settings: tuple[str, ...], arch: str | None, as_json: bool) -> None:
    """Validate the YAML file CONFIG and list the variants it expands to; build nothing.

    CONFIG is a path or the name of a bundled experiment. Exit code 2 when something is wrong.
    """
    from gpuprof.arch import DEFAULT_ARCH
    from gpuprof.device.choice import resolve_arch
    from gpuprof.experiment import find_config
    from gpuprof.experiment.naming import unpaired_note
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.results.expectations import load_experiment

    chosen = resolve_arch(arch) if arch else None
    overrides = parse_overrides(settings)
    experiment = load_experiment(find_config(config), overrides=overrides, arch=chosen, default_arch=DEFAULT_ARCH)
    if as_json:
        click.echo(json.dumps(as_data(experiment), indent=2))
        return
    from gpuprof.report.console import make_console

    console = make_console()
    console.print(variants_table(experiment))
    console.print(summary(experiment))
    for note in unpaired_note(experiment.variants, experiment.baseline):
        console.print(note)


def summary(experiment: Experiment) -> str:
    """``gemm_1024 is valid: 3 variants, 12 points dropped by where; baseline naive; 2 expectations``."""
    count = len(experiment.variants)
    parts = [f"{experiment.name} is valid: {count} variant{'s' if count != 1 else ''}"]
    if experiment.dropped:
        parts[0] += f", {experiment.dropped} point{'s' if experiment.dropped != 1 else ''} dropped by `where`"
    if experiment.baseline:
        parts.append(f"baseline {experiment.baseline}")
    if experiment.expect:
        parts.append(f"{len(experiment.expect)} expectation{'s' if len(experiment.expect) != 1 else ''}")
    return "; ".join(parts)


def variants_table(experiment: Experiment) -> Table:
    """One row per step; a variant's label is on its first."""
    from rich import box
    from rich.table import Table

    several = any(len(variant.steps) > 1 for variant in experiment.variants)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("variant", overflow="fold")
    if several:
        table.add_column("step", overflow="fold")
    table.add_column("kernel", overflow="fold", ratio=1)
    for name in ("grid", "block", "shared"):
        table.add_column(name, justify="right", no_wrap=True)
    for variant in experiment.variants:
        for position, step in enumerate(variant.steps):
            cells = _cells(step)
            names = [variant.label if position == 0 else "", *([_step_name(step)] if several else [])]
            table.add_row(*names, *cells)
    return table


def _step_name(step: Step) -> str:
    marks = [word for word, holds in (("once", step.once), ("not timed", not step.timed and not step.once)) if holds]
    return f"{step.name} ({', '.join(marks)})" if marks else step.name


def _cells(step: Step) -> list[str]:
    from gpuprof.experiment.model import FillStep, HostStep

    if isinstance(step, FillStep):
        return [f"{step.buffer}: bytes 0x{step.byte:02x}", "", "", ""]
    if isinstance(step, HostStep):
        return [f"host function {step.function}", "", "", ""]
    return [step.kernel, _extents(step.grid), _extents(step.block), str(step.shared_bytes or "")]


def _extents(extents: tuple[int, int, int]) -> str:
    """``64x64``: x first, trailing ones left out."""
    x, y, z = extents
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else str(x)


def as_data(experiment: Experiment) -> dict[str, Any]:
    """The experiment for ``--json``: names, counts, and per variant its point and steps."""
    return {
        "name": experiment.name,
        "description": experiment.description,
        "baseline": experiment.baseline,
        "dropped": experiment.dropped,
        "variants": [_variant_data(variant) for variant in experiment.variants],
    }


def _variant_data(variant: Variant) -> dict[str, Any]:
    return {
        "variant": variant.label,
        "family": variant.family,
        "parameters": dict(variant.parameters),
        "sizes": dict(variant.sizes),
        "buffers": {name: {"dtype": b.dtype, "shape": list(b.shape)} for name, b in variant.buffers.items()},
        "steps": [_step_data(step) for step in variant.steps],
    }


def _step_data(step: Step) -> dict[str, Any]:
    from dataclasses import asdict

    kind = type(step).__name__.removesuffix("Step").lower()
    return {"kind": kind, **{key: str(value) if key == "source" else value for key, value in asdict(step).items()}}
