"""Launches that no GPU makes fail before they are tried, with limit and value."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.arch.launch_limits import KernelResources, launch_problem, needs_opt_in
from gpuprof.results.model import Status
from tests.profile.experiments import rows_of

SOURCE = """
extern "C" __global__ void many_registers(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float r[100];
    for (int k = 0; k < 100; ++k) r[k] = x[(i * 7 + k * k) % n];
    for (int t = 0; t < 2; ++t)
        for (int k = 0; k < 100; ++k) r[k] = r[k] * r[(k + 37) % 100] + r[(k + 53) % 100];
    float sum = 0;
    for (int k = 0; k < 100; ++k) sum += r[k];
    if (i < n) y[i] = sum;
}
extern "C" __global__ void __launch_bounds__(128) at_most_128(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void two_kinds(int n, const float *x, float *y)
{
    extern __shared__ float room[];
    __shared__ float fixed[4];
    if (threadIdx.x < 4) fixed[threadIdx.x] = x[threadIdx.x];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = room[threadIdx.x] * fixed[threadIdx.x % 4];
}
"""
CONFIG = """
name: limits
arch: sm_89
sizes: {N: 1024}
buffers:
  x: {dtype: float32, shape: N, fill: "(i % 5) * 0.1"}
  y: {dtype: float32, shape: N, output: true}
variants:
  fits: {source: k.cu, kernel: many_registers, block: 256, grid: 4, args: [N, x, y]}
  registers: {source: k.cu, kernel: many_registers, block: 1024, grid: 1, args: [N, x, y]}
  bounds: {source: k.cu, kernel: at_most_128, block: 256, grid: 4, args: [N, x, y]}
  small: {source: k.cu, kernel: two_kinds, block: 32, grid: 1, shared: 49152, args: [N, x, y]}
  shared: {source: k.cu, kernel: two_kinds, block: 32, grid: 1, shared: 101372, args: [N, x, y]}
  most: {source: k.cu, kernel: two_kinds, block: 32, grid: 1, shared: 101376, args: [N, x, y]}
"""
REFUSED = {
    "registers": ["1,024 threads", "65,536"],
    "bounds": ["256 threads", "__launch_bounds__ allow 128"],
    "shared": ["16 bytes of static and 101,372 of dynamic", "101,376"],
    "most": ["16 bytes of static and 101,376 of dynamic", "101,376"],
}


def test_launches_beyond_a_limit_fail_before_the_launch(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, CONFIG, SOURCE)
    assert {label for label, row in rows.items() if row.status is Status.OK} == {"fits", "small"}
    for label, words in REFUSED.items():
        assert rows[label].status is Status.LAUNCH_FAILED
        assert all(word in (rows[label].reason or "") for word in words), rows[label].reason
        assert rows[label].counters is None  # nothing ran


@pytest.mark.parametrize(
    ("registers", "threads", "refused"),
    [(64, 1024, False), (65, 1024, True), (255, 256, False), (88, 672, True), (128, 512, False), (129, 512, True)],
)
def test_registers_count_in_whole_warps_of_all_sub_partitions(registers: int, threads: int, refused: bool) -> None:
    # 88 x 672: 21 warps count as 24, 24 x 88 x 32 = 67,584 > 65,536 (cuda_occupancy.h)
    found = launch_problem("sm_90", KernelResources(registers), (1, 1, 1), (threads, 1, 1), 0)
    assert (found is not None) is refused


@pytest.mark.parametrize(
    ("static", "dynamic", "due"),
    [(0, 49152, False), (0, 49156, True), (16, 49136, False), (16, 49144, True), (49152, 0, False), (49152, 4, True)],
)
def test_the_opt_in_is_due_for_static_and_dynamic_memory_together(static: int, dynamic: int, due: bool) -> None:
    assert needs_opt_in(static, dynamic) is due


def test_extents_and_required_blocks() -> None:
    kernel = KernelResources(32, required_block=(64, 2, 1))
    assert launch_problem("sm_80", kernel, (1, 1, 1), (64, 2, 1), 0) is None
    assert "__block_size__" in (launch_problem("sm_80", kernel, (1, 1, 1), (128, 1, 1), 0) or "")
    assert "grid y" in (launch_problem("sm_80", KernelResources(32), (1, 70000, 1), (32, 1, 1), 0) or "")
    assert launch_problem("sm_999", KernelResources(32), (1, 1, 1), (2048, 1, 1), 0) is None  # limits unknown
