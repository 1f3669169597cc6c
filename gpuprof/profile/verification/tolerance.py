"""How far an output may be from a float64 reference when the YAML does not say.

The bound follows the arithmetic of the machine code: sums are as good as their accumulator, and one rounding to the
output's type comes at the end. A reference that is a sum of products (``terms``) gives the number and size of the
terms: where every partial sum is exact, outputs must be equal; where the inputs are random, rounding errors are
independent and grow as sqrt(n) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 2.8); else
they may all have one sign, and the bound is the worst case of any order, n units (section 4.2).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import parse
from gpuprof.experiment.model import Buffer, Tolerance
from gpuprof.profile.verification.precision import BITS, Precision, usual_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.profile.verification.terms import Terms

#: A sum of n random terms is off by about ``0.25 * sqrt(n)`` units of its accumulator (a standard deviation, of partial
#: sums that grow evenly); this many units are six of them.
SQRT_UNITS = 1.5
#: A tensor core truncates when it adds: of every four terms one unit is lost at most, all in one direction.
TENSOR_UNITS = 0.25
#: What a single operation, a fused multiply-add or a hardware approximation (MUFU, 2 ulp) may be off, in units.
BASE_UNITS = 4.0
#: For references that are no sums of products: units per sqrt(n), and for a single operation, of the element and of
#: the largest.
OTHER_UNITS = 8.0
#: A partial sum of random signs seldom exceeds this many times its typical size.
WALK = 2.0
#: Half of the smallest subnormal: what rounding to the output's type may lose of a tiny value.
_TINY = {
    "float8_e5m2": 2.0**-17,
    "float8_e4m3fn": 2.0**-10,
    "float16": 2.0**-25,
    "bfloat16": 2.0**-134,
    "float32": 2.0**-150,
    "float64": 0.0,
}
#: Elements looked at in one go.
_PIECE = 1 << 20
#: Reductions by name that the reference's expressions know.
REDUCTIONS = frozenset(
    {"sum", "mean", "cumsum", "prod", "cumprod", "dot", "std", "var", "norm", "logsumexp", "softmax"}
)
#: Of these each element sums as many terms as the second argument has elements.
CONVOLUTIONS = frozenset({"convolve", "correlate", "convolve2d", "correlate2d"})


@dataclass(frozen=True)
class Sums:
    """What is known of the elements of an output: the length of the longest sum, and its terms where it has such."""

    reduction: int = 1
    terms: Terms | None = None


def default_tolerance(
    dtype: str, sums: Sums, want: NDArray[np.generic], precision: Precision | None = None
) -> Tolerance:
    """The rule for an output of ``dtype``: integers and booleans are equal, floats within what the arithmetic loses.

    ``precision`` is what the machine code does (None: what is usual for the type).
    """
    if dtype not in BITS:
        return Tolerance(0.0, 0.0, f"{dtype}: equal")
    precision = precision or usual_precision(dtype)
    summed = f"{dtype}, summed in {precision.accumulator}"
    if sums.terms is None:
        return _of_other(dtype, sums.reduction, want, precision, summed)
    return _of_sum(dtype, sums.terms, want, precision, summed)


def _of_sum(dtype: str, terms: Terms, want: NDArray[np.generic], precision: Precision, summed: str) -> Tolerance:
    count = f"{terms.count:,} term{'s' * (terms.count != 1)}"
    unit = 2.0 ** -BITS[precision.accumulator]
    exact = terms.is_exact(BITS[precision.accumulator]) and not precision.coarse
    if exact and (not precision.inputs or terms.largest_term <= terms.grain * 2.0**11):
        if terms.is_exact(BITS[dtype]):
            return Tolerance(0.0, 0.0, f"{summed}, {count}: every partial sum is exact, equal")
        return Tolerance(2.0 ** -BITS[dtype] * 1.001, 0.0, f"{summed}, {count}: exact sums, rounded once")
    if terms.moved:
        if _representable(want, dtype):
            return Tolerance(0.0, 0.0, f"{dtype}, values that are only moved: equal")
        return Tolerance(
            2.0 ** -BITS[dtype] * 1.001, _TINY[dtype], f"{dtype}, values that are only moved: rounded once"
        )
    largest = max(_largest(want), terms.largest_term)
    if terms.random:
        units = BASE_UNITS + SQRT_UNITS * math.sqrt(terms.count)
        units = max(units, BASE_UNITS + TENSOR_UNITS * terms.count) if precision.tensor else units
        lost = units * unit * max(largest, WALK * terms.typical)
        how = f"{units:.3g} units of 2^-{BITS[precision.accumulator]} of the largest sum"
    else:
        lost = (BASE_UNITS + terms.count) * unit * max(largest, terms.peak)
        how = f"{terms.count:,} units of 2^-{BITS[precision.accumulator]} of the terms' magnitudes (inputs not random)"
    lost += (precision.inputs + precision.coarse) * (BASE_UNITS * terms.typical + largest)
    own = 2.0 ** -BITS[dtype]
    rtol = own * 1.001 if BITS[dtype] < BITS[precision.accumulator] else BASE_UNITS * unit
    return Tolerance(rtol, lost + _TINY[dtype], f"{summed}, {count}: {how}")


def _of_other(dtype: str, reduction: int, want: NDArray[np.generic], precision: Precision, summed: str) -> Tolerance:
    unit = 2.0 ** -BITS[precision.accumulator]
    relative = unit * OTHER_UNITS * (1 + max(1, reduction) ** 0.5) + precision.inputs + precision.coarse
    rounding = 2.0 ** -BITS[dtype] * 1.001 if BITS[dtype] < BITS[precision.accumulator] else 0.0
    count = f"{reduction:,} term{'s' * (reduction != 1)}"
    rule = f"{summed}, {count}: {relative:.1e} of the element and of the largest"
    return Tolerance(relative + rounding, relative * _largest(want) + _TINY[dtype], rule)


def _representable(want: NDArray[np.generic], dtype: str) -> bool:
    """Does the type hold every value of the reference?"""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        return False
    flat = want.reshape(-1)
    pieces = (flat[at : at + _PIECE] for at in range(0, flat.size, _PIECE))
    with np.errstate(over="ignore"):
        return all(np.array_equal(piece.astype(kind).astype(piece.dtype), piece, equal_nan=True) for piece in pieces)


def width(tolerance: Tolerance, want: NDArray[np.generic]) -> float:
    """The largest difference that passes."""
    return tolerance.atol + tolerance.rtol * _largest(want)


def _largest(want: NDArray[np.generic]) -> float:
    """The largest finite magnitude; 0 where there is none. Looked at in pieces, since a reference may be large."""
    flat = want.reshape(-1)
    return max((_largest_of(flat[at : at + _PIECE]) for at in range(0, flat.size, _PIECE)), default=0.0)


def _largest_of(values: NDArray[np.generic]) -> float:
    if values.dtype.kind == "f":
        numbers: NDArray[np.floating] = np.asarray(values)
        largest = max(abs(float(np.max(numbers))), abs(float(np.min(numbers))))
        if math.isfinite(largest):  # an eighth of the time of masking
            return largest
    finite = np.abs(values[np.isfinite(values)])
    return float(np.max(finite)) if finite.size else 0.0


def reduction_length(expression: str, buffers: Mapping[str, Buffer]) -> int:
    """How many terms one element of a reference expression sums: the inner extent of ``@``, the elements of a sum.

    An expression without either has 1; a name that is not a buffer counts nothing.
    """
    try:
        tree = parse(expression).tree
    except ExpressionError:
        return 1
    return max((_terms(node, buffers) for node in ast.walk(tree)), default=1)


def _terms(node: ast.AST, buffers: Mapping[str, Buffer]) -> int:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return max((buffer.shape[-1] for buffer in _named(node.left, buffers) if buffer.shape), default=1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CONVOLUTIONS:
        return max((buffer.elements for taps in node.args[1:2] for buffer in _named(taps, buffers)), default=1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REDUCTIONS:
        return max((_extent(node, buffer) for buffer in _named(node, buffers)), default=1)
    return 1


def _extent(call: ast.Call, buffer: Buffer) -> int:
    axis = next((keyword.value for keyword in call.keywords if keyword.arg == "axis"), None)
    try:
        return buffer.shape[int(ast.literal_eval(axis))] if axis is not None else buffer.elements
    except (ValueError, TypeError, IndexError, SyntaxError):
        return buffer.elements


def _named(tree: ast.AST, buffers: Mapping[str, Buffer]) -> list[Buffer]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return [buffers[name] for name in sorted(names) if name in buffers]
