"""Packed FP32 of sm_100 and later: two singles of a register pair at once (``add``, ``mul``, ``fma.f32x2`` of PTX).

A source names its halves: ``R2.F32x2.HI_LO`` is the pair as it is, ``LO_HI`` swapped; ``R4.F32``, a uniform
register likewise, and an immediate give both halves one value. Read off code that nvcc 13.0 makes of sources whose
halves are known; the arithmetic of each half is that of FADD, FMUL and FFMA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.floats import ROUNDINGS, add_directed, both_positive_zero, finisher, fused
from gpuprof.emulator.semantics.forms import allow, arithmetic_form, expect_sources, pick
from gpuprof.emulator.semantics.rounding import flush, round_double, two_sum
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F32, Lanes
    from gpuprof.sass.model import Operand

_MODIFIERS = ("FTZ", *ROUNDINGS)
#: Suffix -> which word of the pair the low and the high half of the result read.
_HALVES = {"HI_LO": (0, 1), "LO_HI": (1, 0), "LO_LO": (0, 0), "HI_HI": (1, 1)}
_SIGN = np.uint32(0x80000000)
Half = Callable[["Lanes"], "F32"]


def _words(operand: Operand) -> tuple[int, int]:
    """The words of a source that the low and the high half read; raises NotCovered for another form."""
    if "F32x2" in operand.suffixes:
        for suffix in operand.suffixes:
            if suffix in _HALVES:
                return _HALVES[suffix]
    elif operand.kind in (OperandKind.FLOAT, OperandKind.IMMEDIATE) or "F32" in operand.suffixes or operand.is_zero:
        return 0, 0
    raise NotCovered(f"packed source {operand.text}")


def _reader(operand: Operand, word: int, flushed: bool) -> Half:
    def first(lanes: Lanes) -> F32:
        return lanes.f32(operand)

    def second(lanes: Lanes) -> F32:
        bits = lanes.u32_next(operand, 1)
        bits = bits & ~_SIGN if operand.absolute else bits
        value: Any = (bits ^ _SIGN if operand.negate else bits).view(np.float32)
        return value  # type: ignore[no-any-return]

    read = second if word else first
    return (lambda lanes: flush(read(lanes))) if flushed else read


def _both(insn: Decoded, count: int, compute: Callable[..., F32]) -> Execute:
    """``compute`` on the low halves and on the high ones; both are read before either is written."""
    allow(insn, _MODIFIERS)
    form = arithmetic_form(insn)
    expect_sources(insn, form, count)
    words = [_words(operand) for operand in form.sources]
    sides = [
        [_reader(operand, pair[side], insn.has("FTZ")) for operand, pair in zip(form.sources, words, strict=True)]
        for side in (0, 1)
    ]
    finish = finisher(insn)

    def execute(lanes: Lanes) -> None:
        low, high = (finish(compute(*(read(lanes) for read in readers))) for readers in sides)
        lanes.set_f32(form.result, low)
        lanes.set_u32_next(form.result, 1, high.view(np.uint32))

    return execute


@semantics("FADD2")
def fadd2(insn: Decoded) -> Execute:
    """a + b in both halves."""
    mode = pick(insn, ROUNDINGS, "RN")
    return _both(insn, 2, (lambda a, b: a + b) if mode == "RN" else lambda a, b: add_directed(a, b, mode))


@semantics("FMUL2")
def fmul2(insn: Decoded) -> Execute:
    """a * b in both halves."""
    mode = pick(insn, ROUNDINGS, "RN")
    if mode == "RN":
        return _both(insn, 2, lambda a, b: a * b)
    return _both(insn, 2, lambda a, b: round_double(np.multiply(a, b, dtype=np.float64), None, mode))


@semantics("FFMA2")
def ffma2(insn: Decoded) -> Execute:
    """a * b + c with one rounding in both halves."""
    mode = pick(insn, ROUNDINGS, "RN")
    if mode == "RN":
        return _both(insn, 3, fused)

    def directed(a: F32, b: F32, c: F32) -> F32:
        product, addend = np.multiply(a, b, dtype=np.float64), c.astype(np.float64)
        total, error = two_sum(product, addend)
        return round_double(total, error, mode, both_positive_zero(product, addend))

    return _both(insn, 3, directed)
