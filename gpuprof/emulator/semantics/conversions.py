# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""Conversions: F2I, I2F, I2FP, F2F, F2FP, FRND, I2I and their uniform forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.exact import directed
from gpuprof.emulator.semantics.forms import allow, arithmetic_form, expect_sources, pick
from gpuprof.emulator.semantics.narrow import (
    SMALL_FLOATS,
    SmallFloat,
    bfloat_to_single,
    decode_small,
    encode_small,
    half_to_single,
    to_bfloat,
    to_half,
)
from gpuprof.emulator.semantics.rounding import canonical, flush, round_double, saturate, two_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F32, F64, U32, U64, Lanes
    from gpuprof.sass.model import Operand

INTEGERS = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")
FLOATS = ("F16", "F32", "F64", "BF16", "BF16_V2")
#: How a float becomes a whole number.
WHOLE: dict[str, Callable[[Any], Any]] = {
    "RN": np.rint,
    "TRUNC": np.trunc,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "RZ": np.trunc,
    "RM": np.floor,
    "RP": np.ceil,
}
DIRECTIONS = ("RN", "RZ", "RM", "RP")
#: Suffixes that choose the part of a register a sub-word conversion reads, as bits to shift.
PART_SHIFTS = {"B1": 8, "B2": 16, "B3": 24, "H1": 16, "H1_H1": 16}


def source_part(operand: Operand) -> int:
    """How far to shift a register so that the part that is meant comes first."""
    return next((PART_SHIFTS[word] for word in operand.suffixes if word in PART_SHIFTS), 0)


def float_reader(kind: str, operand: Operand, *, ftz: bool = False) -> Callable[[Lanes], Any]:
    """Reads a source of the named float type, as float32 or float64."""
    if kind == "F64":
        return lambda lanes: lanes.f64(operand)
    if kind in ("F16", "BF16", "BF16_V2"):
        return _narrow_reader(kind, operand)
    if ftz:
        return lambda lanes: flush(lanes.f32(operand))
    return lambda lanes: lanes.f32(operand)


def _narrow_reader(kind: str, operand: Operand) -> Callable[[Lanes], F32]:
    shift = np.uint32(source_part(operand))
    widen = half_to_single if kind == "F16" else bfloat_to_single

    def read(lanes: Lanes) -> F32:
        value = widen((lanes.raw(operand) >> shift).astype(np.uint16))
        if operand.absolute:
            value = np.abs(value)
        return -value if operand.negate else value

    return read


def integer_reader(kind: str, operand: Operand) -> Callable[[Lanes], Any]:
    """Reads a source of the named integer type; sub-words from the part of the register that its suffix names."""
    if kind == "U64":
        return lambda lanes: lanes.u64(operand)
    if kind == "S64":
        return lambda lanes: lanes.s64(operand)
    if kind == "U32":
        return lambda lanes: lanes.u32(operand)
    if kind == "S32":
        return lambda lanes: lanes.s32(operand)
    shift = np.uint32(source_part(operand))
    small = np.dtype(("i" if kind.startswith("S") else "u") + str(int(kind[1:]) // 8))
    wide = np.int32 if kind.startswith("S") else np.uint32

    def read(lanes: Lanes) -> Any:
        value = (lanes.raw(operand) >> shift).astype(small).astype(wide)
        return np.negative(value) if operand.negate else value

    return read


@semantics("F2I", "UF2I")
def f2i(insn: Decoded) -> Execute:
    """A float to an integer, saturating. NaN: 0, but the lowest bit pattern (sign bit) if a side has 64 bits.

    PTX ISA, cvt: "NaN ... zero if source is not .f64 and destination is not .s64, .u64; otherwise 1 << (width - 1)".
    ``.NTZ`` has no visible effect.
    """
    allow(insn, INTEGERS, FLOATS, WHOLE, ("FTZ", "NTZ"))
    form = arithmetic_form(insn)
    source_kind, kind = pick(insn, FLOATS, "F32"), pick(insn, INTEGERS, "S32")
    read = float_reader(source_kind, form.sources[0], ftz=insn.has("FTZ"))
    whole = WHOLE[pick(insn, WHOLE, "RN")]
    wide_nan = source_kind == "F64" or kind.endswith("64")
    if kind.endswith("64"):
        convert = to_s64 if kind == "S64" else to_u64
        return lambda lanes: lanes.set_u64(form.result, convert(whole(read(lanes)).astype(np.float64)))
    bits, signed = int(kind[1:]), kind.startswith("S")
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if signed else (0.0, 2.0**bits - 1)
    nan = float(low if signed else 2.0 ** (bits - 1)) if wide_nan else 0.0

    def execute(lanes: Lanes) -> None:
        value = whole(read(lanes)).astype(np.float64)
        clipped = np.where(np.isnan(value), nan, np.clip(value, low, high))
        lanes.set_u32(form.result, clipped.astype(np.int64).astype(np.uint32))

    return execute


def to_s64(value: F64) -> U64:
    """Whole doubles to int64 bits, saturating; NaN is the smallest."""
    inside = np.abs(value) < 2.0**63
    clipped = np.where(value > 0, np.uint64((1 << 63) - 1), np.uint64(1 << 63))
    return np.where(inside, np.where(inside, value, 0).astype(np.int64).view(np.uint64), clipped)


def to_u64(value: F64) -> U64:
    """Whole doubles to uint64, saturating; NaN is 2^63."""
    inside = (value >= 0) & (value < 2.0**64)
    upper = np.where(inside & (value >= 2.0**63), 1.0, 0.0)
    low = np.where(inside, value, 0) - upper * 2.0**63
    whole = low.astype(np.int64).view(np.uint64) + (upper.astype(np.uint64) << np.uint64(63))
    clipped = np.where(np.isnan(value), np.uint64(1 << 63), np.where(value > 0, np.uint64(2**64 - 1), np.uint64(0)))
    return np.where(inside, whole, clipped)


@semantics("I2F", "UI2F", "I2FP", "UI2FP")
def i2f(insn: Decoded) -> Execute:
    """An integer to a float (float32 unless named), rounded to nearest even or as the instruction says."""
    allow(insn, INTEGERS, FLOATS, DIRECTIONS)
    form = arithmetic_form(insn)
    kind, mode = pick(insn, FLOATS, "F32"), pick(insn, DIRECTIONS, "RN")
    read = integer_reader(pick(insn, INTEGERS, "S32"), form.sources[0])
    if kind == "F32" and mode == "RN":
        return lambda lanes: lanes.set_f32(form.result, read(lanes).astype(np.float32))
    if kind == "F64" and mode == "RN":
        return lambda lanes: lanes.set_f64(form.result, read(lanes).astype(np.float64))
    if kind == "F64":
        return lambda lanes: lanes.set_f64(form.result, directed(*_exact_pair(read(lanes)), mode, None))
    if kind == "F32":
        return lambda lanes: lanes.set_f32(form.result, round_double(*_exact_pair(read(lanes)), mode))
    narrow = to_half if kind == "F16" else to_bfloat

    def execute(lanes: Lanes) -> None:
        value = read(lanes).astype(np.float64)
        lanes.set_u32(form.result, narrow(value, mode).astype(np.uint32))

    return execute


def _exact_pair(value: NDArray[Any]) -> tuple[F64, F64]:
    """An integer of up to 64 bits as the unevaluated sum of two doubles."""
    if value.dtype.itemsize < 8:
        exact = value.astype(np.float64)
        return exact, np.zeros((1, 1, 1))
    high = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (value & value.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return two_sum(high, low)


@semantics("FRND", "UFRND")
def frnd(insn: Decoded) -> Execute:
    """A float rounded to a whole number of the same type."""
    allow(insn, FLOATS, WHOLE, ("FTZ",))
    form = arithmetic_form(insn)
    kind = pick(insn, FLOATS, "F32")
    whole = WHOLE[pick(insn, WHOLE, "RN")]
    read = float_reader(kind, form.sources[0], ftz=insn.has("FTZ"))
    if kind == "F64":
        return lambda lanes: lanes.set_f64(form.result, whole(read(lanes)))
    if kind == "F32":
        return lambda lanes: lanes.set_f32(form.result, canonical(whole(read(lanes))))
    narrow = to_half if kind == "F16" else to_bfloat
    return lambda lanes: lanes.set_u32(form.result, narrow(whole(read(lanes))).astype(np.uint32))


@semantics("F2F", "UF2F")
def f2f(insn: Decoded) -> Execute:
    """A float to a float of another size: ``F2F.<to>.<from>``; FP16 results are in the low half."""
    allow(insn, FLOATS, WHOLE, ("FTZ", "SAT"))
    form = arithmetic_form(insn)
    kinds = [name for name in insn.modifiers if name in FLOATS]
    if len(kinds) != 2:
        raise NotCovered(f"{insn.instruction.mnemonic}: needs both types")
    to, source = kinds
    mode = pick(insn, DIRECTIONS, "RN")
    read = float_reader(source, form.sources[0], ftz=insn.has("FTZ"))
    if to == "F64":
        return lambda lanes: lanes.set_f64(form.result, read(lanes).astype(np.float64))
    if to == "F32":
        return _to_single(insn, read, mode)
    narrow = to_half if to == "F16" else to_bfloat
    clamp = saturate if insn.has("SAT") else (lambda value: value)
    if source == "F64" and to == "F16":
        return lambda lanes: lanes.set_u32(form.result, _double_to_half(clamp(read(lanes)), mode))
    return lambda lanes: lanes.set_u32(form.result, narrow(clamp(read(lanes)), mode).astype(np.uint32))


def _double_to_half(value: Any, mode: str) -> U32:
    """As ``to_half``, but a NaN keeps the upper bits of its payload and is made quiet (an H200)."""
    payload = (value.view(np.uint64) >> np.uint64(42)).astype(np.uint32) & np.uint32(0x3FF)
    sign = (value.view(np.uint64) >> np.uint64(48)).astype(np.uint32) & np.uint32(0x8000)
    return np.where(np.isnan(value), sign | np.uint32(0x7E00) | payload, to_half(value, mode).astype(np.uint32))


def _to_single(insn: Decoded, read: Callable[[Lanes], Any], mode: str) -> Execute:
    form = arithmetic_form(insn)
    saturates, flushes = insn.has("SAT"), insn.has("FTZ")

    def execute(lanes: Lanes) -> None:
        value = read(lanes)
        result = round_double(value, None, mode) if value.dtype == np.float64 else value
        if flushes:
            result = flush(result)
        if saturates:
            result = saturate(result)
        elif value.dtype != np.float64:  # a double's NaN keeps its payload
            result = canonical(result)
        lanes.set_f32(form.result, result)

    return execute


PACKS = ("PACK_AB", "MERGE_C", "PACK_B", "PACK_AB_MERGE_C", "UNPACK_B", "UNPACK_B_MERGE_C")


@semantics("F2FP")
def f2fp(insn: Decoded) -> Execute:
    """Two floats to a pair of narrow ones, a in the upper place; or a pair of 8-bit floats to two halves."""
    allow(insn, FLOATS, PACKS, DIRECTIONS, SMALL_FLOATS, ("RELU", "SATFINITE", "FTZ", "SAT", "TF32"))
    how = pick(insn, PACKS)
    if insn.has("TF32"):
        return _to_tf32(insn, how)
    small = next((name for name in insn.modifiers if name in SMALL_FLOATS), None)
    if small is not None:
        return _small_floats(insn, how, small)
    if how == "PACK_AB":
        return _pack_pair(insn)
    if how == "MERGE_C":
        return _merge_half(insn)
    raise NotCovered(f"{insn.instruction.mnemonic}: {how}")


def _narrower(insn: Decoded) -> Callable[[Any], Any]:
    """float32 to the 16 bits of the result type, with RELU, SATFINITE and the direction."""
    narrow = to_bfloat if insn.has("BF16", "BF16_V2") else to_half
    largest = np.float32(3.3895313892515355e38 if insn.has("BF16", "BF16_V2") else 65504.0)
    mode = pick(insn, DIRECTIONS, "RN")

    def convert(value: F32) -> Any:
        if insn.has("RELU"):
            value = _rectified(value)
        if insn.has("SATFINITE"):
            value = np.clip(value, -largest, largest)
        return narrow(value, mode)

    return convert


def _rectified(value: F32) -> F32:
    """Negative numbers and -0 as +0; NaN stays."""
    return np.where(np.isnan(value), value, np.maximum(value, np.float32(0)) + np.float32(0))


def _pack_pair(insn: Decoded) -> Execute:
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2, 3)
    a, b = form.sources[:2].exactly(2)
    convert = _narrower(insn)

    def execute(lanes: Lanes) -> None:
        high, low = convert(lanes.f32(a)).astype(np.uint32), convert(lanes.f32(b)).astype(np.uint32)
        lanes.set_u32(form.result, (high << np.uint32(16)) | low)

    return execute


def _to_tf32(insn: Decoded, how: str) -> Execute:
    """F2FP[.RELU].TF32.F32.PACK_B Rd, b: to ten bits of mantissa, the others 0; any NaN is 0x7fffffff."""
    allow(insn, ("TF32", "F32", "PACK_B", "RELU", "RZ", "RN"))
    form = arithmetic_form(insn)
    if how != "PACK_B" or len(form.sources) != 1:
        raise NotCovered(insn.instruction.text)
    source, relu, cuts = form.sources[0], insn.has("RELU"), insn.has("RZ")

    def execute(lanes: Lanes) -> None:
        value = _rectified(lanes.f32(source)) if relu else lanes.f32(source)
        bits = value.view(np.uint32)
        half = np.uint32(0) if cuts else np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))
        rounded = np.where(np.isinf(value), bits, bits + half) & np.uint32(0xFFFFE000)
        lanes.set_u32(form.result, np.where(np.isnan(value), np.uint32(0x7FFFFFFF), rounded))

    return execute


def _merge_half(insn: Decoded) -> Execute:
    """The low half is the converted source; the high half stays that of the last source."""
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2, 3)
    source, kept = form.sources[-2:]
    convert = _narrower(insn)

    def execute(lanes: Lanes) -> None:
        low = convert(lanes.f32(source)).astype(np.uint32)
        lanes.set_u32(form.result, (lanes.u32(kept) & np.uint32(0xFFFF0000)) | low)

    return execute


def _small_floats(insn: Decoded, how: str, name: str) -> Execute:
    form = arithmetic_form(insn)
    kind = SMALL_FLOATS[name]
    if how == "UNPACK_B":
        source = form.sources[-1]
        shift = np.uint32(16 if "H1" in source.suffixes else 0)
        narrow = to_bfloat if insn.has("BF16") else to_half

        def unpack(lanes: Lanes) -> None:
            codes = lanes.raw(source) >> shift
            low, high = (decode_small((codes >> np.uint32(place)).astype(np.uint8), kind) for place in (0, 8))
            lanes.set_u32(form.result, narrow(low) | narrow(high).astype(np.uint32) << np.uint32(16))

        return unpack
    if how == "UNPACK_B_MERGE_C":
        return _halves_to_small(insn, kind)
    if how != "PACK_AB_MERGE_C":
        raise NotCovered(f"{insn.instruction.mnemonic}: {how}")
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    rectify = _rectified if insn.has("RELU") else (lambda value: value)

    def pack(lanes: Lanes) -> None:
        high, low = (encode_small(rectify(lanes.f32(source)), kind).astype(np.uint32) for source in (a, b))
        pair = low | high << np.uint32(8)
        lanes.set_u32(form.result, pair | lanes.u32(c) << np.uint32(16))

    return pack


def _halves_to_small(insn: Decoded, kind: SmallFloat) -> Execute:
    """The two halves of b to 8-bit floats, below the bits of c."""
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    b, c = form.sources
    widen = bfloat_to_single if insn.has("BF16") else half_to_single
    rectify = _rectified if insn.has("RELU") else (lambda value: value)

    def pack(lanes: Lanes) -> None:
        low, high = (widen((lanes.raw(b) >> np.uint32(place)).astype(np.uint16)) for place in (0, 16))
        codes = [encode_small(rectify(value), kind).astype(np.uint32) for value in (low, high)]
        lanes.set_u32(form.result, codes[0] | codes[1] << np.uint32(8) | lanes.u32(c) << np.uint32(16))

    return pack


@semantics("F2IP")
def f2ip(insn: Decoded) -> Execute:
    """Two float32 to saturated bytes, a above b, below the bits of c."""
    allow(insn, ("U8", "S8", "F32", "NTZ", "FTZ"), WHOLE)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    whole, clamp = WHOLE[pick(insn, WHOLE, "RN")], saturating(pick(insn, ("U8", "S8")))
    readers = [float_reader("F32", source, ftz=insn.has("FTZ")) for source in (a, b)]

    def execute(lanes: Lanes) -> None:
        numbers = [np.nan_to_num(whole(read(lanes)).astype(np.float64), nan=0.0) for read in readers]
        high, low = (clamp(np.clip(number, -(2.0**31), 2.0**31)) & np.uint32(0xFF) for number in numbers)
        lanes.set_u32(form.result, (high << np.uint32(8)) | low | (lanes.u32(c) << np.uint32(16)))

    return execute


@semantics("I2I", "UI2I")
def i2i(insn: Decoded) -> Execute:
    """An integer to another type, saturating with ``.SAT``: ``I2I.<to>.<from>``."""
    allow(insn, INTEGERS, ("SAT",))
    form = arithmetic_form(insn)
    kinds = [name for name in insn.modifiers if name in INTEGERS]
    to, source = kinds[0], kinds[1] if len(kinds) > 1 else "S32"
    if to.endswith("64"):
        raise NotCovered(f"{insn.instruction.mnemonic}: 64-bit result")
    read, clamp = integer_reader(source, form.sources[0]), saturating(to) if insn.has("SAT") else wrapping(to)
    return lambda lanes: lanes.set_u32(form.result, clamp(read(lanes)))


def saturating(kind: str) -> Callable[[NDArray[Any]], U32]:
    """Clamped to the range of an integer type of up to 32 bits, as a 32-bit pattern."""
    bits, signed = int(kind[1:]), kind.startswith("S")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda value: np.clip(value.astype(np.int64), low, high).astype(np.uint32)


def wrapping(kind: str) -> Callable[[NDArray[Any]], U32]:
    """Cut to an integer type of up to 32 bits and extended again."""
    small = np.dtype(("i" if kind.startswith("S") else "u") + str(int(kind[1:]) // 8))
    return lambda value: value.astype(small).astype(np.int64).astype(np.uint32)


@semantics("I2IP", "I2IPACK")
def i2ip(insn: Decoded) -> Execute:
    """Two integers, saturated, packed below the bits of c: a in the upper place (PTX ISA, cvt.pack)."""
    allow(insn, INTEGERS, ("SAT",))
    form = arithmetic_form(insn)
    to = pick(insn, ("U8", "S8", "U16", "S16"))
    a, b = form.sources[:2].exactly(2)
    c = form.sources[2] if len(form.sources) > 2 else None
    bits = int(to[1:])
    clamp, mask, width = saturating(to), np.uint32((1 << bits) - 1), np.uint32(bits)

    def execute(lanes: Lanes) -> None:
        high, low = clamp(lanes.s32(a)) & mask, clamp(lanes.s32(b)) & mask
        pair = (high << width) | low
        if c is not None and bits == 8:
            pair = pair | (lanes.u32(c) << np.uint32(16))
        lanes.set_u32(form.result, pair)

    return execute
