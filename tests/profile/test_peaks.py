"""Ceilings: kept by GPU, the datasheet's where nothing was measured, and the share that a row reaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.device.base import DeviceDescription
from gpuprof.device.gpus import find_gpus
from gpuprof.profile.peaks import Peaks, datasheet_peaks, peaks_of, percent_of_peak, store_peaks, with_percent
from gpuprof.results.model import Result, SassFacts, Status, Timing

H200 = DeviceDescription("gpu", "NVIDIA H200", "sm_90", uuid="GPU-1", multiprocessors=132)
MEASURED = Peaks("NVIDIA H200", "GPU-1", 60_000.0, 600_000.0, 4_000.0, 4_200.0, when="2026-01-01T00:00:00+00:00")


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def timed(gflops: float | None, gbps: float | None, **mix: int) -> Result:
    timing = Timing((1.0,), 1.0, (1.0, 1.0), 1.0, 1.0, "cold", 0.0, gflops=gflops, gbps=gbps)
    sass = SassFacts(10, mix, 0, 0)
    return Result("v", "v", {}, {}, Status.OK, timing=timing, sass=sass)


def test_measured_peaks_are_kept_and_win_over_the_datasheet() -> None:
    before = peaks_of(H200)
    assert before is not None
    assert (before.source, before.fp32_gflops, before.dram_gbps) == ("datasheet", 67_000.0, 4_800.0)
    store_peaks(MEASURED)
    assert peaks_of(H200) == MEASURED


def test_a_damaged_file_counts_as_none() -> None:
    store_peaks(MEASURED).write_text("{")
    found = peaks_of(H200)
    assert found is not None
    assert found.source == "datasheet"


def test_a_gpu_that_no_datasheet_knows_has_no_ceiling() -> None:
    assert datasheet_peaks(DeviceDescription("gpu", "NVIDIA H200", "sm_90", multiprocessors=60)) is None  # a MIG slice
    assert peaks_of(DeviceDescription("gpu", "Some GPU", "sm_90", uuid="GPU-2", multiprocessors=132)) is None
    row = timed(1.0, 1.0)
    assert with_percent(row, None) == row


def test_shares_are_of_the_unit_that_the_code_uses() -> None:
    assert percent_of_peak(timed(30_000.0, 2_100.0, FFMA=5), MEASURED) == {
        "percent_of_peak_flops": pytest.approx(50.0),
        "percent_of_peak_bandwidth": pytest.approx(50.0),  # of the higher DRAM rate, 4,200 GB/s
    }
    assert percent_of_peak(timed(300_000.0, None, HMMA=5, FFMA=1), MEASURED) == {
        "percent_of_peak_flops": pytest.approx(50.0)
    }


def test_code_without_a_measured_ceiling_has_no_share() -> None:
    assert "percent_of_peak_flops" not in percent_of_peak(timed(1.0, None, DFMA=3), MEASURED)
    assert "percent_of_peak_flops" not in percent_of_peak(timed(1.0, None, HGMMA=3), MEASURED)


@pytest.mark.skipif(bool(find_gpus().devices), reason="there is a GPU")
def test_the_command_says_that_it_needs_a_gpu() -> None:
    done = subprocess.run([sys.executable, "-m", "gpuprof", "peaks"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: peaks are measured on a GPU: ")
    assert len(done.stderr.splitlines()) == 1
