"""Shared and local memory that nobody set is no zero: no kernel that relies on it is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.results.model import Status
from tests.profile.experiments import rows_of

SOURCE = """
extern "C" __global__ void sums(const float *x, float *y, int set)
{
    __shared__ float total;
    if (set && threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
extern "C" __global__ void bins(const int *v, int *y, int set)
{
    __shared__ int count[16];
    if (set && threadIdx.x < 16) count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[v[blockIdx.x * blockDim.x + threadIdx.x] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) y[blockIdx.x * 16 + threadIdx.x] = count[threadIdx.x];
}
extern "C" __global__ void turned(const float *x, float *y, int set)
{
    float t[16];
    for (int j = 0; j < 8 + 8 * set; ++j) t[j] = j < 8 ? x[threadIdx.x + j] : 0.0f;
    float sum = 0;
    for (int j = 0; j < 16; ++j) sum += t[(j + set) & 15];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
CONFIG = """
sizes: {B: 3, T: 128}
buffers:
  x: {dtype: float32, shape: B * T + 16, fill: 1}
  v: {dtype: int32, shape: B * T, fill: i}
  y: {dtype: DTYPE, shape: SHAPE, output: true}
reference: {y: "full(WANT, SHAPE)"}
variants:
  v: {source: k.cu, kernel: KERNEL, block: T, grid: B, args: [IN, y, SET], params: {SET: [0, 1]}}
"""
KERNELS = {
    "sums": ("x", "float32", "B", "128.0"),
    "bins": ("v", "int32", "B * 16", "8"),
    "turned": ("x", "float32", "B * T", "8.0"),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_relies_on_zeros_differs_and_what_sets_them_is_right(kernel: str, tmp_path: Path) -> None:
    given, dtype, shape, want = KERNELS[kernel]
    config = CONFIG.replace("KERNEL", kernel).replace("[IN,", f"[{given},").replace("DTYPE", dtype)
    rows = rows_of(tmp_path, config.replace("SHAPE", shape).replace("WANT", want), SOURCE)
    assert {label: row.status for label, row in rows.items()} == {"v/SET=0": Status.DIFFERS, "v/SET=1": Status.OK}
