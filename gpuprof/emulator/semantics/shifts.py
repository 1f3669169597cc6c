"""Shifts and shifted additions: SHF, LEA, SGXT, BMSK."""

# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, semantics
from gpuprof.emulator.semantics.forms import (
    Form,
    allow,
    arithmetic_form,
    expect_sources,
    integer,
    pick,
    required_integer,
    wanted,
)
from gpuprof.emulator.semantics.integer import ZERO, as_low

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, U64, Lanes
    from gpuprof.sass.model import Operand

WORD = np.uint64(32)


@semantics("SHF", "USHF")
def shf(insn: Decoded) -> Execute:
    """Shift the pair hi:lo (operands ``lo, shift, hi``) and keep one word: the high one with ``.HI``.

    The amount is clamped to 32 (U32, S32) or 64 (U64, S64), with ``.W`` taken modulo that.
    """
    allow(insn, ("L", "R", "W", "U32", "S32", "U64", "S64", "HI"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    return _single_word_shift(insn, form) or _funnel_shift(insn, form)


def _single_word_shift(insn: Decoded, form: Form) -> Execute | None:
    """The idioms in which one word alone decides: a << n, a >> n, and n constant below 32."""
    low, shift, high = form.sources
    amount = integer(shift)
    if amount is None or not 0 <= amount < 32:
        return None
    result = form.result
    if insn.has("L") and not insn.has("HI"):
        count = np.uint32(amount)
        return lambda lanes: lanes.set_u32(result, lanes.u32(low) << count)
    if not (insn.has("R") and insn.has("HI")):
        return None
    if insn.has("S32", "S64"):
        signed_count = np.int32(amount)
        return lambda lanes: lanes.set_u32(result, (lanes.s32(high) >> signed_count).view(np.uint32))
    count = np.uint32(amount)
    return lambda lanes: lanes.set_u32(result, lanes.u32(high) >> count)


def _funnel_shift(insn: Decoded, form: Form) -> Execute:
    low, shift, high = form.sources
    width = 64 if insn.has("U64", "S64") else 32
    wraps, left, keep_high = insn.has("W"), insn.has("L"), insn.has("HI")
    signed = insn.has("S32", "S64")

    def execute(lanes: Lanes) -> None:
        count = lanes.u32(shift)
        count = count & np.uint32(width - 1) if wraps else np.minimum(count, np.uint32(width))
        value = lanes.u32(low) | (lanes.u32(high).astype(np.uint64) << WORD)
        shifted = shift_pair(value, count, left=left, signed=signed)
        lanes.set_u32(form.result, as_low(shifted >> WORD if keep_high else shifted))

    return execute


def shift_pair(value: U64, count: U32, *, left: bool, signed: bool) -> U64:
    """64-bit shift by 0 to 64; the right shift is arithmetic if ``signed``."""
    amount = count.astype(np.uint64)
    if left:
        return np.where(amount >= 64, np.uint64(0), value << (amount & np.uint64(63)))
    if signed:
        return (value.view(np.int64) >> np.minimum(amount, np.uint64(63)).astype(np.int64)).view(np.uint64)
    return np.where(amount >= 64, np.uint64(0), value >> (amount & np.uint64(63)))


@semantics("LEA", "ULEA")
def lea(insn: Decoded) -> Execute:
    """(a << n) + b; ``.HI`` takes the high word of c:a << n (c the high word; ``.SX32``: the sign of a).

    ``-a`` negates the shifted value. Pu is the carry out of 32 bits, ``.X`` adds the carry Pp.
    """
    allow(insn, ("HI", "X", "SX32"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3, 4)
    shifted = _shifted_source(insn, form)
    b = form.sources[1]
    carry_out, _ = wanted(form.predicate_results)
    if insn.has("X") or carry_out is not None:
        return _lea_with_carries(form, shifted, form.predicates[0] if insn.has("X") else None)
    negate = form.sources[0].negate
    if integer(b) == 0 and not negate:
        return lambda lanes: lanes.set_u32(form.result, shifted(lanes))
    if negate:
        return lambda lanes: lanes.set_u32(form.result, lanes.u32(b) - shifted(lanes))
    return lambda lanes: lanes.set_u32(form.result, shifted(lanes) + lanes.u32(b))


class _Shifted:
    """The first summand of LEA, without its sign."""

    def __init__(self, a: Operand, high: Operand | None, amount: int, *, signed: bool, keep_high: bool) -> None:
        self.a, self.high, self.signed, self.keep_high = a, high, signed, keep_high
        self.amount, self.amount_64 = np.uint32(amount), np.uint64(amount)
        self.back, self.back_signed = np.uint32(32 - amount), np.int32(min(32 - amount, 31))

    def __call__(self, lanes: Lanes) -> U32:
        low = lanes.raw(self.a)
        if not self.keep_high:
            return low << self.amount
        if self.signed:
            return (low.view(np.int32) >> self.back_signed).view(np.uint32)
        spill = low >> self.back if self.amount else ZERO
        return spill | (lanes.u32(self.high) << self.amount) if self.high is not None else spill


def _shifted_source(insn: Decoded, form: Form) -> _Shifted:
    a = form.sources[0]
    amount = required_integer(insn, form.sources[-1]) & 31
    high = form.sources[2] if len(form.sources) == 4 else None
    if high is not None and integer(high) == 0:
        high = None
    return _Shifted(a, high, amount, signed=insn.has("SX32"), keep_high=insn.has("HI"))


def _lea_with_carries(form: Form, shifted: _Shifted, carry_in: Operand | None) -> Execute:
    a, b = form.sources[:2]
    carry_out, _ = wanted(form.predicate_results)

    def execute(lanes: Lanes) -> None:
        total = _summand(shifted(lanes), a) + _summand(lanes.raw(b), b)
        if carry_in is not None:
            total = total + lanes.predicate(carry_in)
        lanes.set_u32(form.result, as_low(total))
        if carry_out is not None:
            lanes.set_predicate(carry_out, (total >> WORD) != 0)

    return execute


def _summand(value: U32, operand: Operand) -> U64:
    """33-bit negation (``-``) or complement (``~``) of a summand, as in IADD3."""
    if operand.negate:
        return (~value).astype(np.uint64) + np.uint64(1)
    return (~value if operand.invert else value).astype(np.uint64)


@semantics("SGXT", "USGXT")
def sgxt(insn: Decoded) -> Execute:
    """Keep the low n bits, extended with the sign (or zeros, ``.U32``); n is clamped to 32, or modulo 32 (``.W``)."""
    allow(insn, ("U32", "W"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, n = form.sources
    unsigned, wraps = insn.has("U32"), insn.has("W")

    def execute(lanes: Lanes) -> None:
        kept = _clamped(lanes.u32(n), wraps=wraps)
        unused = (np.uint32(32) - kept).astype(np.uint32)
        value = np.where(kept == 0, np.uint32(0), lanes.u32(a) << (unused & np.uint32(31)))
        if unsigned:
            lanes.set_u32(form.result, value >> (unused & np.uint32(31)))
        else:
            lanes.set_u32(
                form.result, (value.view(np.int32) >> (unused & np.uint32(31)).view(np.int32)).view(np.uint32)
            )

    return execute


def _clamped(count: U32, *, wraps: bool) -> U32:
    return count & np.uint32(31) if wraps else np.minimum(count, np.uint32(32))


@semantics("BMSK", "UBMSK")
def bmsk(insn: Decoded) -> Execute:
    """``width`` ones from bit ``position`` on; both are clamped at 32 unless ``.W`` (PTX ISA, bmsk)."""
    allow(insn, ("C", "W"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    position, width = form.sources
    wraps = insn.has("W")

    def execute(lanes: Lanes) -> None:
        start = _clamped(lanes.u32(position), wraps=wraps).astype(np.uint64)
        count = _clamped(lanes.u32(width), wraps=wraps).astype(np.uint64)
        ones = (np.uint64(1) << count) - np.uint64(1)
        lanes.set_u32(form.result, as_low(ones << start))

    return execute


@semantics("SHL", "USHL", "SHR", "USHR")
def single_shift(insn: Decoded) -> Execute:
    """The one-word shifts: a << n, a >> n; n is clamped, or modulo 32 with ``.W``."""
    allow(insn, ("U32", "S32", "W"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, n = form.sources
    left, wraps = insn.instruction.opcode.endswith("SHL"), insn.has("W")
    signed = pick(insn, ("U32", "S32"), "S32") == "S32" and not left

    def execute(lanes: Lanes) -> None:
        count = _clamped(lanes.u32(n), wraps=wraps)
        value = lanes.u32(a)
        wide: NDArray[np.uint64] = value.astype(np.uint64)
        if signed:
            wide = lanes.s32(a).astype(np.int64).view(np.uint64)
        lanes.set_u32(form.result, as_low(shift_pair(wide, count, left=left, signed=signed)))

    return execute
