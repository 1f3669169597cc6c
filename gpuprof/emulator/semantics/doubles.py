# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""FP64: add, multiply and fused multiply-add with one rounding, in all four directions; comparison and selection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, semantics
from gpuprof.emulator.semantics.exact import fused_double, product_double, sum_double
from gpuprof.emulator.semantics.floats import FLOAT_COMPARE, ROUNDINGS
from gpuprof.emulator.semantics.forms import (
    BOOLEANS,
    allow,
    arithmetic_form,
    combine,
    comparison_form,
    expect_sources,
    pick,
    set_comparison,
    wanted,
)

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F64, Bool, Lanes

QUIET = np.uint64(1 << 51)


def with_nan_of(result: F64, *operands: F64) -> F64:
    """``result`` with each NaN that comes from an operand: that operand's payload, made quiet.

    Of several NaN operands the first in the order given counts: b, c, a (an H200, tests/hardware/questions). An invalid
    operation gives 0xfff8000000000000, as on x86.
    """
    if not np.isnan(np.max(result)):
        return result
    for operand in reversed(operands):
        quiet = (operand.view(np.uint64) | QUIET).view(np.float64)
        result = np.where(np.isnan(operand), quiet, result)
    invalid = np.isnan(result)
    for operand in operands:
        invalid = invalid & ~np.isnan(operand)
    return np.where(invalid, INVALID_NAN, result)


INVALID_NAN = np.uint64(0xFFF8000000000000).view(np.float64)


@semantics("DADD")
def dadd(insn: Decoded) -> Execute:
    """a + b."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    mode = pick(insn, ROUNDINGS, "RN")
    compute = np.add if mode == "RN" else partial(sum_double, mode=mode)

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        lanes.set_f64(form.result, with_nan_of(compute(x, y), y, x))

    return execute


@semantics("DMUL")
def dmul(insn: Decoded) -> Execute:
    """a * b."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    mode = pick(insn, ROUNDINGS, "RN")
    compute = np.multiply if mode == "RN" else partial(product_double, mode=mode)

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        lanes.set_f64(form.result, with_nan_of(compute(x, y), y, x))

    return execute


@semantics("DFMA")
def dfma(insn: Decoded) -> Execute:
    """a * b + c with one rounding."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    mode = pick(insn, ROUNDINGS, "RN")

    def execute(lanes: Lanes) -> None:
        x, y, z = lanes.f64(a), lanes.f64(b), lanes.f64(c)
        lanes.set_f64(form.result, with_nan_of(fused_double(x, y, z, mode), y, z, x))

    return execute


@semantics("DSETP")
def dsetp(insn: Decoded) -> Execute:
    """Pu = (a cmp b) bop Pp, Pv its complement bop Pp; MIN, MAX: Pu = a is the one, Pv = both are NaN.

    -0 is below +0 for MIN and MAX, and a number comes before a NaN (an H200, tests/hardware/questions).
    """
    allow(insn, FLOAT_COMPARE, BOOLEANS, ("MIN", "MAX"))
    form = comparison_form(insn)
    a, b = form.sources.exactly(2)
    how = pick(insn, BOOLEANS, "AND")
    if insn.has("MIN", "MAX"):
        return _choose(insn, how)
    compare = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)]
    return lambda lanes: set_comparison(lanes, form, how, compare(lanes.f64(a), lanes.f64(b)))


def _choose(insn: Decoded, how: str) -> Execute:
    form = comparison_form(insn)
    a, b = form.sources.exactly(2)
    first, second = wanted(form.predicate_results)
    other = form.predicates[0] if form.predicates else None
    smallest = insn.has("MIN")

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        chosen = combine(lanes, how, comes_first(x, y, smallest=smallest), other)
        neither = combine(lanes, how, np.isnan(x) & np.isnan(y), other)
        if first is not None:
            lanes.set_predicate(first, chosen)
        if second is not None:
            lanes.set_predicate(second, neither)

    return execute


def comes_first(x: F64, y: F64, *, smallest: bool) -> Bool:
    """Whether the minimum (maximum) of x and y is x; y where both are NaN or equal."""
    zeros = (x == 0) & (y == 0)
    if smallest:
        better = (x < y) | (zeros & np.signbit(x) & ~np.signbit(y))
    else:
        better = (x > y) | (zeros & ~np.signbit(x) & np.signbit(y))
    return better | (np.isnan(y) & ~np.isnan(x))


@semantics("DMNMX")
def dmnmx(insn: Decoded) -> Execute:
    """Minimum (Pp) or maximum; a NaN loses against a number; -0 is below +0."""
    allow(insn, ())
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources.exactly(2)
    choose = form.predicates[0]

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        smallest, largest = (comes_first(x, y, smallest=which) for which in (True, False))
        first = np.where(lanes.predicate(choose), smallest, largest)
        lanes.set_f64(form.result, np.where(first, x, y))

    return execute
