"""Bitwise logic on words and predicates: LOP3, PLOP3, PRMT, MOV, SEL, and counting bits."""

# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import (
    allow,
    arithmetic_form,
    constant_u32,
    expect_sources,
    integer,
    is_always,
    required_integer,
    wanted,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, Lanes
    from gpuprof.sass.model import Operand

ONES = constant_u32(0xFFFFFFFF)
NONE = constant_u32(0)
Word = Any
Table = Callable[[Word, Word], Word]

#: The 16 functions of two inputs; bit 2*b + c of the index is the value. Words and bools alike.
TWO_INPUTS: tuple[Table | None, ...] = (
    None,  # constant 0
    lambda b, c: ~(b | c),
    lambda b, c: c & ~b,
    lambda b, c: ~b,
    lambda b, c: b & ~c,
    lambda b, c: ~c,
    lambda b, c: b ^ c,
    lambda b, c: ~(b & c),
    lambda b, c: b & c,
    lambda b, c: ~(b ^ c),
    lambda b, c: c,
    lambda b, c: ~b | c,
    lambda b, c: b,
    lambda b, c: b | ~c,
    lambda b, c: b | c,
    None,  # constant 1
)

#: Three-input tables that compilers emit most and that have a shorter form than the expansion below.
SHORT: dict[int, Callable[[Word, Word, Word], Word]] = {
    0x96: lambda a, b, c: a ^ b ^ c,
    0xFE: lambda a, b, c: a | b | c,
    0x80: lambda a, b, c: a & b & c,
    0xF8: lambda a, b, c: a | (b & c),
    0xE8: lambda a, b, c: (a & b) | (c & (a | b)),
    0xCA: lambda a, b, c: c ^ (a & (b ^ c)),
    0xB8: lambda a, b, c: a ^ (b & (a ^ c)),
    0xE2: lambda a, b, c: c ^ (b & (a ^ c)),
    0xEA: lambda a, b, c: (a & b) | c,
    0xA8: lambda a, b, c: (a | b) & c,
}


def three_input(lut: int, zero: tuple[bool, bool, bool] = (False, False, False)) -> Callable[[Word, Word, Word], Word]:
    """The function of a lookup table: bit 4a + 2b + c of ``lut``. Inputs known to be zero are folded away."""
    lut = _fold(lut & 0xFF, zero)
    if lut in SHORT:
        return SHORT[lut]
    low, high = lut & 15, lut >> 4
    if low == high:
        return lambda a, b, c: _two(low, a, b, c)
    difference = low ^ high
    if low == 0:
        return lambda a, b, c: a & _two(difference, a, b, c) if difference != 15 else a
    if difference == 15:
        return lambda a, b, c: a ^ _two(low, a, b, c)
    if high == 15:
        return lambda a, b, c: a | _two(low, a, b, c)
    if high == 0:
        return lambda a, b, c: _two(low, a, b, c) & ~a
    return lambda a, b, c: _two(low, a, b, c) ^ (a & _two(difference, a, b, c))


def _two(index: int, a: Word, b: Word, c: Word) -> Word:
    table = TWO_INPUTS[index]
    if table is not None:
        return table(b, c)
    zeros = a ^ a
    return ~zeros if index else zeros


def _fold(lut: int, zero: tuple[bool, bool, bool]) -> int:
    """Copy the half of the table with input = 0 over the half with input = 1."""
    for known, weight in zip(zero, (4, 2, 1), strict=True):
        if known:
            kept = sum((lut >> index & 1) << index for index in range(8) if not index & weight)
            lut = kept | kept << weight
    return lut


@semantics("LOP3", "ULOP3")
def lop3(insn: Decoded) -> Execute:
    """Any function of three words by its table; Pu = (result is not zero) or Pp (``.PAND``: and)."""
    allow(insn, ("LUT", "PAND"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 4)
    a, b, c, table = form.sources
    lut = required_integer(insn, table)
    known_zero = (integer(a) == 0, integer(b) == 0, integer(c) == 0)
    lut = _fold(lut & 0xFF, known_zero)
    compute = _constant_word(lut) or _lop3_words(three_input(lut), a, b, c)
    test, _ = wanted(form.predicate_results)
    if test is None:
        return lambda lanes: lanes.set_u32(form.result, compute(lanes))
    other = form.predicates[0] if form.predicates else None
    needs_and = insn.has("PAND")
    neutral = other is None or is_always(other, needs_and)

    def execute(lanes: Lanes) -> None:
        value = compute(lanes)
        result = value != 0
        if not neutral and other is not None:
            result = result & lanes.predicate(other) if needs_and else result | lanes.predicate(other)
        lanes.set_u32(form.result, value)
        lanes.set_predicate(test, result)

    return execute


def _constant_word(lut: int) -> Callable[[Lanes], U32] | None:
    return {0: lambda _: NONE, 0xFF: lambda _: ONES}.get(lut)


def _lop3_words(function: Callable[[Word, Word, Word], Word], a: Operand, b: Operand, c: Operand) -> Any:
    return lambda lanes: function(lanes.u32(a), lanes.u32(b), lanes.u32(c))


@semantics("PLOP3", "UPLOP3")
def plop3(insn: Decoded) -> Execute:
    """Pu, Pv = two tables of the predicates p, q, r: bit 4p + 2q + r."""
    allow(insn, ("LUT",))
    operands = insn.operands
    if len(operands) != 7:
        raise NotCovered(f"{insn.instruction.text}: {len(operands)} operands")
    sources = operands[2:5]
    always_false = (is_always(sources[0], False), is_always(sources[1], False), is_always(sources[2], False))
    outputs = [
        (result, three_input(required_integer(insn, table), always_false))
        for result, table in zip(operands[:2], operands[5:], strict=True)
        if not result.is_zero
    ]

    def execute(lanes: Lanes) -> None:
        p, q, r = (lanes.predicate(source) for source in sources)
        values = [(result, function(p, q, r)) for result, function in outputs]
        for result, value in values:
            lanes.set_predicate(result, value)

    return execute


@semantics("MOV", "UMOV", "MOV32I")
def mov(insn: Decoded) -> Execute:
    """Copy a word, or a pair (``.64``)."""
    allow(insn, ("64",))
    form = arithmetic_form(insn)
    source = form.sources[0]
    if insn.has("64"):
        return lambda lanes: lanes.set_u64(form.result, lanes.u64(source))
    return lambda lanes: lanes.set_u32(form.result, lanes.u32(source))


@semantics("SEL", "USEL")
def sel(insn: Decoded) -> Execute:
    """Pp ? a : b, words or pairs (``.64``)."""
    allow(insn, ("64",))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources
    choose = form.predicates[0]
    if insn.has("64"):
        return lambda lanes: lanes.set_u64(form.result, np.where(lanes.predicate(choose), lanes.u64(a), lanes.u64(b)))
    return lambda lanes: lanes.set_u32(form.result, np.where(lanes.predicate(choose), lanes.u32(a), lanes.u32(b)))


@semantics("POPC", "UPOPC")
def popc(insn: Decoded) -> Execute:
    """How many bits are set."""
    return _unary(insn, population)


def population(value: U32) -> U32:
    """Bits set in each word: pairs, nibbles, bytes, then the sum of the bytes by a multiplication."""
    value = value - ((value >> np.uint32(1)) & np.uint32(0x55555555))
    value = (value & np.uint32(0x33333333)) + ((value >> np.uint32(2)) & np.uint32(0x33333333))
    value = (value + (value >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return (value * np.uint32(0x01010101)) >> np.uint32(24)


@semantics("BREV", "UBREV")
def brev(insn: Decoded) -> Execute:
    """The bits in reverse order."""
    return _unary(insn, reverse_bits)


def reverse_bits(value: U32) -> U32:
    """Swap neighbours, then pairs, nibbles, and the bytes."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)):
        value = ((value >> np.uint32(shift)) & np.uint32(mask)) | ((value & np.uint32(mask)) << np.uint32(shift))
    return value.byteswap()


def _unary(insn: Decoded, function: Callable[[U32], U32]) -> Execute:
    allow(insn)
    form = arithmetic_form(insn)
    source = form.sources[0]
    return lambda lanes: lanes.set_u32(form.result, function(lanes.u32(source)))


@semantics("FLO", "UFLO")
def flo(insn: Decoded) -> Execute:
    """The highest set bit (signed: the highest that differs from the sign), 0xffffffff if none; ``.SH``: 31 - that.

    The optional predicate says whether there was one.
    """
    allow(insn, ("U32", "S32", "SH"))
    form = arithmetic_form(insn)
    source = form.sources[0]
    signed, from_top = not insn.has("U32"), insn.has("SH")
    found, _ = wanted(form.predicate_results)

    def execute(lanes: Lanes) -> None:
        value = lanes.u32(source)
        if signed:
            value = value ^ (value.view(np.int32) >> np.int32(31)).view(np.uint32)
        index = leading_bit(value)
        any_set = value != 0
        lanes.set_u32(form.result, np.where(any_set, np.uint32(31) - index if from_top else index, ONES))
        if found is not None:
            lanes.set_predicate(found, any_set)

    return execute


def leading_bit(value: U32) -> U32:
    """Index of the highest set bit, from the exponent of the exact double; meaningless for 0."""
    bits: NDArray[np.uint64] = value.astype(np.float64).view(np.uint64)
    return ((bits >> np.uint64(52)) - np.uint64(1023)).astype(np.uint32)
