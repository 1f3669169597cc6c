"""The advisory lock of a GPU: a second holder waits and says so, and a killed holder leaves none."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpuprof.device import gpu_lock
from gpuprof.device.gpu_lock import GpuLocks, lock_path

HOLD = (
    "import sys\nfrom gpuprof.device.gpu_lock import GpuLocks\n"
    "with GpuLocks(['GPU-a'], print):\n    print('held', flush=True)\n    sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(gpu_lock.tempfile, "tempdir", None)


def holder() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=-1, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_run_waits_says_for_whom_and_goes_on() -> None:
    first, notes, taken = holder(), [], threading.Event()

    def second() -> None:
        with GpuLocks(["GPU-b", "GPU-a"], notes.append):
            taken.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not taken.wait(0.5)
    first.communicate("")
    assert taken.wait(30)
    thread.join()
    (note,) = notes
    assert "Waiting for GPU-a" in note
    assert f"process {first.pid}" in note


def test_a_killed_holder_leaves_no_lock() -> None:
    first, notes = holder(), []
    first.kill()
    first.wait()
    with GpuLocks(["GPU-a"], notes.append):
        pass
    assert notes == []


def test_a_lock_that_cannot_be_opened_is_a_note(tmp_path: Path) -> None:
    lock_path("GPU-c").mkdir()
    notes: list[str] = []
    with GpuLocks(["GPU-c"], notes.append):
        pass
    assert "cannot open" in notes[0]
