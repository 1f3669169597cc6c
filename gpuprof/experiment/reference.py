"""What the outputs should hold: the reference expressions, in float64."""

from __future__ import annotations

import ast
import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import ExpressionError, ShapeError
from gpuprof.experiment import element_types
from gpuprof.experiment.expressions import Expression, parse
from gpuprof.experiment.fills import BLOCK, read_npy
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.model import Buffer, Variant
from gpuprof.experiment.operators import Value


def evaluate(
    variant: Variant, inputs: Mapping[str, NDArray[Any]], names: Container[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Each output of ``variant.reference.expressions``, or those of ``names``, in the output's shape.

    ``inputs`` are the buffers' contents before the launch, in their own dtypes; an output's name means its initial
    value. Results are float64 for floating-point outputs, else int64, uint64 or bool. Raises ExpressionError.
    """
    return {
        name: _evaluated(variant, variant.buffers[name], text, inputs)
        for name, text in variant.reference.expressions.items()
        if names is None or name in names
    }


def from_file(file: Path, output: Buffer) -> NDArray[Any]:
    """The reference in a ``.npy``, as ``evaluate`` gives it; raises ExpressionError. Only its header is read here."""
    array = read_npy(file)
    kind = element_types.kind_of(output.dtype)
    if array.dtype.kind not in ("fiub" if kind != "c" else "fiubc"):
        raise ExpressionError(f"{file.name} holds {array.dtype}, and {output.name} is {output.dtype}")
    if kind in "iub" and array.dtype.kind == "f":
        raise ExpressionError(f"{file.name} holds {array.dtype}, and {output.name} is {output.dtype}; save integers")
    check_shape(array.shape, output, file.name)
    return array


def typed(value: NDArray[Any], output: Buffer, text: str) -> NDArray[Any]:
    """A reference of any origin in the type and shape that ``evaluate`` gives; raises ExpressionError."""
    if value.dtype.kind not in "fiubc":
        raise ExpressionError(f"`{text}`: gives {value.dtype}, not numbers")
    return _shaped(_typed(value, output, text), output, text)


def evaluate_in_pieces(
    variant: Variant, name: str, inputs: Mapping[str, NDArray[Any]]
) -> Iterator[NDArray[Any]] | None:
    """The elements of an output's reference in order, flat, some at once; None for another expression.

    It is one where every function works element by element and every array has the output's shape. Values and errors
    are those of ``evaluate``.
    """
    output, text = variant.buffers[name], variant.reference.expressions[name]
    expression = parse(text)
    arrays = {read: inputs[read] for read in expression.names if read in inputs}
    if output.dtype == "uint64" or element_types.kind_of(output.dtype) == "c":  # ``evaluate`` keeps values beyond int64
        return None
    if not arrays or any(array.shape != output.shape for array in arrays.values()) or not _is_elementwise(expression):
        return None
    flat = {input_name: array.reshape(-1) for input_name, array in arrays.items()}
    return _pieces(variant, output, expression, flat)


def _pieces(
    variant: Variant, output: Buffer, expression: Expression, flat: Mapping[str, NDArray[Any]]
) -> Iterator[NDArray[Any]]:
    for start in range(0, output.elements, BLOCK):
        part = {input_name: array[start : start + BLOCK] for input_name, array in flat.items()}
        value = expression.evaluate({**variant.sizes, **variant.parameters, **part})
        if isinstance(value, str):
            raise ExpressionError(f"`{expression.text}`: gives text, not numbers")
        count = min(BLOCK, output.elements - start)
        yield np.broadcast_to(_typed(np.asarray(value), output, expression.text), (count,))


def _is_elementwise(expression: Expression) -> bool:
    """No product of matrices, no reduction (``max`` of one array is one), nothing that looks at other elements."""
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.MatMult):
            return False
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            reduces = called in ("min", "max") and (len(node.args) < 2 or node.keywords)
            if reduces or called not in FUNCTIONS or not FUNCTIONS[called].elementwise:
                return False
    return True


def parts(variant: Variant, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.bool_]]:
    """Per output of which only a part is compared: where its condition holds, in the output's shape.

    Raises ExpressionError, also for a condition that holds nowhere.
    """
    found = {}
    for name, text in variant.reference.where.items():
        output = variant.buffers[name]
        index = np.arange(output.elements, dtype=np.int64).reshape(output.shape)
        expression = parse(text)
        scope: dict[str, Value] = {**variant.sizes, **variant.parameters, "i": index}
        scope |= {read: inputs[read] for read in expression.names if read in inputs}
        value = np.asarray(expression.evaluate(scope))
        if value.dtype.kind not in "bi":
            raise ExpressionError(f"`{text}`: is not a condition; compare with ==, < and the like")
        mask = np.ascontiguousarray(_shaped(value.astype(bool), output, text))
        if not mask.any():
            raise ExpressionError(f"`{text}`: holds for no element of {name}, so that nothing would be compared")
        found[name] = mask
    return found


def _evaluated(variant: Variant, output: Buffer, text: str, inputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    expression = parse(text)
    alone = inputs.get(text.strip())
    if alone is not None and alone.dtype == np.uint64 and output.dtype == "uint64":
        return _shaped(np.asarray(alone), output, text)  # expressions are over int64, which its values may leave
    scope: dict[str, Value] = {**variant.sizes, **variant.parameters}
    scope |= {name: inputs[name] for name in expression.names if name in inputs}
    value = expression.evaluate(scope)
    if isinstance(value, str):
        raise ExpressionError(f"`{text}`: gives text, not numbers")
    return _shaped(_typed(np.asarray(value), output, text), output, text)


def _typed(value: NDArray[Any], output: Buffer, text: str) -> NDArray[Any]:
    kind = element_types.kind_of(output.dtype)
    if kind == "c":
        return value.astype(np.complex128)
    if value.dtype.kind == "c":
        raise ExpressionError(
            f"`{text}`: gives complex numbers, and {output.name} is {output.dtype}; use real() or abs()"
        )
    if kind == "f":
        return value.astype(np.float64)
    if kind == "b":
        return value.astype(bool)
    if value.dtype.kind == "f":
        if not (np.isfinite(value) & (np.floor(value) == value)).all():
            raise ExpressionError(f"`{text}`: gives fractions, and {output.name} is {output.dtype}; use floor or //")
        return value.astype(np.uint64 if kind == "u" and output.dtype == "uint64" else np.int64)
    return value.astype(np.uint64) if output.dtype == "uint64" else value.astype(np.int64)


def _shaped(value: NDArray[Any], output: Buffer, text: str) -> NDArray[Any]:
    check_shape(value.shape, output, text)
    if value.ndim == 0:  # a view of one element: a large output need not be filled
        return np.broadcast_to(value, output.shape)
    return np.ascontiguousarray(value).reshape(output.shape)


def check_shape(shape: tuple[int, ...], output: Buffer, text: str) -> None:
    """A scalar fills the output; an array has its shape, up to extents of 1 and to flattening. Raises ShapeError."""
    result, wanted = _squeezed(shape), _squeezed(output.shape)
    fits = result == wanted or (1 in (len(result), len(wanted)) and math.prod(shape) == output.elements)
    if shape and not fits:
        shapes = f"{list(shape)}, and {output.name} {list(output.shape)}"
        raise ShapeError(f"`{text}`: the result has the shape {shapes}")


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)
