"""Outputs that were not written: whole grids by element, samples by estimate, references by themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof.cli.run import exit_code
from gpuprof.experiment.model import Tolerance
from gpuprof.profile.verification.compare import compare_output, explain, summarize
from gpuprof.results.model import Status
from tests.profile.experiments import rows_of, run_yaml

UNWRITTEN = """
extern "C" __global__ void writes_nothing(int *y, int n) { if (n < 0) y[0] = 1; }
extern "C" __global__ void writes_no_short(unsigned short *y, int n) { if (n < 0) y[0] = 1; }
__device__ int launches;
extern "C" __global__ void first_launch_only(float *y, int n)
{
    if (launches == 0) y[threadIdx.x] = 2.0f;
    if (threadIdx.x == n - 1) launches = 1;
}
extern "C" __global__ void all_but_the_last_columns(int *y, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (threadIdx.x < 29) y[i] = -1;
}
"""
UNWRITTEN_CONFIG = """
sizes: {N: 32}
variants:
  minus_one:
    source: k.cu
    kernel: writes_nothing
    block: 32
    grid: 1
    args: [y, N]
    buffers: {y: {dtype: int32, shape: N, output: true}}
    reference: {y: "full(-1, N)"}
  ones:
    source: k.cu
    kernel: writes_no_short
    block: 32
    grid: 1
    args: [y, N]
    buffers: {y: {dtype: uint16, shape: N, output: true}}
    reference: {y: "full(65535, N)"}
  once:
    source: k.cu
    kernel: first_launch_only
    block: 32
    grid: 1
    args: [y, N]
    buffers: {y: {dtype: float32, shape: N, output: true}}
    reference: {y: "full(2.0, N)"}
  edge:
    source: k.cu
    kernel: all_but_the_last_columns
    block: 32
    grid: 64
    args: [y, N]
    buffers: {y: {dtype: int32, shape: [64, N], output: true}}
    reference: {y: "full(-1, 64, N)"}
"""


def test_elements_that_hold_the_expected_value_by_accident_were_never_written(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, UNWRITTEN_CONFIG, UNWRITTEN)
    assert {row.status for row in rows.values()} == {Status.DIFFERS}
    assert rows["minus_one"].reason == "y: never written: 32 elements (all)"
    assert rows["ones"].reason == "y: never written: 32 elements (all)"
    assert rows["edge"].reason == "y: never written: 192 elements (right edge)"
    assert (rows["once"].reason or "").startswith("in a second launch, with other bytes")
    verification = rows["edge"].verification
    assert verification is not None
    assert (verification.never_written, verification.wrong, verification.checked) == (192, 192, 2048)


SAMPLED = """
extern "C" __global__ void nothing(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i;
    for (int k = 0; k < 64; ++k) s = s * 1.5f + k;
    if (s == -12345.678f) y[i] = s;
}
extern "C" __global__ void every_second(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 2 == 0) y[i] = 2.0f;
}
extern "C" __global__ void all(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f;
}
extern "C" __global__ void strided(float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f;
}
"""
SAMPLED_CONFIG = """
sizes: {N: 1000003}
buffers: {y: {dtype: float32, shape: N, output: true}}
reference: {y: 2.0}
variants:
  nothing: {source: k.cu, kernel: nothing, block: 256, grid: "cdiv(N, 256)", args: [y, N]}
  every_second: {source: k.cu, kernel: every_second, block: 256, grid: N // 256, args: [y, N]}
  all: {source: k.cu, kernel: all, block: 256, grid: "cdiv(N, 256)", args: [y, N]}
  strided: {source: k.cu, kernel: strided, block: 256, grid: 1000, args: [y, N]}
  too_few_blocks: {source: k.cu, kernel: all, block: 256, grid: N // 512, args: [y, N]}
  added:
    source: k.cu
    kernel: every_second
    block: 256
    grid: N // 256
    args: [y, N]
    buffers: {y: {dtype: float32, shape: N, fill: 1, output: true}}
"""


def test_a_sample_must_cover_its_share(tmp_path: Path) -> None:
    run = run_yaml(tmp_path, SAMPLED_CONFIG, SAMPLED, emulate_budget=200_000)
    rows = {row.variant: row for row in run.results}
    assert all(row.counters and row.counters.blocks_run < row.counters.blocks_total for row in rows.values())
    assert {label for label, row in rows.items() if row.status is Status.OK} == {"all", "strided"}
    assert {row.status for label, row in rows.items() if label not in ("all", "strided")} == {Status.UNCHECKED}
    assert "stored to 0 elements of y" in (rows["nothing"].reason or "")
    for label in ("every_second", "too_few_blocks", "added"):
        assert "50 % of the 1,000,003" in (rows[label].reason or ""), rows[label].reason
    assert exit_code(run, check=False) == 1


REFERENCE = """
extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
REFERENCE_CONFIG = """
sizes: {N: 1000}
buffers:
  x: {dtype: float32, shape: N, fill: i}
  y: {dtype: float32, shape: N, output: true}
reference: short
variants:
  short: {source: k.cu, kernel: twice, block: 128, grid: 7, args: [x, y, N]}
  right: {source: k.cu, kernel: twice, block: 128, grid: 8, args: [x, y, N]}
"""


def test_a_reference_that_leaves_elements_out_fails_itself(tmp_path: Path) -> None:
    run = run_yaml(tmp_path, REFERENCE_CONFIG, REFERENCE)
    rows = {row.variant: row for row in run.results}
    assert rows["short"].status is Status.DIFFERS
    assert "y: never written: 104 elements" in (rows["short"].reason or "")  # 1000 - 7 * 128
    assert (rows["right"].status, rows["right"].reason) == (
        Status.UNCHECKED,
        "its reference short did not run, or was wrong",
    )
    assert exit_code(run, check=False) == 1


def test_a_right_reference_is_in_order(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, REFERENCE_CONFIG.replace("grid: 7", "grid: 8"), REFERENCE)
    assert {row.status for row in rows.values()} == {Status.OK}
    verdicts = {label: row.verification.verdict for label, row in rows.items() if row.verification}
    assert verdicts == {"short": "reference", "right": "ok"}


def test_what_a_memset_step_set_counts_as_written(tmp_path: Path) -> None:
    steps = (
        "{steps: [{name: zero, fill: y, byte: 0}, {source: k.cu, kernel: twice, block: 4, grid: 1, args: [x, y, 4]}]}"
    )
    config = REFERENCE_CONFIG[: REFERENCE_CONFIG.index("reference:")] + (
        f"reference: {{y: where(arange(N) < 4, 2 * x, 0)}}\nvariants:\n  zeroed: {steps}\n"
    )
    assert rows_of(tmp_path, config, REFERENCE)["zeroed"].status is Status.OK


@pytest.mark.parametrize(("known", "poison"), [(True, None), (False, 0xFF)])
def test_words_for_unwritten_and_wrong_elements_together(known: bool, poison: int | None) -> None:
    got = np.full((8, 8), np.float32(1))
    got[2, 3] = 5
    got.view(np.uint32)[:, 7] = 0xFFFFFFFF
    unwritten = np.zeros((8, 8), bool)
    unwritten[:, 7] = True
    exact = Tolerance(0.0, 0.0)
    check = compare_output("y", got, np.ones((8, 8)), exact, None, unwritten if known else None, poison)
    text = explain(summarize([check], "exact")) or ""
    assert text.startswith("y: never written: 8 elements (right edge); 1 of 64 checked elements differ (one element)")
    assert "first y[2, 3]: got 5.0" in text
