# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""MUFU, the multi-function unit: reciprocal, roots, base-2 exponential and logarithm, sine and cosine of turns, tanh.

The hardware interpolates in tables that NVIDIA does not publish. Here every function is computed in double and rounded
to single: within 1 ulp of the hardware's for RCP, RSQ, SQRT and EX2, within its stated absolute error for the others.
Denormal arguments count as zeros, denormal results are flushed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import allow, arithmetic_form
from gpuprof.emulator.semantics.narrow import half_to_single, to_half
from gpuprof.emulator.semantics.rounding import canonical, flush, single

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F32, F64, U32, Lanes


def _turns(value: F64) -> F64:
    """The fractional part of a number of turns, in radians; exact up to the final product."""
    return (value - np.rint(value)) * (2.0 * np.pi)


#: On doubles that hold a single exactly.
FUNCTIONS: dict[str, Callable[[F64], F64]] = {
    "RCP": lambda x: 1.0 / x,
    "RSQ": lambda x: 1.0 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": lambda x: np.sin(_turns(x)),
    "COS": lambda x: np.cos(_turns(x)),
    "TANH": np.tanh,
}
HIGH_WORD = ("RCP64H", "RSQ64H")


@semantics("MUFU", "UMUFU")
def mufu(insn: Decoded) -> Execute:
    """One of the functions above; RCP64H and RSQ64H take and give the high word of a double."""
    allow(insn, FUNCTIONS, HIGH_WORD, ("F16", "FTZ"))
    form = arithmetic_form(insn)
    if len(form.sources) != 1:
        raise NotCovered(insn.instruction.text)
    source = form.sources[0]
    name = insn.modifiers[0]
    if name in HIGH_WORD:
        function = FUNCTIONS[name.removesuffix("64H")]
        return lambda lanes: lanes.set_u32(form.result, high_word(_signed_word(lanes, source), function))
    if name not in FUNCTIONS:
        raise NotCovered(insn.instruction.mnemonic)
    function = FUNCTIONS[name]
    if insn.has("F16"):
        return _half(insn, function)
    return lambda lanes: lanes.set_f32(form.result, approximate(lanes.f32(source), function))


def approximate(value: F32, function: Callable[[F64], F64]) -> F32:
    """The function of a single, denormals flushed on both sides."""
    return canonical(flush(single(function(flush(value).astype(np.float64)))))


def _signed_word(lanes: Lanes, source: Any) -> U32:
    return lanes.f32(source).view(np.uint32)


def high_word(word: U32, function: Callable[[F64], F64]) -> U32:
    """The high word of a function of the double with this high word and low word 0."""
    value: F64 = (word.astype(np.uint64) << np.uint64(32)).view(np.float64)
    tiny = np.abs(value) < 2.0**-1022
    value = np.where(tiny, np.copysign(0.0, value), value)
    result = function(value)
    result = np.where(np.isnan(result), np.nan, result)
    bits = result.view(np.uint64)
    return (bits >> np.uint64(32)).astype(np.uint32)


def _half(insn: Decoded, function: Callable[[F64], F64]) -> Execute:
    """FP16 in the low half (or the half that the operand names) to FP16."""
    form = arithmetic_form(insn)
    source = form.sources[0]
    shift = np.uint32(16 if "H1_H1" in source.suffixes else 0)

    def execute(lanes: Lanes) -> None:
        value = half_to_single((lanes.f32(source).view(np.uint32) >> shift).astype(np.uint16)).astype(np.float64)
        lanes.set_u32(form.result, to_half(function(value)).astype(np.uint32))

    return execute
