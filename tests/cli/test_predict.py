"""``gpuprof run --predict``: modelled times beside counters, and a reason where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.results.json import read_run

CONFIG = """
name: small
sizes: {COUNT: 8192}
buffers:
  x: {dtype: float32, shape: COUNT, fill: i % 13}
  y: {dtype: float32, shape: COUNT, output: true}
work: {bytes: 8 * COUNT}
baseline: copy
variants:
  copy: {source: small.cu, kernel: copy, block: 128, grid: cdiv(COUNT, 128), args: [x, y], reference: {y: x}}
  slow: {source: small.cu, kernel: slow, block: 128, grid: cdiv(COUNT, 128), args: [x, y]}
  counting: {source: small.cu, kernel: counting, block: 128, grid: cdiv(COUNT, 128), args: [x, y]}
"""
SOURCE = """
extern "C" __global__ void copy(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
extern "C" __global__ void slow(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int n = 0; n < 4000; ++n) sum = sum * 0.5f + 1.0f;
  y[i] = sum;
}
extern "C" __global__ void counting(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int n = 0; n < 9; ++n) atomicAdd(y + (int)x[i] % 7, 1.0f);
}
"""


def gpuprof(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuprof", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("predict")
    (folder / "small.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "small.cu").write_text(SOURCE, encoding="utf-8")
    target = folder / "run.json"
    done = gpuprof("run", str(folder / "small.yaml"), "--predict", "--no-history", "--json", str(target))
    return target, done.stdout


def test_times_are_in_the_json_under_modelled(predicted: tuple[Path, str]) -> None:
    run = read_run(predicted[0])
    copy, slow = run["copy"].modelled, run["slow"].modelled
    assert 2 < copy["time_us"] < 6
    assert copy["time_low_us"] < copy["time_us"] < copy["time_high_us"]
    assert slow["time_us"] - copy["time_us"] > 4000 * 4 / 1980 * 0.9  # a chain of 4000 FFMA, four cycles each
    assert slow["speedup"] == pytest.approx(copy["time_us"] / slow["time_us"])
    assert copy["gbps"] == pytest.approx(8 * 8192 / copy["time_us"] / 1e3)
    assert run.environment.modelled_gpu == "NVIDIA H200"
    assert run["copy"].timing is None


def test_what_cannot_be_modelled_has_its_reason(predicted: tuple[Path, str]) -> None:
    row = read_run(predicted[0])["counting"]
    assert "time_us" not in row.modelled
    assert "atomics" in row.missing["modelled"]


def test_the_table_says_that_times_are_modelled(predicted: tuple[Path, str]) -> None:
    text = predicted[1]
    for part in ("time*", "vs base*", "modelled for NVIDIA H200, not measured", "fastest as modelled: copy"):
        assert part in text
    assert "no modelled time: counting:" in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--predict", "b300"], "bundled are"),
        (["--predict", "--warm"], "leave out --warm"),
        (["--predict", "--device", "none"], "leave one out"),
        (["--predict", "--arch", "sm_80"], "NVIDIA H200 is sm_90"),
    ],
)
def test_flags_that_do_not_go_together(flags: list[str], message: str) -> None:
    done = gpuprof("run", "saxpy", *flags)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_json_of_the_run_is_valid(predicted: tuple[Path, str]) -> None:
    assert json.loads(predicted[0].read_text(encoding="utf-8"))["environment"]["modelled_gpu"] == "NVIDIA H200"


def test_calibrate_needs_a_gpu() -> None:
    from gpuprof.device.gpus import find_gpus

    if find_gpus().devices:
        pytest.skip("there is a GPU")
    done = gpuprof("calibrate")
    assert done.returncode == 3
    assert "constants are measured on a GPU" in done.stderr
