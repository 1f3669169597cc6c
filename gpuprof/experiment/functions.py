"""The functions that the YAML's expressions may call: one table, with what each does.

Reductions and scans keep reduced axes (``keepdims``), so that ``A / sum(A, axis=1)`` divides rows. Reference results
are float64 or int64; ``float16(x)`` and its like round to that type and come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuprof.errors import ExpressionError, ShapeError
from gpuprof.experiment.element_types import value_dtype
from gpuprof.experiment.operators import BINARY, Array, Function, Value, check_bytes, negate
from gpuprof.experiment.scipy_functions import SCIPY_FUNCTIONS


def _array(value: Value) -> Array:
    return np.asarray(value)


def _count(value: Value, what: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ExpressionError(f"{what} must be an integer, got {value!r}")
    return value


def _axis(value: Value | None) -> int | None:
    return None if value is None else _count(value, "axis")


def cdiv(a: Value, b: Value) -> Value:
    """The quotient rounded up."""
    return negate(BINARY["FloorDiv"](negate(a), b))


def gcd(*values: Value) -> int:
    """The greatest common divisor, of Python integers."""
    return math.gcd(*(_count(value, "gcd's argument") for value in values))


def _extreme(elementwise: Callable[..., Any], reduction: Callable[..., Any], python: Callable[..., Any]) -> Any:
    def call(*values: Value, axis: Value | None = None) -> Any:
        if not values:
            raise ExpressionError("min and max take at least one value")
        if len(values) == 1:
            return _reduced(reduction, values[0], axis)
        if axis is not None:
            raise ExpressionError("axis goes with one array")
        if not any(isinstance(value, np.ndarray) for value in values):
            return python(values)
        result: Any = values[0]
        for value in values[1:]:
            check_bytes(np.broadcast_shapes(np.shape(result), np.shape(value)))
            result = elementwise(result, value)
        return result

    return call


def _reduced(reduction: Callable[..., Any], value: Value, axis: Value | None) -> Any:
    array = _array(value)
    if axis is None:
        return reduction(array)
    return reduction(array, axis=_axis(axis), keepdims=True)


def _reduction(reduction: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: Value, axis: Value | None = None) -> Any:
        return _reduced(reduction, value, axis)

    return call


def _sum(value: Value, axis: Value | None = None) -> Any:
    """Integers are guarded against leaving int64."""
    array = _array(value)
    if array.dtype.kind == "i" and array.size:
        largest = max(abs(int(array.min())), abs(int(array.max()))) * array.size
        if largest >= 1 << 63:
            raise ExpressionError("sum leaves the range of 64-bit integers; write sum(float64(...))")
    return _reduced(np.sum, array, axis)


def _scan(scan: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: Value, axis: Value | None = None) -> Any:
        array = _array(value)
        return scan(array, axis=_axis(axis)).reshape(array.shape) if axis is None else scan(array, axis=_axis(axis))

    return call


def _rounded_to(dtype: str) -> Callable[[Value], Any]:
    def call(value: Value) -> Any:
        if np.asarray(value).dtype.kind == "c":
            raise ExpressionError(f"{dtype}() takes real numbers; use complex64()")
        with np.errstate(over="ignore"):
            return np.asarray(value, dtype=np.float64).astype(value_dtype(dtype)).astype(np.float64)

    return call


def _wrapped_to(dtype: str) -> Callable[[Value], Any]:
    def call(value: Value) -> Any:
        array = _array(value)
        if array.dtype.kind == "f":
            if not np.isfinite(array).all() or (array.size and np.abs(array).max() >= 2.0**63):
                raise ExpressionError(f"{dtype}() needs a 64-bit integer")
            array = np.trunc(array).astype(np.int64)
        elif array.dtype.kind == "O":  # a Python integer beyond 64 bits
            array = np.asarray((int(array) + (1 << 63)) % (1 << 64) - (1 << 63))
        return array.astype(np.int64).astype(dtype).astype(np.int64)

    return call


def complex_of(real: Value, imaginary: Value = 0) -> Any:
    """Complex numbers from their parts."""
    return np.asarray(real, dtype=np.float64) + 1j * np.asarray(imaginary, dtype=np.float64)


def _complex64(value: Value) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(value, dtype=np.complex128).astype(np.complex64).astype(np.complex128)


def argsort(array: Value, axis: Value = -1) -> Array:
    return np.argsort(_array(array), axis=_axis(axis), kind="stable")


def transpose(array: Value) -> Array:
    """The last two axes exchanged."""
    if np.ndim(array) < 2:
        raise ShapeError("T takes an array of two axes or more")
    return np.swapaxes(_array(array), -1, -2)


def reshape(array: Value, *shape: Value) -> Array:
    extents = tuple(_count(extent, "an extent") for extent in shape)
    try:
        return _array(array).reshape(extents)
    except ValueError:
        raise ShapeError(f"{_array(array).size} elements do not reshape to {list(extents)}") from None


def arange(*bounds: Value) -> Array:
    if not 1 <= len(bounds) <= 3:
        raise ExpressionError("arange takes (end), (start, end) or (start, end, step)")
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = _count(bounds[2], "the step") if len(bounds) == 3 else 1
    first, last = _count(start, "the start"), _count(stop, "the end")
    if step == 0:
        raise ExpressionError("arange's step is 0")
    check_bytes((max(0, (last - first) // step + 1),), "arange")
    return np.arange(first, last, step, dtype=np.int64)


def full(value: Value, *shape: Value) -> Array:
    extents = tuple(_count(extent, "an extent") for extent in shape)
    check_bytes(extents, "full")
    return np.full(extents, value)


def take(array: Value, index: Value, axis: Value | None = None) -> Any:
    """Elements by index, flat unless an axis is given; an index out of range is an error."""
    source, where = _array(array), _array(index)
    number = _axis(axis)
    extent = source.size if number is None else source.shape[number]
    if where.dtype.kind != "i":
        raise ExpressionError("take needs integer indices")
    if where.size and (int(where.min()) < 0 or int(where.max()) >= extent):
        raise ExpressionError(f"take reads index {int(where.max())} (least {int(where.min())}) of {extent} elements")
    rest = 1 if number is None else source.size // max(extent, 1)
    check_bytes((where.size, rest), "take")
    return np.take(source, where, axis=number)


def shift(array: Value, by: Value, fill: Value = 0, axis: Value = -1) -> Array:
    """``result[j] = array[j - by]`` along ``axis``, and ``fill`` where that lies outside."""
    source, distance, number = _array(array), _count(by, "shift's distance"), _count(axis, "axis")
    extent = source.shape[number]
    result = np.full(source.shape, fill, dtype=np.result_type(source, np.asarray(fill)))
    kept = max(0, extent - abs(distance))
    to_start, from_start = (max(distance, 0), max(-distance, 0)) if kept else (0, 0)
    moved_to, moved_from = np.moveaxis(result, number, -1), np.moveaxis(source, number, -1)
    moved_to[..., to_start : to_start + kept] = moved_from[..., from_start : from_start + kept]
    return result


def roll(array: Value, by: Value, axis: Value | None = None) -> Array:
    return np.roll(_array(array), _count(by, "roll's distance"), axis=_axis(axis))


def histogram(values: Value, bins: Value) -> Array:
    """How often each of 0 .. bins-1 occurs; values outside are an error."""
    array, count = _array(values), _count(bins, "bins")
    check_bytes((count,), "histogram")
    if array.dtype.kind not in "iu":
        raise ExpressionError("histogram takes integers; write int32(floor(...)) around the values")
    if array.size and (int(array.min()) < 0 or int(array.max()) >= count):
        raise ExpressionError(f"histogram of {count} bins meets the value {int(array.max())}")
    return np.bincount(array.ravel(), minlength=count)


def sort(array: Value, axis: Value = -1) -> Array:
    return np.sort(_array(array), axis=_axis(axis))


def concat(*arrays: Value, axis: Value = 0) -> Array:
    check_bytes((sum(_array(array).size for array in arrays),), "concat")
    return np.concatenate([_array(array) for array in arrays], axis=_axis(axis))


def repeat(array: Value, count: Value, axis: Value | None = None) -> Array:
    times = _count(count, "repeat's count")
    check_bytes((_array(array).size, times), "repeat")
    return np.repeat(_array(array), times, axis=_axis(axis))


def diag(array: Value) -> Array:
    check_bytes((_array(array).size, _array(array).size if np.ndim(array) == 1 else 1), "diag")
    return np.diag(_array(array))


def clip(value: Value, low: Value, high: Value) -> Any:
    return np.clip(_array(value), low, high)


def where(condition: Value, yes: Value, no: Value) -> Any:
    check_bytes(np.broadcast_shapes(np.shape(condition), np.shape(yes), np.shape(no)), "where")
    return np.where(_array(condition), yes, no)


def _elementwise(function: Callable[[Any], Any], meaning: str) -> Function:
    def call(value: Value) -> Any:
        array = np.asarray(value)
        return function(array if array.dtype.kind == "c" else array.astype(np.float64))

    return Function(call, meaning, elementwise=True)


def _to_integers(function: Callable[[Any], Any]) -> Callable[[Value], Any]:
    """Rounding gives integers from numbers, so that ``floor(N / 2)`` is a size; arrays stay float64."""

    def call(value: Value) -> Any:
        if isinstance(value, np.ndarray):
            return function(value)
        return int(function(value)) if isinstance(value, float) else value

    return call


def _absolute(value: Value) -> Any:
    return np.abs(value) if isinstance(value, np.ndarray) else abs(value)  # type: ignore[arg-type]


_OWN: Mapping[str, Function] = {
    "cdiv": Function(cdiv, "a / b rounded up", True),
    "gcd": Function(gcd, "the greatest common divisor of integers"),
    "min": Function(_extreme(np.minimum, np.min, min), "the least: of several elementwise, or of one array", True),
    "max": Function(_extreme(np.maximum, np.max, max), "the greatest: of several elementwise, or of one array", True),
    "abs": Function(_absolute, "absolute value", True),
    "sqrt": _elementwise(np.sqrt, "square root"),
    "exp": _elementwise(np.exp, "e to the power x"),
    "log": _elementwise(np.log, "natural logarithm"),
    "log2": _elementwise(np.log2, "logarithm to base 2"),
    "sin": _elementwise(np.sin, "sine"),
    "cos": _elementwise(np.cos, "cosine"),
    "tanh": _elementwise(np.tanh, "hyperbolic tangent"),
    "floor": Function(_to_integers(np.floor), "rounded down", True),
    "ceil": Function(_to_integers(np.ceil), "rounded up", True),
    "round": Function(_to_integers(np.rint), "rounded to the nearest, ties to even", True),
    "clip": Function(clip, "clip(x, low, high)", True),
    "where": Function(where, "where(condition, yes, no), elementwise", True),
    "float16": Function(_rounded_to("float16"), "rounded to half precision", True),
    "bfloat16": Function(_rounded_to("bfloat16"), "rounded to bfloat16", True),
    "float8_e4m3": Function(_rounded_to("float8_e4m3"), "rounded to float8_e4m3", True),
    "float8_e5m2": Function(_rounded_to("float8_e5m2"), "rounded to float8_e5m2", True),
    "float32": Function(_rounded_to("float32"), "rounded to single precision", True),
    "float64": Function(_rounded_to("float64"), "as a double", True),
    "int32": Function(_wrapped_to("int32"), "truncated, and wrapped to 32 bits, signed", True),
    "uint32": Function(_wrapped_to("uint32"), "truncated, and wrapped to 32 bits, unsigned", True),
    "complex": Function(complex_of, "complex(re, im)", True),
    "complex64": Function(_complex64, "rounded to complex64", True),
    "real": Function(lambda value: np.real(_array(value)), "the real part", True),
    "imag": Function(lambda value: np.imag(_array(value)), "the imaginary part", True),
    "conj": Function(lambda value: np.conj(_array(value)), "the complex conjugate", True),
    "angle": Function(lambda value: np.angle(_array(value)), "the argument of a complex number, in radians", True),
    "sum": Function(_sum, "sum(x), sum(x, axis=1)"),
    "mean": Function(_reduction(np.mean), "mean(x), mean(x, axis=1)"),
    "var": Function(_reduction(np.var), "variance (divided by n)"),
    "prod": Function(_reduction(np.prod), "product"),
    "any": Function(_reduction(np.any), "whether any element is true"),
    "all": Function(_reduction(np.all), "whether all elements are true"),
    "argmax": Function(_reduction(np.argmax), "index of the greatest"),
    "argmin": Function(_reduction(np.argmin), "index of the least"),
    "cumsum": Function(_scan(np.cumsum), "inclusive scan; cumsum(x) - x is the exclusive one"),
    "T": Function(transpose, "the last two axes exchanged"),
    "transpose": Function(transpose, "the same as T"),
    "reshape": Function(reshape, "reshape(x, M, N)"),
    "arange": Function(arange, "arange(n): 0 .. n-1; arange(start, end, step)"),
    "full": Function(full, "full(value, M, N)"),
    "take": Function(take, "take(x, index): elements by flat index; with axis=: along it"),
    "shift": Function(shift, "shift(x, n, fill=0, axis=-1): element j is x[j - n], fill outside"),
    "roll": Function(roll, "shift that comes in again at the other end"),
    "histogram": Function(histogram, "histogram(x, bins): how often each integer occurs"),
    "sort": Function(sort, "ascending, along axis=-1"),
    "argsort": Function(argsort, "the indices that sort, along axis=-1; equal values keep their order"),
    "concat": Function(concat, "concat(x, y, axis=0)"),
    "repeat": Function(repeat, "repeat(x, n, axis=): each element n times"),
    "diag": Function(diag, "the diagonal of a matrix, or the matrix of a diagonal"),
}
#: By name: those of numpy, and those that need scipy.
FUNCTIONS: Mapping[str, Function] = {**_OWN, **SCIPY_FUNCTIONS}
