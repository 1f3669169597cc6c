"""Runs of several launches: what the row is of, what each step has, and what stands on the terminal."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.isa.ncu_metrics import INSTRUCTIONS

SOURCE = """
#include <cstdio>
extern "C" __global__ void gather(const float* x, float* y, int n) {
    __shared__ float window[5120];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 40; ++k) {
        window[threadIdx.x + k * 64] = x[(i + k) % n];
        __syncthreads();
        sum += window[(threadIdx.x ^ 1) + k * 64];
    }
    if (i < n) y[i] = sum;
    if (i == 0) printf("gathered %d\\n", n);
}
extern "C" __global__ void twice(const float* y, float* z, int n) {
    float kept[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) kept[k] = y[i % n] * k;
    if (i < n) z[i] = kept[(n + i) % 8] * 0 + y[i] * 2;
}
"""
CONFIG = """
name: chain
sizes: {N: 300}
buffers:
  x: {dtype: float32, shape: N, fill: 1}
  y: {dtype: float32, shape: N, scratch: true}
  z: {dtype: float32, shape: N, output: true}
reference: {z: x * 80}
variants:
  chain:
    source: k.cu
    steps:
      - {kernel: gather, block: 64, grid: "cdiv(N, 64)", args: [x, y, N]}
      - {kernel: twice, block: 128, grid: "cdiv(N, 128)", args: [y, z, N]}
      - {kernel: twice, block: 128, grid: "cdiv(N, 128)", args: [y, z, N]}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, object]]:
    """What the terminal shows, and the one row of the JSON."""
    folder = tmp_path_factory.mktemp("steps")
    (folder / "k.cu").write_text(SOURCE)
    (folder / "chain.yaml").write_text(CONFIG)
    flags = ["--device", "emulated", "--steps", "--no-history", "--json", str(folder / "run.json")]
    result = CliRunner(env={"COLUMNS": "160"}).invoke(cli, ["run", str(folder / "chain.yaml"), *flags])
    assert result.exit_code == 0, result.output
    return result.output, json.loads((folder / "run.json").read_text())["results"][0]


def test_the_row_is_of_the_kernel_that_most_instructions_are_in(ran: tuple[str, dict]) -> None:
    text, row = ran
    assert row["main_step"] == "gather"
    assert row["build"]["static_shared_bytes"] == 5120 * 4
    assert row["occupancy"]["limiter"] == "shared memory"
    assert "are of step gather" in text


def test_every_step_has_its_build_launch_occupancy_and_counters(ran: tuple[str, dict]) -> None:
    _, row = ran
    steps = {step["name"]: step for step in row["steps"]}
    assert list(steps) == ["gather", "twice", "twice #2"]
    assert [step["build"]["static_shared_bytes"] for step in steps.values()] == [20480, 0, 0]
    assert [step["launch"]["grid"] for step in steps.values()] == [[5, 1, 1], [3, 1, 1], [3, 1, 1]]
    assert steps["twice"]["occupancy"]["percent"] == 100
    counted = [step["counters"]["values"][INSTRUCTIONS] for step in steps.values()]
    assert sum(counted) == row["counters"]["values"][INSTRUCTIONS]
    assert counted[1] == counted[2] < counted[0]


def test_the_terminal_shows_steps_local_memory_printed_text_and_the_time_of_emulation(ran: tuple[str, dict]) -> None:
    text, row = ran
    assert "steps of chain" in text
    assert "twice #2" in text
    assert "local" in text
    assert "    gathered 300\n" in text
    assert row["counters"]["seconds"] > 0
    assert "emulated for" in text
