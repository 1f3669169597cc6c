"""Every recorded answer of a GPU (tests/hardware/questions) against the emulator running the same cubin."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from emulated_cubin import EmulatedCubin

QUESTIONS = Path(__file__).parents[1] / "hardware" / "questions"
sys.path.insert(0, str(QUESTIONS))

from question_inputs import MATRIX_KERNELS, MATRIX_WARPS, SETS, double_matrix_inputs, matrix_inputs  # noqa: E402
from record import kernel_sets  # noqa: E402

KERNELS = kernel_sets()
#: MUFU functions that do not have the hardware's bits.
APPROXIMATE = {"mufu_cos", "mufu_lg2", "mufu_sin", "mufu_sqrt", "mufu_tanh", "mufu_ex2_f16", "mufu_tanh_f16"}


@pytest.fixture(scope="module")
def cubin() -> EmulatedCubin:
    return EmulatedCubin(QUESTIONS / "questions.cubin")


@pytest.fixture(scope="module")
def answers() -> dict[str, np.ndarray]:
    with np.load(QUESTIONS / "questions.npz") as recorded:
        return {name: recorded[name] for name in recorded.files}


def ask(cubin: EmulatedCubin, kernel: str) -> np.ndarray:
    kind, result = KERNELS[kernel]
    inputs = SETS[kind]()
    count = inputs[0].size
    return cubin.run(kernel, np.zeros(count, result), inputs, np.int32(count))


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - APPROXIMATE))
def test_bits_are_the_hardware_s(cubin: EmulatedCubin, answers: dict[str, np.ndarray], kernel: str) -> None:
    got, want = ask(cubin, kernel), answers[kernel]
    different = np.flatnonzero(got != want)
    inputs = [[hex(int(axis[index])) for axis in SETS[KERNELS[kernel][0]]()] for index in different[:3]]
    assert different.size == 0, (kernel, inputs, got[different[:3]], want[different[:3]])


@pytest.mark.parametrize("kernel", sorted(MATRIX_KERNELS))
def test_tensor_sums_are_the_hardware_s(cubin: EmulatedCubin, answers: dict[str, np.ndarray], kernel: str) -> None:
    want = answers[kernel]
    got = cubin.run(
        kernel, np.zeros_like(want), matrix_inputs(kernel), np.int32(MATRIX_WARPS), threads=MATRIX_WARPS * 32
    )
    assert (got == want).all()


def test_double_tensor_sums_are_the_hardware_s(cubin: EmulatedCubin, answers: dict[str, np.ndarray]) -> None:
    a, b, c = double_matrix_inputs()
    got = cubin.run("mma_f64", np.zeros_like(c), (a, b, c), np.int32(len(a)), threads=len(a) * 32)
    assert (got.view(np.uint64) == answers["mma_f64"].view(np.uint64)).all()


def test_a_shuffle_reads_the_register_of_an_inactive_lane(cubin: EmulatedCubin, answers: dict[str, np.ndarray]) -> None:
    lanes = np.arange(128, dtype=np.uint32) + np.uint32(1000)
    got = cubin.run("shfl_inactive", np.zeros(128, np.uint32), (lanes,), np.int32(128))
    assert (got == answers["shfl_inactive"]).all()
