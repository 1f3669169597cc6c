"""Supervision of children that really crash, hang, abort and exit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.process_tree import is_running
from gpuprof.device.process import ChildProcess
from gpuprof.errors import ChildLostError, LaunchTimeoutError
from tests.waiting import PATIENCE_S, wait_until

HERE = Path(__file__).parent


@pytest.fixture
def child() -> Iterator[ChildProcess]:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    process = ChildProcess("misbehaving_child", {"PYTHONPATH": path})
    yield process
    process.close()


def test_it_answers_and_ends_when_asked(child: ChildProcess) -> None:
    assert child.ask("hello", PATIENCE_S)[:2] == ("echo", "hello")
    child.close()
    assert not child.alive


@pytest.mark.parametrize(
    ("message", "reason"), [("crash", "SIGSEGV"), ("abort", "SIGABRT"), ("exit", "exit code 1: out of luck")]
)
def test_a_death_says_how(child: ChildProcess, message: str, reason: str) -> None:
    with pytest.raises(ChildLostError, match=reason):
        child.ask(message, PATIENCE_S)
    assert not child.alive


def test_a_hang_is_killed_at_the_limit(child: ChildProcess) -> None:
    child.ask("warm up", PATIENCE_S)
    started = time.monotonic()
    with pytest.raises(LaunchTimeoutError, match=r"no answer within 0.3 s"):
        child.ask("hang", 0.3)
    assert time.monotonic() - started < PATIENCE_S
    assert not child.alive


def test_a_dead_child_is_an_error_and_no_hang(child: ChildProcess) -> None:
    child.kill()
    with pytest.raises(ChildLostError, match="SIGKILL"):
        child.ask("hello", 5)


def test_the_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from gpuprof.device.process import ChildProcess\n"
        f"child = ChildProcess('misbehaving_child', {{'PYTHONPATH': {str(HERE)!r}}})\n"
        "print(child.ask('hello', 120)[2], flush=True)\n"
        "child.send('hang')\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    parent.kill()
    parent.wait()
    wait_until(lambda: not is_running(pid))
