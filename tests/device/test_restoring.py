"""In-out buffers between timed launches, on the emulator made to keep time by counting launches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Capabilities, Handle, Launch
from gpuprof.device.clock import sample_job
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.jobs import BufferReference, BufferSpec, Job, KernelCall
from gpuprof.device.session import POISON_BYTES, Session
from gpuprof.errors import DeviceMemoryError
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest

SOURCE = """
extern "C" __global__ void twice(float *y) { y[threadIdx.x] *= 2; }
extern "C" __global__ void idle(float *y) { y[threadIdx.x] = threadIdx.x; }
extern "C" __global__ void start(float *y) { y[threadIdx.x] = threadIdx.x + 1; }
"""


class TimedEmulator(EmulatedDevice):
    """Times by the number of launches and copies, and keeps what each launch found in the first buffer."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, clock=self)

    def __init__(self, copies: int = 9) -> None:
        super().__init__()
        self.seen: list[np.ndarray] = []
        self.events: list[str] = []
        self._copies = copies

    def enqueue(self, launch: Launch) -> None:
        handle = launch.arguments[0].handle  # type: ignore[union-attr]
        self.seen.append(self.read(handle, "float32", (32,)))
        self.events.append("launch")
        self.launch(launch)

    def enqueue_copy(self, target: Handle, source: Handle) -> None:
        self.events.append("copy")
        self.write(target, self.read(source, "uint8", (source.nbytes,)))

    def allocate(self, nbytes: int) -> Handle:
        if nbytes == 128:
            self._copies -= 1
            if self._copies < 0:
                raise DeviceMemoryError("full")
        return super().allocate(nbytes)

    def mark(self) -> int:
        self.events.append("mark")
        return len(self.events)

    def elapsed_us(self, start: int, end: int) -> float:
        return float(end - start)

    def flush_l2(self) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def hold_failed(self) -> bool:
        return False

    def synchronize(self) -> None: ...


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("restoring") / "k.cu"
    source.write_text(SOURCE)
    return Builder(find_tools()).build(BuildRequest(source, "twice", "sm_89")).cubin


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.save(tmp_path / "y.npy", np.arange(32, dtype=np.float32))
    return tmp_path / "y.npy"


def job(cubin: Path, file: Path | None, *symbols: str, label: str = "v") -> Job:
    spec = BufferSpec("y", "float32", (32,), 128, file, output=True)
    calls = tuple(
        KernelCall(name, cubin, name, (1, 1, 1), (32, 1, 1), 0, (BufferReference("y"),), once=name == "start")
        for name in symbols
    )
    return Job(label, (spec,), calls)


@pytest.mark.parametrize("protocol", ["cold", "warm"])
@pytest.mark.parametrize("batch", [1, 3])
def test_every_timed_launch_finds_the_first_content(cubin: Path, file: Path, protocol: str, batch: int) -> None:
    device = TimedEmulator()
    session, twice = Session(device), job(cubin, file, "twice")
    session.prepare(twice, POISON_BYTES[0])
    session.run(twice)
    found = sample_job(session, twice, protocol, 4, batch)
    assert len(device.seen) >= 4 * batch
    assert all(np.array_equal(values, np.arange(32)) for values in device.seen)
    assert set(found.samples_us) == {2.0}  # a mark and the launch: no copy is within the window
    assert found.remarks == ()


def test_a_buffer_that_a_pass_leaves_as_it_was_is_not_copied(cubin: Path, file: Path) -> None:
    device = TimedEmulator()
    session, idle = Session(device), job(cubin, file, "idle")
    session.prepare(idle, POISON_BYTES[0])
    sample_job(session, idle, "cold", 3, 1)
    assert device.events.count("copy") == 1  # the one that kept the first content


def test_what_a_step_leaves_that_runs_once_is_a_first_content(cubin: Path) -> None:
    device = TimedEmulator()
    session, steps = Session(device), job(cubin, None, "start", "twice")
    session.prepare(steps, POISON_BYTES[0])
    session.run(steps)
    sample_job(session, steps, "cold", 3, 1)
    assert all(np.array_equal(values, np.arange(1, 33)) for values in device.seen)


def test_in_out_buffers_of_two_variants_are_apart_and_given_back(cubin: Path, file: Path) -> None:
    device = TimedEmulator()
    session = Session(device)
    one, two = job(cubin, file, "twice", label="one"), job(cubin, file, "twice", label="two")
    for each in (one, two):
        session.prepare(each, POISON_BYTES[0])
    assert session.address(one, "y") != session.address(two, "y")
    sample_job(session, one, "cold", 1, 1)
    session.drop(one)
    assert not session.holds(one)
    assert session.holds(two)


def test_without_memory_for_a_copy_the_times_say_so(cubin: Path, file: Path) -> None:
    device = TimedEmulator(copies=1)
    session, twice = Session(device), job(cubin, file, "twice")
    session.prepare(twice, POISON_BYTES[0])
    found = sample_job(session, twice, "cold", 2, 1)
    assert found.remarks == ("timed on its own output: no device memory to keep the first content of y",)
