# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""Instructions that look across the lanes of a warp: SHFL, VOTE, MATCH, REDUX, MOVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import allow, arithmetic_form, is_predicate, pick, wanted
from gpuprof.isa.machine import WARP_LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, Bool, Lanes
    from gpuprof.sass.model import Operand

LANES = np.arange(WARP_LANES, dtype=np.int64).reshape(1, 1, WARP_LANES)
SHUFFLES = ("IDX", "UP", "DOWN", "BFLY")


@semantics("SHFL")
def shfl(insn: Decoded) -> Execute:
    """Rd = a of another lane of the segment, or of this one where that lies outside; Pu says which.

    The source lane's register is read whether or not that lane is active (CUDA leaves the value undefined then).
    """
    allow(insn, SHUFFLES)
    form = arithmetic_form(insn)
    if len(form.sources) != 3:
        raise NotCovered(insn.instruction.text)
    a, b, c = form.sources
    mode = pick(insn, SHUFFLES)
    inside, _ = wanted(form.predicate_results)

    def execute(lanes: Lanes) -> None:
        lane, valid = shuffle_source(mode, lanes.u32(b), lanes.u32(c))
        value = lanes.u32(a)
        if value.shape[-1] != 1:
            value = _gather(lanes, value, lane)
        lanes.set_u32(form.result, value)
        if inside is not None:
            lanes.set_predicate(inside, valid)

    return execute


def _gather(lanes: Lanes, value: U32, lane: NDArray[np.int64]) -> U32:
    if lane.shape[:2] == (1, 1):
        return value[..., lane[0, 0]]
    return np.take_along_axis(lanes.full(value), lanes.full(lane), axis=-1)


def shuffle_source(mode: str, b: U32, c: U32) -> tuple[NDArray[np.int64], Bool]:
    """The lane that each lane reads, and whether it lies within the segment that ``c`` describes."""
    clamp = (c & np.uint32(31)).astype(np.int64)
    segment = ((c >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
    amount = (b & np.uint32(31)).astype(np.int64)
    start = LANES & segment
    last = start | (clamp & ~segment)
    if mode == "IDX":
        lane = start | (amount & ~segment)
    elif mode == "UP":
        lane = LANES - amount
    elif mode == "DOWN":
        lane = LANES + amount
    else:
        lane = LANES ^ amount
    valid = lane >= last if mode == "UP" else lane <= last
    return np.where(valid, lane, LANES), valid


def ballot(mask: Bool) -> U32:
    """(…, 32) booleans as one word per warp, lane 0 in bit 0: (…, 1)."""
    return np.packbits(mask, axis=-1, bitorder="little").view(np.uint32)


@semantics("VOTE", "VOTEU")
def vote(insn: Decoded) -> Execute:
    """Rd = the lanes whose Pp is true, Pu = whether any, all, or all-or-none (EQ) of the active lanes have it."""
    allow(insn, ("ANY", "ALL", "EQ", "U"))
    operands = insn.operands
    result = None if is_predicate(operands[0]) else operands[0]
    rest = operands if result is None else operands[1:]
    if len(rest) != 2:
        raise NotCovered(insn.instruction.text)
    test, source = (None if rest[0].is_zero else rest[0]), rest[1]
    how = pick(insn, ("ANY", "ALL", "EQ"))

    def execute(lanes: Lanes) -> None:
        active = lanes.active()
        yes = active & lanes.predicate(source)
        if test is not None:
            lanes_agree = _agreement(how, yes, active)
        if result is not None:
            lanes.set_u32(result, ballot(np.ascontiguousarray(yes)))
        if test is not None:
            lanes.set_predicate(test, lanes_agree)

    return execute


def _agreement(how: str, yes: Bool, active: Bool) -> Bool:
    any_set = np.asarray(yes.any(axis=-1, keepdims=True))
    if how == "ANY":
        return any_set
    all_set = np.asarray((yes == active).all(axis=-1, keepdims=True))
    return all_set if how == "ALL" else all_set | ~any_set


@semantics("MATCH")
def match(insn: Decoded) -> Execute:
    """ANY: the active lanes with the same value. ALL: all active lanes and true if every value is the same, else 0."""
    allow(insn, ("ANY", "ALL", "U32", "U64"))
    form = arithmetic_form(insn)
    source = form.sources[0]
    same, _ = wanted(form.predicate_results)
    wide, needs_all = insn.has("U64"), insn.has("ALL")

    def execute(lanes: Lanes) -> None:
        value = lanes.full(lanes.u64(source) if wide else lanes.u32(source))
        active = np.ascontiguousarray(lanes.full(lanes.active()))
        equal = (value[..., :, None] == value[..., None, :]) & active[..., None, :]
        if not needs_all:
            lanes.set_u32(form.result, ballot(equal)[..., 0])
            return
        everyone = ballot(active)
        mine = ballot(equal)[..., 0]
        agreed = (mine == everyone) | ~active
        whole = agreed.all(axis=-1, keepdims=True)
        lanes.set_u32(form.result, np.where(whole, everyone, np.uint32(0)))
        if same is not None:
            lanes.set_predicate(same, whole)

    return execute


Reduction = Callable[..., Any]
#: Operation -> (how, neutral element as 32 bits when unsigned, when signed).
REDUCTIONS: dict[str, tuple[Reduction, int, int]] = {
    "SUM": (np.add.reduce, 0, 0),
    "MIN": (np.minimum.reduce, 0xFFFFFFFF, 0x7FFFFFFF),
    "MAX": (np.maximum.reduce, 0, 0x80000000),
    "AND": (np.bitwise_and.reduce, 0xFFFFFFFF, 0xFFFFFFFF),
    "OR": (np.bitwise_or.reduce, 0, 0),
    "XOR": (np.bitwise_xor.reduce, 0, 0),
}


@semantics("REDUX", "CREDUX")
def redux(insn: Decoded) -> Execute:
    """URd = the reduction of a over the active lanes; AND if no operation is named."""
    allow(insn, REDUCTIONS, ("S32", "U32"))
    form = arithmetic_form(insn)
    source: Operand = form.sources[0]
    reduction, unsigned_neutral, signed_neutral = REDUCTIONS[pick(insn, REDUCTIONS, "AND")]
    signed = insn.has("S32")
    neutral = np.uint32(signed_neutral if signed else unsigned_neutral)
    kind = np.int32 if signed else np.uint32

    def execute(lanes: Lanes) -> None:
        value = np.where(lanes.active(), lanes.u32(source), neutral).view(kind)
        lanes.set_u32(form.result, reduction(value, axis=-1, keepdims=True, dtype=kind).view(np.uint32))

    return execute


@semantics("MOVM")
def movm(insn: Decoded) -> Execute:
    """Transpose the 8x8 matrix of halves that a warp holds: lane l has row l / 4, columns 2 (l % 4) and the next."""
    allow(insn, ("16", "MT88"))
    if not insn.has("MT88"):
        raise NotCovered(insn.instruction.mnemonic)
    form = arithmetic_form(insn)
    source = form.sources[0]

    def execute(lanes: Lanes) -> None:
        value = np.ascontiguousarray(lanes.full(lanes.u32(source)))
        matrix = value.view(np.uint16).reshape(*value.shape[:2], 8, 8).swapaxes(-1, -2)
        lanes.set_u32(form.result, np.ascontiguousarray(matrix).reshape(*value.shape[:2], 64).view(np.uint32))

    return execute
