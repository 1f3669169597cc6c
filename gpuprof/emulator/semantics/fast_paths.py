"""Fast forms of instructions that address arithmetic executes all the time: sums with one carry in or out.

Each gives what the general semantics gives (a test compares them); forms that are not listed fall back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState, Step

    Array = NDArray[Any]

_PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)


def specialise(decoded: Decoded) -> Step | None:
    """A fast step for this instruction, or None."""
    opcode, modifiers = decoded.instruction.opcode, decoded.modifiers
    if opcode in ("IADD3", "UIADD3") and modifiers in ((), ("X",)):
        return _sum(decoded, carries=modifiers == ("X",))
    if opcode == "IMAD" and modifiers == ("X",):
        return _multiply_nothing(decoded)
    return None


def _sum(decoded: Decoded, *, carries: bool) -> Step | None:
    """``IADD3 Rd, Pu, a, b, RZ`` and ``IADD3.X Rd[, Pu], a, b, RZ, Pp, !PT``."""
    result, operands = decoded.operands[0], list(decoded.operands[1:])
    outs = _take_predicates(operands)
    ins = _take_predicates(operands, last=True)
    terms = [operand for operand in operands if not operand.is_zero or operand.invert]
    if len(operands) != 3 or len(terms) not in (1, 2) or any(term.negate for term in operands):
        return None
    if any(not out.is_zero for out in outs[1:]) or len(ins) != (2 if carries else 0):
        return None
    if carries and not (ins[1].is_zero and ins[1].negate):
        return None
    out = outs[0] if outs and not outs[0].is_zero else None
    if out is None and not carries:
        return None
    return _carry_step(result, out, terms, ins[0] if carries else None)


def _take_predicates(operands: list[Operand], *, last: bool = False) -> list[Operand]:
    found: list[Operand] = []
    while operands and operands[-1 if last else 0].kind in _PREDICATES:
        found.append(operands.pop(-1 if last else 0))
    return found[::-1] if last else found


def _carry_step(result: Operand, out: Operand | None, terms: list[Operand], carry: Operand | None) -> Step:
    def execute(lanes: LaneState) -> None:
        first = lanes.u32(terms[0])
        total, carried = first, None
        if len(terms) == 2:
            total = np.add(first, lanes.u32(terms[1]))
            carried = np.less(total, first) if out is not None else None
        if carry is not None:
            before, total = total, np.add(total, lanes.predicate(carry), dtype=np.uint32)
            if out is not None:
                wrapped = np.less(total, before)
                carried = wrapped if carried is None else np.logical_or(carried, wrapped)
        if out is not None:
            lanes.set_predicate(out, carried if carried is not None else np.zeros((1, 1, 1), bool))
        lanes.set_u32(result, total)

    return execute


def _multiply_nothing(decoded: Decoded) -> Step | None:
    """``IMAD.X Rd, RZ, RZ, c, Pp``: how a high word gets its carry."""
    operands = list(decoded.operands)
    if len(operands) != 5 or not (operands[1].is_zero or operands[2].is_zero):
        return None
    result, addend, carry = operands[0], operands[3], operands[4]
    if carry.kind not in _PREDICATES or addend.kind in _PREDICATES:
        return None
    return lambda lanes: lanes.set_u32(result, np.add(lanes.u32(addend), lanes.predicate(carry), dtype=np.uint32))
