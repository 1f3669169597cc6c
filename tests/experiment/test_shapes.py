"""Shapes of references without their values: the same as those of the values."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpuprof.errors import ExpressionError, ShapeError
from gpuprof.experiment.expressions import parse
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.model import Buffer, Fill
from gpuprof.experiment.shapes import ShapeEvaluator, check_shapes

ARRAYS = {"A": np.ones((3, 4)), "B": np.ones((4, 2)), "v": np.ones(4), "n": np.ones(6, dtype=int)}


@pytest.mark.parametrize(
    "text",
    [
        "A @ B",
        "A @ v",
        "v @ B",
        "A + v",
        "A * 2 - v > 1",
        "T(A @ B)",
        "sum(A, axis=1)",
        "A / sum(A, axis=0)",
        "max(A, axis=1)",
        "max(A, v)",
        "max(A)",
        "where(A > 0, A, v)",
        "A if A > 0 else v",
        "not A > 0 and A < 3",
        "exp(-A)",
        "shift(v, 1) + v",
        "reshape(A, 12)",
        "take(A, arange(2))",
        "histogram(n, 5)",
        "cumsum(n) - n",
        "float16(A) ** 2",
        "1 <= A <= 2",
        "clip(A, 0, 1)",
        "~n",
    ],
)
def test_shapes_are_those_of_the_values(text: str) -> None:
    expression = parse(text)
    assert np.shape(expression.run(ShapeEvaluator(ARRAYS, FUNCTIONS))) == np.shape(expression.evaluate(ARRAYS))


@pytest.mark.parametrize("text", ["A @ A", "A + B", "max(A, B)", "sum(A, axis=2)", "reshape(A, 5)", "T(v)", "A < B"])
def test_what_cannot_fit_is_told_in_both(text: str) -> None:
    expression = parse(text)
    with pytest.raises(ExpressionError):
        expression.evaluate(ARRAYS)
    with pytest.raises(ShapeError):
        expression.run(ShapeEvaluator(ARRAYS, FUNCTIONS))


def test_a_large_gemm_is_checked_in_no_time() -> None:
    buffers = {name: Buffer(name, "float32", (16384, 16384), Fill("constant")) for name in ("A", "B", "C")}
    started = time.perf_counter()
    check_shapes(buffers["C"], "2.0 * A @ B + 0.5 * C", buffers, {})
    assert time.perf_counter() - started < 0.5  # the product itself would take minutes


def test_what_depends_on_values_is_left_to_the_run() -> None:
    buffers = {"n": Buffer("n", "int32", (6,), Fill("constant"))}
    check_shapes(buffers["n"], "6 // (n - 1)", buffers, {})
