"""A kernel's code as the timeline reads it: pipe, issue interval, control code and register reads per instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.errors import ModelError
from gpuprof.isa.pipes import Completion, Pipe, completion_of, pipe_of
from gpuprof.sass.def_use import destination_count
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.arch.gpu_constants import GpuConstants
    from gpuprof.sass.model import Instruction

#: ``Instruction`` of runtime/machine.hpp.
CODE = np.dtype(
    [
        ("interval", np.float64),
        ("newest", np.int32),
        ("pipe", np.uint8),
        ("completion", np.uint8),
        ("stall", np.uint8),
        ("yields", np.uint8),
        ("wait_mask", np.uint8),
        ("even_reads", np.uint8),
        ("odd_reads", np.uint8),
        ("write_barrier", np.int8),
        ("read_barrier", np.int8),
        ("waits_for", np.int8),
        ("words", np.uint8),
        ("pad", np.uint8),
    ],
    align=True,
)
_NO_PIPE = 255
_SLOTS = 3
_READING = (Pipe.FMA, Pipe.FMA_HEAVY)


def code_table(instructions: Sequence[Instruction], gpu: GpuConstants) -> NDArray[np.void]:
    """One entry of ``CODE`` per instruction; those that no pipe is known for are for ``check_code`` to refuse."""
    table = np.zeros(len(instructions), CODE)
    cached: list[int | None] = [None] * _SLOTS
    for entry, instruction in zip(table, instructions, strict=True):
        pipe, control = pipe_of(instruction.opcode), instruction.control
        entry["pipe"] = _NO_PIPE if pipe is None else pipe
        entry["interval"] = 1.0 if pipe is None else _interval(instruction, pipe, gpu)
        entry["stall"], entry["yields"], entry["wait_mask"] = control.stall, control.yields, control.wait_mask
        entry["write_barrier"] = -1 if control.write_barrier is None else control.write_barrier
        entry["read_barrier"] = -1 if control.read_barrier is None else control.read_barrier
        entry["waits_for"] = -1
        entry["words"] = _words(instruction)
        if pipe is None:
            continue
        completion = completion_of(instruction.opcode, instruction.modifiers)
        entry["completion"] = completion
        if completion is Completion.DRAIN_TO:
            entry["waits_for"], entry["newest"] = _drain(instruction)
        entry["even_reads"], entry["odd_reads"] = _register_reads(instruction, pipe, cached)
    return table


def check_code(table: NDArray[np.void], executed: NDArray[np.bool_], instructions: Sequence[Instruction]) -> None:
    """Raise ModelError for an executed instruction that no timeline is known for."""
    unknown = np.flatnonzero(executed & (table["pipe"] == _NO_PIPE))
    if len(unknown):
        raise ModelError(f"no timing is known for {instructions[int(unknown[0])].mnemonic}")


def _interval(instruction: Instruction, pipe: Pipe, gpu: GpuConstants) -> float:
    if pipe is not Pipe.TENSOR:
        return gpu[f"interval.{pipe.name.lower()}"]
    for modifier in instruction.modifiers:
        known = gpu.constants.get(f"interval.tensor.{instruction.opcode}.{modifier}")
        if known is not None:
            return known.value
    raise ModelError(f"no issue interval is known for {instruction.mnemonic} on {gpu.name}")


def _words(instruction: Instruction) -> int:
    """32-bit words per lane of a memory instruction."""
    return next((int(width) // 32 for width in ("128", "64") if width in instruction.modifiers), 1)


def _drain(instruction: Instruction) -> tuple[int, int]:
    """(scoreboard, completions that may be outstanding) of a DEPBAR; it waits for nothing that way: (-1, 0)."""
    match = re.search(r"SB(\d)\s*,\s*(0x[0-9a-f]+|\d+)", instruction.text)
    return (int(match[1]), int(match[2], 0)) if match else (-1, 0)


def _register_reads(instruction: Instruction, pipe: Pipe, cached: list[int | None]) -> tuple[int, int]:
    """Registers read from the even and the odd bank; what ``.reuse`` kept from the instruction before is not read."""
    first = destination_count(instruction)
    slots = instruction.operands[first : first + _SLOTS]
    read = {
        operand.index
        for slot, operand in enumerate(slots)
        if operand.kind is OperandKind.REGISTER and not operand.is_zero and cached[slot] != operand.index
    }
    for slot, operand in enumerate(slots):
        if operand.kind is OperandKind.REGISTER:
            cached[slot] = operand.index if operand.reuse else None
    if pipe not in _READING:
        return 0, 0
    odd = sum(register & 1 for register in read)
    return len(read) - odd, odd
