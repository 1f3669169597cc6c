"""Every recorded answer of a GPU (tests/hardware/questions) against the emulator running the same cubin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuprof.emulator.semantics.mufu import FUNCTIONS
from tests.emulator.emulated_cubin import EmulatedCubin

QUESTIONS = Path(__file__).parents[1] / "hardware" / "questions"
sys.path.insert(0, str(QUESTIONS))

from question_inputs import MATRIX_KERNELS, MATRIX_WARPS, SETS, double_matrix_inputs, matrix_inputs  # noqa: E402
from record import checksums, kernel_sets, more_inputs, sweep_inputs, turns  # noqa: E402

KERNELS = kernel_sets()
#: MUFU functions that do not have all of the hardware's bits.
APPROXIMATE = {"mufu_tanh", "mufu_tanh_f16"}


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


def test_tangent_is_near_the_hardware_s(cubin: EmulatedCubin, answers: dict[str, np.ndarray]) -> None:
    """Both are within the 2^-11 that the PTX ISA states for tanh.approx."""
    got, want = ask(cubin, "mufu_tanh").view(np.float32), answers["mufu_tanh"].view(np.float32)
    numbers = ~np.isnan(want)
    assert (np.isnan(got) == ~numbers).all()
    assert (np.abs(got - want)[numbers] <= np.abs(want)[numbers] * 2.0**-11).all()
    halves, exact = (
        words.astype(np.uint16).view(np.float16) for words in (ask(cubin, "mufu_tanh_f16"), answers["mufu_tanh_f16"])
    )
    numbers = ~np.isnan(exact)
    assert (np.abs(halves - exact)[numbers] <= np.spacing(np.abs(exact))[numbers]).all()


@pytest.mark.parametrize(
    ("name", "function"), [("RCP", np.reciprocal), ("RSQ", lambda x: 1 / np.sqrt(x)), ("EX2", np.exp2)]
)
def test_every_mantissa_is_the_hardware_s(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    """All 2^23 mantissas (RSQ: of both binades); the recording holds the distance from the correctly rounded result."""
    kernel = f"mufu_{name.lower()}"
    x = sweep_inputs(kernel)
    with np.load(QUESTIONS / "mufu_sweep.npz") as recorded:
        distance = recorded[kernel].astype(np.int32)
    want = function(x.astype(np.float64)).astype(np.float32).view(np.int32) + distance
    for part in np.array_split(np.arange(x.size), 16):
        with np.errstate(all="ignore"):
            got = FUNCTIONS[name](x[part].reshape(1, 1, -1)).ravel()
        assert (got.view(np.int32) == want[part]).all()


@pytest.mark.parametrize("name", ["SQRT", "LG2", "SIN"])
def test_every_argument_of_the_further_questions_is_the_hardware_s(name: str) -> None:
    """SQRT: both binades; LG2: one; SIN: a quarter turn in 2^23 steps. Checksums of 2^16 results each are recorded."""
    kernel = f"mufu_{name.lower()}"
    x = more_inputs(kernel)
    with np.load(QUESTIONS / "mufu_more_crc.npz") as recorded:
        want = recorded[kernel]
    for part, expected in zip(np.array_split(x, 16), np.array_split(want, 16), strict=True):
        argument = turns(part).astype(np.float32) if name == "SIN" else part
        with np.errstate(all="ignore"):
            got = FUNCTIONS[name](argument.reshape(1, 1, -1)).ravel()
        assert (checksums(got) == expected).all()


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
    got = cubin.run("shfl_inactive", np.zeros(128, np.uint32), (lanes,), np.int32(128), poison=0)  # as it was there
    assert (got == answers["shfl_inactive"]).all()
