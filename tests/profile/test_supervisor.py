"""A supervisor and a real worker process behind it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from torture.make_config import build_cubin

from gpuprof.device.jobs import BufferReference, BufferSpec, Job, KernelCall
from gpuprof.device.process import ChildProcess
from gpuprof.errors import LaunchError
from gpuprof.profile.messages import Load, Open, Sample
from gpuprof.profile.supervisor import DeviceSupervisor

HERE = Path(__file__).parent
N = 4096
MODULE = "tiny_worker"
OPEN = Open("gpu:0", "sm_89", None, 0)


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def jobs(tmp_path: Path) -> tuple[Job, Job]:
    """A job that can be timed, and one that refuses to be."""
    np.save(tmp_path / "x.npy", np.ones(N, np.float32))
    buffers = (
        BufferSpec("x", "float32", (N,), 4 * N, tmp_path / "x.npy"),
        BufferSpec("y", "float32", (N,), 4 * N, output=True),
    )
    arguments = (N.to_bytes(4, "little"), np.float32(2).tobytes(), BufferReference("x"), BufferReference("y"))
    call = KernelCall("k", build_cubin(tmp_path), "scale", (16, 1, 1), (256, 1, 1), 0, arguments)
    untimed = dataclasses.replace(call, timed=False)
    return Job("good", buffers, (call,)), Job("untimed", buffers, (untimed,))


@pytest.fixture
def supervisor() -> Iterator[DeviceSupervisor]:
    opened = DeviceSupervisor(OPEN, 5.0, MODULE)
    yield opened
    opened.close()


def turns(*plan: tuple[str, int]) -> list[Sample]:
    return [Sample(label, "cold", count, 1) for label, count in plan]


def test_answers_come_in_the_order_of_the_turns(supervisor: DeviceSupervisor, jobs: tuple[Job, Job]) -> None:
    supervisor.load(Load(jobs[0]))
    found = list(supervisor.sample_all(turns(("good", 3), ("good", 1), ("good", 2))))
    assert [len(sampled.samples_us) for sampled in found] == [3, 1, 2]
    assert all(sampled.seconds > 0 for sampled in found)


def test_a_turn_that_fails_leaves_no_answer_behind(supervisor: DeviceSupervisor, jobs: tuple[Job, Job]) -> None:
    for job in jobs:
        supervisor.load(Load(job))
    answers = supervisor.sample_all(turns(("good", 2), ("untimed", 1), ("good", 3)))
    assert len(next(answers).samples_us) == 2
    with pytest.raises(LaunchError, match="no step is marked timed"):
        next(answers)
    assert not supervisor.take_replaced()
    assert len(supervisor.sample(Sample("good", "cold", 5, 1)).samples_us) == 5


def test_turns_that_nobody_waits_for_leave_no_answer_behind(
    supervisor: DeviceSupervisor, jobs: tuple[Job, Job]
) -> None:
    supervisor.load(Load(jobs[0]))
    answers = supervisor.sample_all(turns(("good", 2), ("good", 3)))
    next(answers)
    answers.close()
    assert len(supervisor.sample(Sample("good", "cold", 5, 1)).samples_us) == 5


def test_a_worker_that_was_started_ahead_is_used_once(jobs: tuple[Job, Job]) -> None:
    first = ChildProcess(MODULE)
    supervisor = DeviceSupervisor(OPEN, 5.0, MODULE, first=first)
    try:
        supervisor.open()
        supervisor.close()
        assert not first.alive
        supervisor.load(Load(jobs[0]))  # in a process of its own
        assert len(supervisor.sample(Sample("good", "cold", 1, 1)).samples_us) == 1
    finally:
        supervisor.close()
