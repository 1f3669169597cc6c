"""``run`` with toolkits of CUDA 11 and 12: built by their nvcc, read by their tools, executed, and compared.

They are looked for where ``tests.toolchain.older_toolkits`` made them, and in /usr/local; skipped where there is none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof import experiment as experiments
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Result, Status
from tests.profile.experiments import run_yaml
from tests.toolchain.older_toolkits import OlderToolkit, found_toolkits

pytestmark = pytest.mark.slow

TOOLKITS = found_toolkits()
CONFIGS = Path(__file__).parents[2] / "configs"
SOURCE = """
#include <cuda_fp16.h>
#include <mma.h>
#include <cub/block/block_reduce.cuh>
template <int BLOCK> __global__ void block_sums(const float *x, float *sums, int n)
{
    __shared__ typename cub::BlockReduce<float, BLOCK>::TempStorage room;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum = cub::BlockReduce<float, BLOCK>(room).Sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void tile(const half *a, const half *b, float *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> left;
    fragment<matrix_b, 16, 16, 16, half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(left, a, 16);
    load_matrix_sync(right, b, 16);
    mma_sync(sum, left, right, sum);
    store_matrix_sync(c, sum, 16, mem_row_major);
}
extern "C" __global__ void ranks(const int *keys, int *order, int n)
{
    extern __shared__ int seen[];
    if (threadIdx.x < n) seen[threadIdx.x] = keys[threadIdx.x];
    __syncthreads();
    if (threadIdx.x >= n) return;
    int rank = 0;
    int own = seen[threadIdx.x];
    for (int k = 0; k < n; ++k) rank += seen[k] < own || (seen[k] == own && k < threadIdx.x);
    order[rank] = own;
}
extern "C" __global__ void roots(const double *v, double *w) { w[threadIdx.x] = sqrt(v[threadIdx.x]) / 3.0; }
"""
CONFIG = """
buffers:
  x: {dtype: float32, shape: 1000, fill: "i % 11"}
  sums: {dtype: float32, shape: 4, output: true}
  a: {dtype: float16, shape: [16, 16], fill: "i % 5"}
  b: {dtype: float16, shape: [16, 16], fill: "i % 3"}
  c: {dtype: float32, shape: [16, 16], output: true}
  keys: {dtype: int32, shape: 100, fill: "i * 37 % 101"}
  order: {dtype: int32, shape: 100, output: true}
  v: {dtype: float64, shape: 64, fill: i}
  w: {dtype: float64, shape: 64, output: true}
variants:
  sums: {source: k.cu, kernel: "block_sums<256>", block: 256, grid: 4, args: [x, sums, 1000],
         reference: {sums: "sum(reshape(where(arange(1024) < 1000, arange(1024) % 11, 0), 4, 256), axis=1)"}}
  tile: {source: k.cu, kernel: tile, block: 32, grid: 1, args: [a, b, c], reference: {c: a @ b}}
  ranks: {source: k.cu, kernel: ranks, block: 128, grid: 1, shared: 400, args: [keys, order, 100],
          reference: {order: sort(keys)}}
  roots: {source: k.cu, kernel: roots, block: 64, grid: 1, args: [v, w], reference: {w: sqrt(v) / 3}}
"""


@pytest.fixture(params=sorted(TOOLKITS) or [None])
def toolkit(request: pytest.FixtureRequest) -> OlderToolkit:
    if request.param is None:
        pytest.skip("no toolkit of CUDA 11 or 12 here: python -m tests.toolchain.older_toolkits FOLDER makes some")
    return TOOLKITS[request.param]


def all_ok(results: tuple[Result, ...]) -> dict[str, str | None]:
    return {
        result.variant: result.reason or result.status.value for result in results if result.status is not Status.OK
    }


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90"])
def test_kernels_of_every_kind(tmp_path: Path, toolkit: OlderToolkit, arch: str) -> None:
    run = run_yaml(tmp_path, CONFIG, SOURCE, cuda_home=toolkit.home, ccbin=toolkit.ccbin, arch=arch)
    assert all_ok(run.results) == {}
    assert run.environment.nvcc is not None
    assert run.environment.nvcc.startswith(toolkit.home.name.removeprefix("cuda-"))
    assert all(result.sass is not None for result in run.results)


@pytest.mark.parametrize("config", ["saxpy", "reduction", "histogram", "scan"])
def test_bundled_experiments(toolkit: OlderToolkit, config: str) -> None:
    loaded = experiments.load(CONFIGS / f"{config}.yaml")
    kernels = tuple(variant for variant in loaded.variants if not variant.host_only)
    options = RunOptions(devices=("emulated",), cuda_home=toolkit.home, ccbin=toolkit.ccbin)
    run = run_experiment(replace(loaded, variants=kernels), options, SilentObserver())
    assert all_ok(run.results) == {}
