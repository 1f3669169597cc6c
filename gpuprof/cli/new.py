"""``gpuprof new``: a starter kernel and YAML in this folder that run as they are."""

from __future__ import annotations

import re
from pathlib import Path

import click

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

KERNEL = """\
// @NAME@: y = a * x + y, one thread per element.
//
// UNROLL is a parameter of @NAME@.yaml: nvcc is given -D UNROLL=1, 2 or 4, and every value becomes one variant.

#ifndef UNROLL
#define UNROLL 1
#endif

extern "C" __global__ void @KERNEL@(int n, float a, const float* x, float* y) {
    const int first = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
#pragma unroll
    for (int step = 0; step < UNROLL; ++step) {
        const int i = first + step * blockDim.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
"""

CONFIG = """\
# gpuprof check @NAME@.yaml   lists the variants
# gpuprof run @NAME@.yaml     builds, checks and times them
name: @NAME@
description: y = a * x + y with 1, 2 and 4 elements per thread

sizes: {N: 1000000}            # a list, as in [1000, 1000000], runs every variant at each size

buffers:
  x: {dtype: float32, shape: N, fill: "i % 13 - 6"}                 # i is the flat index
  y: {dtype: float32, shape: N, fill: "i % 7 - 3", output: true}    # an output is compared with the reference

reference: {y: 2.0 * x + y}    # in double precision; y here is what it held before
tolerance: {rtol: 1.0e-6}
work: {flop: 2 * N, bytes: 12 * N}    # for GFLOP/s and GB/s

baseline: plain                # the others are compared with it
variants:
  plain:
    source: @NAME@.cu
    kernel: @KERNEL@
    block: 256
    grid: cdiv(N, 256)
    args: [N, 2.0, x, y]       # sizes are int, a number with a point is float
  unrolled:
    source: @NAME@.cu
    kernel: @KERNEL@
    params: {UNROLL: [2, 4]}   # one variant per value
    block: 256
    grid: cdiv(N, 256 * UNROLL)
    args: [N, 2.0, x, y]

expect:
  - verdict == "ok"
"""


@click.command()
@click.argument("name", required=False)
@click.option("--from", "source_file", metavar="FILE.cu", help="Write a YAML for a kernel of this source.")
@click.option("--kernel", metavar="NAME", help="With --from: the kernel, where the source has several.")
def command(name: str | None, source_file: str | None, kernel: str | None) -> None:
    """Write NAME.cu and NAME.yaml into this folder: a kernel and an experiment that run as they are.

    With --from the kernel is there already: its signature gives the YAML's buffers, arguments, block and grid.
    """
    from gpuprof.errors import UsageError

    if source_file is not None:
        config, guesses = write_for(Path(source_file), name, kernel)
        click.echo(f"wrote {config}; next: gpuprof run {config}")
        for guess in guesses:
            click.echo(f"guessed: {guess}")
        return
    if name is None:
        raise UsageError("gpuprof new needs a NAME, or --from FILE.cu for a kernel that you have")
    source, config = write_starter(name, Path.cwd())
    click.echo(f"wrote {source.name} and {config.name}; next: gpuprof run {config.name}")


def write_for(source: Path, name: str | None, kernel: str | None) -> tuple[Path, tuple[str, ...]]:
    """Write the YAML beside ``source``; its path, and what was guessed. Raises UsageError."""
    from gpuprof.errors import UsageError
    from gpuprof.starter.config import starter_for

    try:
        text = source.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from None
    name = name or kernel or source.stem
    starter = starter_for(text, source.name, name, kernel)
    config = source.with_name(f"{name}.yaml")
    try:
        with config.open("x", encoding="utf-8") as file:
            file.write(starter.text)
    except FileExistsError:
        raise UsageError(f"{config} is already here; nothing was written, give another NAME") from None
    except OSError as error:
        raise UsageError(f"{config} cannot be written: {error.strerror}") from None
    return config, starter.guesses


def write_starter(name: str, folder: Path) -> tuple[Path, Path]:
    """Write the two files; raises UsageError for a name that is none, and for files that are there already."""
    from gpuprof.errors import UsageError

    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a valid name: use letters, digits, _ and -, beginning with a letter")
    source, config = folder / f"{name}.cu", folder / f"{name}.yaml"
    present = [path.name for path in (source, config) if path.exists()]
    if present:
        raise UsageError(f"{' and '.join(present)} already here; nothing was written, choose another name")
    kernel = f"{name.replace('-', '_')}_kernel"
    for path, text in ((source, KERNEL), (config, CONFIG)):
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text.replace("@NAME@", name).replace("@KERNEL@", kernel))
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    return source, config
