# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""How a tensor core adds: the model that HMMA uses.

Products are exact. A block of them and the accumulator are aligned to the largest exponent among them and cut towards
zero ``bits`` places below it; the aligned integers add exactly; the sum is cut to float32, or rounded to nearest even
to FP16. Beyond the range it is infinite, a zero sum is +0, and a NaN is 0x7fffffff (0x7fff in FP16). The exponent of a
product is the sum of its factors' (their product is not normalised first), and a denormal has that of the smallest
normal number. A product longer than a block goes through the blocks one after the other.

For sm_90 this gives an H200's 73,728 recorded sums bit for bit (tests/hardware/questions: FP16, BF16 and TF32, normal
deviates and terms of widely differing size), and those of 273 launches over zeros, denormals, infinities, NaN and
their mixtures (tests/hardware/forms/tensor.cu). The other rows are from publications, not from a device of ours:
M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021. There
the error of a block is below (terms + 2) units of the last kept place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.narrow import half_to_single, to_half
from gpuprof.emulator.semantics.rounding import round_double

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F32, F64


@dataclass(frozen=True)
class Adder:
    """One generation's adder."""

    block: int  #: products of 16-bit factors added at once; of TF32, half as many
    bits: int  #: fraction bits kept below the largest term's leading bit
    kept: int = 23  #: fraction bits of a float32 sum


ADDERS: dict[int, Adder] = {
    75: Adder(4, 24),
    80: Adder(8, 24),
    86: Adder(8, 24),
    89: Adder(8, 24),
    90: Adder(16, 25),
    100: Adder(16, 25),
    120: Adder(16, 25),
}
NEWEST = 120
#: Those of wgmma, by SASS: recorded for every layout and for special values on an H200 (tests/hardware/hopper). The
#: sums of 8-bit factors have 13 fraction bits, before and after they are added up.
WARPGROUP_ADDERS = {"HGMMA": ADDERS[90], "QGMMA": Adder(32, 13, 13)}
#: The exponent of a zero factor: below every sum of two others.
LOWEST = -1000
#: A top exponent below this one is that of a block of zeros: a product of two numbers that are not zero is above.
NOTHING = -500
#: Exponents of products within which float32 holds them exactly, and their scaling.
NARROW_RANGE = 90


def adder_of(arch: int) -> Adder:
    """The adder of HMMA on an architecture (89, 90 ...)."""
    return ADDERS.get(arch, ADDERS[NEWEST])


def tensor_sum(
    left: Any, right: Any, addend: Any, *, adder: Adder, narrow: bool, smallest: int = -126, wide: bool = False
) -> F64:
    """(…, 16, K) times (…, 8, K) transposed, plus (…, 16, 8): as doubles that are representable in the result type.

    ``smallest`` is the exponent of the factors' smallest normal number, which their denormals keep; ``wide`` says TF32.
    """
    if wide:
        adder = replace(adder, block=adder.block // 2)
    shape = addend.shape
    # The warps go last, so that numpy's inner loops are long, and a few at a time, so that they stay in the cache.
    totals = np.ascontiguousarray(addend.reshape(-1, *shape[-2:]).transpose(1, 2, 0), dtype=np.float64)
    first, second = (_warps_last(value) for value in (left, right))
    for warp in range(0, totals.shape[-1], WARPS_AT_ONCE):
        some = slice(warp, warp + WARPS_AT_ONCE)
        rows, columns = (np.ascontiguousarray(value[..., some], dtype=np.float32) for value in (first, second))
        totals[..., some] = _sum_of_blocks(rows, columns, totals[..., some], adder, smallest, narrow=narrow)
    return totals.transpose(2, 0, 1).reshape(shape)


WARPS_AT_ONCE = 64
#: Up to here all of K is one array: fewer calls count for more than the cache.
MAX_WARPS_AT_ONCE = 8


def _sum_of_blocks(first: F32, second: F32, total: F64, adder: Adder, smallest: int, *, narrow: bool) -> F64:
    """(K, 16, warps) and (K, 8, warps) into (16, 8, warps), a block of K after the other."""
    exponents = [_exponents(value, smallest) for value in (first, second)]
    for start in range(0, len(first), adder.block):
        part = slice(start, start + adder.block)
        block = _Block(first[part, :, None], second[part, None], exponents[0][part, :, None], exponents[1][part, None])
        total = _rounded(_add_block(block, total, adder), narrow=narrow, kept=adder.kept)
    return total


def _warps_last(value: Any) -> Any:
    """(…, rows, K) -> (K, rows, all the rest)."""
    return value.reshape(-1, *value.shape[-2:]).transpose(2, 1, 0)


@dataclass(frozen=True)
class _Block:
    """Factors and their exponents: (k, 16, 1, warps) and (k, 1, 8, warps)."""

    left: F32
    right: F32
    left_exponents: Any
    right_exponents: Any


def _exponents(value: F32, smallest: int) -> Any:
    exponent = ((value.view(np.int32) >> np.int32(23)).astype(np.int16) & np.int16(255)) - np.int16(127)
    np.maximum(exponent, np.int16(smallest), out=exponent)
    exponent[value == 0] = LOWEST
    return exponent


def _add_block(block: _Block, total: F64, adder: Adder) -> F64:
    """One block added to the total, before the last rounding."""
    top = np.where(total == 0, 2 * LOWEST, np.maximum(np.frexp(total)[1] - 1, -126)).astype(np.int16)
    if total.shape[-1] <= MAX_WARPS_AT_ONCE:
        np.maximum(top, (block.left_exponents + block.right_exponents).max(axis=0), out=top)
        return _checked_sum(block, total, top, adder)
    place = np.empty_like(top)
    for left, right in zip(block.left_exponents, block.right_exponents, strict=True):
        np.add(left, right, out=place)
        np.maximum(top, place, out=top)
    return _checked_sum(block, total, top, adder)


def _checked_sum(block: _Block, total: F64, top: Any, adder: Adder) -> F64:
    """The sum for the top exponents found, by the way that the numbers allow."""
    top = np.where(top < NOTHING, np.int16(0), top)  # all terms are zero, so that any unit is right
    finite = np.isfinite(block.left).all() and np.isfinite(block.right).all() and np.isfinite(total).all()
    if not finite:
        return _special_sum(block, total, top, adder)
    top = np.maximum(top, -NARROW_RANGE) if np.max(top) < NARROW_RANGE and not _is_tiny(top) else top
    return _aligned_sum(block, total, top, adder)


def _is_tiny(top: Any) -> bool:
    """Whether a sum has its largest term below the range of the quick way."""
    return bool((top < -NARROW_RANGE).any())


def _aligned_sum(block: _Block, total: F64, top: Any, adder: Adder) -> F64:
    """Every term as a whole number of units, cut towards zero; float32 and int32 where the exponents allow it."""
    scale = np.ldexp(1.0, adder.bits - top.astype(np.int32))
    quick = bool((top >= -NARROW_RANGE).all() and (top < NARROW_RANGE).all())
    kind, whole = (np.float32, np.int32) if quick else (np.float64, np.int64)
    factor = scale.astype(kind)
    kept = np.trunc(total * scale)
    if total.shape[-1] <= MAX_WARPS_AT_ONCE:
        terms = np.multiply(block.left, block.right, dtype=kind) * factor
        return (kept + terms.astype(whole).sum(axis=0, dtype=np.int64)) / scale
    term, units = np.empty(total.shape, kind), np.empty(total.shape, whole)
    # A term is below 2^27 units: eight of them fit 32 bits.
    for start in range(0, len(block.left), 8):
        partial = np.zeros(total.shape, whole)
        for left, right in zip(block.left[start : start + 8], block.right[start : start + 8], strict=True):
            np.multiply(left, right, out=term, dtype=kind)
            np.multiply(term, factor, out=term)
            np.copyto(units, term, casting="unsafe")
            np.add(partial, units, out=partial)
        kept += partial
    return kept / scale


def _special_sum(block: _Block, total: F64, top: Any, adder: Adder) -> F64:
    """With infinities and NaN among the terms: those sums as IEEE has them, the others as ever."""
    plain = total.copy()
    for left, right in zip(block.left, block.right, strict=True):
        plain = plain + np.multiply(left, right, dtype=np.float64)
    special = ~np.isfinite(plain)
    clean = _Block(
        np.where(np.isfinite(block.left), block.left, np.float32(0)),
        np.where(np.isfinite(block.right), block.right, np.float32(0)),
        block.left_exponents,
        block.right_exponents,
    )
    aligned = _aligned_sum(clean, np.where(np.isfinite(total), total, 0.0), np.clip(top, -500, 500), adder)
    return np.where(special, plain, aligned)


def _rounded(value: F64, *, narrow: bool, kept: int) -> F64:
    """To FP16 (nearest even), or cut to float32; too large a sum is infinite in both, and a zero has no sign."""
    if narrow:
        return half_to_single(to_half(value)).astype(np.float64) + 0.0
    if kept < 23:
        fraction = np.where(np.isfinite(value), np.int64((1 << 52 - kept) - 1), np.int64(0))
        value = (np.ascontiguousarray(value).view(np.int64) & ~fraction).view(np.float64)
    magnitude = np.abs(value)
    if (((magnitude >= 2.0**-126) & (magnitude < 2.0**127)) | (value == 0)).all():
        return (value.view(np.int64) & ~np.int64(0x1FFFFFFF)).view(np.float64) + 0.0
    cut = round_double(value, None, "RZ").astype(np.float64)
    return np.where(magnitude >= 2.0**128, np.copysign(np.inf, value), cut) + 0.0
