"""Host functions where there is no GPU: compiled so that mistakes show, and not called."""

from __future__ import annotations

from pathlib import Path

from gpuprof import experiment as experiments
from gpuprof.errors import BuildError
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Status
from gpuprof.toolchain.hostlib import MissingLibraryError, is_missing_library

COPY = """
extern "C" int copies(const float* from, float* to, int n, cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, COUNT * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
"""
CONFIG = """
name: hosts
buffers:
  x: {dtype: float32, shape: 8, fill: 1}
  y: {dtype: float32, shape: 8, output: true}
reference: {y: x}
variants:
  right: {source: right.cu, host: copies, args: [x, y, 8]}
  wrong: {source: wrong.cu, host: copies, args: [x, y, 8]}
  elsewhere: {source: right.cu, host: copies, libraries: surelynothere, args: [x, y, 8]}
"""


def test_a_mistake_in_a_host_function_shows_without_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "right.cu").write_text(COPY.replace("COUNT", "n"))
    (tmp_path / "wrong.cu").write_text(COPY.replace("COUNT", "undeclared_count"))
    (tmp_path / "hosts.yaml").write_text(CONFIG)
    experiment = experiments.load(tmp_path / "hosts.yaml")
    run = run_experiment(experiment, RunOptions(devices=("emulated",)), SilentObserver())
    assert [result.status for result in run.results] == [Status.SKIPPED, Status.BUILD_FAILED, Status.SKIPPED]
    assert "undeclared_count" in (run["wrong"].reason or "")


def test_only_a_library_of_nvidias_that_is_not_here_is_no_mistake() -> None:
    assert is_missing_library(MissingLibraryError("libcublas was not found"))
    assert is_missing_library(BuildError("failed", log='x.cu(1): error: cannot open source file "cublas_v2.h"'))
    assert not is_missing_library(BuildError("failed", log='x.cu(1): error: cannot open source file "mine.h"'))
    assert not is_missing_library(BuildError("failed", log="identifier is undefined"))
