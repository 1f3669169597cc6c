"""Whether a reference's shapes fit, without computing it: what can be checked before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuprof.errors import ExpressionError, ShapeError
from gpuprof.experiment.element_types import kind_of
from gpuprof.experiment.expressions import Evaluator, parse
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.model import Buffer
from gpuprof.experiment.operators import Array, Value, array_limit, check_bytes, matmul_shape, tidy
from gpuprof.experiment.reference import check_shape

MAX_COMPUTED = 1 << 22  #: elements that a reduction or a sort may go over here: some ten milliseconds


def check_shapes(output: Buffer, text: str, buffers: Mapping[str, Buffer], scope: Mapping[str, Value]) -> None:
    """Raise ShapeError where the reference's shapes cannot fit; what depends on values is left to the run."""
    expression = parse(text)
    ones: dict[str, Value] = {}
    for name in expression.names & buffers.keys():
        kind = kind_of(buffers[name].dtype)
        ones[name] = _constant(np.ones((), {"f": float, "b": bool, "c": complex}.get(kind, int)), buffers[name].shape)
    try:
        value = expression.run(ShapeEvaluator({**scope, **ones}, FUNCTIONS))
    except ShapeError:
        raise
    except ExpressionError:
        return
    if not isinstance(value, str):
        check_shape(np.shape(value), output, text)


def _constant(value: Any, shape: tuple[int, ...]) -> Array:
    """An array of one value that takes no memory."""
    return np.broadcast_to(np.asarray(value), shape)


class ShapeEvaluator(Evaluator):
    """Evaluates over arrays of one value each: elementwise operations and products of matrices cost nothing."""

    _computed = 0  #: elements that functions went over so far

    def elementwise(self, call: Callable[..., Any], *values: Value) -> Value:
        if not any(isinstance(value, np.ndarray) for value in values):
            return tidy(call(*values))
        try:
            shape = np.broadcast_shapes(*(np.shape(value) for value in values))
        except ValueError:
            shapes = " and ".join(str(list(np.shape(value))) for value in values)
            raise ShapeError(f"shapes {shapes} do not fit together") from None
        check_bytes(shape)
        firsts = [tidy(value.flat[0]) if isinstance(value, np.ndarray) else value for value in values]
        return _constant(tidy(call(*firsts)), shape)

    def operate(self, name: str, left: Value, right: Value) -> Value:
        if name == "MatMult" and isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            return _constant(np.ones((), np.result_type(left, right)), matmul_shape(left.shape, right.shape))
        if name == "MatMult":
            return super().operate(name, left, right)
        return self.elementwise(lambda a, b: super(ShapeEvaluator, self).operate(name, a, b), left, right)

    def apply(self, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        reduces = name in ("min", "max") and len(arguments) == 1
        if self.functions[name].elementwise and not keywords and not reduces:
            return self.elementwise(self.functions[name].call, *arguments)
        self._computed += sum(np.size(argument) for argument in arguments)
        if self._computed > MAX_COMPUTED:
            raise ExpressionError("too large to be checked before the run")
        with array_limit(8 * MAX_COMPUTED):
            return self._applied(name, arguments, keywords)

    def _applied(self, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A function computed; one whose result is too large to compute here says nothing of its shapes."""
        try:
            return super().apply(name, arguments, keywords)
        except ShapeError as error:
            if "over the limit" in str(error):
                raise ExpressionError(str(error)) from None
            raise
