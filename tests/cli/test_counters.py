"""``gpuprof counters`` on the emulator, and its mistakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.device.gpus import find_gpus
from gpuprof.results.json import read_run

KERNEL = """
__global__ void scale(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
"""
CONFIG = """
name: scale
sizes: {N: 1000}
buffers:
  x: {dtype: float32, shape: [N], fill: "i % 7"}
  y: {dtype: float32, shape: [N], output: true}
reference: {y: "2 * x"}
variants:
  plain: {source: scale.cu, kernel: scale, block: [128], grid: ["cdiv(N, 128)"], args: [N, x, y]}
"""


@pytest.fixture
def gpuprof(tmp_path: Path):
    (tmp_path / "scale.cu").write_text(KERNEL)
    (tmp_path / "scale.yaml").write_text(CONFIG)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gpuprof", "counters", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return call


def value(text: str, name: str) -> str:
    return next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name} "))


def test_counters_of_a_kernel_that_one_can_count_by_hand(gpuprof, tmp_path: Path) -> None:
    """8 blocks of 4 warps: 1,000 lanes are 31 whole warps and one of 8 lanes; each loads 4 sectors, the last 1."""
    counted = gpuprof("scale.yaml", "--json", str(tmp_path / "run.json"))
    assert counted.returncode == 0, counted.stderr
    assert value(counted.stdout, "sm__warps_launched.sum") == "32"
    assert value(counted.stdout, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") == "32"
    assert value(counted.stdout, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == str(31 * 4 + 1)
    assert value(counted.stdout, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") == str(31 * 4 + 1)
    assert "counted on the emulator, ok: 8 blocks" in counted.stdout
    run = read_run(tmp_path / "run.json")
    assert run.environment.device == "emulated"
    assert run.results[0].counters.values["sm__warps_launched.sum"] == 32


def test_by_line_shows_the_source(gpuprof) -> None:
    counted = gpuprof("scale.yaml", "--by-line")
    assert counted.returncode == 0, counted.stderr
    row = next(line for line in counted.stdout.splitlines() if line.startswith("scale.cu:4"))
    assert "y[i] = 2.0f * x[i];" in row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scale.yaml", "--compare", "ncu"), "it takes emulated,ncu"),
        (("scale.yaml", "--ncu", "everything"), "no metric set"),
        (("scale.yaml", "--variant", "fast"), "plain"),
        (("scale.yaml", "--json", "-", "--csv", "-"), "cannot both"),
        (("nothing.yaml",), "nothing"),
    ],
)
def test_mistakes_are_one_message(gpuprof, arguments: tuple[str, ...], message: str) -> None:
    failed = gpuprof(*arguments)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.skipif(bool(find_gpus().devices), reason="there is a GPU")
@pytest.mark.parametrize("option", [("--ncu",), ("--ncu", "memory"), ("--compare", "emulated,ncu")])
def test_without_a_gpu_ncu_says_what_to_do(gpuprof, option: tuple[str, ...]) -> None:
    failed = gpuprof("scale.yaml", *option)
    assert failed.returncode == 3
    assert "ncu needs a GPU." in failed.stderr
    assert "Without --ncu, the emulator's counters are used" in failed.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not find_gpus().devices, reason="no GPU")
def test_the_emulator_counts_what_ncu_counts(gpuprof) -> None:
    compared = gpuprof("scale.yaml", "--compare", "emulated,ncu", "--ncu", "exact")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert " 0 different" in compared.stdout
