"""Steps of one source share its ``__device__`` variables, whether their kernels are templates or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof import experiment as experiments
from gpuprof.profile.built_variant import build_request
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Status
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.prelude import has_device_variables

KERNELS = """
template <int N> __global__ void keep(int n) { if (threadIdx.x == 0) kept = N; }
template <typename T> __global__ void add(T n) { if (threadIdx.x == 0) kept += n; }
extern "C" __global__ void show(int n, int* out) { out[threadIdx.x] = kept; }
"""
CONFIG = """
buffers:
  out: {dtype: int32, shape: [N], output: true}
sizes: {N: 32}
reference:
  out: arange(N) * 0 + 39
variants:
  steps:
    source: kernels.cu
    steps:
      - {kernel: "keep<7>", grid: [1], block: [32], args: [N]}
      - {kernel: "add<int>", grid: [1], block: [32], args: [N]}
      - {kernel: show, grid: [1], block: [32], args: [N, out]}
"""


def write(folder: Path, declaration: str) -> Path:
    (folder / "kernels.cu").write_text(declaration + KERNELS)
    config = folder / "steps.yaml"
    config.write_text(CONFIG)
    return config


def test_template_and_plain_kernels_see_one_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    experiment = experiments.load(write(tmp_path, "__device__ int kept = 5;\n"))
    run = run_experiment(experiment, RunOptions(devices=("emulated",), arch="sm_89"), SilentObserver())
    assert [result.status for result in run.results] == [Status.OK]


def test_one_cubin_for_the_steps(tmp_path: Path) -> None:
    builder = Builder(find_tools(), cache_dir=tmp_path / "cache")
    experiment = experiments.load(write(tmp_path, "__device__ int kept = 5;\n"))
    (variant,) = experiment.variants
    requests = [build_request(variant, step, "sm_89") for step in variant.steps]  # type: ignore[arg-type]
    for _ in range(2):  # from nvcc, then from the cache
        builds = [build for build in builder.build_all(requests) if not isinstance(build, Exception)]
        assert len(builds) == 3
        assert len({build.cubin for build in builds}) == 1
        assert len({build.symbol for build in builds}) == 3


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("__device__ int a;", True),
        ("__constant__ float table[4] = {1};", True),
        ("static __device__ unsigned long long n{0};", True),
        ("__device__ int f(int x) { return x; }", False),
        ("__host__ __device__ float g(float);", False),
    ],
)
def test_device_variables_are_told_from_functions(text: str, has: bool, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(text)
    assert has_device_variables(tmp_path / "k.cu") is has
