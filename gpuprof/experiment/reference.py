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

#: Elements of an output that a product of matrices is evaluated for at once.
MATRIX_BLOCK = 1 << 21


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

    It is one where every function works element by element and every array has the output's shape; products of
    matrices go by rows (``A @ B + C``). Values and errors are those of ``evaluate``.
    """
    output, text = variant.buffers[name], variant.reference.expressions[name]
    expression = parse(text)
    arrays = {read: inputs[read] for read in expression.names if read in inputs}
    if output.dtype == "uint64" or element_types.kind_of(output.dtype) == "c":  # ``evaluate`` keeps values beyond int64
        return None
    if not arrays or not _is_elementwise(expression):
        return None
    factors = _factors(expression)
    if factors is not None:
        return _rows(variant, output, expression, arrays, factors)
    if any(array.shape != output.shape for array in arrays.values()):
        return None
    flat = {input_name: array.reshape(-1) for input_name, array in arrays.items()}
    return _pieces(variant, output, expression, flat, BLOCK, output.elements)


def _rows(
    variant: Variant,
    output: Buffer,
    expression: Expression,
    arrays: Mapping[str, NDArray[Any]],
    factors: tuple[frozenset[str], frozenset[str]],
) -> Iterator[NDArray[Any]] | None:
    """Some rows of the output at once; None where a name is needed by rows and whole, or a shape does not fit."""
    lefts, rights = factors
    sliced = {name: array for name, array in arrays.items() if name not in rights}
    if lefts & rights or len(output.shape) != 2 or any(array.ndim != 2 for array in arrays.values()):
        return None
    if any(array.shape[0] != output.shape[0] for array in sliced.values()):
        return None
    if any(array.shape != output.shape for name, array in sliced.items() if name not in lefts):
        return None
    whole = {name: array for name, array in arrays.items() if name in rights}
    rows = max(1, MATRIX_BLOCK // max(1, output.shape[1]))
    return _pieces(variant, output, expression, sliced, rows, output.shape[0], whole)


def _pieces(
    variant: Variant,
    output: Buffer,
    expression: Expression,
    sliced: Mapping[str, NDArray[Any]],
    step: int,
    total: int,
    whole: Mapping[str, NDArray[Any]] | None = None,
) -> Iterator[NDArray[Any]]:
    """``step`` rows or elements of the arrays at once, of ``total``; ``whole`` arrays are the same each time."""
    width = output.elements // total
    for start in range(0, total, step):
        part = {input_name: array[start : start + step] for input_name, array in sliced.items()}
        value = expression.evaluate({**variant.sizes, **variant.parameters, **(whole or {}), **part})
        if isinstance(value, str):
            raise ExpressionError(f"`{expression.text}`: gives text, not numbers")
        count = min(step, total - start)
        shape = (count, width) if whole is not None else (count,)
        array = np.asarray(value)
        if whole is not None and array.ndim and array.shape != shape:
            check_shape((total, *array.shape[1:]), output, expression.text)
        yield np.broadcast_to(_typed(array, output, expression.text), shape).reshape(-1)


def _factors(expression: Expression) -> tuple[frozenset[str], frozenset[str]] | None:
    """The names on the left and on the right of the products of matrices; None where there is no product.

    The left factor is a plain name, or its names are in both sets.
    """
    lefts: set[str] = set()
    rights: set[str] = set()
    found = False
    for node in ast.walk(expression.tree):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
            continue
        found = True
        left = {each.id for each in ast.walk(node.left) if isinstance(each, ast.Name)}
        right = {each.id for each in ast.walk(node.right) if isinstance(each, ast.Name)}
        lefts |= left
        rights |= right
        if not isinstance(node.left, ast.Name):
            rights |= left
    return (frozenset(lefts), frozenset(rights)) if found else None


def _is_elementwise(expression: Expression) -> bool:
    """No reduction (``max`` of one array is one), nothing that looks at other elements.

    But products of matrices, whose right factor may be anything.
    """
    waiting: list[ast.AST] = [expression.tree]
    while waiting:
        node = waiting.pop()
        product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        waiting += [node.left] if product else ast.iter_child_nodes(node)  # type: ignore[attr-defined]
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
