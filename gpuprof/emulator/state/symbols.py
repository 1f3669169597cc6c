"""Symbols that instructions name themselves, as code before CUDA 12 does: ``MOV R4, 32@lo(text)``.

Later compilers read such addresses from constant bank 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpuprof.emulator.state.operands import MASK32
from gpuprof.sass.model import Instruction, Operand, OperandKind


def with_addresses(instruction: Instruction, address_of: Callable[[str], int | None]) -> Instruction:
    """The instruction with an immediate in place of each half of a symbol's address, where that is known."""
    if not any(_names_symbol(operand) for operand in instruction.operands):
        return instruction
    return replace(instruction, operands=tuple(_placed(operand, address_of) for operand in instruction.operands))


def _names_symbol(operand: Operand) -> bool:
    return operand.kind is OperandKind.LABEL and operand.value is None and bool(operand.relocation)


def _placed(operand: Operand, address_of: Callable[[str], int | None]) -> Operand:
    address = address_of(operand.name) if _names_symbol(operand) else None
    if address is None:
        return operand
    half = address >> 32 if "hi" in operand.relocation else address
    return Operand(operand.text, OperandKind.IMMEDIATE, value=half & MASK32)
