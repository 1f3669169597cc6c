"""Large outputs: references take no more than they must, and what does not fit is said before it is tried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof import experiment as experiments
from gpuprof.errors import DeviceMemoryError
from gpuprof.profile import shared_arrays
from gpuprof.profile.shared_arrays import SharedData, host_bytes
from gpuprof.results.model import Status
from gpuprof.system.memory import available_bytes
from tests.profile.experiments import rows_of

SOURCE = """
extern "C" __global__ void ones(signed char *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1;
}
"""
CONFIG = """
sizes: {N: 33554432}
buffers: {y: {dtype: int8, shape: N, output: true}}
reference: {y: REFERENCE}
variants:
  ones: {source: k.cu, kernel: ones, block: 256, grid: "cdiv(N, 256)", args: [y, {value: N, dtype: int64}]}
"""


def test_a_reference_of_one_number_takes_no_room(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CONFIG.replace("REFERENCE", "1"))
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    assert host_bytes(variant) == 33_554_432  # the output, read back
    data = SharedData()
    try:
        (path,) = data.references(variant).values()
        assert path.stat().st_size < 1000
        assert np.load(path).dtype == np.int8
    finally:
        data.close()
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1"), SOURCE)["ones"]
    assert (row.status, row.verification and row.verification.verdict) == (Status.OK, "ok")


def test_integer_references_have_their_outputs_width(tmp_path: Path) -> None:
    config = CONFIG.replace("REFERENCE", "full(1, N)").replace("33554432", "65536")
    (tmp_path / "e.yaml").write_text(config)
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    data = SharedData()
    try:
        (path,) = data.references(variant).values()
        assert np.load(path).nbytes <= 65536
    finally:
        data.close()


def test_what_does_not_fit_is_one_clear_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_arrays, "available_bytes", lambda: 10_000_000)
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1"), SOURCE)["ones"]
    assert row.status is Status.LAUNCH_FAILED
    assert "needs about 0.0336 GB of this machine's memory, and 0.01 GB are free" in (row.reason or "")


def test_beyond_the_emulated_device_is_one_clear_row(tmp_path: Path) -> None:
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1").replace("33554432", "2147483712"), SOURCE)["ones"]
    assert row.status is Status.LAUNCH_FAILED
    assert "memory" in (row.reason or "")


def test_the_system_says_what_is_free() -> None:
    free = available_bytes()
    assert free is None or 0 <= free < 1 << 50
    assert issubclass(DeviceMemoryError, Exception)
