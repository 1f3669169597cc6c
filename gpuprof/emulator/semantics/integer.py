"""Integer addition, multiply-add, comparison, minimum and maximum.

All arithmetic is modulo 2^32 on uint32 arrays, which numpy wraps without a warning; carries go through uint64.
"""

# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, semantics
from gpuprof.emulator.semantics.forms import (
    BOOLEANS,
    COMPARISONS,
    Form,
    allow,
    arithmetic_form,
    comparison_form,
    expect_sources,
    extremum,
    integer,
    pick,
    set_comparison,
    wanted,
)
from gpuprof.emulator.semantics.video import PACKED, packed_add, packed_add_minimum, packed_minimum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, U64, Lanes
    from gpuprof.sass.model import Operand

WORD = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
ZERO = np.zeros((1, 1, 1), np.uint32)
ZERO.flags.writeable = False

Binary = Callable[[Any, Any], Any]
COMPARE: dict[str, Binary] = {
    "LT": np.less,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GT": np.greater,
    "NE": np.not_equal,
    "GE": np.greater_equal,
}


def as_low(value: U64) -> U32:
    """The low 32 bits."""
    return value.astype(np.uint32)


def as_signed(value: U32) -> NDArray[np.int32]:
    return value.view(np.int32)


@semantics("IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "UVIADD")
def iadd3(insn: Decoded) -> Execute:
    """a + b + c; Pu: the unsigned sum reached 2^32, Pv: it reached 2 * 2^32; ``.X`` adds the carries Pp and Pq."""
    if insn.has(*PACKED):
        return packed_add(insn)
    allow(insn, ("X", "64", "U32", "S32"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2, 3)
    carries = form.predicates if insn.has("X") else ()
    if insn.has("64"):
        return _add_64(form, carries)
    if insn.has("X") or any(wanted(form.predicate_results)):
        return _add_with_carries(form, carries)
    return sum_of(form.result, form.sources)


def sum_of(result: Operand, sources: tuple[Operand, ...]) -> Execute:
    """Sum modulo 2^32 of up to three sources; zeros are dropped when bound."""
    terms = tuple(source for source in sources if integer(source) != 0)
    if not terms:
        return lambda lanes: lanes.set_u32(result, ZERO)
    if len(terms) == 1:
        (only,) = terms
        return lambda lanes: lanes.set_u32(result, lanes.u32(only))
    if len(terms) == 2:
        a, b = terms
        return lambda lanes: lanes.set_u32(result, lanes.u32(a) + lanes.u32(b))
    a, b, c = terms
    return lambda lanes: lanes.set_u32(result, lanes.u32(a) + lanes.u32(b) + lanes.u32(c))


def _add_64(form: Form, carries: tuple[Operand, ...]) -> Execute:
    """The same on pairs of registers: the carries are those out of bit 63 (IADD.64 RZ, P0, R2, R6, for __int128)."""
    first, second = wanted(form.predicate_results)
    added = [carry for carry in carries if not (carry.is_zero and carry.negate)]

    def execute(lanes: Lanes) -> None:
        values = [lanes.u64(term) for term in form.sources]
        values += [lanes.predicate(carry).astype(np.uint64) for carry in added]
        total = reduce(np.add, values)
        lanes.set_u64(form.result, total)
        if first is not None or second is not None:
            count = _overflows(values, [term.negate for term in form.sources])
            for target, least in ((first, 1), (second, 2)):
                if target is not None:
                    lanes.set_predicate(target, count >= least)

    return execute


def _overflows(values: list[U64], negated: list[bool]) -> NDArray[np.int64]:
    """How often the sum of the values passes 2^64; ``-0`` is ~0 + 1 and passes it alone, as in ``wide``."""
    total = values[0]
    count = np.zeros(total.shape, np.int64)
    for value in values[1:]:
        total = total + value
        count = count + (total < value)
    for value, minus in zip(values, negated, strict=False):
        if minus:
            count = count + (value == 0)
    return count


def _add_with_carries(form: Form, carries: tuple[Operand, ...]) -> Execute:
    first, second = wanted(form.predicate_results)
    terms = tuple(source for source in form.sources if integer(source) != 0)

    def execute(lanes: Lanes) -> None:
        total = reduce(np.add, [wide(lanes, term) for term in terms], np.zeros((1, 1, 1), np.uint64))
        for carry in carries:
            if not (carry.is_zero and carry.negate):
                total = total + lanes.predicate(carry)
        lanes.set_u32(form.result, as_low(total))
        count = total >> WORD
        if first is not None:
            lanes.set_predicate(first, count >= 1)
        if second is not None:
            lanes.set_predicate(second, count >= 2)

    return execute


def wide(lanes: Lanes, operand: Operand) -> U64:
    """A source as the adder of carries sees it: ``-x`` is the 33-bit ~x + 1, so that a - 0 has a carry (no borrow)."""
    if operand.negate:
        return (~lanes.raw(operand)).astype(np.uint64) + np.uint64(1)
    return lanes.u32(operand).astype(np.uint64)


@semantics("IMAD", "UIMAD")
def imad(insn: Decoded) -> Execute:
    """a * b + c. The suffixes MOV, SHL, IADD name idioms and change nothing; see the branches for WIDE, HI, X."""
    allow(insn, ("U32", "S32", "MOV", "SHL", "IADD", "WIDE", "HI", "X"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    if insn.has("WIDE", "HI"):
        return _multiply_wide(insn, form)
    if insn.has("X"):
        return _multiply_add_carry(form)
    a, b, c = form.sources
    if integer(a) == 0 or integer(b) == 0:
        return sum_of(form.result, (c,))
    if integer(b) == 1:
        return sum_of(form.result, (a, c))
    if integer(c) == 0:
        return lambda lanes: lanes.set_u32(form.result, lanes.u32(a) * lanes.u32(b))
    return lambda lanes: lanes.set_u32(form.result, lanes.u32(a) * lanes.u32(b) + lanes.u32(c))


def _multiply_add_carry(form: Form) -> Execute:
    a, b, c = form.sources
    carry = form.predicates[0]

    def execute(lanes: Lanes) -> None:
        total = lanes.u32(a) * lanes.u32(b) + lanes.u32(c)
        lanes.set_u32(form.result, total + lanes.predicate(carry))

    return execute


def _multiply_wide(insn: Decoded, form: Form) -> Execute:
    """64-bit a * b + c64 [+ Pp]: WIDE keeps all of it, with a carry out of bit 63; HI its high word."""
    a, b, c = form.sources
    product = _product_u32 if insn.has("U32") else _product_s32
    plain = integer(c) == 0
    high = insn.has("HI")
    carry_in = form.predicates[0] if insn.has("X") else None
    carry_out, _ = wanted(form.predicate_results)

    def execute(lanes: Lanes) -> None:
        total = product(lanes, a, b)
        before = total
        if not plain:
            total = total + lanes.u64(c)
        if carry_out is not None:
            overflow = total < before
        if carry_in is not None:
            carried = total + lanes.predicate(carry_in)
            if carry_out is not None:
                overflow = overflow | (carried < total)
            total = carried
        if high:
            lanes.set_u32(form.result, as_low(total >> WORD))
        else:
            lanes.set_u64(form.result, total)
        if carry_out is not None:
            lanes.set_predicate(carry_out, overflow)

    return execute


def _product_u32(lanes: Lanes, a: Operand, b: Operand) -> U64:
    product = np.multiply(lanes.raw(a), lanes.raw(b), dtype=np.uint64)
    return np.negative(product) if a.negate is not b.negate else product


def _product_s32(lanes: Lanes, a: Operand, b: Operand) -> U64:
    product = np.multiply(as_signed(lanes.raw(a)), as_signed(lanes.raw(b)), dtype=np.int64).view(np.uint64)
    return np.negative(product) if a.negate is not b.negate else product


@semantics("ISETP", "UISETP")
def isetp(insn: Decoded) -> Execute:
    """Pu = (a cmp b) bop Pp, Pv its complement bop Pp; ``.EX`` continues the comparison of the low words, Pq."""
    allow(insn, COMPARISONS, BOOLEANS, ("T", "F", "U32", "S32", "U64", "S64", "EX"))
    form = comparison_form(insn)
    name = pick(insn, (*COMPARISONS, "T", "F"))
    how = pick(insn, BOOLEANS, "AND")
    read = _reader(insn)
    a, b = form.sources.exactly(2)
    if name in ("T", "F"):
        constant = np.full((1, 1, 1), name == "T")
        return lambda lanes: set_comparison(lanes, form, how, constant)
    compare = COMPARE[name]
    if insn.has("EX"):
        low = form.predicates[1]

        def extended(lanes: Lanes) -> None:
            x, y = read(lanes, a), read(lanes, b)
            set_comparison(lanes, form, how, np.where(x == y, lanes.predicate(low), compare(x, y)))

        return extended
    return lambda lanes: set_comparison(lanes, form, how, compare(read(lanes, a), read(lanes, b)))


def _reader(insn: Decoded, default: str = "S32") -> Callable[[Lanes, Operand], NDArray[Any]]:
    """How sources are read: signed 32-bit unless the instruction says otherwise."""
    kind = pick(insn, ("U32", "S32", "U64", "S64", "64"), default)
    readers: dict[str, Callable[[Lanes, Operand], NDArray[Any]]] = {
        "U32": lambda lanes, operand: lanes.u32(operand),
        "S32": lambda lanes, operand: lanes.s32(operand),
        "U64": lambda lanes, operand: lanes.u64(operand),
        "S64": lambda lanes, operand: lanes.s64(operand),
        "64": lambda lanes, operand: lanes.u64(operand),
    }
    return readers[kind]


@semantics("IMNMX", "VIMNMX", "UVIMNMX", "UIMNMX", "VIMNMX3", "UVIMNMX3")
def imnmx(insn: Decoded) -> Execute:
    """Pp true: the minimum, false: the maximum, of two or three sources; packed forms are in ``video``."""
    if insn.has(*PACKED):
        return packed_minimum(insn)
    allow(insn, ("U32", "S32", "U64", "S64", "64", "RELU"))
    form = arithmetic_form(insn)
    read, store = _reader(insn), _setter(insn)
    relu = insn.has("RELU")
    sources = form.sources

    def execute(lanes: Lanes) -> None:
        value = extremum(lanes, form, [read(lanes, source) for source in sources])
        store(lanes, form.result, np.maximum(value, 0) if relu else value)

    return execute


@semantics("VIADDMNMX", "UVIADDMNMX")
def viaddmnmx(insn: Decoded) -> Execute:
    """Minimum (Pp) or maximum of a + b and c; the sum wraps to 32 bits."""
    if insn.has(*PACKED):
        return packed_add_minimum(insn)
    allow(insn, ("U32", "S32", "RELU"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    read, relu = _reader(insn), insn.has("RELU")

    def execute(lanes: Lanes) -> None:
        value = extremum(lanes, form, [read(lanes, a) + read(lanes, b), read(lanes, c)])
        lanes.set_u32(form.result, (np.maximum(value, 0) if relu else value).view(np.uint32))

    return execute


def _setter(insn: Decoded) -> Callable[[Lanes, Operand, NDArray[Any]], None]:
    if insn.has("U64", "S64", "64"):
        return lambda lanes, operand, value: lanes.set_u64(operand, value.view(np.uint64))
    return lambda lanes, operand, value: lanes.set_u32(operand, value.view(np.uint32))


@semantics("IABS", "UIABS")
def iabs(insn: Decoded) -> Execute:
    """|a|; the smallest integer stays itself."""
    allow(insn, ("S32", "64"))
    form = arithmetic_form(insn)
    source = form.sources[0]
    if insn.has("64"):
        return lambda lanes: lanes.set_u64(form.result, np.abs(lanes.s64(source)).view(np.uint64))
    return lambda lanes: lanes.set_u32(form.result, np.abs(lanes.s32(source)).view(np.uint32))
