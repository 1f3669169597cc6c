"""References: in float64, in the output's shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment.fills import materialize
from gpuprof.experiment.model import Buffer, Experiment, Fill, Reference, Variant, Work
from gpuprof.experiment.reference import evaluate


def variant(text: str, output: Buffer, *inputs: Buffer, **sizes: int) -> Variant:
    buffers = {buffer.name: buffer for buffer in (*inputs, output)}
    return Variant("v", "v", {}, sizes, buffers, (), Reference({output.name: text}), None, Work(), None, None, (), ())


def buffer(name: str, *shape: int, dtype: str = "float32", output: bool = False) -> Buffer:
    return Buffer(name, dtype, shape, Fill("constant"), output)


def result(text: str, output: Buffer, **arrays: Any) -> Any:
    inputs = {name: np.asarray(array) for name, array in arrays.items()}
    declared = [Buffer(name, str(array.dtype), array.shape, Fill("constant")) for name, array in inputs.items()]
    return evaluate(variant(text, output, *[b for b in declared if b.name != output.name]), inputs)[output.name]


def test_a_gemm_in_double_precision(loaded: Callable[..., Experiment]) -> None:
    first = loaded().variants[0]
    inputs = {name: materialize(first.buffers[name]) for name in "AB"}
    wanted = evaluate(first, inputs)["C"]
    assert wanted.dtype == np.float64
    a = (np.arange(64 * 16) % 13 - 6).reshape(64, 16)
    b = (np.arange(16 * 32) % 7 - 3).reshape(16, 32)
    np.testing.assert_array_equal(wanted, a @ b)


def test_half_inputs_are_summed_in_double() -> None:
    x = np.full(4096, 0.1, dtype=np.float16)
    total = result("sum(x)", buffer("s", 1, output=True), x=x)
    assert total.tolist() == [4096 * float(np.float16(0.1))]


def test_an_outputs_name_is_its_first_value() -> None:
    y = np.arange(4, dtype=np.float32)
    got = result("2.0 * x + y", buffer("y", 4, output=True), x=np.ones(4, np.float32), y=y)
    assert got.tolist() == [2, 3, 4, 5]


def test_softmax_and_layernorm_rows() -> None:
    x = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    e = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    text = "exp(x - max(x, axis=1)) / sum(exp(x - max(x, axis=1)), axis=1)"
    np.testing.assert_allclose(result(text, buffer("y", 3, 5, output=True), x=x), e / e.sum(axis=1, keepdims=True))
    d = x.astype(float)
    text = "(x - mean(x, axis=1)) / sqrt(var(x, axis=1) + 1e-5) * g"
    wanted = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * np.arange(5)
    np.testing.assert_allclose(
        result(text, buffer("y", 3, 5, output=True), x=x, g=np.arange(5, dtype=np.float32)), wanted
    )


def test_a_stencil_with_boundaries() -> None:
    x = np.arange(1.0, 6.0, dtype=np.float32)
    got = result("shift(x, 1) + x + shift(x, -1)", buffer("y", 5, output=True), x=x)
    assert got.tolist() == [3, 6, 9, 12, 9]


def test_shapes_up_to_ones_and_flattening() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    assert result("sum(x, axis=1)", buffer("y", 2, output=True), x=x).tolist() == [3, 12]
    assert result("x", buffer("y", 6, output=True), x=x).tolist() == [0, 1, 2, 3, 4, 5]
    assert result("1", buffer("y", 2, output=True), x=x).tolist() == [1, 1]
    with pytest.raises(ExpressionError, match=r"the result has the shape \[2, 3\], and y \[3, 2\]"):
        result("x", buffer("y", 3, 2, output=True), x=x)


def test_integer_outputs_stay_integers() -> None:
    x = np.array([1, 5, 5, 2], dtype=np.int32)
    counts = result("histogram(x, 8)", buffer("h", 8, dtype="uint32", output=True), x=x)
    assert counts.dtype == np.int64
    assert counts.tolist() == [0, 1, 1, 0, 0, 2, 0, 0]
    with pytest.raises(ExpressionError, match=r"gives fractions, and h is int32"):
        result("x / 2", buffer("h", 4, dtype="int32", output=True), x=x)
