"""Whether a grid runs whole or as a sample does not depend on how fast the machine is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import gpuprof
from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator import engines
from gpuprof.emulator.options import EmulationOptions

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

#: With a loop, whose first block decides, and without one.
SOURCE = """
extern "C" __global__ void loop(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum = sum * 0.5f + k;
    y[i] = sum;
}
extern "C" __global__ void straight(float *y, int n)
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = n;
}
"""
BLOCKS, THREADS = 200, 64
#: Seconds that the first block may take, and that a launch is worth: a slow machine, and an infinitely fast one.
CLOCKS: Mapping[str, tuple[float, float]] = {"slow": (0.0, 0.0), "fast": (1e9, 1e9)}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("choice") / "k.cu"
    path.write_text(SOURCE)
    return path


def blocks_run(kernel: gpuprof.Build, budget: int, compiled_budget: int | None) -> tuple[int, int]:
    """How many blocks ran, and how many elements they stored."""
    device = EmulatedDevice(EmulationOptions(engine="auto", budget=budget, compiled_budget=compiled_budget))
    output = device.allocate(4 * BLOCKS * THREADS)
    device.write(output, np.full(BLOCKS * THREADS, -1, np.float32))
    arguments = (Pointer(output), (40).to_bytes(4, "little"))
    counted = device.launch(Launch(kernel.cubin, kernel.symbol, (BLOCKS, 1, 1), (THREADS, 1, 1), 0, arguments))
    stored = device.read(output, "<f4", (BLOCKS * THREADS,)) != -1
    return counted.blocks_run, int(stored.sum())


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", ["loop", "straight"])
def test_the_blocks_that_run_are_the_same_on_a_slow_and_a_fast_machine(
    source: Path, name: str, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot, worth = CLOCKS[clock]
    monkeypatch.setattr(engines, "PILOT_S", pilot)
    monkeypatch.setattr(engines, "WORTH_S", worth)
    kernel = gpuprof.build(source, name)
    assert blocks_run(kernel, 2_000, 10**9) == (BLOCKS, BLOCKS * THREADS)
    for compiled_budget in (None, 2_000):
        run, stored = blocks_run(kernel, 2_000, compiled_budget)
        assert run < BLOCKS
        assert stored == run * THREADS
