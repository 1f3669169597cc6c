"""A wrong output that was read before anything was stored to it says where, and not only what it held."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.results.model import Status
from tests.profile.experiments import rows_of

SOURCE = """\
extern "C" __global__ void added(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += x[i];
}
extern "C" __global__ void counted(const int *v, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[v[i] & 7], 1);
}
extern "C" __global__ void halves(const float *x, short *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] |= (short)x[i];
}
extern "C" __global__ void first(float *room, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2)
        room[i] = x[i];
}
extern "C" __global__ void second(const float4 *room, float4 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4)
        y[i] = room[i];
}
"""
CONFIG = """
sizes: {N: 4096}
buffers:
  x: {dtype: float32, shape: N, fill: i % 7}
  v: {dtype: int32, shape: N, fill: i}
  room: {dtype: float32, shape: N, scratch: true}
  y: {dtype: float32, shape: N, output: true}
  h: {dtype: int16, shape: N, output: true}
  bins: {dtype: int32, shape: 8, output: true}
reference: {OUTPUT: WANT}
variants:
  v:
    VARIANT
"""
CASES = {
    "y: read before it was written (k.cu:5)": ("y", "x", "added", "[x, y, N]"),
    "bins: read before it was written (k.cu:11)": ("bins", "512", "counted", "[v, bins, N]"),
    "h: read before it was written (k.cu:17)": ("h", "x", "halves", "[x, h, N]"),
}


@pytest.mark.parametrize("words", CASES)
def test_the_line_that_reads_what_nobody_stored(tmp_path: Path, words: str) -> None:
    output, want, kernel, arguments = CASES[words]
    launch = f"{{source: k.cu, kernel: {kernel}, block: 128, grid: 32, args: {arguments}}}"
    config = CONFIG.replace("OUTPUT", output).replace("WANT", want)
    row = rows_of(tmp_path, config.replace("v:\n    VARIANT", f"v: {launch}"), SOURCE)["v"]
    assert row.status is Status.DIFFERS
    assert words in (row.reason or "")


STEPS = """source: k.cu
    steps:
      - {kernel: first, block: 128, grid: 32, args: [room, x, N]}
      - {kernel: second, block: 128, grid: 32, args: [room, y, N]}
"""


def test_scratch_that_an_earlier_step_filled_in_part(tmp_path: Path) -> None:
    config = CONFIG.replace("OUTPUT", "y").replace("VARIANT", STEPS)
    row = rows_of(tmp_path, config.replace("WANT", "x"), SOURCE)["v"]
    assert "room: read before it was written (k.cu:29)" in (row.reason or "")


def test_a_wrong_value_of_another_cause_says_nothing_of_the_kind(tmp_path: Path) -> None:
    launch = "{source: k.cu, kernel: second, block: 128, grid: 32, args: [x, y, N]}"
    config = CONFIG.replace("OUTPUT", "y").replace("WANT", "x + 1").replace("v:\n    VARIANT", f"v: {launch}")
    row = rows_of(tmp_path, config, SOURCE)["v"]
    assert row.status is Status.DIFFERS
    assert row.verification is not None
    assert row.verification.read_unset == ""
