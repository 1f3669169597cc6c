"""A full or missing disk: what could not be kept is said once, the table is printed, the exit code is the run's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """
sizes: {N: 4096}
buffers:
  x: {dtype: float32, shape: [N], fill: "i % 7"}
  y: {dtype: float32, shape: [N], output: true}
reference: {y: "2 * x"}
variants:
  v: {source: k.cu, kernel: k, params: {F: [2]}, block: 128, grid: "cdiv(N, 128)", args: [x, y, N]}
"""
SOURCE = """
extern "C" __global__ void k(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = F * x[i];
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "k.cu").write_text(SOURCE)
    return tmp_path


def run(folder: Path, script: str = "", **variables: str | None) -> subprocess.CompletedProcess[str]:
    """``gpuprof run`` on the emulator; a shell runs ``script`` first, in a mount namespace of its own."""
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
    command = [sys.executable, "-m", "gpuprof", "run", "c.yaml", "--device", "emulated"]
    if script:
        command = ["unshare", "-m", "sh", "-c", f'{script}; exec "$@"', "sh", *command]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def can_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = folder / "probe"
    probe.mkdir()
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", probe], capture_output=True).returncode == 0


@pytest.mark.parametrize("variable", ["GPUPROF_CACHE_DIR", "XDG_DATA_HOME"])
def test_a_small_disk(folder: Path, variable: str) -> None:
    """A file system of 32 KiB that is full already."""
    if not can_mount(folder):
        pytest.skip("mounting needs rights that this machine does not give")
    small = folder / "small"
    small.mkdir()
    fill = f"mount -t tmpfs -o size=32k none {small} && head -c 100000 /dev/zero > {small}/full 2>/dev/null"
    done = run(folder, fill, **{variable: str(small)})
    assert "Traceback" not in done.stderr
    if variable == "GPUPROF_CACHE_DIR":
        assert "No space left on device" in done.stdout + done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert "ok" in done.stdout
        assert done.stdout.count("was not stored") + done.stderr.count("was not stored") == 1


def test_a_read_only_home(folder: Path) -> None:
    if not can_mount(folder):
        pytest.skip("mounting needs rights that this machine does not give")
    home = folder / "home"
    home.mkdir()
    done = run(
        folder,
        f"mount -t tmpfs -o ro none {home}",
        HOME=str(home),
        XDG_DATA_HOME=None,
        XDG_CACHE_HOME=None,
        GPUPROF_HISTORY=None,
    )
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout
    assert "was not stored" in done.stdout + done.stderr


def test_no_home(folder: Path) -> None:
    done = run(folder, HOME=None, XDG_DATA_HOME=None, XDG_CACHE_HOME=None)
    assert done.returncode == 0, done.stderr


def test_a_full_temporary_folder(folder: Path) -> None:
    """Python takes the next folder that can be written, so that the run is none the worse."""
    if not can_mount(folder):
        pytest.skip("mounting needs rights that this machine does not give")
    small = folder / "small"
    small.mkdir()
    fill = f"mount -t tmpfs -o size=32k none {small} && head -c 100000 /dev/zero > {small}/full 2>/dev/null"
    cache = folder / "cache"
    done = run(folder, fill, TMPDIR=str(small), GPUPROF_CACHE_DIR=str(cache))
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout


def test_standard_output_that_is_full(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpuprof", "occupancy", "--block", "64"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
