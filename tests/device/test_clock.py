"""The order in which a sample is taken: flush, hold, mark, launch, mark, release, as the device writes it down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprof.device.base import Capabilities, DeviceDescription, Handle, Launch
from gpuprof.device.clock import MAX_HELD_LAUNCHES, sample_job
from gpuprof.device.jobs import BufferReference, BufferSpec, Call, FillCall, Job, KernelCall
from gpuprof.device.session import Session
from gpuprof.errors import LaunchError

BUFFERS = (BufferSpec("C", "float32", (4,), 16, output=True),)


class Diary:
    """A device whose clock moves by one at every mark and by ten at every launch."""

    description = DeviceDescription("gpu", "Diary")
    lost = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(clock=self)

    def __init__(self, *, hold_fails: bool = False) -> None:
        self.entries: list[str] = []
        self._hold_fails = hold_fails
        self._now = 0.0

    def allocate(self, nbytes: int) -> Handle:
        return Handle(1, nbytes)

    def free(self, handle: Handle) -> None: ...

    def fill(self, handle: Handle, byte: int) -> None: ...

    def poison(self, handle: Handle, byte: int) -> None: ...

    def read(self, handle: Handle, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape, dtype)

    def launch(self, launch: Launch) -> None: ...

    def enqueue_copy(self, target: Handle, source: Handle) -> None: ...

    def enqueue(self, launch: Launch) -> None:
        self.entries.append(launch.symbol)
        self._now += 10

    def enqueue_fill(self, handle: Handle, byte: int) -> None:
        self.entries.append("fill")

    def mark(self) -> float:
        self.entries.append("mark")
        return self._now

    def elapsed_us(self, start: float, end: float) -> float:
        return end - start

    def flush_l2(self) -> None:
        self.entries.append("flush")

    def hold(self) -> None:
        self.entries.append("hold")

    def release(self) -> None:
        self.entries.append("release")

    def hold_failed(self) -> bool:
        return self._hold_fails

    def synchronize(self) -> None:
        self.entries.append("wait")


def kernel(name: str, **flags: bool) -> KernelCall:
    return KernelCall(name, Path("x.cubin"), name, (1, 1, 1), (32, 1, 1), 0, (BufferReference("C"),), **flags)


def sampled(device: Diary, calls: tuple[Call, ...], protocol: str, count: int = 1, batch: int = 1) -> Any:
    session, job = Session(device), Job("v", BUFFERS, calls)  # type: ignore[arg-type]
    session.prepare(job, 0xFF)
    return sample_job(session, job, protocol, count, batch)


def test_a_cold_sample_flushes_outside_the_window_and_launches_behind_a_hold() -> None:
    device = Diary()
    assert sampled(device, (kernel("k"),), "cold").samples_us == (10.0,)
    assert device.entries == ["flush", "wait", "hold", "mark", "k", "mark", "release", "wait"]


def test_warm_samples_follow_a_pass_that_is_not_counted() -> None:
    device = Diary()
    assert len(sampled(device, (kernel("k"),), "warm", count=2).samples_us) == 2
    assert device.entries.count("k") == 3
    assert "flush" not in device.entries


def test_a_batch_is_one_window_divided() -> None:
    device = Diary()
    assert sampled(device, (kernel("k"),), "cold", batch=5).samples_us == (10.0,)
    assert device.entries.count("k") == 5
    assert device.entries.count("mark") == 2


def test_only_timed_steps_are_in_the_windows() -> None:
    device = Diary()
    calls = (
        kernel("convert", timed=False, once=True),
        FillCall("zero", "C", 0),
        kernel("a"),
        kernel("between", timed=False),
        kernel("b"),
        kernel("after", timed=False),
    )
    assert sampled(device, calls, "cold").samples_us == (20.0,)
    assert device.entries == [
        *("fill", "flush", "wait", "hold"),
        *("mark", "a", "mark", "between", "mark", "b", "mark", "release", "wait"),
    ]


def test_a_step_that_waits_for_the_gpu_is_timed_without_a_hold_and_says_so() -> None:
    device = Diary(hold_fails=True)
    found = sampled(device, (kernel("k"),), "cold", count=3)
    assert len(found.samples_us) == 3
    assert device.entries.count("hold") == 1
    assert "launch latency" in found.remarks[0]


def test_more_launches_than_the_queue_takes_are_never_held() -> None:
    device = Diary()
    sampled(device, (kernel("k"),), "cold", batch=MAX_HELD_LAUNCHES + 1)
    assert "hold" not in device.entries


def test_nothing_to_time_is_an_error() -> None:
    with pytest.raises(LaunchError, match="no step is marked timed"):
        sampled(Diary(), (kernel("k", timed=False),), "cold")
