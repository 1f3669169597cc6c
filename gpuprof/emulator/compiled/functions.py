"""numpy's functions on symbolic lanes, as C++ expressions with the same results, types and special cases."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprof.emulator.compiled.symbolic import (
    ARRAY_FUNCTIONS,
    PRIMITIVES,
    UFUNC,
    Doubt,
    Recorder,
    Symbol,
    align,
    as_symbol,
    c_type,
)
from gpuprof.emulator.semantics.base import NotCovered
from gpuprof.emulator.semantics.interpolation import interpolator as interpolator_of

Write = Callable[[list[str], np.dtype[Any]], str]
_BOOL = np.dtype(np.bool_)
#: The functions with tables, in the order of the runtime's.
TABLE_NAMES = ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN")


def _infix(operator: str) -> Write:
    def write(parts: list[str], dtype: np.dtype[Any]) -> str:
        return f"({c_type(dtype)})({parts[0]} {operator} {parts[1]})"

    return write


def _comparison(operator: str) -> Write:
    return lambda parts, dtype: f"({parts[0]} {operator} {parts[1]})"


def _call(name: str) -> Write:
    return lambda parts, dtype: f"{name}({', '.join(parts)})"


#: ufunc -> C++ of operands that have the loop's type.
UFUNCS: dict[str, Write] = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "divide": _infix("/"),
    "bitwise_and": _infix("&"),
    "bitwise_or": _infix("|"),
    "bitwise_xor": _infix("^"),
    "logical_and": _infix("&"),
    "logical_or": _infix("|"),
    "less": _comparison("<"),
    "less_equal": _comparison("<="),
    "greater": _comparison(">"),
    "greater_equal": _comparison(">="),
    "equal": _comparison("=="),
    "not_equal": _comparison("!="),
    "left_shift": _call("shift_left"),
    "right_shift": _call("shift_right"),
    "negative": lambda parts, dtype: f"({c_type(dtype)})-{parts[0]}",
    "invert": lambda parts, dtype: f"!{parts[0]}" if dtype == _BOOL else f"({c_type(dtype)})~{parts[0]}",
    "logical_not": lambda parts, dtype: f"!{parts[0]}",
    "absolute": _call("absolute"),
    "minimum": _call("minimum"),
    "maximum": _call("maximum"),
    "fmin": _call("number_minimum"),
    "fmax": _call("number_maximum"),
    "isnan": _call("is_nan"),
    "isinf": _call("is_infinite"),
    "isfinite": _call("is_finite"),
    "signbit": _call("sign_bit"),
    "sign": _call("sign_of"),
    "copysign": _call("copy_sign"),
    "nextafter": _call("next_after"),
    "rint": _call("round_even"),
    "trunc": _call("truncate"),
    "floor": _call("round_down"),
    "ceil": _call("round_up"),
    "ldexp": _call("scale_by_power"),
}
#: ufuncs whose operands are bools.
_LOGICAL = ("logical_and", "logical_or", "logical_not")


def apply_ufunc(recorder: Recorder, ufunc: Any, inputs: Sequence[Any], dtype: Any) -> Any:
    """The ufunc on symbols and constants."""
    if any(isinstance(value, Doubt) for value in inputs):
        return Doubt(True)
    name = ufunc.__name__
    if name == "frexp":
        return _frexp(recorder, inputs[0])
    write = UFUNCS.get(name)
    if write is None:
        raise NotCovered(f"numpy.{name}")
    types = _loop_types(ufunc, inputs, dtype)
    values = [as_symbol(recorder, value, kind) for value, kind in zip(inputs, types, strict=False)]
    return combine(recorder, values, types[-1], write)


def _loop_types(ufunc: Any, inputs: Sequence[Any], dtype: Any) -> tuple[np.dtype[Any], ...]:
    if ufunc.__name__ in _LOGICAL:
        return (_BOOL,) * (ufunc.nin + 1)
    kinds: list[Any] = [_kind(value) for value in inputs]
    if dtype is None:
        return ufunc.resolve_dtypes((*kinds, None))
    signature = (*(None,) * ufunc.nin, np.dtype(dtype))
    return ufunc.resolve_dtypes((*kinds, None), signature=signature, casting="unsafe")


def _kind(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return _BOOL
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return type(value)
    return value.dtype


def combine(recorder: Recorder, values: Sequence[Symbol], dtype: np.dtype[Any], write: Write) -> Symbol:
    """One expression per part."""
    count, trailing, vector = align(values)
    parts = []
    for place in range(count):
        names = [value.parts[place if len(value.parts) > 1 else 0] for value in values]
        parts.append(recorder.name(write(names, dtype), dtype, vector=vector))
    return Symbol(recorder, dtype, parts, vector=vector, trailing=trailing)


def _frexp(recorder: Recorder, value: Symbol) -> tuple[Symbol, Symbol]:
    mantissa = combine(recorder, [value], value.dtype, _call("fraction_of"))
    return mantissa, combine(recorder, [value], np.dtype(np.int32), _call("exponent_of"))


def _where(recorder: Recorder, condition: Any, yes: Any, no: Any) -> Symbol:
    dtype = np.result_type(*(value.dtype if isinstance(value, Symbol) else value for value in (yes, no)))
    chosen = as_symbol(recorder, condition, _BOOL)
    values = [chosen, as_symbol(recorder, yes, dtype), as_symbol(recorder, no, dtype)]
    return combine(recorder, values, dtype, lambda parts, _: f"({parts[0]} ? {parts[1]} : {parts[2]})")


def _clip(recorder: Recorder, value: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(value, low), high)


def _full_like(number: int) -> Callable[..., Any]:
    def make(recorder: Recorder, value: Any, dtype: Any = None) -> Any:
        return np.full((1, 1, 1), number, dtype or value.dtype)

    return make


def _stack(recorder: Recorder, values: Sequence[Any], axis: int = 0) -> Symbol:
    if axis != -1:
        raise NotCovered("numpy.stack")
    dtype = np.result_type(*(value.dtype for value in values))
    symbols = [as_symbol(recorder, value, dtype) for value in values]
    vector = any(symbol.vector for symbol in symbols)
    return Symbol(recorder, dtype, [symbol.parts[0] for symbol in symbols], vector=vector, trailing=True)


def _repeat(recorder: Recorder, value: Symbol, count: int, axis: int | None = None) -> Symbol:
    if axis != -1 or not value.trailing:
        raise NotCovered("numpy.repeat")
    parts = [part for part in value.parts for _ in range(count)]
    return Symbol(recorder, value.dtype, parts, vector=value.vector, trailing=True)


def _nan_to_num(recorder: Recorder, value: Any, nan: float = 0.0) -> Any:
    limit = np.finfo(value.dtype).max
    number = np.where(np.isnan(value), value.dtype.type(nan), value)
    return np.minimum(np.maximum(number, -limit), limit)


#: numpy functions that are no ufuncs.
_ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": _clip,
    "max": lambda recorder, value: Doubt(True),
    "min": lambda recorder, value: Doubt(True),
    "amax": lambda recorder, value: Doubt(True),
    "amin": lambda recorder, value: Doubt(True),
    "any": lambda recorder, value: Doubt(True),
    "all": lambda recorder, value: Doubt(False),
    "zeros_like": _full_like(0),
    "ones_like": _full_like(1),
    "stack": _stack,
    "repeat": _repeat,
    "broadcast_arrays": lambda recorder, *values: list(values),
    "nan_to_num": _nan_to_num,
}


def _fused(recorder: Recorder, a: Any, b: Any, c: Any, mode: str = "RN") -> Symbol:
    dtype = a.dtype
    values = [as_symbol(recorder, value, dtype) for value in (a, b, c)]
    if mode == "RN":
        return combine(recorder, values, dtype, _call("fused"))
    return combine(recorder, values, dtype, _call(f"fused_{mode}"))


def _directed(name: str) -> Callable[..., Any]:
    def write(recorder: Recorder, a: Any, b: Any, mode: str) -> Symbol:
        values = [as_symbol(recorder, value, np.dtype(np.float64)) for value in (a, b)]
        return combine(recorder, values, np.dtype(np.float64), _call(f"{name}_{mode}"))

    return write


def _polynomial(recorder: Recorder, interpolator: Any, position: Symbol) -> Symbol:
    """An interpolator's value; the runtime has its tables by number."""
    number = next(place for place, name in enumerate(TABLE_NAMES) if interpolator_of(name) is interpolator)
    return combine(recorder, [position], np.dtype(np.float64), lambda parts, _: f"mufu_value({number}, {parts[0]})")


#: Functions of the semantics that have a C++ counterpart of their own.
_PRIMITIVES: dict[str, Callable[..., Any]] = {
    UFUNC: apply_ufunc,
    "fused": _fused,
    "fused_double": _fused,
    "sum_double": _directed("sum"),
    "product_double": _directed("product"),
    "interpolate": _polynomial,
}

ARRAY_FUNCTIONS.update(_ARRAY_FUNCTIONS)
PRIMITIVES.update(_PRIMITIVES)
