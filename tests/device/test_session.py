"""Sessions on the emulator: sharing, poison, damage, memory that is given back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Capabilities, Handle
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.jobs import BufferReference, BufferSpec, FillCall, HostCall, Job, KernelCall
from gpuprof.device.session import MAX_COPIES, MIN_COPY_BYTES, POISON_BYTES, Session
from gpuprof.errors import DeviceMemoryError, LaunchError
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest

SOURCE = """
extern "C" __global__ void add_one(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }
extern "C" __global__ void spoil(float *x, float *y) { y[threadIdx.x] = 1; if (threadIdx.x == 3) x[3] = -1; }
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("session") / "k.cu"
    source.write_text(SOURCE)
    return Builder(find_tools()).build(BuildRequest(source, "add_one", "sm_89")).cubin


@pytest.fixture
def x_file(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32))
    return tmp_path / "x.npy"


def job(cubin: Path, x_file: Path, symbol: str, label: str = "v", once: bool = False) -> Job:
    buffers = (BufferSpec("x", "float32", (32,), 128, x_file), BufferSpec("y", "float32", (4, 8), 128, output=True))
    arguments = (BufferReference("x"), BufferReference("y"))
    call = KernelCall("k", cubin, symbol, (1, 1, 1), (32, 1, 1), 0, arguments, once=once)
    return Job(label, buffers, (call,))


def test_a_pass_reads_inputs_and_leaves_outputs(cubin: Path, x_file: Path) -> None:
    session, add = Session(EmulatedDevice()), job(cubin, x_file, "add_one")
    session.prepare(add, POISON_BYTES[0])
    assert np.isnan(session.outputs(add)["y"]).all()  # poisoned
    before = session.coverage(add, ())["y"].mask
    assert before is not None
    assert not before.any()
    (counted,) = session.run(add)
    assert counted.counters.counters["sm__warps_launched.sum"] == 1
    assert np.array_equal(session.outputs(add)["y"], np.arange(1, 33, dtype=np.float32).reshape(4, 8))
    assert session.damage(add) is None
    assert session.coverage(add, (counted,))["y"].mask is None  # all of it


def test_a_changed_input_is_found_and_made_good(cubin: Path, x_file: Path) -> None:
    session = Session(EmulatedDevice())
    spoil, add = job(cubin, x_file, "spoil"), job(cubin, x_file, "add_one")
    session.prepare(spoil, 0xFF)
    session.run(spoil)
    assert session.damage(spoil) == "input x was changed, first at [3]; it must stay as it was"
    session.prepare(add, 0xFF)
    session.run(add)
    assert session.outputs(add)["y"][0, 3] == 4.0


class InPieces(EmulatedDevice):
    """Shows its memory 16 bytes at a time, as a GPU does in megabytes."""

    def pieces(self, handle: Handle) -> Iterator[np.ndarray]:
        (whole,) = super().pieces(handle)
        for start in range(0, whole.size, 16):
            yield whole[start : start + 16].copy()


@pytest.mark.parametrize("device", [EmulatedDevice, InPieces])
def test_a_buffer_is_compared_where_it_stands(device: type[EmulatedDevice], cubin: Path, x_file: Path) -> None:
    session, add = Session(device()), job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    session.run(add)
    right = np.arange(1, 33, dtype=np.float32).reshape(4, 8)
    assert session.holds_bytes(add, "y", right)
    assert not session.holds_bytes(add, "y", right.reshape(8, 4))
    for index in (0, 17, 31):
        wrong = right.copy()
        wrong.reshape(-1)[index] += 1
        assert not session.holds_bytes(add, "y", wrong)
    assert session.damage(add) is None
    spoil = job(cubin, x_file, "spoil")
    session.run(spoil)
    assert session.damage(spoil) == "input x was changed, first at [3]; it must stay as it was"


def test_steps_that_run_once_run_in_the_first_pass_only(cubin: Path, x_file: Path) -> None:
    session, add = Session(EmulatedDevice()), job(cubin, x_file, "add_one", once=True)
    session.prepare(add, 0xFF)
    assert len(session.run(add, first=True)) == 1
    assert len(session.run(add, first=False)) == 0


def test_jobs_share_memory_unless_a_step_runs_once(cubin: Path, x_file: Path) -> None:
    session = Session(EmulatedDevice())
    one, two = job(cubin, x_file, "add_one", "one"), job(cubin, x_file, "add_one", "two")
    keeper = job(cubin, x_file, "add_one", "keeper", once=True)
    for each in (one, two, keeper):
        session.prepare(each, 0xFF)
    assert session.address(one, "y") == session.address(two, "y")
    assert session.address(one, "y") != session.address(keeper, "y")
    assert session.address(one, "x") == session.address(keeper, "x")


def test_memory_that_no_job_needs_is_given_back(cubin: Path, x_file: Path) -> None:
    session = Session(EmulatedDevice(capacity_bytes=1 << 20))
    large = Job("large", (BufferSpec("room", "uint8", (900_000,), 900_000, scratch=True),), (FillCall("f", "room", 0),))
    add = job(cubin, x_file, "add_one")
    other = Job("other", (BufferSpec("space", "uint8", (900_001,), 900_001, scratch=True),), ())
    session.prepare(large, 0xFF)
    with pytest.raises(DeviceMemoryError, match="900,001"):
        session.prepare(other, 0xFF)
    session.keep_only([add, other])
    session.prepare(other, 0xFF)


def test_a_host_library_needs_a_gpu(x_file: Path) -> None:
    session = Session(EmulatedDevice())
    call = HostCall("sum", Path("lib.so"), "f", ())
    with pytest.raises(LaunchError, match="needs a GPU"):
        session.run(Job("v", (), (call,)))


class ComparingEmulator(EmulatedDevice):
    """The emulator, made to compare its memory itself as a GPU does; ``roomy`` says whether it will keep copies."""

    roomy = True

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, comparison=self)

    def __init__(self) -> None:
        super().__init__()
        self.held: set[int] = set()
        self.compared = 0

    def allocate(self, nbytes: int) -> Handle:
        handle = super().allocate(nbytes)
        self.held.add(handle.identifier)
        return handle

    def free(self, handle: Handle) -> None:
        super().free(handle)
        self.held.remove(handle.identifier)

    def has_room(self, nbytes: int) -> bool:
        return self.roomy

    def equal(self, left: Handle, right: Handle) -> bool:
        self.compared += 1
        sides = (self.read(side, "uint8", (side.nbytes,)) for side in (left, right))
        return bool(np.array_equal(*sides))


def big_job() -> Job:
    spec = BufferSpec("y", "uint8", (MIN_COPY_BYTES,), MIN_COPY_BYTES, output=True)
    return Job("big", (spec,), ())


def test_a_device_that_compares_is_given_copies_and_the_latest_few_are_kept() -> None:
    device = ComparingEmulator()
    session, big = Session(device), big_job()
    session.prepare(big, 7)
    right = np.full(MIN_COPY_BYTES, 7, np.uint8)
    assert session.holds_bytes(big, "y", right)
    for value in range(2 * MAX_COPIES):
        wrong = right.copy()
        wrong[value] ^= 1
        assert not session.holds_bytes(big, "y", wrong)
    assert device.compared == 1 + 2 * MAX_COPIES
    assert len(device.held) == 1 + MAX_COPIES
    session.keep_only([big])
    assert len(device.held) == 1
    session.close()
    assert not device.held


def test_without_room_for_a_copy_the_buffer_is_read() -> None:
    device = ComparingEmulator()
    device.roomy = False
    session, big = Session(device), big_job()
    session.prepare(big, 7)
    assert session.holds_bytes(big, "y", np.full(MIN_COPY_BYTES, 7, np.uint8))
    assert not session.holds_bytes(big, "y", np.zeros(MIN_COPY_BYTES, np.uint8))
    assert device.compared == 0
    assert len(device.held) == 1
