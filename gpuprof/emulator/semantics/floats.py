"""FP32 arithmetic, selection and comparison.

The hardware computes with one rounding, keeps denormals unless the instruction says ``.FTZ``, and returns one NaN,
0x7fffffff. Here a fused multiply-add is a product exact in double, one double addition, and a rounding to single; the
few lanes where two roundings could differ from one are found and made exact (see ``fused``).
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
    allow,
    arithmetic_form,
    combine,
    comparison_form,
    expect_sources,
    pick,
    set_comparison,
)
from gpuprof.emulator.semantics.primitives import primitive
from gpuprof.emulator.semantics.rounding import (
    canonical,
    flush,
    round_double,
    saturate,
    single,
    two_sum,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F32, Bool, Lanes
    from gpuprof.sass.model import Operand

ROUNDINGS = ("RN", "RM", "RP", "RZ")
#: Powers of two that FMUL can scale its product by.
SCALES = {"D2": 0.5, "D4": 0.25, "D8": 0.125, "M2": 2.0, "M4": 4.0, "M8": 8.0}
COMMON = ("FTZ", "SAT", *ROUNDINGS)
Reader = Callable[["Lanes", "Operand"], "F32"]


def reader(insn: Decoded) -> Reader:
    """How sources are read: denormals become zeros of their sign under ``.FTZ``."""
    if insn.has("FTZ"):
        return lambda lanes, operand: flush(lanes.f32(operand))
    return lambda lanes, operand: lanes.f32(operand)


def finisher(insn: Decoded) -> Callable[[F32], F32]:
    """What happens to a rounded result: flush, saturate, and the one NaN."""
    if insn.has("SAT"):
        return lambda value: saturate(flush(value) if insn.has("FTZ") else value)
    if insn.has("FTZ"):
        return lambda value: canonical(flush(value))
    return canonical


@semantics("FADD", "UFADD", "FADD32I")
def fadd(insn: Decoded) -> Execute:
    """a + b."""
    allow(insn, COMMON)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    read, finish = reader(insn), finisher(insn)
    mode = pick(insn, ROUNDINGS, "RN")
    if mode != "RN":
        return lambda lanes: lanes.set_f32(form.result, finish(add_directed(read(lanes, a), read(lanes, b), mode)))
    return lambda lanes: lanes.set_f32(form.result, finish(read(lanes, a) + read(lanes, b)))


def add_directed(a: F32, b: F32, mode: str) -> F32:
    """The sum rounded down (RM), up (RP) or towards zero (RZ)."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    return round_double(*two_sum(x, y), mode, both_positive_zero(x, y))


def both_positive_zero(x: NDArray[np.float64], y: NDArray[np.float64]) -> Bool:
    """Where a zero sum keeps its plus sign even when rounding down."""
    return (x == 0) & (y == 0) & ~np.signbit(x) & ~np.signbit(y)


@semantics("FMUL", "UFMUL", "FMUL32I")
def fmul(insn: Decoded) -> Execute:
    """a * b, optionally scaled by a power of two before the rounding."""
    allow(insn, COMMON, SCALES)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    read, finish = reader(insn), finisher(insn)
    mode = pick(insn, ROUNDINGS, "RN")
    scale = SCALES.get(pick(insn, SCALES, "none"), 1.0)
    if mode == "RN" and scale == 1.0:
        return lambda lanes: lanes.set_f32(form.result, finish(read(lanes, a) * read(lanes, b)))

    def execute(lanes: Lanes) -> None:
        product = np.multiply(read(lanes, a), read(lanes, b), dtype=np.float64) * scale
        lanes.set_f32(form.result, finish(round_double(product, None, mode)))

    return execute


@semantics("FFMA", "UFFMA", "FFMA32I")
def ffma(insn: Decoded) -> Execute:
    """a * b + c with one rounding."""
    allow(insn, COMMON, SCALES)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    read, finish = reader(insn), finisher(insn)
    mode = pick(insn, ROUNDINGS, "RN")
    scale = SCALES.get(pick(insn, SCALES, "none"), 1.0)
    if mode != "RN" or scale != 1.0:

        def directed(lanes: Lanes) -> None:
            product = np.multiply(read(lanes, a), read(lanes, b), dtype=np.float64) * scale
            addend = read(lanes, c).astype(np.float64)
            total, error = two_sum(product, addend)
            value = round_double(total, error, mode, both_positive_zero(product, addend))
            lanes.set_f32(form.result, finish(value))

        return directed
    if insn.has("FTZ", "SAT"):
        return lambda lanes: lanes.set_f32(form.result, finish(fused(read(lanes, a), read(lanes, b), read(lanes, c))))
    return lambda lanes: lanes.set_f32(form.result, canonical(fused(lanes.f32(a), lanes.f32(b), lanes.f32(c))))


DISCARDED_BITS = np.int64(35)  #: shifts the 29 bits that a single drops to the top of the word
HALFWAY = np.iinfo(np.int64).min  #: those bits when they are exactly half a place
#: (bits << 1) - 1 of every non-zero denormal single lies below this; 0 wraps to the top.
DENORMAL_KEYS = np.uint32(0x00FFFFFF)


@primitive("fused")
def fused(a: F32, b: F32, c: F32) -> F32:
    """a * b + c rounded once to nearest even.

    The double sum rounds a second time when it is inexact; that changes the result only where the sum is exactly
    halfway between two singles, or is denormal as a single. Such lanes are looked at again with the sum's error term.
    """
    total = np.multiply(a, b, dtype=np.float64)
    if total.shape == c.shape or c.size == 1:
        np.add(total, c, out=total)
    else:
        total = total + c
    result = single(total)
    dropped = total.view(np.int64) << DISCARDED_BITS
    if dropped.min() == HALFWAY:
        result = _repaired(a, b, c, result, dropped == HALFWAY)
    keys = result.view(np.uint32) << np.uint32(1)
    keys -= np.uint32(1)
    if keys.min() < DENORMAL_KEYS:
        result = _repaired(a, b, c, result, keys < DENORMAL_KEYS)
    return result


def _repaired(a: F32, b: F32, c: F32, result: F32, doubtful: Bool) -> F32:
    """``result`` with those of the doubtful lanes whose sum was inexact rounded from the exact sum."""
    places = np.flatnonzero(doubtful)
    x, y, z = (_picked(value, result.shape, places).astype(np.float64) for value in (a, b, c))
    total, error = two_sum(x * y, z)
    inexact = (error != 0) & np.isfinite(total)
    if not inexact.any():
        return result
    fixed = result.copy()
    fixed.reshape(-1)[places[inexact]] = round_double(total[inexact], error[inexact], "RN")
    return fixed


def _picked(value: F32, shape: tuple[int, ...], places: NDArray[np.intp]) -> F32:
    """The elements at flat ``places`` of ``value`` broadcast to ``shape``."""
    if value.shape == shape:
        return value.reshape(-1)[places]
    return value.reshape(-1) if value.size == 1 else np.broadcast_to(value, shape)[np.unravel_index(places, shape)]


@semantics("FMNMX", "FMNMX3", "UFMNMX")
def fmnmx(insn: Decoded) -> Execute:
    """Minimum (Pp) or maximum; a NaN loses against a number, ``.NAN``: it wins; -0 is below +0.

    ``.XORSIGN`` gives a number the product of the signs that the sources have without their ``|x|``.
    """
    allow(insn, ("FTZ", "NAN", "XORSIGN"))
    form = arithmetic_form(insn)
    sources, choose = form.sources, form.predicates[0]
    read, spreads, crosses = reader(insn), insn.has("NAN"), insn.has("XORSIGN")

    def execute(lanes: Lanes) -> None:
        values = [read(lanes, source) for source in sources]
        if choose.is_zero:
            value = extremum(values, smallest=not choose.negate, spreads=spreads)
        else:
            low, high = (extremum(values, smallest=which, spreads=spreads) for which in (True, False))
            value = np.where(lanes.predicate(choose), low, high)
        if crosses:
            value = with_product_sign(value, [lanes.raw(source) for source in sources])
        lanes.set_f32(form.result, value)

    return execute


def with_product_sign(value: F32, raw: list[Any]) -> F32:
    """``value``, if it is a number, with its sign flipped by the signs of the raw words."""
    signs = reduce(np.bitwise_xor, raw) & np.uint32(0x80000000)
    return np.where(np.isnan(value), value, (value.view(np.uint32) ^ signs).view(np.float32))


def extremum(values: list[F32], *, smallest: bool, spreads: bool) -> F32:
    """The minimum or maximum of two or three arrays."""
    result = values[0]
    for value in values[1:]:
        result = _extremum_of_two(result, value, smallest=smallest, spreads=spreads)
    return result


def _extremum_of_two(a: F32, b: F32, *, smallest: bool, spreads: bool) -> F32:
    if spreads:
        result = np.minimum(a, b) if smallest else np.maximum(a, b)
    else:
        result = np.fmin(a, b) if smallest else np.fmax(a, b)
    if not result.all():  # numpy leaves open which of -0 and +0 it returns
        zeros = (a == 0) & (b == 0)
        first, second = a.view(np.uint32), b.view(np.uint32)
        signed = first | second if smallest else first & second
        result = np.where(zeros, signed.view(np.float32), result)
    return canonical(result)


@semantics("FSEL", "UFSEL")
def fsel(insn: Decoded) -> Execute:
    """Pp ? a : b, with the signs of the operands applied to the bits."""
    allow(insn, ("FTZ",))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    read, choose = reader(insn), form.predicates[0]
    return lambda lanes: lanes.set_f32(form.result, np.where(lanes.predicate(choose), read(lanes, a), read(lanes, b)))


def _is_number(a: Any, b: Any) -> Any:
    return ~(np.isnan(a) | np.isnan(b))


#: Ordered comparisons are false where an operand is NaN; the forms with U are true there.
FLOAT_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less,
    "EQ": np.equal,
    "LE": np.less_equal,
    "GT": np.greater,
    "NE": lambda a, b: (a < b) | (a > b),
    "GE": np.greater_equal,
    "LTU": lambda a, b: ~(a >= b),
    "EQU": lambda a, b: ~((a < b) | (a > b)),
    "LEU": lambda a, b: ~(a > b),
    "GTU": lambda a, b: ~(a <= b),
    "NEU": np.not_equal,
    "GEU": lambda a, b: ~(a < b),
    "NUM": _is_number,
    "NAN": lambda a, b: ~_is_number(a, b),
    "T": lambda a, b: np.ones_like(a == b),
    "F": lambda a, b: np.zeros_like(a == b),
}


@semantics("FSETP", "UFSETP")
def fsetp(insn: Decoded) -> Execute:
    """Pu = (a cmp b) bop Pp, Pv its complement bop Pp."""
    allow(insn, FLOAT_COMPARE, BOOLEANS, ("FTZ",))
    form = comparison_form(insn)
    a, b = form.sources.exactly(2)
    compare, how, read = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)], pick(insn, BOOLEANS, "AND"), reader(insn)
    return lambda lanes: set_comparison(lanes, form, how, compare(read(lanes, a), read(lanes, b)))


@semantics("FSET", "UFSET")
def fset(insn: Decoded) -> Execute:
    """(a cmp b) bop Pp as 1.0 or 0 (``.BF``), or as all ones or 0."""
    allow(insn, FLOAT_COMPARE, BOOLEANS, ("FTZ", "BF"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    compare, how, read = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)], pick(insn, BOOLEANS, "AND"), reader(insn)
    yes = np.uint32(0x3F800000 if insn.has("BF") else 0xFFFFFFFF)

    def execute(lanes: Lanes) -> None:
        other = form.predicates[0] if form.predicates else None
        result = combine(lanes, how, compare(read(lanes, a), read(lanes, b)), other)
        lanes.set_u32(form.result, np.where(result, yes, np.uint32(0)))

    return execute


@semantics("FCHK")
def fchk(insn: Decoded) -> Execute:
    """Whether a / b needs the slow path: an operand or the quotient is near the end of the range, or is special.

    The thresholds were read off an H200 (tests/hardware/questions, kernel ``fchk``).
    """
    allow(insn, ("DIVIDE",))
    results, (a, b) = insn.operands[0], insn.operands[1:3].exactly(2)

    def execute(lanes: Lanes) -> None:
        lanes.set_predicate(results, division_is_special(lanes.f32(a), lanes.f32(b)))

    return execute


def division_is_special(a: F32, b: F32) -> Bool:
    """False if the biased exponents allow the fast path: a's in 25..254, b's in 2..251, a's - b's in -124..126."""
    first = ((a.view(np.uint32) >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    second = ((b.view(np.uint32) >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    difference = first - second
    special = (first < 25) | (first == 255) | (second < 2) | (second > 251)
    return special | (difference < -124) | (difference > 126)
