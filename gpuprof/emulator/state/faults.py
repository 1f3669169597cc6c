"""Stopping a launch: errors that name kernel, instruction, source line, block and thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP
from gpuprof.errors import CodeLocation, MemoryFaultError
from gpuprof.isa.machine import Dim3
from gpuprof.sass.model import Instruction, OperandKind
from gpuprof.toolchain.names import demangle, signature_free

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState


def code_location(
    kernel: str, instruction: Instruction, block: Dim3 | None = None, thread: Dim3 | None = None
) -> CodeLocation:
    """The place of an instruction, with the user's source line where the cubin has line information."""
    source = instruction.source.of_user if instruction.source else None
    return CodeLocation(
        kernel=signature_free(demangle(kernel)),
        address=instruction.address,
        instruction=instruction.text,
        file=source.file if source else "",
        line=source.line if source else None,
        block=block,
        thread=thread,
    )


def lane_location(lanes: LaneState, instruction: Instruction, where: tuple[int, int, int]) -> CodeLocation:
    """The place of an instruction for one lane, given as (block row, warp, lane) of the batch."""
    block, thread = lanes.launch.name_lane(lanes, where)
    return code_location(lanes.launch.kernel, instruction, block, thread)


def first_lane(lanes: LaneState, bad: NDArray[np.bool_]) -> tuple[int, int, int]:
    """(block row, warp, lane) of the first true lane of a broadcast mask."""
    full = np.broadcast_to(bad, (lanes.block_count, lanes.warp_count, WARP))
    row, warp, lane = np.unravel_index(int(np.argmax(full)), full.shape)
    return int(row), int(warp), int(lane)


def memory_fault(
    lanes: LaneState, instruction: Instruction, bad: NDArray[np.bool_], addresses: NDArray[Any], message: str
) -> MemoryFaultError:
    """A fault of the first bad lane; ``message`` may use {address} and {nearest}."""
    where = first_lane(lanes, bad)
    full = np.broadcast_to(addresses, (lanes.block_count, lanes.warp_count, WARP))
    address = int(full[where])
    text = message.replace("{address}", f"0x{address:x}")
    if "{nearest}" in text:
        text = text.replace("{nearest}", lanes.launch.arena.describe_nearest(address))
    return MemoryFaultError(text, lane_location(lanes, instruction, where))


def call_site(lanes: LaneState, pc: int, where: tuple[int, int, int]) -> int | None:
    """Number of the CALL by which a lane came into a function of the compiler that has no line record.

    Such a function (``$__cuda_sm70_warpsync``) returns through a register that holds the place after the CALL.
    """
    instructions = lanes.launch.program.instructions
    for instruction in instructions[pc // 16 :]:
        if instruction.opcode == "RET":
            register = next((operand for operand in instruction.operands if operand.kind is OperandKind.REGISTER), None)
            if register is None or register.is_zero:
                return None
            full = np.broadcast_to(lanes.registers[register.index], (lanes.block_count, lanes.warp_count, WARP))
            number = int(full[where]) // 16 - 1
            is_call = 0 <= number < len(instructions) and instructions[number].opcode == "CALL"
            return number if is_call else None
    return None
