# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""Double arithmetic with one rounding in any direction, by error-free transformations.

Sources: T. J. Dekker 1971 and D. E. Knuth (two-sum, two-product); S. Boldo and G. Melquiond, "Emulation of a FMA and
correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008. The transformations
are exact unless something over- or underflows; the few lanes near the ends of the range are done with fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.semantics.primitives import primitive
from gpuprof.emulator.semantics.rounding import to_odd, two_sum

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F64, Bool

SPLITTER = np.float64(2.0**27 + 1)
#: Within these magnitudes no product, no part of one, and no error term over- or underflows.
SAFE_LOW, SAFE_HIGH = np.float64(2.0**-450), np.float64(2.0**450)


def two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """a * b as the rounded product and its error (Dekker)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _split(value: F64) -> tuple[F64, F64]:
    scaled = SPLITTER * value
    high = scaled - (scaled - value)
    return high, value - high


@primitive("sum_double")
def sum_double(a: F64, b: F64, mode: str) -> F64:
    """a + b rounded by ``mode``."""
    total, error = two_sum(a, b)
    plus = (a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)
    result = directed(total, np.where(np.isfinite(total), error, 0.0), mode, plus)
    overflow = np.isinf(total) & np.isfinite(a) & np.isfinite(b)
    return _redo(result, overflow, mode, a, np.ones((1, 1, 1)), b)


@primitive("product_double")
def product_double(a: F64, b: F64, mode: str) -> F64:
    """a * b rounded by ``mode``."""
    product, error = two_product(a, b)
    risky = ~_safe(a) | ~_safe(b)
    result = directed(product, error, mode, None)
    special = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b)
    result = np.where(special, product, result)
    return _redo(result, risky & ~special, mode, a, b, None)


@primitive("fused_double")
def fused_double(a: F64, b: F64, c: F64, mode: str = "RN") -> F64:
    """a * b + c rounded once by ``mode``."""
    product, low = two_product(a, b)
    middle, lowest = two_sum(c, low)
    top, rest = two_sum(product, middle)
    tail, dropped = two_sum(lowest, rest)
    odd = to_odd(tail, dropped)
    if mode == "RN":
        result = top + odd
    else:
        total, error = two_sum(top, odd)
        result = directed(total, error, mode, np.zeros((1, 1, 1), np.bool_))
    if _is_tame(a, b, c, product, result):
        return result
    special = ~np.isfinite(product + c) | (a == 0) | (b == 0) | (result == 0)
    result = np.where(special, _special_sum(a, b, c, mode), result)
    extreme = (np.abs(product) < SMALL) | ~((np.abs(a) < LARGE) & (np.abs(b) < LARGE)) | ~(np.abs(c) < LARGE)
    risky = (extreme | ~(np.abs(product) < LARGE) | (result == 0)) & (
        np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    )
    return _redo(result, risky, mode, a, b, c)


#: Within these magnitudes of factors, product and addend nothing on the way overflows, and no error term underflows.
SMALL, LARGE = np.float64(2.0**-900), np.float64(2.0**960)


def _is_tame(a: F64, b: F64, c: F64, product: F64, result: F64) -> bool:
    """Whether no lane comes near the ends of the range, or to a zero (whose sign has its own rules)."""
    if any(np.max(value) >= LARGE or np.min(value) <= -LARGE for value in (a, b, c, product)):
        return False
    tame = np.abs(product).min() > SMALL and bool(result.all())
    return tame and not np.isnan(np.max(result))  # a NaN operand hides in max() above: nothing compares with it


def _special_sum(a: F64, b: F64, c: F64, mode: str) -> F64:
    """Where the product is an exact zero, or anything is infinite or NaN, the ordinary sum has one rounding."""
    product = a * b
    overflow = np.isinf(c) & np.isfinite(a) & np.isfinite(b)
    product = np.where(overflow, 0.0, product)
    zeros = (product == 0) & (c == 0)
    if mode == "RM":
        both_plus = ~np.signbit(product) & ~np.signbit(c)
        return np.where(zeros & ~both_plus, -0.0, product + c)
    return product + c


def _safe(value: F64) -> Bool:
    magnitude = np.abs(value)
    return (magnitude > SAFE_LOW) & (magnitude < SAFE_HIGH)


def directed(total: F64, error: F64, mode: str, keep_plus: Bool | None) -> F64:
    """``total`` moved one place where the sign of its error asks for it; ``keep_plus``: zero sums that stay +0."""
    if mode == "RP":
        return np.where(error > 0, np.nextafter(total, np.inf), total)
    if mode == "RM":
        result = np.where(error < 0, np.nextafter(total, -np.inf), total)
        if keep_plus is not None:
            result = np.where((total == 0) & (error == 0) & ~keep_plus, -0.0, result)
        return result
    if mode == "RZ":
        inward = (np.signbit(total) & (error > 0)) | (~np.signbit(total) & (error < 0))
        return np.where(inward, np.nextafter(total, 0.0), total)
    return total


def _redo(result: F64, places: Bool, mode: str, a: F64, b: F64, c: F64 | None) -> F64:
    """The given lanes again, as fractions: a * b + c."""
    if not places.any():
        return result
    fixed = result.copy()
    where = np.nonzero(np.broadcast_to(places, result.shape))
    columns = [np.broadcast_to(value, result.shape)[where].tolist() for value in (a, b)]
    addends = np.broadcast_to(c, result.shape)[where].tolist() if c is not None else [None] * len(columns[0])
    fixed[where] = [exact_fused(x, y, z, mode) for x, y, z in zip(*columns, addends, strict=True)]
    return fixed


def exact_fused(a: float, b: float, c: float | None, mode: str) -> float:
    """a * b + c of finite doubles, rounded by ``mode``, through fractions."""
    product = Fraction(a) * Fraction(b)
    exact = product + Fraction(c or 0.0)
    if exact == 0:
        signs = {math.copysign(1.0, a) * math.copysign(1.0, b)}
        if c is not None:
            signs.add(math.copysign(1.0, c))
        negative = signs == {-1.0} or (mode == "RM" and len(signs) == 2) or (c is not None and c != 0 and mode == "RM")
        return -0.0 if negative else 0.0
    return _round_fraction(exact, mode)


def _round_fraction(exact: Fraction, mode: str) -> float:
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        nearest = math.inf if exact > 0 else -math.inf
    if nearest == 0:
        nearest = math.copysign(0.0, exact)
    if mode == "RN":
        return nearest
    above = exact < 0 if math.isinf(nearest) else Fraction(nearest) < exact
    below = exact > 0 if math.isinf(nearest) else Fraction(nearest) > exact
    upward = mode == "RP" or (mode == "RZ" and exact < 0)
    if upward and above:
        return float(np.nextafter(nearest, np.inf))
    if not upward and below:
        return float(np.nextafter(nearest, -np.inf))
    return nearest
