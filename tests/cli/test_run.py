"""``gpuprof run`` as a user starts it: exit codes, files, messages. No GPU; small sizes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuprof.cli.run import parse_budget
from gpuprof.device.gpus import find_gpus
from gpuprof.errors import UsageError

SMALL = ["--set", "M=64", "--set", "N=48", "--set", "K=40", "--device", "emulated"]


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def gpuprof(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuprof", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_the_main_job_without_a_gpu(tmp_path: Path) -> None:
    files = {kind: tmp_path / f"run.{kind}" for kind in ("json", "csv", "markdown")}
    flags = [part for kind, path in files.items() for part in (f"--{kind}", str(path))]
    done = gpuprof("run", "gemm_1024", *SMALL, *flags, "--save-outputs", str(tmp_path / "outputs"))
    assert done.returncode == 0, done.stderr
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    for label in ("naive", "tiled/TILE=16", "tiled/TILE=32"):
        assert label in done.stdout
    data = json.loads(files["json"].read_text())
    assert [row["status"] for row in data["results"]] == ["ok"] * 3
    assert [row["verification"]["max_abs"] for row in data["results"]] == [0.0] * 3
    assert [row["verification"]["checked"] for row in data["results"]] == [64 * 48] * 3
    assert {row["timing"] for row in data["results"]} == {None}
    assert data["environment"]["device"] == "emulated"
    # FFMA: one per thread and K step, also for threads outside the matrix in the tiled kernel
    naive = data["results"][0]["counters"]["values"]
    assert naive["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 64 * 48 * 40
    assert len(list(csv.reader(io.StringIO(files["csv"].read_text())))) == 4
    assert files["markdown"].read_text().count("\n| ") >= 3
    a = (np.arange(64 * 40) % 13 - 6).reshape(64, 40)
    b = (np.arange(40 * 48) % 7 - 3).reshape(40, 48)
    assert np.array_equal(np.load(tmp_path / "outputs" / "naive" / "C.npy"), a @ b)
    shown = gpuprof("history", "gemm_1024")
    assert "gemm_1024" in shown.stdout


def test_a_file_on_standard_output_is_alone_there() -> None:
    done = gpuprof("run", "gemm_1024", *SMALL, "--variant", "naive", "--json", "-", "--no-history")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["results"]) == 1


def test_without_a_gpu_one_line_says_so() -> None:
    if find_gpus().devices:
        pytest.skip("there is a GPU")
    done = gpuprof("run", "gemm_1024", *SMALL[:-2], "--variant", "naive", "--no-history")
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    assert text.count("No GPU") == 1


def test_the_second_run_builds_nothing() -> None:
    gpuprof("run", "gemm_1024", *SMALL, "--device", "none", "--no-history")
    done = gpuprof("run", "gemm_1024", *SMALL, "--device", "none", "--no-history", "--json", "-")
    assert [row["build"]["cached"] for row in json.loads(done.stdout)["results"]] == [True] * 3


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--device", "cpu"], 2, "--device 'cpu' is not a device"),
        (["--set", "M"], 2, "expected NAME=VALUE"),
        (["--variant", "tiledd"], 2, "--variant 'tiledd' names no variant; there are tiled"),
        (["--emulate-budget", "many"], 2, "--emulate-budget 'many'"),
        (["--arch", "sm_9"], 2, "sm_90"),
    ],
)
def test_wrong_flags(flags: list[str], code: int, words: str) -> None:
    done = gpuprof("run", "gemm_1024", *flags)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_gpu_that_is_not_there_is_exit_code_3() -> None:
    if find_gpus().devices:
        pytest.skip("there is a GPU")
    done = gpuprof("run", "gemm_1024", "--device", "gpu:0")
    assert done.returncode == 3
    assert "--device emulated needs no GPU" in done.stderr


def test_peaks_need_a_gpu() -> None:
    if find_gpus().devices:
        pytest.skip("there is a GPU")
    assert gpuprof("peaks").returncode == 3
    wrong = gpuprof("peaks", "--device", "emulated")
    assert wrong.returncode == 2
    assert "peaks are measured on one GPU" in wrong.stderr


FAULTY = """
name: faulty
sizes: {n: 64}
buffers:
  x: {dtype: float32, shape: [n], fill: i}
  y: {dtype: float32, shape: [n], output: true}
reference: {y: x}
expect: ["verdict == 'ok'"]
variants:
  good: {source: f.cu, kernel: copy, block: 32, grid: 2, args: [x, y]}
  bad: {source: f.cu, kernel: copy, block: 32, grid: 1, args: [x, y]}
  wrong: {source: f.cu, kernel: copy, block: 32, grid: 2, args: [n, x, y]}
"""
SOURCE = """
extern "C" __global__ void copy(const float *x, float *y)
{
    y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x];
}
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    (tmp_path / "f.cu").write_text(SOURCE)
    (tmp_path / "faulty.yaml").write_text(FAULTY)
    return tmp_path


def run_faulty(folder: Path, *variants: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    chosen = [part for name in variants for part in ("--variant", name)]
    flags = ["--device", "emulated", "--no-history", *(["--check"] if check else [])]
    return gpuprof("run", "faulty.yaml", *chosen, *flags, cwd=folder)


def test_exit_codes_and_reasons(faulty: Path) -> None:
    assert run_faulty(faulty, "good").returncode == 0
    differs = run_faulty(faulty, "good", "bad")
    assert differs.returncode == 1
    assert "never written: 32 elements" in differs.stdout
    assert "bottom edge" in differs.stdout or "stripe" in differs.stdout or "right edge" in differs.stdout
    mismatch = run_faulty(faulty, "wrong")
    assert mismatch.returncode == 2
    assert "takes 2 parameters (bytes: 8, 8), and args gives 3" in " ".join(mismatch.stdout.split())


def test_budget_words() -> None:
    assert parse_budget("all") is None
    assert parse_budget("0") is None  # as ``counters`` had it
    assert parse_budget("3e6") == 3_000_000
    for text in ("0.5", "-1", "nan", "1e999"):
        with pytest.raises(UsageError):
            parse_budget(text)


def test_a_file_that_cannot_be_written_is_told_before_anything_is_built(tmp_path: Path) -> None:
    done = gpuprof("run", "gemm_1024", *SMALL, "--csv", str(tmp_path / "nowhere" / "run.csv"))
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "built" not in done.stderr


def test_a_data_folder_that_cannot_be_written_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    done = gpuprof("run", "gemm_1024", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "Later runs cannot resume this one" in done.stdout
    assert "The run was not stored" in done.stdout
