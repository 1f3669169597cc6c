"""``gpuprof explain``: why a kernel takes the time that it is modelled to take."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gpuprof.arch.gpu_constants import DEFAULT_GPU


@click.command("explain")
@click.argument("config")
@click.option("--variant", "variants", multiple=True, metavar="LABEL", help="Only these: label, family or pattern.")
@click.option("--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Replace a size or parameter.")
@click.option("--gpu", "gpu_name", default=DEFAULT_GPU, metavar="GPU", show_default=True, help="h200, or a file.")
@click.option("--lines", type=click.IntRange(1), default=12, show_default=True, help="Source lines and loops shown.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON (- for stdout).")
@click.option("--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="A CUDA toolkit.")
def command(
    config: str,
    variants: tuple[str, ...],
    overrides: tuple[str, ...],
    gpu_name: str,
    lines: int,
    json_file: str | None,
    cuda_home: Path | None,
) -> None:
    """Say where the variants of CONFIG spend their time on a GPU that need not be there, as modelled.

    Warp cycles by reason, under Nsight Compute's names, by source line and by loop; and the time if bank conflicts,
    L1 misses or the DRAM cost nothing, or twice as many blocks were resident.
    """
    from gpuprof import experiment as experiments
    from gpuprof.arch.gpu_constants import gpu_constants
    from gpuprof.errors import GpuprofError
    from gpuprof.experiment.naming import select_all
    from gpuprof.experiment.overrides import parse_overrides
    from gpuprof.model.explain import explain
    from gpuprof.model.stalls import REASONS
    from gpuprof.profile.modelled_rows import origin
    from gpuprof.profile.modelling import trace_variants
    from gpuprof.report.console import make_console
    from gpuprof.report.explanation import explanation_json, render_explanation
    from gpuprof.report.exports import write_text

    gpu = gpu_constants(gpu_name)
    path = experiments.find_config(config)
    experiment = experiments.load(path, overrides=parse_overrides(overrides), arch=gpu.arch)
    chosen = select_all(experiment.variants, variants)
    console, found, problems = make_console(), [], {}
    for variant, traced, _ in trace_variants(experiment, chosen, gpu, cuda_home=cuda_home):
        try:
            if isinstance(traced, GpuprofError):
                raise traced
            explanation = explain(variant.label, traced, gpu)
        except GpuprofError as error:
            problems[variant.label] = str(error)
            if json_file != "-":
                console.print(f"{variant.label}: not modelled: {error}", style="yellow", markup=False)
            continue
        found.append(explanation)
        if json_file != "-":
            render_explanation(explanation, console, REASONS, lines)
            console.print()
    if json_file != "-":
        console.print(origin(gpu), style="dim", markup=False)
    if json_file:
        write_text(json.dumps(explanation_json(found, gpu.name, problems), indent=2) + "\n", json_file)
    raise click.exceptions.Exit(0 if found else 1)
