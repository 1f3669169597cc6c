"""Exact rounding: what the hardware's single rounding gives, from sums kept with their error.

A value is held as an unevaluated pair ``total + error`` of doubles (Knuth's two-sum), which is exact as long as nothing
overflows. Rounding it to single looks at the sign of what was lost.
"""

# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F32, F64, Bool

CANONICAL_NAN = np.uint32(0x7FFFFFFF).view(np.float32)
SMALLEST_NORMAL = np.float32(2.0**-126)


def canonical(value: F32) -> F32:
    """Every NaN as 0x7fffffff, the only one that FP32 arithmetic returns; the maximum shows if one is there."""
    if value.size and np.isnan(np.max(value)):
        return np.where(np.isnan(value), CANONICAL_NAN, value)
    return value


def flush(value: F32) -> F32:
    """Denormals as zeros of their sign."""
    tiny = np.abs(value) < SMALLEST_NORMAL
    return np.where(tiny, np.copysign(np.float32(0), value), value) if tiny.any() else value


def saturate(value: F32) -> F32:
    """Clamped to [0, 1]; NaN and -0 become +0."""
    return np.fmin(np.fmax(value, np.float32(0)), np.float32(1)) + np.float32(0)


def single(value: F64) -> F32:
    """Rounded to nearest even; overflow to infinity."""
    return value.astype(np.float32)


def two_sum(x: F64, y: F64) -> tuple[F64, F64]:
    """x + y as the rounded sum and its error: exact."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def round_double(total: F64, error: F64 | None, mode: str, keep_plus: Bool | None = None) -> F32:
    """``total + error`` to single under RN, RZ, RM (down) or RP (up).

    ``keep_plus`` marks zero sums that stay +0 when rounding down (of two +0); any other exact zero sum is -0 there.
    """
    if mode == "RN":
        return single(total if error is None else to_odd(total, error))
    nearest = single(total)
    lost = np.sign(total - nearest)
    if error is not None:
        lost = np.where(lost == 0, np.sign(error), lost)
        lost = np.where(np.isfinite(total), lost, 0)
    result = _step(nearest, lost, mode)
    if mode == "RM" and keep_plus is not None:
        result = np.where((total == 0) & (error == 0) & ~keep_plus, np.float32(-0.0), result)
    return result


def to_odd(total: F64, error: F64) -> F64:
    """Round to odd: an inexact sum with an even last bit moves one place towards its error.

    A later rounding to nearest of at most 51 bits is then the single rounding of the exact value.
    """
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    moves = even & (error != 0)
    if not moves.any():
        return total
    moves &= np.isfinite(total)
    # One place away from zero adds 1 to the bits, one place towards it takes 1 off.
    step = np.where((error > 0) == (total > 0), np.int64(1), np.int64(-1))
    return np.where(moves, (total.view(np.int64) + step).view(np.float64), total)


def _step(nearest: F32, lost: F64, mode: str) -> F32:
    """Undo a rounding to nearest that went the wrong way; ``lost`` is the sign of exact minus nearest."""
    if mode == "RM":
        return np.where(lost < 0, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    if mode == "RP":
        return np.where(lost > 0, np.nextafter(nearest, np.float32(np.inf)), nearest)
    towards_zero = (np.signbit(nearest) & (lost > 0)) | (~np.signbit(nearest) & (lost < 0))
    return np.where(towards_zero, np.nextafter(nearest, np.float32(0)), nearest)
