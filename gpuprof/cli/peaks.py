"""``gpuprof peaks``: measure a GPU's ceilings and keep them."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("peaks")
@click.option("--device", default="gpu:0", metavar="DEVICE", show_default=True, help="Which GPU.")
@click.option("--stored", is_flag=True, help="Show what is kept; measure nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="CUDA toolkit directory."
)
@click.option("--ccbin", metavar="PROGRAM", help="Host compiler for nvcc.")
def command(device: str, stored: bool, as_json: bool, cuda_home: Path | None, ccbin: str | None) -> None:
    """Measure this GPU's FP32, tensor and DRAM ceilings, and keep them for '% of peak'."""
    from dataclasses import asdict

    from gpuprof.device.choice import choose_devices, parse_devices
    from gpuprof.device.drivers import why_no_driver
    from gpuprof.device.gpus import find_gpus
    from gpuprof.errors import MissingDeviceError, UsageError
    from gpuprof.profile.peaks import measure_peaks, peaks_of, store_peaks
    from gpuprof.profile.setup import build_support
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder

    words = parse_devices(device)
    if len(words) != 1 or not words[0].startswith("gpu"):
        raise UsageError(f"--device {device!r}: peaks are measured on one GPU, as in gpu:0")
    gpus = find_gpus()
    if not gpus.devices:
        raise MissingDeviceError(f"peaks are measured on a GPU: {gpus.why_none}")
    choice = choose_devices(words, gpus, why_no_driver())
    name, gpu = choice.names[0], choice.gpus[0]
    if stored:
        peaks = peaks_of(gpu)
        if peaks is None:
            raise MissingDeviceError(f"nothing is known of {gpu.name}: run gpuprof peaks on it")
    else:
        builder = Builder(find_tools(cuda_home), ccbin=ccbin)
        peaks = measure_peaks(builder, name, gpu, build_support(builder, gpu.arch or ""))
        store_peaks(peaks)
    click.echo(json.dumps(asdict(peaks), indent=2) if as_json else text_of(asdict(peaks)))


_LINES = (
    ("FP32", "fp32_gflops", "GFLOP/s"),
    ("tensor, half inputs (mma.sync)", "tensor_gflops", "GFLOP/s"),
    ("DRAM, copy (read + write)", "dram_copy_gbps", "GB/s"),
    ("DRAM, read", "dram_read_gbps", "GB/s"),
)


def text_of(peaks: dict[str, object]) -> str:
    """A few lines: the GPU, then each ceiling with its unit and whether it was measured."""
    head = f"{peaks['gpu']} ({peaks['source']}{', ' + str(peaks['when']) if peaks['when'] else ''})"
    return "\n".join([head, *(f"  {name:<32}{peaks[key]:>12,.0f} {unit}" for name, key, unit in _LINES)])
