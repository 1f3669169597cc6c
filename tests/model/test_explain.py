"""Explanations of kernels whose bottleneck is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CONFIG = """
name: known
sizes: {COUNT: 65536}
buffers:
  x: {dtype: float32, shape: COUNT, fill: i % 13}
  y: {dtype: float32, shape: COUNT, output: true}
variants:
  streaming: {source: known.cu, kernel: streaming, block: 256, grid: cdiv(COUNT, 256), args: [x, y]}
  conflicts: {source: known.cu, kernel: conflicts, block: 256, grid: cdiv(COUNT, 256), args: [x, y]}
  chain: {source: known.cu, kernel: chain, block: 256, grid: cdiv(COUNT, 256), args: [x, y]}
"""
SOURCE = """
extern "C" __global__ void streaming(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] + 1.0f;
}
extern "C" __global__ void conflicts(const float* x, float* y) {
  __shared__ float tile[32 * 33];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  float sum = 0;
  #pragma unroll 1
  for (int n = 0; n < 64; ++n) {
    sum += tile[threadIdx.x % 32 * 32 + (n & 31)];
    tile[n] = sum;
  }
  y[i] = sum;
}
extern "C" __global__ void chain(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int n = 0; n < 2000; ++n) sum = sum * 0.5f + 1.0f;
  y[i] = sum;
}
"""


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("explain")
    (folder / "known.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "known.cu").write_text(SOURCE, encoding="utf-8")
    target = folder / "explained.json"
    command = [sys.executable, "-m", "gpuprof", "explain", str(folder / "known.yaml"), "--json", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "modelled for NVIDIA H200, not measured" in " ".join(done.stdout.split())
    data = json.loads(Path(target).read_text(encoding="utf-8"))
    assert data["gpu"] == "NVIDIA H200"
    return {each["variant"]: each["modelled"] for each in data["variants"]}


def leading(modelled: dict[str, Any]) -> str:
    stalls = {name: share for name, share in modelled["reasons"].items() if name != "selected"}
    return max(stalls, key=lambda name: stalls[name])


def test_a_streaming_kernel_waits_for_its_load(explained: dict[str, dict[str, Any]]) -> None:
    found = explained["streaming"]
    assert leading(found) == "long_scoreboard"
    assert found["lines"][0]["name"] == "known.cu:4"
    assert found["lines"][0]["waits_for"][0].startswith("LDG")
    assert found["what_if"][0]["name"] in ("every load hits the L1", "infinite DRAM")


def test_bank_conflicts_are_the_advice_where_they_cost(explained: dict[str, dict[str, Any]]) -> None:
    found = explained["conflicts"]
    assert leading(found) in ("short_scoreboard", "mio_throttle")
    assert found["what_if"][0]["name"] == "no bank conflicts"
    assert found["what_if"][0]["saves_us"] > 0.2 * found["time_us"]
    assert found["loops"][0]["share"] > 0.5


def test_a_chain_of_arithmetic_gains_from_nothing(explained: dict[str, dict[str, Any]]) -> None:
    found = explained["chain"]
    assert leading(found) in ("wait", "not_selected")
    assert all(each["saves_us"] < 0.15 * found["time_us"] for each in found["what_if"])


def test_shares_add_up(explained: dict[str, dict[str, Any]]) -> None:
    for found in explained.values():
        assert sum(found["reasons"].values()) == pytest.approx(1)
        assert sum(each["share"] for each in found["lines"]) <= 1 + 1e-9
        assert found["time_low_us"] < found["time_us"] < found["time_high_us"]
