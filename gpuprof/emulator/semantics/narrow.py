# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""The 16-bit floats (FP16, BF16) and the 8-bit ones, as bits, to and from float32 and float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F32, F64

    U16 = NDArray[np.uint16]

NAN_16 = np.uint16(0x7FFF)


def half_to_single(bits: U16) -> F32:
    """FP16 bits as float32: exact."""
    return bits.view(np.float16).astype(np.float32)


def bfloat_to_single(bits: U16) -> F32:
    """BF16 bits as float32: exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_half(value: F32 | F64, mode: str = "RN") -> U16:
    """Rounded once to FP16 bits, any NaN as 0x7fff; overflow to infinity (to the largest number under RZ)."""
    bits = value.astype(np.float16).view(np.uint16)
    if mode != "RN":
        bits = _towards(bits, bits.view(np.float16).astype(value.dtype), value, mode)
    return np.where(np.isnan(value), NAN_16, bits)


def to_bfloat(value: F32 | F64, mode: str = "RN") -> U16:
    """Rounded once to BF16 bits, any NaN as 0x7fff."""
    kept = single_to_odd(value).view(np.uint32)
    even = kept + np.uint32(0x7FFF) + ((kept >> np.uint32(16)) & np.uint32(1))
    bits = (even >> np.uint32(16)).astype(np.uint16)
    if mode != "RN":
        bits = _towards(bits, bfloat_to_single(bits), value, mode)
    return np.where(np.isnan(value), NAN_16, bits)


def single_to_odd(value: F32 | F64) -> F32:
    """A double as float32 rounded to odd, so that a further rounding is the only one; float32 unchanged."""
    if value.dtype == np.float32:
        return value.astype(np.float32, copy=False)
    nearest = value.astype(np.float32)
    even = (nearest.view(np.uint32) & np.uint32(1)) == 0
    inexact = (nearest != value) & np.isfinite(value) & even
    towards = np.where(value > nearest, np.float32(np.inf), np.float32(-np.inf))
    return np.where(inexact, np.nextafter(nearest, towards), nearest)


def _towards(bits: U16, nearest: Any, value: Any, mode: str) -> U16:
    """Undo a rounding to nearest that went against the direction; works on the magnitude in the bits."""
    negative = np.signbit(value)
    grew = np.abs(nearest) > np.abs(value)
    shrank = np.abs(nearest) < np.abs(value)
    outward = {"RZ": np.zeros_like(negative), "RP": ~negative, "RM": negative}[mode]
    step = np.where(outward, shrank, False).astype(np.int16) - np.where(outward, False, grew).astype(np.int16)
    return (bits.view(np.int16) + step).view(np.uint16)


@dataclass(frozen=True)
class SmallFloat:
    """An 8-bit float format (OCP 8-bit floating point specification)."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: float
    nan: int
    has_infinity: bool


E4M3 = SmallFloat(4, 3, 7, 448.0, 0x7F, has_infinity=False)
E5M2 = SmallFloat(5, 2, 15, 57344.0, 0x7F, has_infinity=True)
SMALL_FLOATS = {"E4M3": E4M3, "E5M2": E5M2}


def decode_small(codes: NDArray[np.uint8], kind: SmallFloat) -> F32:
    """8-bit codes as float32: exact."""
    return _small_table(kind)[codes]


def _small_table(kind: SmallFloat) -> F32:
    codes = np.arange(256)
    exponent = codes >> kind.mantissa_bits & (1 << kind.exponent_bits) - 1
    mantissa = codes & (1 << kind.mantissa_bits) - 1
    scale = np.where(exponent == 0, 1, exponent) - kind.bias - kind.mantissa_bits
    value = np.ldexp(np.where(exponent == 0, mantissa, mantissa + (1 << kind.mantissa_bits)).astype(np.float64), scale)
    top = exponent == (1 << kind.exponent_bits) - 1
    if kind.has_infinity:
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where(top & (mantissa == (1 << kind.mantissa_bits) - 1), np.nan, value)
    return np.where(codes >= 128, -value, value).astype(np.float32)


def encode_small(value: F32, kind: SmallFloat) -> NDArray[np.uint8]:
    """Rounded to nearest even, saturated to the largest finite number; NaN as the format's 0x7f."""
    magnitude = np.minimum(np.abs(value).astype(np.float64), kind.largest)
    _, exponent = np.frexp(magnitude)
    place = np.maximum(exponent - 1, 1 - kind.bias) - kind.mantissa_bits
    rounded = np.rint(np.ldexp(magnitude, -place))  # rint is to nearest even
    magnitude = np.minimum(np.ldexp(rounded, place), kind.largest)
    _, exponent = np.frexp(magnitude)
    normal = magnitude >= 2.0 ** (1 - kind.bias)
    field = np.where(normal, exponent - 1 + kind.bias, 0)
    unit = np.maximum(exponent - 1, 1 - kind.bias) - kind.mantissa_bits
    fraction = np.ldexp(magnitude, -unit).astype(np.int64) & (1 << kind.mantissa_bits) - 1
    code = (field << kind.mantissa_bits | fraction) | np.where(np.signbit(value), 0x80, 0)
    return np.where(np.isnan(value), kind.nan, code).astype(np.uint8)
