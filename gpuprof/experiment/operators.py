"""Arithmetic of the YAML's expressions: exact for integers, bounded in size, over numbers and numpy arrays.

Integer arrays are int64 and an operation whose result would leave int64 is an error, never a wrap; Python integers
are exact up to ``MAX_BITS``. Float arrays are float64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import ExpressionError, ShapeError

Array = NDArray[Any]
Scalar = int | float | bool | str
Value = Scalar | Array


@dataclass(frozen=True)
class Function:
    """What an expression may call. ``elementwise`` ones may be in fills, which are evaluated block by block.

    ``texts``: some of its arguments are words (``mode='same'``).
    """

    call: Callable[..., Any]
    meaning: str
    elementwise: bool = False
    texts: bool = False


MAX_BITS = 512  #: of a Python integer
MAX_BYTES = 1 << 31  #: of one array on the way
_LIMIT: ContextVar[int] = ContextVar("array_limit", default=MAX_BYTES)
_INT64 = (-(1 << 63), (1 << 63) - 1)


def tidy(value: Any) -> Value:
    """A numpy scalar or 0-d array as a Python number; an array as bool, int64, float64 or complex128."""
    if isinstance(value, np.ndarray) and value.ndim:
        return _widened(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return cast(Scalar, value.item())
    return cast(Scalar, value)


def _widened(array: Array) -> Array:
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and int(array.max()) > _INT64[1]:
        raise ExpressionError("a uint64 value above 2^63 cannot take part in an expression")
    wide = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}.get(array.dtype.kind)
    if wide is None:
        raise ExpressionError(f"an array of {array.dtype} cannot take part in an expression")
    return array.astype(wide, copy=False)


def check_bytes(shape: tuple[int, ...], what: str = "the result") -> None:
    """Raise ShapeError for an array of more than MAX_BYTES, or ``array_limit``, at 8 bytes an element."""
    if any(extent < 0 for extent in shape):
        raise ShapeError(f"{what} would have the shape {list(shape)}; extents are at least 0")
    limit = _LIMIT.get()
    if math.prod(shape) * 8 > limit:
        shown = f"{limit >> 30} GiB" if limit >= 1 << 30 else f"{limit >> 20} MiB"
        raise ShapeError(f"{what} would have the shape {list(shape)}, over the limit of {shown}")


@contextmanager
def array_limit(limit_bytes: int) -> Iterator[None]:
    """Within it, an array on the way has at most ``limit_bytes`` (at 8 bytes an element) instead of MAX_BYTES."""
    token = _LIMIT.set(limit_bytes)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def _is_int(value: Value) -> bool:
    return value.dtype.kind == "i" if isinstance(value, np.ndarray) else isinstance(value, int)


def _number(value: Value) -> Value:
    """Truth values count as 0 and 1; text is not a number."""
    if isinstance(value, str):
        raise ExpressionError(f"'{value}' is text, not a number")
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype.kind == "b" else value
    return int(value) if isinstance(value, bool) else value


def _bounds(value: Value) -> tuple[int, int]:
    if isinstance(value, np.ndarray):
        return (int(value.min()), int(value.max())) if value.size else (0, 0)
    return int(value), int(value)


def _in_int64(low: int, high: int, symbol: str) -> None:
    if low < _INT64[0] or high > _INT64[1]:
        raise ExpressionError(f"`{symbol}` leaves the range of 64-bit integers; write float64(...) around an operand")


def _shape_check(a: Value, b: Value) -> None:
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        raise ShapeError(f"shapes {list(np.shape(a))} and {list(np.shape(b))} do not fit together") from None
    check_bytes(shape)


def _bits(value: Value) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _bounded(bits: int) -> None:
    if bits > MAX_BITS:
        raise ExpressionError(f"an integer of about {bits} bits is over the limit of {MAX_BITS}")


def _binary(symbol: str, apply: Callable[[Any, Any], Any], bits: Callable[[int, int], int]) -> Callable[..., Value]:
    """An operation of two numbers whose extremes lie at the operands' bounds: ``+``, ``-``, ``*``."""

    def run(left: Value, right: Value) -> Value:
        a, b = _number(left), _number(right)
        if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            _bounded(bits(_bits(a), _bits(b)))
            return tidy(apply(a, b))
        _shape_check(a, b)
        if _is_int(a) and _is_int(b):
            lefts, rights = _bounds(a), _bounds(b)
            reached = [*lefts, *rights, *(apply(x, y) for x in lefts for y in rights)]
            _in_int64(min(reached), max(reached), symbol)
        return tidy(apply(a, b))

    return run


def _division(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    """``/``, ``//`` and ``%``: floor division as Python's, and zero divisors of integers are errors."""

    def run(left: Value, right: Value) -> Value:
        a, b = _number(left), _number(right)
        _shape_check(a, b)
        zero = bool(np.any(np.equal(b, 0)))
        floats = symbol == "/" and (isinstance(a, np.ndarray) or isinstance(b, np.ndarray))
        if zero and not floats and not (isinstance(b, np.ndarray) and b.dtype.kind == "f"):
            raise ExpressionError(f"`{symbol}` divides by zero")
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            for side in (a, b):
                if _is_int(side):
                    _in_int64(*_bounds(side), symbol)
        return tidy(apply(a, b))

    return run


def _power(left: Value, right: Value) -> Value:
    base, exponent = _number(left), _number(right)
    _shape_check(base, exponent)
    if _is_int(base) and _is_int(exponent):
        low, high = _bounds(exponent)
        if low < 0:
            if isinstance(base, np.ndarray) or isinstance(exponent, np.ndarray):
                raise ExpressionError("an integer to a negative power; write float64(...) around the base")
            return float(base) ** exponent  # type: ignore[operator]
        largest = max(abs(bound) for bound in _bounds(base))
        _bounded(high if largest == 2 else largest.bit_length() * high if largest > 1 else 0)
        if isinstance(base, np.ndarray) or isinstance(exponent, np.ndarray):
            _in_int64(-(largest**high), largest**high, "**")
    result = operator.pow(base, exponent)
    operands: tuple[object, object] = (base, exponent)
    if isinstance(result, complex) and not any(isinstance(operand, complex) for operand in operands):
        raise ExpressionError("a negative number to a fractional power has no real value")
    return tidy(result)


def _shift(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    def run(left: Value, right: Value) -> Value:
        a, b = _integers(symbol, left, right)
        low, high = _bounds(b)
        if low < 0 or high > 63:
            raise ExpressionError(f"`{symbol}` by {low if low < 0 else high}; a shift is from 0 to 63")
        if symbol == "<<":
            largest = max(abs(bound) for bound in _bounds(a))
            _bounded(largest.bit_length() + high)
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                _in_int64(-(largest << high), largest << high, symbol)
        return tidy(apply(a, b))

    return run


def _integers(symbol: str, left: Value, right: Value) -> tuple[Value, Value]:
    a, b = _number(left), _number(right)
    if not _is_int(a) or not _is_int(b):
        raise ExpressionError(f"`{symbol}` takes integers")
    _shape_check(a, b)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        _in_int64(*_bounds(a), symbol)
        _in_int64(*_bounds(b), symbol)
    return a, b


def _bitwise(symbol: str, apply: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    def run(left: Value, right: Value) -> Value:
        return tidy(apply(*_integers(symbol, left, right)))

    return run


def matmul_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of ``a @ b``; raises ShapeError."""
    columns = b[-1:] if len(b) > 1 else ()
    try:
        stack = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ShapeError(f"`@` of shapes {list(a)} and {list(b)}: the stacks do not fit together") from None
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise ShapeError(f"`@` of shapes {list(a)} and {list(b)}: the inner extents differ")
    shape = (*stack, *a[-2:-1], *columns)
    check_bytes(shape)
    return shape


def _matmul(left: Value, right: Value) -> Value:
    if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        raise ShapeError("`@` takes two arrays")
    a, b = np.asarray(_number(left)), np.asarray(_number(right))
    matmul_shape(a.shape, b.shape)
    if _is_int(a) and _is_int(b):
        largest = max(map(abs, _bounds(a))) * max(map(abs, _bounds(b))) * a.shape[-1]
        _in_int64(-largest, largest, "@")
        if largest < 1 << 53:  # every sum is exact in float64, and BLAS is a hundred times faster than integer loops
            return tidy((a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64))
    return tidy(a @ b)


BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "Add": _binary("+", operator.add, lambda a, b: max(a, b) + 1),
    "Sub": _binary("-", operator.sub, lambda a, b: max(a, b) + 1),
    "Mult": _binary("*", operator.mul, lambda a, b: a + b),
    "Div": _division("/", operator.truediv),
    "FloorDiv": _division("//", operator.floordiv),
    "Mod": _division("%", operator.mod),
    "Pow": _power,
    "LShift": _shift("<<", operator.lshift),
    "RShift": _shift(">>", operator.rshift),
    "BitAnd": _bitwise("&", operator.and_),
    "BitOr": _bitwise("|", operator.or_),
    "BitXor": _bitwise("^", operator.xor),
    "MatMult": _matmul,
}

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def compare(name: str, left: Value, right: Value) -> Value:
    """A comparison; text compares with text only by ``==`` and ``!=``."""
    if isinstance(left, str) or isinstance(right, str):
        if name not in ("Eq", "NotEq"):
            raise ExpressionError("text compares only by == and !=")
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            raise ExpressionError("an array does not compare with text")
    else:
        _shape_check(left, right)
    return tidy(COMPARE[name](left, right))


def negate(value: Value) -> Value:
    return BINARY["Sub"](0, value)


def invert(value: Value) -> Value:
    """``~x``, as ``-x - 1``: two's complement without a width."""
    number, _ = _integers("~", value, 0)
    return BINARY["Sub"](-1, number)


def truth(value: Value) -> bool:
    """The truth of a number; an array and a text have none."""
    if isinstance(value, np.ndarray):
        raise ExpressionError("an array is neither true nor false; use all(...) or any(...)")
    if isinstance(value, str):
        raise ExpressionError(f"'{value}' is text, neither true nor false; compare it: ... == '{value}'")
    return bool(value)
