"""``gpuprof calibrate``: a file of constants of the GPU that is there, for ``run --predict`` anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from gpuprof.arch.gpu_constants import DEFAULT_GPU, Constant


@click.command("calibrate")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("gpu.json"), show_default=True)
@click.option("--device", default="gpu:0", metavar="DEVICE", show_default=True, help="Which GPU.")
@click.option("--base", default=DEFAULT_GPU, metavar="GPU", show_default=True, help="Gives what is not measured.")
@click.option("--only", multiple=True, metavar="CONFIG", help="Only these bundled experiments.")
@click.option("--jobs", type=click.IntRange(1), help="Processes for traces and the fit  [default: CPU count]")
@click.option("--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="CUDA toolkit.")
def command(out: Path, device: str, base: str, only: tuple[str, ...], jobs: int | None, cuda_home: Path | None) -> None:
    """Measure this GPU's constants with some 40 micro-kernels and the bundled experiments, and write them to a file.

    The file is what `gpuprof run CONFIG --predict FILE` takes. The model's error on the bundled experiments is printed.
    """
    from gpuprof.arch.gpu_constants import as_json, gpu_constants
    from gpuprof.device.choice import choose_devices, parse_devices
    from gpuprof.device.drivers import why_no_driver
    from gpuprof.device.gpus import find_gpus
    from gpuprof.errors import MissingDeviceError, UsageError
    from gpuprof.profile.calibrating import calibrate
    from gpuprof.results.json import check_target

    words = parse_devices(device)
    if len(words) != 1 or not words[0].startswith("gpu"):
        raise UsageError(f"--device {device!r}: one GPU is calibrated, as in gpu:0")
    constants = gpu_constants(base)
    check_target(out)
    gpus = find_gpus()
    if not gpus.devices:
        raise MissingDeviceError(f"constants are measured on a GPU: {gpus.why_none}")
    gpu = choose_devices(words, gpus, why_no_driver()).gpus[0]
    if gpu.arch != constants.arch:
        raise UsageError(f"{gpu.name} is {gpu.arch}, and --base {base} is {constants.arch}: give a file of that arch")
    if gpu.multiprocessors:
        constants = constants.changed({"sms": gpu.multiprocessors})
    tell = partial(click.echo, err=True)
    found = calibrate(constants, words[0], tell, only=only, jobs=jobs, cuda_home=cuda_home)
    out.write_text(json.dumps(as_json(found.gpu), indent=1) + "\n", encoding="utf-8")
    for problem in found.problems:
        click.echo(f"note: {problem}")
    click.echo(_table(found.gpu.constants, constants.constants))
    click.echo(_errors([(row.family, row.variant, row.us) for row in found.rows], found.modelled_us))
    click.echo(f"written to {out}: gpuprof run CONFIG --predict {out}")


def _table(now: Mapping[str, Constant], before: Mapping[str, Constant]) -> str:
    """The constants that differ from the base's."""
    lines = [f"{'constant':34} {'here':>12} {'base':>12}"]
    for name, each in now.items():
        if each.value != before[name].value:
            kind = "fitted" if each.fitted else ""
            lines.append(f"{name:34} {each.value:12.5g} {before[name].value:12.5g}  {kind}".rstrip())
    return "\n".join(lines)


def _errors(rows: list[tuple[str, str, float]], modelled: tuple[float, ...]) -> str:
    """The mean error by family, and of all."""
    from statistics import mean

    by_family: dict[str, list[float]] = {}
    for (family, _, us), time in zip(rows, modelled, strict=True):
        by_family.setdefault(family, []).append(abs(time / us - 1))
    lines = [f"  {family:20} {len(errors):4} rows {mean(errors):6.1%}" for family, errors in by_family.items()]
    everything = [error for errors in by_family.values() for error in errors]
    lines.append(f"  {'all':20} {len(everything):4} rows {mean(everything) if everything else 0:6.1%}")
    return "\n".join(["error of modelled times:", *lines])
