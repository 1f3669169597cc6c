# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""Packed FP16 and BF16: HADD2, HMUL2, HFMA2, HMNMX2, HSET2, HSETP2.

A register holds two halves. An operand's suffix says which half each lane of the pair reads (none: its own). Results
are rounded once: sums and products are exact enough in float32 (24 bits are at least 2 * 11 + 2), a fused multiply-add
in float64, where a product of 22 bits is exact and so is every sum that FP16 can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.floats import FLOAT_COMPARE, extremum, with_product_sign
from gpuprof.emulator.semantics.forms import BOOLEANS, allow, combine, encoded_constant, is_predicate, pick
from gpuprof.emulator.semantics.narrow import bfloat_to_single, half_to_single, to_bfloat, to_half
from gpuprof.emulator.semantics.primitives import contiguous
from gpuprof.emulator.semantics.rounding import canonical, to_odd, two_sum
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F32, F64, Lanes

COMMON = ("F32", "BF16_V2", "MMA", "SAT", "FTZ", "FMZ", "RELU", "PACKED")
#: Which half feeds the low and the high result.
SWIZZLES: dict[str, tuple[int, int]] = {"H0_H0": (0, 0), "H1_H1": (1, 1), "H1_H0": (0, 1), "H0_H1": (1, 0)}
Pair = Callable[["Lanes"], "F32"]


@dataclass(frozen=True)
class _Format:
    """FP16 or BF16."""

    widen: Callable[[Any], Any]
    narrow: Callable[[Any], Any]
    one: int  #: bits of 1.0


HALF = _Format(half_to_single, to_half, 0x3C00)
BFLOAT = _Format(bfloat_to_single, to_bfloat, 0x3F80)


def number_format(insn: Decoded) -> _Format:
    return BFLOAT if insn.has("BF16_V2", "BF16") else HALF


def flushing(insn: Decoded, widen: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``widen``, with FP16's denormals as zeros of their sign under ``.FTZ`` or ``.FMZ``."""
    if not insn.has("FTZ", "FMZ") or insn.has("BF16_V2"):
        return widen
    return lambda bits: widen(np.where(bits & np.uint16(0x7C00), bits, bits & np.uint16(0x8000)))


def pair_readers(insn: Decoded, operands: tuple[Operand, ...]) -> list[Pair]:
    """One reader per source: (blocks, warps, lanes, 2) float32, low half first.

    Two printed numbers in a row are one packed immediate, whose bits are in the encoding.
    """
    readers: list[Pair] = []
    position = 0
    while position < len(operands):
        operand = operands[position]
        if operand.kind is OperandKind.FLOAT:
            follows = position + 1 < len(operands) and operands[position + 1].kind is OperandKind.FLOAT
            readers.append(_constant_pair(insn))
            position += 2 if follows else 1
        else:
            readers.append(_register_pair(insn, operand))
            position += 1
    return readers


def _constant_pair(insn: Decoded) -> Pair:
    bits = np.full((1, 1, 1), encoded_constant(insn), np.uint32).view(np.uint16).reshape(1, 1, 1, 2)
    value = number_format(insn).widen(bits)
    return lambda _: value


def _register_pair(insn: Decoded, operand: Operand) -> Pair:
    widen = flushing(insn, number_format(insn).widen)
    if "F32" in operand.suffixes:
        return lambda lanes: lanes.f32(operand)[..., None]
    swizzle = next((SWIZZLES[word] for word in operand.suffixes if word in SWIZZLES), None)
    negate, absolute = operand.negate, operand.absolute
    if operand.is_zero:
        zero = np.full((1, 1, 1, 1), -0.0 if negate else 0.0, np.float32)
        return lambda _: zero

    def read(lanes: Lanes) -> F32:
        raw = contiguous(lanes.raw(operand))[..., None].view(np.uint16)
        if swizzle is not None:
            raw = raw[..., :1] if swizzle == (0, 0) else raw[..., 1:] if swizzle == (1, 1) else raw[..., ::-1]
        value = widen(contiguous(raw))
        if absolute:
            value = np.abs(value)
        return -value if negate else value

    return read


def store_pair(insn: Decoded) -> Callable[[Lanes, Operand, Any], None]:
    """Rounds a pair (…, 2) and writes it: two halves, or one float32 from the low lane with ``.F32``."""
    narrow, saturates, rectifies = number_format(insn).narrow, insn.has("SAT"), insn.has("RELU")
    flushes = insn.has("FTZ", "FMZ") and not insn.has("BF16_V2")
    if insn.has("F32"):
        return lambda lanes, operand, value: lanes.set_f32(operand, canonical(value[..., 0].astype(np.float32)))

    def store(lanes: Lanes, operand: Operand, value: Any) -> None:
        if saturates:
            value = np.fmin(np.fmax(value, 0), 1) + value.dtype.type(0)
        if rectifies:
            value = np.where(value > 0, value, np.where(np.isnan(value), value, 0))
        bits = narrow(value)
        if flushes:
            bits = np.where(bits & np.uint16(0x7C00), bits, bits & np.uint16(0x8000))
        lanes.set_u32(operand, packed(bits))

    return store


def packed(bits: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """(…, 2) or (…, 1) halves as words."""
    if bits.shape[-1] == 1:
        bits = np.repeat(bits, 2, axis=-1)
    return contiguous(bits).view(np.uint32)[..., 0]


def _arithmetic(insn: Decoded, count: int, compute: Callable[..., Any]) -> Execute:
    allow(insn, COMMON)
    result = insn.operands[0]
    readers = pair_readers(insn, insn.operands[1:])
    if len(readers) != count:
        raise NotCovered(f"{insn.instruction.text}: {len(readers)} sources")
    store = store_pair(insn)
    return lambda lanes: store(lanes, result, compute(*(read(lanes) for read in readers)))


@semantics("HADD2", "UHADD2")
def hadd2(insn: Decoded) -> Execute:
    """a + b per half; ``.F32`` gives the float32 sum of the chosen halves (a conversion, with a = -0)."""
    return _arithmetic(insn, 2, lambda a, b: a + b)


@semantics("HMUL2", "UHMUL2")
def hmul2(insn: Decoded) -> Execute:
    """a * b per half."""
    if insn.has("BF16_V2"):  # a product of BF16 can be below the range of float32
        return _arithmetic(insn, 2, lambda a, b: np.multiply(a, b, dtype=np.float64))
    return _arithmetic(insn, 2, lambda a, b: a * b)


@semantics("HFMA2", "UHFMA2")
def hfma2(insn: Decoded) -> Execute:
    """a * b + c per half with one rounding (``.MMA`` names another pipe)."""
    moved = _moved_constant(insn)
    if moved is not None:
        return moved
    if insn.has("BF16_V2"):
        return _arithmetic(insn, 3, _fused_bfloat)
    return _arithmetic(insn, 3, lambda a, b, c: np.multiply(a, b, dtype=np.float64) + c)


def _fused_bfloat(a: F32, b: F32, c: F32) -> F64:
    """BF16's range is wide enough for an addend to fall off a double's end: the sum is rounded to odd."""
    return to_odd(*two_sum(np.multiply(a, b, dtype=np.float64), c.astype(np.float64)))


def _moved_constant(insn: Decoded) -> Execute | None:
    """``HFMA2 Rd, -RZ, RZ, hi, lo`` is how the compiler loads a constant: -0 * 0 + c, whatever c's bits are.

    A NaN there would be made canonical, -0 and denormals stay; constants that are NaN are left to the arithmetic.
    """
    operands = insn.operands
    if len(operands) != 5 or not (operands[1].is_zero and operands[2].is_zero and operands[1].negate):
        return None
    if set(insn.modifiers) - {"MMA", "BF16_V2"} or any(
        operand.kind is not OperandKind.FLOAT for operand in operands[3:]
    ):
        return None
    bits = np.full((1, 1, 1), encoded_constant(insn), np.uint32)
    halves = number_format(insn).widen(bits.view(np.uint16))
    if np.isnan(halves).any():
        return None
    bits.flags.writeable = False
    return lambda lanes: lanes.set_u32(operands[0], bits)


@semantics("HMNMX2", "UHMNMX2", "VHMNMX", "UVHMNMX")
def hmnmx2(insn: Decoded) -> Execute:
    """Minimum (Pp) or maximum of two or three (VHMNMX) per half; a NaN loses unless ``.NAN``; ``.XORSIGN`` as FMNMX."""
    allow(insn, COMMON, ("NAN", "XORSIGN"))
    operands = insn.operands
    choose = operands[-1]
    if not is_predicate(choose):
        raise NotCovered(insn.instruction.text)
    readers = pair_readers(insn, operands[1:-1])
    store, spreads, crosses = store_pair(insn), insn.has("NAN"), insn.has("XORSIGN")
    plain = pair_readers(insn, tuple(_without_absolute(operand) for operand in operands[1:-1]))

    def execute(lanes: Lanes) -> None:
        values = [read(lanes) for read in readers]
        if choose.is_zero:
            value = extremum(values, smallest=not choose.negate, spreads=spreads)
        else:
            low, high = (extremum(values, smallest=which, spreads=spreads) for which in (True, False))
            value = np.where(lanes.predicate(choose)[..., None], low, high)
        if crosses:
            value = with_product_sign(value, [read(lanes).view(np.uint32) for read in plain])
        store(lanes, operands[0], value)

    return execute


def _without_absolute(operand: Operand) -> Operand:
    """A plain operand that reads the same register without ``|x|``."""
    parts = {field.name: getattr(operand, field.name) for field in fields(Operand)}
    return Operand(**(parts | {"absolute": False}))


@semantics("HSET2", "UHSET2")
def hset2(insn: Decoded) -> Execute:
    """(a cmp b) bop Pp per half: 1.0 or 0 with ``.BF``, else all ones or 0."""
    allow(insn, FLOAT_COMPARE, BOOLEANS, COMMON, ("BF",))
    operands = insn.operands
    other = operands[-1] if is_predicate(operands[-1]) else None
    readers = pair_readers(insn, operands[1 : -1 if other else None])
    if len(readers) != 2:
        raise NotCovered(insn.instruction.text)
    first, second = readers
    compare, how = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)], pick(insn, BOOLEANS, "AND")
    yes = np.uint16(number_format(insn).one if insn.has("BF") else 0xFFFF)

    def execute(lanes: Lanes) -> None:
        result = compare(first(lanes), second(lanes))
        if other is not None:
            result = _combine_pair(lanes, how, result, other)
        lanes.set_u32(operands[0], packed(np.where(result, yes, np.uint16(0))))

    return execute


def _combine_pair(lanes: Lanes, how: str, result: Any, other: Operand) -> Any:
    halves = [combine(lanes, how, result[..., index], other) for index in range(result.shape[-1])]
    return np.stack(np.broadcast_arrays(*halves), axis=-1)


@semantics("HSETP2", "UHSETP2")
def hsetp2(insn: Decoded) -> Execute:
    """Pu = (low halves compare) bop Pp, Pv = (high halves compare) bop Pp; ``.H_AND``: both must, Pv its complement."""
    allow(insn, FLOAT_COMPARE, BOOLEANS, COMMON, ("H_AND",))
    operands = insn.operands
    results, other = operands[:2], operands[-1]
    readers = pair_readers(insn, operands[2:-1])
    if len(readers) != 2:
        raise NotCovered(insn.instruction.text)
    compare, how = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)], pick(insn, BOOLEANS, "AND")
    together = insn.has("H_AND")

    def execute(lanes: Lanes) -> None:
        result = compare(readers[0](lanes), readers[1](lanes))
        low, high = result[..., 0], result[..., -1]
        if together:
            low = low & high
            high = ~low
        values = [combine(lanes, how, value, other) for value in (low, high)]
        for operand, value in zip(results, values, strict=True):
            if not operand.is_zero:
                lanes.set_predicate(operand, value)

    return execute
