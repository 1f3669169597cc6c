"""What one element of a reference sums: how many terms, how large they are, and whether every partial sum is exact.

Read from the expression's syntax tree and from the inputs' extremes; nothing is evaluated a second time. An expression
that is not a sum of products (a softmax, a division by an array) has no ``Terms``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

Shape = tuple[int, ...]

#: Steps of which all values of a buffer may be multiples, largest first; finer ones are called inexact.
_GRAINS = tuple(2.0**-k for k in range(13))
_PIECE = 1 << 20
_SAMPLE = 1 << 20


@dataclass(frozen=True)
class Terms:
    """``count`` terms are summed, each a multiple of ``grain`` (a power of two; 0: none).

    ``peak`` bounds the sum of their magnitudes, and with it every partial sum in any order; ``typical`` is the size of
    a sum of random signs. ``random``: all inputs are random, so that rounding errors are independent. ``moved``: there
    is no arithmetic at all.
    """

    count: int
    peak: float
    typical: float
    largest_term: float
    typical_term: float
    grain: float
    random: bool
    moved: bool = False

    def is_exact(self, bits: int) -> bool:
        """Is every partial sum exact in a format of that many significant bits?"""
        return self.grain > 0 and self.peak <= self.grain * 2.0**bits


@dataclass(frozen=True)
class _Part:
    """A subexpression: its terms, and its shape where that is known."""

    terms: Terms
    shape: Shape | None


class _NotLinearError(Exception):
    """The expression is not a sum of products."""


def terms_of(text: str, scope: Mapping[str, Any], random: Mapping[str, bool]) -> Terms | None:
    """The terms of a reference expression over arrays and numbers; None where it is not a sum of products.

    ``random`` tells of each array whether its values are random.
    """
    try:
        return _Reader(scope, random).part(parse(text).tree).terms
    except (_NotLinearError, ExpressionError, OverflowError, ZeroDivisionError):
        return None


class _Reader:
    def __init__(self, scope: Mapping[str, Any], random: Mapping[str, bool]) -> None:
        self._scope, self._random = scope, random

    def part(self, node: ast.expr) -> _Part:
        handler: Callable[[Any], _Part] | None = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise _NotLinearError
        return handler(node)

    def _constant(self, node: ast.Constant) -> _Part:
        if not isinstance(node.value, int | float):
            raise _NotLinearError
        return _number(float(node.value))

    def _name(self, node: ast.Name) -> _Part:
        value = self._scope.get(node.id)
        if isinstance(value, np.ndarray) and value.dtype.kind == "c":
            raise _NotLinearError
        if isinstance(value, np.ndarray):
            return _Part(array_terms(value, self._random.get(node.id, False)), value.shape)
        if not isinstance(value, int | float):
            raise _NotLinearError
        return _number(float(value))

    def _unaryop(self, node: ast.UnaryOp) -> _Part:
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise _NotLinearError
        return self.part(node.operand)

    def _binop(self, node: ast.BinOp) -> _Part:
        left, right = self.part(node.left), self.part(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            return _Part(_added(left.terms, right.terms), _broadcast(left.shape, right.shape))
        if isinstance(node.op, ast.Mult):
            return _Part(_multiplied(left.terms, right.terms), _broadcast(left.shape, right.shape))
        if isinstance(node.op, ast.MatMult):
            return _matrix_product(left, right)
        if isinstance(node.op, ast.Div) and right.shape == () and right.terms.peak:
            return _Part(_multiplied(left.terms, _number(1 / right.terms.peak).terms), left.shape)
        raise _NotLinearError

    def _call(self, node: ast.Call) -> _Part:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = node.args
        if name in ("sum", "mean", "cumsum") and arguments:
            return self._summed(name, node)
        if name in ("T", "transpose") and len(arguments) == 1:
            inner = self.part(arguments[0])
            return replace(inner, shape=None if inner.shape is None else (*inner.shape[:-2], *inner.shape[:-3:-1]))
        if name in ("reshape", "take", "shift", "roll", "abs", "clip", "float16", "float32", "float64") and arguments:
            inner = self.part(arguments[0])
            kept = inner.shape if name in ("shift", "roll", "abs", "clip", "float16", "float32", "float64") else None
            return replace(inner, shape=self._reshaped(arguments[1:]) if name == "reshape" else kept)
        if name in ("max", "min") and len(arguments) > 1:
            return self._either(arguments)
        if name == "where" and len(arguments) == 3:
            return self._either(arguments[1:])
        raise _NotLinearError

    def _reshaped(self, extents: list[ast.expr]) -> Shape | None:
        values = [self._scope.get(e.id) if isinstance(e, ast.Name) else getattr(e, "value", None) for e in extents]
        return tuple(v for v in values if isinstance(v, int)) if all(isinstance(v, int) for v in values) else None

    def _either(self, nodes: list[ast.expr]) -> _Part:
        """One of several values: as if they were added, which no error of theirs exceeds."""
        parts = [self.part(node) for node in nodes]
        whole = parts[0]
        for part in parts[1:]:
            whole = _Part(_added(whole.terms, part.terms), _broadcast(whole.shape, part.shape))
        return whole

    def _summed(self, name: str, node: ast.Call) -> _Part:
        inner = self.part(node.args[0])
        if inner.shape is None:
            raise _NotLinearError
        axis = next((keyword.value for keyword in node.keywords if keyword.arg == "axis"), None)
        axis = axis or (node.args[1] if len(node.args) > 1 else None)
        empty: Shape = ()
        if axis is None:
            extent, shape = math.prod(inner.shape), empty
        else:
            try:
                place = int(ast.literal_eval(axis))
                extent = inner.shape[place]
            except (ValueError, TypeError, IndexError):
                raise _NotLinearError from None
            place %= len(inner.shape)
            shape = (*inner.shape[:place], *inner.shape[place + 1 :])
        terms = _repeated(inner.terms, max(1, extent))
        if name == "mean":
            terms = _multiplied(terms, _number(1 / max(1, extent)).terms)
        return _Part(terms, inner.shape if name == "cumsum" else shape)


def array_terms(values: Array, random: bool) -> Terms:
    """The elements of an array, each alone: their largest and typical magnitude and their grain."""
    flat = values.reshape(-1)
    if flat.dtype.kind == "b":
        flat = flat.view(np.uint8)
    if not flat.size:
        return _number(0.0).terms
    peak = 0.0
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        peak = max(peak, abs(float(piece.max())), abs(float(piece.min())))
    if not math.isfinite(peak):
        raise _NotLinearError
    some = flat[:: max(1, flat.size // _SAMPLE)].astype(np.float64)
    typical = math.sqrt(float(np.mean(np.square(some))))
    return Terms(1, peak, typical, peak, typical, _grain(flat), random, moved=True)


def _grain(flat: Array) -> float:
    if flat.dtype.kind in "iu":
        return 1.0
    some = flat[:4096].astype(np.float64)
    step = next((grain for grain in _GRAINS if bool(np.all(np.rint(some / grain) * grain == some))), 0.0)
    while step:
        pieces = (flat[at : at + _PIECE].astype(np.float64) for at in range(0, flat.size, _PIECE))
        if all(bool(np.all(np.rint(piece / step) * step == piece)) for piece in pieces):
            return step
        step = step / 2 if step > _GRAINS[-1] else 0.0
    return 0.0


def _number(value: float) -> _Part:
    size = abs(value)
    mantissa, exponent = math.frexp(size)
    odd = 0.0
    if size and math.isfinite(size) and mantissa * 2.0**24 % 1 == 0:  # a float32 holds it exactly
        while mantissa % 1:
            mantissa, exponent = mantissa * 2, exponent - 1
        odd = math.ldexp(1.0, exponent)
    return _Part(Terms(1, size, size, size, size, odd if size else math.inf, True), ())


def _added(a: Terms, b: Terms) -> Terms:
    main = a if a.count >= b.count else b
    return Terms(
        count=a.count + b.count,
        peak=a.peak + b.peak,
        typical=math.hypot(a.typical, b.typical),
        largest_term=max(a.largest_term, b.largest_term),
        typical_term=main.typical_term if main.count > 1 else max(a.typical_term, b.typical_term),
        grain=min(a.grain, b.grain),
        random=a.random and b.random,
    )


def _multiplied(a: Terms, b: Terms) -> Terms:
    if min(a.count, b.count) > 1:
        raise _NotLinearError
    return Terms(
        count=max(a.count, b.count),
        peak=a.peak * b.peak,
        typical=a.typical * b.typical,
        largest_term=a.largest_term * b.largest_term,
        typical_term=a.typical_term * b.typical_term,
        grain=a.grain * b.grain if math.isfinite(a.grain * b.grain) else max(0.0, min(a.grain, b.grain)),
        random=a.random and b.random,
    )


def _repeated(terms: Terms, times: int) -> Terms:
    return replace(
        terms,
        count=terms.count * times,
        peak=terms.peak * times,
        typical=terms.typical * math.sqrt(times),
        moved=False,
    )


def _matrix_product(left: _Part, right: _Part) -> _Part:
    if not left.shape or not right.shape:
        raise _NotLinearError
    shape = (*left.shape[:-1], *(right.shape[-1:] if len(right.shape) > 1 else ()))
    return _Part(_repeated(_multiplied(left.terms, right.terms), left.shape[-1]), shape)


def _broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None:
        return None
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        return None
