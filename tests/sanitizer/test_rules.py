"""What every emulated run holds a kernel to: barriers, bounds, and memory that begins with poison."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.errors import BarrierDeadlockError, BarrierRuleError, EmulationError, MemoryFaultError
from gpuprof.toolchain.model import Build
from tests.sanitizer.launching import build_file, i32, launch

KERNELS = (
    "named_too_many",
    "named_enough",
    "named_by_ended",
    "one_warp",
    "two_places",
    "rounds",
    "early_return",
    "return_in_loop",
    "below_an_array",
    "below_shared",
    "nobody_set",
)
THREADS = 64


@pytest.fixture(scope="module", params=["sm_75", "sm_90", "sm_120"])
def builds(request: pytest.FixtureRequest) -> dict[str, Build]:
    return build_file("rules.cu", KERNELS, request.param)


def run(build: Build, *scalars: int, threads: int = THREADS, poison: int = 0xFF) -> np.ndarray:
    y = np.zeros(96, np.int32)
    launch(build, 1, threads, y, *map(i32, scalars), poison=poison)
    return y


@pytest.mark.parametrize(
    ("kernel", "threads", "line"),
    [("named_too_many", 64, 3), ("named_by_ended", 96, 12)],
)
def test_a_named_barrier_waits_for_its_number(builds: dict[str, Build], kernel: str, threads: int, line: int) -> None:
    with pytest.raises(BarrierDeadlockError, match="barrier 1 waits for 96 threads, and only 64 of") as caught:
        run(builds[kernel], threads=threads)
    assert line_of(caught.value) == line


def test_a_named_barrier_of_a_part_of_the_block(builds: dict[str, Build]) -> None:
    assert run(builds["named_enough"], threads=96).tolist() == list(range(96))


def test_a_barrier_that_one_warp_takes(builds: dict[str, Build]) -> None:
    with pytest.raises(BarrierRuleError, match="32 threads of the block went round this barrier") as caught:
        run(builds["one_warp"])
    assert line_of(caught.value) == 18


def test_threads_at_two_barriers_at_once(builds: dict[str, Build]) -> None:
    with pytest.raises(BarrierRuleError, match=r"rules\.cu:(25|29)") as caught:
        run(builds["two_places"])
    assert line_of(caught.value) in (25, 29)


def test_loops_with_a_barrier_and_different_rounds(builds: dict[str, Build]) -> None:
    with pytest.raises(EmulationError) as caught:
        run(builds["rounds"])
    assert isinstance(caught.value, BarrierRuleError | BarrierDeadlockError)
    assert line_of(caught.value) == 37


def test_threads_that_end_early_are_not_waited_for(builds: dict[str, Build]) -> None:
    assert run(builds["early_return"], 40).tolist() == [2] * 40 + [0] * 56
    assert run(builds["return_in_loop"]).tolist() == [0] * 32 + [1] * 32 + [0] * 32


def test_below_a_local_array(builds: dict[str, Build]) -> None:
    assert run(builds["below_an_array"], 3).tolist()[:2] == [0, 0]
    for index in (-1, -2, 8):
        with pytest.raises(MemoryFaultError, match="the stack of the thread has"):
            run(builds["below_an_array"], index)


def test_below_the_first_shared_array(builds: dict[str, Build]) -> None:
    with pytest.raises(MemoryFaultError, match="out of bounds at shared address"):
        run(builds["below_shared"], -1, threads=32)


def test_shared_memory_begins_with_poison(builds: dict[str, Build]) -> None:
    assert set(run(builds["nobody_set"])[:THREADS].tolist()) == {-1}
    assert set(run(builds["nobody_set"], poison=0x5A)[:THREADS].tolist()) == {0x5A5A5A5A}


def line_of(error: EmulationError) -> int | None:
    assert error.location is not None
    return error.location.line
