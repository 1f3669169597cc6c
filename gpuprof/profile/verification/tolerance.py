"""How far an output may be from a float64 reference when the YAML does not say."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.experiment.model import Buffer, Tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Rounding errors of a sum of n terms grow as sqrt(n) ulp when they are independent (Higham, Accuracy and Stability of
#: Numerical Algorithms, 2nd ed., section 2.8); this many times that is where a difference is called an error.
SAFETY = 4.0
#: What a single operation, a fused multiply-add or a hardware approximation (MUFU, 2 ulp) may be off, in ulp.
BASE_ULPS = 4.0
#: Reductions by name that the reference's expressions know.
REDUCTIONS = frozenset(
    {"sum", "mean", "cumsum", "prod", "cumprod", "dot", "std", "var", "norm", "logsumexp", "softmax"}
)


def default_tolerance(dtype: str, reduction: int, want: NDArray[np.generic]) -> Tolerance:
    """The rule for an output of ``dtype`` whose elements sum ``reduction`` terms.

    Integers and booleans must be equal. For floats ``rtol = eps * (4 + 4 * sqrt(reduction))``, and ``atol`` is that of
    the largest reference element, since a sum that cancels is no better than its terms.
    """
    kind = np.dtype(dtype)
    if kind.kind not in "fc":
        return Tolerance(0.0, 0.0, f"{dtype}: equal")
    epsilon = float(np.finfo(kind).eps)
    rtol = epsilon * (BASE_ULPS + SAFETY * max(1, reduction) ** 0.5)
    largest = _largest(want)
    terms = f"{reduction:,} term{'s' * (reduction != 1)}"
    rule = f"{dtype}, {terms}: rtol {rtol:.1e} of the element and of the largest"
    return Tolerance(rtol, rtol * largest, rule)


def _largest(want: NDArray[np.generic]) -> float:
    """The largest finite magnitude; 0 where there is none."""
    if want.size and want.dtype.kind == "f":
        values: NDArray[np.floating] = np.asarray(want)
        largest = max(abs(float(np.max(values))), abs(float(np.min(values))))
        if math.isfinite(largest):  # an eighth of the time of masking
            return largest
    finite = np.abs(want[np.isfinite(want)])
    return float(np.max(finite)) if finite.size else 0.0


def reduction_length(expression: str, buffers: Mapping[str, Buffer]) -> int:
    """How many terms one element of a reference expression sums: the inner extent of ``@``, the elements of a sum.

    An expression without either has 1; a name that is no buffer counts nothing.
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        return 1
    return max((_terms(node, buffers) for node in ast.walk(tree)), default=1)


def _terms(node: ast.AST, buffers: Mapping[str, Buffer]) -> int:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return max((buffer.shape[-1] for buffer in _named(node.left, buffers) if buffer.shape), default=1)
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
