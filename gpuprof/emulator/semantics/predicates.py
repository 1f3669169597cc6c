"""Predicates as bits of a register, and values handed from lanes to the uniform registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import (
    FALSE,
    allow,
    arithmetic_form,
    expect_sources,
    predicate_register,
    required_integer,
    wanted,
)
from gpuprof.sass.model import Operand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, Bool, Lanes

BYTES = {"B0": 0, "B1": 8, "B2": 16, "B3": 24}
PREDICATE_COUNT = 7


def _byte_shift(insn: Decoded) -> int:
    """Bits to shift for the byte that a modifier or a suffix (``R4.B1``, ``PR.B1``) names."""
    words = [*insn.modifiers, *(word for operand in insn.operands for word in operand.text.split(".")[1:])]
    return next((BYTES[word] for word in words if word in BYTES), 0)


def _named(insn: Decoded, bits: int) -> list[tuple[int, Operand]]:
    """The predicates of a mask with their numbers."""
    uniform = insn.instruction.opcode.startswith("U")
    return [
        (index, predicate_register(index, uniform=uniform)) for index in range(PREDICATE_COUNT) if bits >> index & 1
    ]


@semantics("P2R", "UP2UR")
def p2r(insn: Decoded) -> Execute:
    """Rd = (a & ~mask) | (predicates & mask), bit i from Pi; ``.B1`` to ``.B3`` place the mask in that byte."""
    allow(insn, BYTES)
    destination, _, a, mask = insn.operands.exactly(4)
    shift = _byte_shift(insn)
    bits = required_integer(insn, mask) & 0xFF
    uniform = insn.instruction.opcode.startswith("U")
    named = [
        (index, predicate_register(index, uniform=uniform)) for index in range(PREDICATE_COUNT) if bits >> index & 1
    ]
    kept = np.uint32(~(bits << shift) & 0xFFFFFFFF)

    def execute(lanes: Lanes) -> None:
        value = lanes.u32(a) & kept
        for index, predicate in named:
            value = value | (lanes.predicate(predicate).astype(np.uint32) << np.uint32(index + shift))
        lanes.set_u32(destination, value)

    return execute


@semantics("R2P", "UR2UP")
def r2p(insn: Decoded) -> Execute:
    """Pi = bit i of a (of its byte k with ``.Bk``) for every bit of the mask."""
    allow(insn, BYTES)
    _, a, mask = insn.operands.exactly(3)
    shift = _byte_shift(insn)
    bits = required_integer(insn, mask)
    uniform = insn.instruction.opcode.startswith("U")
    named = [
        (index, predicate_register(index, uniform=uniform)) for index in range(PREDICATE_COUNT) if bits >> index & 1
    ]

    def execute(lanes: Lanes) -> None:
        value = lanes.u32(a)
        for index, predicate in named:
            lanes.set_predicate(predicate, (value >> np.uint32(index + shift) & np.uint32(1)) != 0)

    return execute


@semantics("R2UR")
def r2ur(insn: Decoded) -> Execute:
    """URd = the value of the first lane that executes it (the compiler uses it on values that are the same in all).

    The form ``R2UR P1, URZ, Ra`` of sm_80 to sm_89 guards, as ``@!P1 BRA.DIV``, the test whether all lanes of a mask
    are here. What P1 says there is not published; false makes the test, which is right whichever lanes are here.
    """
    allow(insn, ("OR",))
    form = arithmetic_form(insn)
    predicate = wanted(form.predicate_results)[0]
    if predicate is not None and form.result.is_zero:
        return lambda lanes: lanes.set_predicate(predicate, FALSE)
    if predicate is not None:
        raise NotCovered(f"{insn.instruction.text}: the predicate result of R2UR")
    expect_sources(insn, form, 1)
    source = form.sources[0]
    if insn.has("OR"):
        return lambda lanes: lanes.set_u32(form.result, _or_of_active(lanes, source))
    return lambda lanes: lanes.set_u32(form.result, first_active(lanes, lanes.u32(source)))


def first_active(lanes: Lanes, value: U32) -> U32:
    """(…, 1): each warp's value in its first lane that executes; the value itself where it is uniform."""
    if value.shape[-1] == 1:
        return value
    active: Bool = lanes.active()
    first: NDArray[np.intp] = active.argmax(axis=-1)[..., None]
    return np.take_along_axis(lanes.full(value), first, axis=-1)


def _or_of_active(lanes: Lanes, source: Operand) -> U32:
    value = np.where(lanes.active(), lanes.u32(source), np.uint32(0))
    return np.bitwise_or.reduce(value, axis=-1, keepdims=True)
