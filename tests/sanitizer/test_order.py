"""The look that every emulated run takes at the order of warps."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from tests.sanitizer.cases import ELEMENTS, Case, build, cases
from tests.sanitizer.launching import i32

#: Races whose outputs another order of warps changes, and which one block shows.
SHOWN = (
    "no_barrier",
    "loop_second",
    "reduce_tree",
    "broadcast",
    "reuse",
    "halo",
    "transpose",
    "wide",
    "dynamic",
    "inlined",
)


def looked_at(case: Case, arch: str = "sm_90") -> tuple[str, np.ndarray]:
    """What the run says of the order, and what stands in ``a`` afterwards."""
    built = build(case, arch)
    device = EmulatedDevice()
    a = (np.arange(ELEMENTS) * 7 % 101).astype(np.int32)
    handles = [device.allocate(4 * ELEMENTS) for _ in range(3)]
    device.write(handles[0], a)
    device.write(handles[2], (a / 4).astype(np.float32))
    arguments = (*(Pointer(handle) for handle in handles), i32(case.n))
    launch = Launch(
        built.cubin,
        built.symbol,
        (case.grid, 1, 1),
        (case.block, 1, 1),
        case.shared,
        arguments,
        reorders=True,
        outputs=tuple(handles),
    )
    return device.launch(launch).order, device.read(handles[0], "int32", (ELEMENTS,))


@pytest.mark.parametrize("case", [case for case in cases() if case.kernel in SHOWN], ids=lambda case: case.kernel)
def test_a_race_that_changes_the_result(case: Case) -> None:
    said, _ = looked_at(case)
    assert said.startswith("depends on the order of warps: the ")
    assert any(f"{case.file}:{line} " in said for line in case.lines)
    assert "__syncthreads()" in said


@pytest.mark.parametrize("case", [case for case in cases() if case.planted == "ok"], ids=lambda case: case.kernel)
def test_nothing_is_said_of_a_right_kernel(case: Case) -> None:
    assert looked_at(case)[0] == ""


def test_the_look_leaves_no_trace() -> None:
    case = next(case for case in cases() if case.kernel == "plain_add_ok")
    _, a = looked_at(case)
    assert (a - np.arange(ELEMENTS) * 7 % 101).sum() == case.grid * case.block
