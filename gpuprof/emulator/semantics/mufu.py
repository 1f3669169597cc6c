# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""MUFU, the multi-function unit: reciprocal, roots, base-2 exponential and logarithm, sine and cosine of turns, tanh.

All but TANH have the hardware's bits (``interpolation``). TANH is computed in double and rounded: close, not equal
(the distances are in the tests).
Denormal arguments count as zeros, denormal results are flushed; TANH alone keeps both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import allow, arithmetic_form
from gpuprof.emulator.semantics.interpolation import interpolator
from gpuprof.emulator.semantics.narrow import bfloat_to_single, half_to_single, to_bfloat, to_half
from gpuprof.emulator.semantics.rounding import SMALLEST_NORMAL, canonical, flush, single

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F32, F64, U32, Lanes

    S64 = NDArray[np.int64]

NAN, INFINITY, SIGN, SMALLEST = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000), np.uint32(0x80000000), 0x00800000
ONE = np.uint32(0x3F800000)
MANTISSA = np.int32(0x7FFFFF)
#: Above the largest exponent of EX2's result and below the smallest, so that the conversion to an integer is safe.
EX2_LIMIT = np.float32(512)


def reciprocal(value: F32) -> U32:
    """RCP: 1 / x."""
    bits = value.view(np.uint32)
    exponent, mantissa = _split(bits)
    result = interpolator("RCP")(mantissa) - ((exponent - np.int32(127)) << np.int32(23))
    result = np.where(result < SMALLEST, 0, result)
    result = np.where(exponent == 0, INFINITY, np.where(exponent == 255, 0, result)).astype(np.uint32)
    return np.where(np.isnan(value), NAN, result | (bits & SIGN))


def reciprocal_root(value: F32) -> U32:
    """RSQ: 1 / sqrt(x); an even power of two is exact."""
    bits = value.view(np.uint32)
    exponent, mantissa = _split(bits)
    result = _root_bits(exponent - np.int32(127), mantissa)
    zero = exponent == 0
    result = np.where(zero, INFINITY | (bits & SIGN), np.where(exponent == 255, 0, result).astype(np.uint32))
    return np.where(np.isnan(value) | (~zero & ((bits & SIGN) != 0)), NAN, result)


def _root_bits(exponent: Any, mantissa: Any) -> Any:
    odd = exponent & 1
    result = interpolator("RSQ")((odd << 23) | mantissa)
    result = np.where((mantissa == 0) & (odd == 0), np.int32(0x3F800000), result)
    return result - (((exponent - odd) >> 1) << 23)


def exponential(value: F32) -> U32:
    """EX2: 2^x, from x cut to 23 places; a negative x that is not whole is one of those places further down."""
    clipped = np.clip(flush(value), -EX2_LIMIT, EX2_LIMIT).astype(np.float64)
    places = np.where(np.isnan(value), 0, np.floor(np.abs(clipped) * 2.0**23)).astype(np.int64)
    below = (places & 0x7FFFFF) != 0
    fixed = np.where(clipped < 0, -places - below, places)
    whole = fixed >> 23
    bits = interpolator("EX2")((fixed & 0x7FFFFF).astype(np.int32)).astype(np.int64) + (whole << 23)
    bits = np.where(bits < SMALLEST, 0, np.where(whole >= 128, 0x7F800000, bits)).astype(np.uint32)
    return np.where(np.isnan(value), NAN, bits)


def _split(bits: U32) -> tuple[Any, Any]:
    """Biased exponent and mantissa as int32."""
    word = bits.view(np.int32)
    return (word >> np.int32(23)) & np.int32(255), word & MANTISSA


def square_root(value: F32) -> U32:
    """SQRT."""
    bits = value.view(np.uint32)
    exponent, mantissa = _split(bits)
    unbiased = exponent - np.int32(127)
    odd = unbiased & np.int32(1)
    # The table counts from 1.0 = 2^23 places on, over the two binades [1, 4).
    places = interpolator("SQRT")((odd << np.int32(23)) | mantissa) - np.int32(1 << 23)
    result = places + (((unbiased - odd) >> np.int32(1)) + np.int32(127) << np.int32(23))
    zero = exponent == 0
    result = np.where(zero, bits & SIGN, np.where(exponent == 255, INFINITY, result.astype(np.uint32)))
    return np.where(np.isnan(value) | (~zero & ((bits & SIGN) != 0)), NAN, result)


def logarithm(value: F32) -> U32:
    """LG2: the exponent plus the table's value, both in 2^-36; a negative sum is complemented, then any sum is cut."""
    bits = value.view(np.uint32)
    exponent, mantissa = _split(bits)
    total = (exponent - np.int32(127)) * 2.0**36 + np.floor(interpolator("LG2").value(mantissa) * 2.0**12)
    total = np.where(bits == ONE, 0.0, total)  # the table itself does not start at 0
    magnitude = np.where(total < 0, -total - 1, total)  # the one's complement
    single = _cut(magnitude * 2.0**-36)
    result = np.where(total < 0, -single, single).view(np.uint32)
    result = np.where(exponent == 0, INFINITY | SIGN, np.where(exponent == 255, INFINITY, result))
    return np.where(np.isnan(value) | ((exponent != 0) & ((bits & SIGN) != 0)), NAN, result)


def _cut(value: F64) -> F32:
    """A non-negative double to single, towards zero."""
    return (value.view(np.int64) & ~np.int64(0x1FFFFFFF)).view(np.float64).astype(np.float32)


def sine(value: F32) -> U32:
    """SIN of a number of turns."""
    return _circular(value, 0, np.signbit(value))


def cosine(value: F32) -> U32:
    """COS of a number of turns."""
    return _circular(value, 1, np.zeros((1, 1, 1), np.bool_))


def _circular(value: F32, shift: int, negative: Any) -> U32:
    """|x| cut to 25 places of a turn: two choose the quarter, 23 enter the table, complemented in odd quarters."""
    magnitude = np.where(np.isfinite(value), np.abs(value), 0).astype(np.float64)
    places = ((magnitude - np.floor(magnitude)) * 2.0**25).astype(np.int32)
    quarter = (places >> np.int32(23)) + np.int32(shift)
    position = places & MANTISSA
    position = np.where(quarter & 1, MANTISSA - position, position)
    fixed = np.floor(np.maximum(interpolator("SIN").value(position), 0.0) * 2.0**13)  # the unit's last place is 2^-37
    result = _cut(fixed * 2.0**-37)
    result = np.where((position == 0) | (magnitude < SMALLEST_NORMAL) & (shift == 0), np.float32(0), result)
    flipped = ((quarter & 2) != 0) ^ negative
    return np.where(np.isfinite(value), np.where(flipped, -result, result).view(np.uint32), NAN)


def hyperbolic_tangent(value: F32) -> U32:
    """TANH, which keeps denormals."""
    return canonical(single(np.tanh(value.astype(np.float64)))).view(np.uint32)


FUNCTIONS: dict[str, Callable[[F32], U32]] = {
    "RCP": reciprocal,
    "RSQ": reciprocal_root,
    "SQRT": square_root,
    "EX2": exponential,
    "LG2": logarithm,
    "SIN": sine,
    "COS": cosine,
    "TANH": hyperbolic_tangent,
}


def reciprocal_64h(word: U32) -> U32:
    """RCP64H: the high word of 1 / x for the double with this high word; as RCP on its 20 bits of mantissa."""
    exponent, mantissa = _split_64(word)
    bits = interpolator("RCP")((mantissa << 3).astype(np.int32)).astype(np.int64)
    result = _high_word(bits, -(exponent - 1023))
    result = np.where(result < 1 << 20, 0, result)
    result = np.where(exponent == 0, 0x7FF00000, np.where(exponent == 2047, 0, result)).astype(np.uint32)
    return np.where(_is_nan_64(word), NAN, result | (word & SIGN))


def reciprocal_root_64h(word: U32) -> U32:
    """RSQ64H: the high word of 1 / sqrt(x)."""
    exponent, mantissa = _split_64(word)
    unbiased = exponent - 1023
    odd = unbiased & 1
    bits = _root_bits((odd).astype(np.int32), (mantissa << 3).astype(np.int32)).astype(np.int64)
    result = _high_word(bits, -((unbiased - odd) >> 1)).astype(np.uint32)
    zero = exponent == 0
    result = np.where(zero, np.uint32(0x7FF00000) | (word & SIGN), np.where(exponent == 2047, np.uint32(0), result))
    return np.where(_is_nan_64(word) | (~zero & ((word & SIGN) != 0)), NAN, result)


def _split_64(word: U32) -> tuple[S64, S64]:
    wide = word.astype(np.int64)
    return (wide >> 20) & 0x7FF, wide & 0xFFFFF


def _is_nan_64(word: U32) -> Any:
    """A NaN whose payload reaches into the high word; the low word is not looked at."""
    return (word & np.uint32(0x7FFFFFFF)) > np.uint32(0x7FF00000)


def _high_word(bits: S64, scale: S64) -> S64:
    """A float32's bits times 2^scale as the high word of a double, the mantissa cut to 20 bits."""
    exponent = (bits >> 23) - 127 + 1023 + scale
    return (exponent << 20) | ((bits & 0x7FFFFF) >> 3)


HIGH_WORD: dict[str, Callable[[U32], U32]] = {"RCP64H": reciprocal_64h, "RSQ64H": reciprocal_root_64h}


@semantics("MUFU", "UMUFU")
def mufu(insn: Decoded) -> Execute:
    """One of the functions above; RCP64H and RSQ64H take and give the high word of a double."""
    allow(insn, FUNCTIONS, HIGH_WORD, ("F16", "BF16", "FTZ"))
    form = arithmetic_form(insn)
    name = insn.modifiers[0]
    if len(form.sources) != 1 or (name not in FUNCTIONS and name not in HIGH_WORD):
        raise NotCovered(insn.instruction.text)
    source = form.sources[0]
    if name in HIGH_WORD:
        of_word = HIGH_WORD[name]
        return lambda lanes: lanes.set_u32(form.result, of_word(lanes.f32(source).view(np.uint32)))
    function = FUNCTIONS[name]
    if insn.has("F16", "BF16"):
        return _half(insn, function)
    return lambda lanes: lanes.set_u32(form.result, function(lanes.f32(source)))


def _half(insn: Decoded, function: Callable[[F32], U32]) -> Execute:
    """FP16 (BF16) in the half that the operand names to the same in the low half, cut; beyond the range: infinite."""
    form = arithmetic_form(insn)
    source = form.sources[0]
    shift = np.uint32(16 if "H1_H1" in source.suffixes else 0)
    widen, narrow = (bfloat_to_single, to_bfloat) if insn.has("BF16") else (half_to_single, to_half)

    def execute(lanes: Lanes) -> None:
        value = widen((lanes.f32(source).view(np.uint32) >> shift).astype(np.uint16))
        single = function(value).view(np.float32)
        beyond = np.isinf(widen(narrow(single))) & (np.abs(single) >= 65536)
        lanes.set_u32(form.result, np.where(beyond, narrow(single), narrow(single, "RZ")).astype(np.uint32))

    return execute
