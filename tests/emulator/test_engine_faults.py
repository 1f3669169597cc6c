"""What stops a launch: each with the place, the address or the reason, and what there is to do."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.errors import (
    BarrierDeadlockError,
    DeviceAssertError,
    EmulationError,
    InstructionLimitError,
    MemoryFaultError,
    UnknownInstructionError,
)
from tests.emulator.emulated_kernels import Kernels, address, i32, ints


@pytest.fixture(params=["sm_89", "sm_90"], name="kernels")
def _kernels(request: pytest.FixtureRequest) -> Kernels:
    return Kernels(request.param.replace("_", ""), instruction_limit=20_000)


def line_of(text: str) -> int:
    from tests.emulator.emulated_kernels import DATA

    lines = (DATA / "engine.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_read_behind_a_buffer_names_thread_address_and_the_nearest_buffer(kernels: Kernels) -> None:
    with pytest.raises(MemoryFaultError) as caught:
        kernels.run("read_beyond", 1, 64, ints(64), ints(64), i32(10))
    where = caught.value.location
    assert where is not None
    assert (where.kernel, where.block, where.thread) == ("read_beyond", (0, 0, 0), (54, 0, 0))
    assert where.line == line_of("KERNEL read_beyond")
    assert where.file.endswith("engine.cu")
    assert "read of 4 bytes out of bounds at 0x7f" in str(caught.value)
    assert "the nearest buffer has 256 bytes" in str(caught.value)
    assert "0 bytes past the end" in str(caught.value)


def test_a_read_before_a_buffer_is_a_fault_too(kernels: Kernels) -> None:
    start = kernels.device._address(kernels.device.allocate(1024))
    with pytest.raises(
        MemoryFaultError, match=r"read of 4 bytes out of bounds.*1,024 bytes .*4 bytes before the start"
    ):
        kernels.run("null_pointer", 1, 1, ints(1), address(start - 4))


def test_the_faulting_block_is_named(kernels: Kernels) -> None:
    with pytest.raises(MemoryFaultError) as caught:
        kernels.run("write_beyond", 5, 32, ints(100), i32(0))
    assert caught.value.location is not None
    assert (caught.value.location.block, caught.value.location.thread) == ((3, 0, 0), (4, 0, 0))


def test_misaligned(kernels: Kernels) -> None:
    with pytest.raises(MemoryFaultError, match="misaligned address") as caught:
        kernels.run("misaligned", 1, 32, np.zeros(256, np.int8), ints(32))
    assert caught.value.location is not None
    assert caught.value.location.thread == (1, 0, 0)


def test_null_pointer(kernels: Kernels) -> None:
    with pytest.raises(MemoryFaultError, match="out of bounds at 0x0"):
        kernels.run("null_pointer", 1, 32, ints(32), address(0))


def test_a_freed_buffer_is_owned_by_nobody(kernels: Kernels) -> None:
    handle = kernels.device.allocate(1024)
    kernels.device.allocate(1024)
    gone = kernels.device._address(handle)
    kernels.device.free(handle)
    with pytest.raises(MemoryFaultError, match="out of bounds"):
        kernels.run("null_pointer", 1, 32, ints(1 << 20), address(gone))  # too large for the gap that was left


def test_shared_memory_has_an_end(kernels: Kernels) -> None:
    out = ints(32)
    kernels.run("shared_beyond", 1, 32, out, i32(32), shared=256)
    assert (out == -1).all()  # nobody wrote there: the poison
    with pytest.raises(MemoryFaultError, match="out of bounds at shared address"):
        kernels.run("shared_beyond", 1, 32, out, i32(40), shared=256)


def test_a_barrier_that_part_of_the_block_never_reaches(kernels: Kernels) -> None:
    with pytest.raises(BarrierDeadlockError) as caught:
        kernels.run("deadlock", 1, 64, ints(64))
    assert caught.value.location is not None
    assert caught.value.location.line in (line_of("bar.sync 0;"), line_of("bar.sync 1;"))


def test_an_endless_loop_ends_at_the_limit_with_its_line(kernels: Kernels) -> None:
    with pytest.raises(InstructionLimitError, match="20,000 instructions") as caught:
        kernels.run("endless", 1, 32, ints(1), ints(1))
    assert caught.value.location is not None
    assert caught.value.location.line == line_of("while (flag[0] == 0)")


def test_a_branch_to_itself_is_endless_at_once() -> None:
    with pytest.raises(InstructionLimitError, match="endless"):
        Kernels("sm89").run("endless_alone", 1, 32)


def test_a_trap(kernels: Kernels) -> None:
    kernels.run("trapped", 1, 32, i32(3))
    with pytest.raises(DeviceAssertError, match="trapped"):
        kernels.run("trapped", 1, 32, i32(2))


def test_an_unknown_instruction_is_named_and_never_guessed(kernels: Kernels) -> None:
    with pytest.raises(UnknownInstructionError, match="TEX") as caught:
        kernels.run("texture_read", 1, 32, address(0), np.zeros(32, np.float32))
    assert caught.value.location is not None
    assert caught.value.location.line == line_of("KERNEL texture_read")


def test_arguments_must_fit_the_kernel(kernels: Kernels) -> None:
    with pytest.raises(EmulationError, match="takes 3 arguments, the launch passes 1"):
        kernels.run("read_beyond", 1, 32, ints(4))
    with pytest.raises(EmulationError, match="argument 2 of read_beyond has 4 bytes, the launch passes 8"):
        kernels.run("read_beyond", 1, 32, ints(4), ints(4), address(1))


def test_a_fault_in_another_process_keeps_its_place() -> None:
    """400 blocks of 256 threads are several batches; block 399 writes one element too many."""
    kernels = Kernels("sm89", threads=2)
    out = ints(400 * 256)
    kernels.run("write_beyond", 400, 256, out, i32(0))
    assert out.all()
    with pytest.raises(MemoryFaultError, match="out of bounds") as caught:
        kernels.run("write_beyond", 400, 256, ints(400 * 256), i32(1))
    assert caught.value.location is not None
    assert (caught.value.location.block, caught.value.location.thread) == ((399, 0, 0), (255, 0, 0))
