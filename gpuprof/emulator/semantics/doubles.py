# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""FP64: add, multiply and fused multiply-add with one rounding, in all four directions; comparison and selection."""

from __future__ import annotations

from collections.abc import Callable
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

#: What an invalid operation returns; a NaN operand comes back with its payload, made quiet, as on the CPU.
INVALID_NAN = np.uint64(0xFFF8000000000000).view(np.float64)


@semantics("DADD")
def dadd(insn: Decoded) -> Execute:
    """a + b."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources
    mode = pick(insn, ROUNDINGS, "RN")
    if mode == "RN":
        return lambda lanes: lanes.set_f64(form.result, lanes.f64(a) + lanes.f64(b))
    return lambda lanes: lanes.set_f64(form.result, sum_double(lanes.f64(a), lanes.f64(b), mode))


@semantics("DMUL")
def dmul(insn: Decoded) -> Execute:
    """a * b."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources
    mode = pick(insn, ROUNDINGS, "RN")
    if mode == "RN":
        return lambda lanes: lanes.set_f64(form.result, lanes.f64(a) * lanes.f64(b))
    return lambda lanes: lanes.set_f64(form.result, product_double(lanes.f64(a), lanes.f64(b), mode))


@semantics("DFMA")
def dfma(insn: Decoded) -> Execute:
    """a * b + c with one rounding."""
    allow(insn, ROUNDINGS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    mode = pick(insn, ROUNDINGS, "RN")
    return lambda lanes: lanes.set_f64(form.result, fused_double(lanes.f64(a), lanes.f64(b), lanes.f64(c), mode))


@semantics("DSETP")
def dsetp(insn: Decoded) -> Execute:
    """Pu = (a cmp b) bop Pp, Pv its complement bop Pp; MIN, MAX: Pu = a is the smaller (larger), Pv = unordered."""
    allow(insn, FLOAT_COMPARE, BOOLEANS, ("MIN", "MAX"))
    form = comparison_form(insn)
    a, b = form.sources
    how = pick(insn, BOOLEANS, "AND")
    if insn.has("MIN", "MAX"):
        return _choose(insn, how)
    compare = FLOAT_COMPARE[pick(insn, FLOAT_COMPARE)]
    return lambda lanes: set_comparison(lanes, form, how, compare(lanes.f64(a), lanes.f64(b)))


def _choose(insn: Decoded, how: str) -> Execute:
    form = comparison_form(insn)
    a, b = form.sources
    first, second = wanted(form.predicate_results)
    other = form.predicates[0] if form.predicates else None
    compare: Callable[[F64, F64], Bool] = np.less if insn.has("MIN") else np.greater

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        chosen = combine(lanes, how, compare(x, y), other)
        unordered = combine(lanes, how, np.isnan(x) | np.isnan(y), other)
        if first is not None:
            lanes.set_predicate(first, chosen)
        if second is not None:
            lanes.set_predicate(second, unordered)

    return execute


@semantics("DMNMX")
def dmnmx(insn: Decoded) -> Execute:
    """Minimum (Pp) or maximum; a NaN loses against a number; -0 is below +0."""
    allow(insn, ())
    form = arithmetic_form(insn)
    expect_sources(insn, form, 2)
    a, b = form.sources
    choose = form.predicates[0]

    def execute(lanes: Lanes) -> None:
        x, y = lanes.f64(a), lanes.f64(b)
        smallest = lanes.predicate(choose)
        below = (x < y) | ((x == y) & np.signbit(x))
        first = np.where(smallest, below, ~below) | np.isnan(y)
        lanes.set_f64(form.result, np.where(first & ~np.isnan(x), x, y))

    return execute
