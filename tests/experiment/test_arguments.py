"""Arguments against a cubin's parameter layout, and their bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment.arguments import check_arguments, pack_scalar, scalar_argument
from gpuprof.experiment.model import Experiment, KernelStep, ScalarArgument
from gpuprof.isa.constant_bank import Parameter


def layout(*sizes: int) -> tuple[Parameter, ...]:
    """Parameters of those sizes, naturally aligned; ptxas lists them last first."""
    parameters, offset = [], 0
    for ordinal, size in enumerate(sizes):
        offset = -(-offset // size) * size
        parameters.append(Parameter(ordinal, offset, size))
        offset += size
    return tuple(reversed(parameters))


def check(loaded: Callable[..., Experiment], args: str, *sizes: int) -> list[str]:
    variant = loaded(("[M, N, K, A, B, C]", args)).variants[0]
    step = variant.steps[0]
    assert isinstance(step, KernelStep)
    return check_arguments(variant, step, layout(*sizes))


def test_what_matches_is_silent(loaded: Callable[..., Experiment]) -> None:
    assert check(loaded, "[M, N, K, A, B, C]", 4, 4, 4, 8, 8, 8) == []
    assert check(loaded, "[]") == []


def test_the_count(loaded: Callable[..., Experiment]) -> None:
    assert check(loaded, "[M, A]", 4, 8, 8) == [
        "naive<float> takes 3 parameters (bytes: 4, 8, 8), and args gives 2: 64 (int32, 4 bytes), A (float32*, 8 bytes)"
    ]


@pytest.mark.parametrize(
    ("args", "sizes", "repair"),
    [
        ("[M]", (8,), "write {value: 64, dtype: int64}, or a buffer if it is a pointer"),
        ("[1.5]", (8,), "write {value: 1.5, dtype: float64}"),
        ("[1.5]", (2,), "write {value: 1.5, dtype: float16}"),
        ("[A]", (4,), "it takes a value there, not a pointer"),
        ("[A]", (24,), "a struct or vector is a list of its members, as [1, 2.0], or {zeros: 24}"),
    ],
)
def test_the_sizes(loaded: Callable[..., Experiment], args: str, sizes: tuple[int, ...], repair: str) -> None:
    (message,) = check(loaded, args, *sizes)
    assert f"and the kernel's parameter has {sizes[0]} bytes" in message
    assert repair in message


def test_bytes() -> None:
    assert pack_scalar(ScalarArgument(-2, "int32")) == struct.pack("<i", -2)
    assert pack_scalar(ScalarArgument(2**40, "int64")) == struct.pack("<q", 2**40)
    assert pack_scalar(ScalarArgument(1.5, "float32")) == struct.pack("<f", 1.5)
    assert pack_scalar(ScalarArgument(1.5, "float16")) == struct.pack("<e", 1.5)
    assert pack_scalar(ScalarArgument(True, "bool")) == b"\x01"
    assert pack_scalar(ScalarArgument(2**64 - 1, "uint64")) == b"\xff" * 8


def test_values_that_a_dtype_cannot_hold() -> None:
    with pytest.raises(ExpressionError, match=r"dtype: int64"):
        scalar_argument(2**31)
    with pytest.raises(ExpressionError, match=r"1.5 is not a valid int32"):
        scalar_argument(1.5, "int32")
    assert scalar_argument(4.0, "int32") == ScalarArgument(4, "int32")
