"""A check over a part of an output, and references above 2^63."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof import experiment as experiments
from gpuprof.errors import ConfigError
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Result

SOURCE = """
extern "C" __global__ void evens(const float* x, float* y, int n, int wrong) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i % 2 == 0) y[i] = 2 * x[i] + (i == wrong);
}
extern "C" __global__ void mix(const unsigned long long* x, unsigned long long* y) {
    y[threadIdx.x] = x[threadIdx.x] * 0x9E3779B97F4A7C15ull;
}
"""
EVENS = """
buffers:
  x: {dtype: float32, shape: [8, 10], fill: i}
  y: {dtype: float32, shape: [8, 10], output: true}
reference:
  y: {value: 2 * x, where: CONDITION}
variants:
  evens: {source: k.cu, kernel: evens, block: 32, grid: 3, args: [x, y, 80, WRONG]}
"""


def run_row(folder: Path, text: str) -> Result:
    (folder / "k.cu").write_text(SOURCE)
    (folder / "e.yaml").write_text(text)
    experiment = experiments.load(folder / "e.yaml")
    return run_experiment(experiment, RunOptions(devices=("emulated",)), SilentObserver()).results[0]


@pytest.mark.parametrize(
    ("condition", "wrong", "status", "checked"),
    [
        ("i % 2 == 0", 81, "ok", 40),  # the odd elements are never written, and nobody asks for them
        ("i % 2 == 0", 6, "differs", 40),
        ("(i % 2 == 0) & (x > 20)", 6, "ok", 29),  # 22, 24 ... 78
        ("i < 10", 81, "differs", 10),  # five of them are never written
    ],
)
def test_only_a_part_is_compared(tmp_path: Path, condition: str, wrong: int, status: str, checked: int) -> None:
    row = run_row(tmp_path, EVENS.replace("CONDITION", f'"{condition}"').replace("WRONG", str(wrong)))
    assert row.status.value == status, row.reason
    assert row.verification is not None
    assert row.verification.checked == checked


@pytest.mark.parametrize(
    ("condition", "message"),
    [("i < M", "'M' is not declared"), ("arange(7) < 3", "shape"), ("i <", "i <")],
)
def test_a_wrong_condition_is_a_mistake_of_the_file(tmp_path: Path, condition: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run_row(tmp_path, EVENS.replace("CONDITION", f'"{condition}"').replace("WRONG", "0"))


def test_a_reference_above_two_to_the_63(tmp_path: Path) -> None:
    wanted = np.arange(1, 33, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert wanted.max() > np.uint64(1 << 63)
    np.save(tmp_path / "wanted.npy", wanted)
    text = """
buffers:
  x: {dtype: uint64, shape: 32, fill: i + 1}
  y: {dtype: uint64, shape: 32, output: true}
  wanted: {dtype: uint64, shape: 32, fill: wanted.npy}
reference: {y: wanted}
variants:
  mix: {source: k.cu, kernel: mix, block: 32, grid: 1, args: [x, y]}
"""
    assert run_row(tmp_path, text).status.value == "ok"
    np.save(tmp_path / "wanted.npy", wanted + np.uint64(1))
    assert run_row(tmp_path, text).status.value == "differs"
