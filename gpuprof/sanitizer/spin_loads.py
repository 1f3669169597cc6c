"""Loads of shared memory that a loop repeats until what they give changes: flags, which the source calls volatile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.sanitizer.access_forms import WRITING
from gpuprof.sass.cfg import target_address
from gpuprof.sass.def_use import roles
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuprof.sass.model import Instruction

#: Instructions of a waiting loop, and between a first look (which nvcc puts before the loop) and the loop.
_LOOP, _AHEAD = 24, 16


def is_spin_load(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether the load is in a loop that stores nothing and meets nobody, or the first look before such a loop."""
    if _in_waiting_loop(instructions, index):
        return True
    place = _place(instructions[index])
    return any(
        instructions[later].opcode == instructions[index].opcode
        and _place(instructions[later]) == place
        and _in_waiting_loop(instructions, later)
        for later in range(index + 1, min(index + _AHEAD, len(instructions)))
    )


def _in_waiting_loop(instructions: Sequence[Instruction], index: int) -> bool:
    for last in range(index + 1, min(index + _LOOP, len(instructions))):
        if instructions[last].opcode in WRITING or instructions[last].opcode in ("BAR", "EXIT"):
            return False
        target = target_address(instructions[last]) if instructions[last].opcode == "BRA" else None
        if target is None or instructions[last].predicate is None:
            continue
        first = target // INSTRUCTION_BYTES
        if index - _LOOP <= first <= index:
            loop = instructions[first : last + 1]
            loads = [each for each in loop if each.opcode in ("LDS", "LD", "LDG")]
            if len(loads) != 1 or any(each.opcode in WRITING or each.opcode == "BAR" for each in loop):
                return False
            return _decides(instructions[index : last + 1])
    return False


def _decides(instructions: Sequence[Instruction]) -> bool:
    """Whether what the first instruction loads reaches the guard of the last: a loop may also count and sum up."""
    first, *others, last = instructions
    derived = set(roles(first).writes)
    for instruction in others:
        part = roles(instruction)
        if derived.intersection(part.reads):
            derived.update(part.writes)
    return bool(derived.intersection(roles(last).reads))


def _place(instruction: Instruction) -> str:
    return next((str(each.text) for each in instruction.operands if each.kind is OperandKind.MEMORY), "")
