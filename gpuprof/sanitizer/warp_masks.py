"""Masks of warp collectives: ``__syncwarp``, shuffles, votes. Who is named must come, and who comes must be named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.control.barrier_rules import went_round
from gpuprof.emulator.control.barriers import WARPSYNC_SLOT, ballot
from gpuprof.emulator.state.faults import call_site, first_lane
from gpuprof.emulator.state.operands import bind_alone
from gpuprof.sass.cfg import target_address
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Decoded, Step
    from gpuprof.sass.model import Instruction, Operand

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: In the cubin's list of mask registers: none, the mask is constant or full.
NO_REGISTER = 0xFFFFFFFF
NOT_NAMED, NOT_THERE, INACTIVE_SOURCE = "caller not in mask", "lanes never come", "shuffle from an absent lane"


@dataclass(frozen=True)
class MaskFault:
    """One instruction's first bad execution; ``lanes`` is a word with the lanes that are meant."""

    index: int
    kind: str
    block: int
    warp: int
    lane: int
    lanes: int


def _mask_of_branch(batch: Batch, index: int) -> Operand | None:
    """The mask of a collective up to sm_89: of the BRA.CONV that leads to it, or the BRA.DIV before it."""
    instructions = batch.launch.program.instructions
    address = instructions[index].address
    for number, instruction in enumerate(instructions[max(0, index - 64) : index], max(0, index - 64)):
        if instruction.opcode != "BRA" or not instruction.operands:
            continue
        converged = "CONV" in instruction.modifiers and target_address(instruction) == address
        diverged = "DIV" in instruction.modifiers and number == index - 1
        if converged or diverged:
            mask = instruction.operands[0]
            return bind_alone(mask) if mask.kind is not OperandKind.LABEL else _mask_of_call(instructions, number)
    return None


def _mask_of_call(instructions: Sequence[Instruction], branch: int) -> Operand | None:
    """sm_75 does not print the mask of a BRA.CONV: the function that is called where it is not taken waits for it."""
    call = next(
        (instruction for instruction in instructions[branch : branch + 6] if instruction.opcode == "CALL"), None
    )
    address = None if call is None else target_address(call)
    for instruction in instructions[address // 16 : address // 16 + 6] if address is not None else ():
        if instruction.opcode == "WARPSYNC" and instruction.operands:
            mask = instruction.operands[0]  # a register is set on the way to the call only
            return None if mask.kind is OperandKind.REGISTER else bind_alone(mask)
    return None


class MaskRules:
    """Wraps collectives. Result: ``faults`` by (instruction, kind)."""

    def __init__(self, collectives: Mapping[int, int]) -> None:
        self.faults: dict[tuple[int, str], MaskFault] = {}
        self._collectives = collectives

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        """``step`` with the checks of its collective before it, where it is one."""
        opcode = decoded.instruction.opcode
        marked = self._collectives.get(index * 16)
        if marked is None and opcode != "SHFL":
            return step
        register = None if marked in (None, NO_REGISTER) else marked & 0xFF if marked is not None else None
        if register is not None and register >= 255:
            register = None

        branch: list[Operand | None] = []

        def execute(batch: Batch) -> None:
            if not branch:
                branch.append(_mask_of_branch(batch, index))
            if register is not None:
                self._check_mask(batch, index, batch.registers[register])
            elif branch[0] is not None:
                self._check_mask(batch, index, batch.u32(branch[0]))
            if opcode == "SHFL":
                self._check_source(batch, index, decoded)
            step(batch)

        return execute

    def meet(self, batch: Batch, lanes: Bool, pc: int) -> None:
        """A WARPSYNC released ``lanes``: those that it named and that ended elsewhere never came."""
        shape = (batch.block_count, batch.warp_count, 32)
        own = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32)).reshape(1, 1, 32)
        outside = np.logical_and(np.broadcast_to(lanes, shape), (batch.barriers[WARPSYNC_SLOT] & own) == 0)
        outside = np.logical_and(outside, batch.live)
        index = pc // 16 - 1
        if outside.any():
            self._add(batch, self._called_from(batch, index, outside), NOT_NAMED, outside, outside)
        if not batch.exits:
            return
        present = np.broadcast_to(batch.launch.present, shape)
        met = np.broadcast_to(lanes, shape)
        words = np.broadcast_to(batch.barriers[WARPSYNC_SLOT], shape) & ballot(present) & ~ballot(met)
        bad = np.logical_and(met, words != 0)
        if bad.any() and any(went_round(batch.launch.program, pc - 16, at) for at in batch.exits):
            word = words.max(axis=2, keepdims=True)
            self._add(batch, self._called_from(batch, index, bad), NOT_THERE, bad, (word & own) != 0)

    @staticmethod
    def _called_from(batch: Batch, index: int, lanes: Bool) -> int:
        """The instruction, or the call of the compiler's function that it is in."""
        if batch.launch.program.instructions[index].source is not None:
            return index
        called = call_site(batch, 16 * index, first_lane(batch, lanes))
        return index if called is None else called

    def _check_mask(self, batch: Batch, index: int, words: Array) -> None:
        own = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32)).reshape(1, 1, 32)
        active = np.logical_and(batch.mask, batch.live)
        outside = np.logical_and(active, (words & own) == 0)
        if outside.any():
            self._add(batch, index, NOT_NAMED, outside, outside)
        living = ballot(np.broadcast_to(batch.live, (batch.block_count, batch.warp_count, 32)))
        here = ballot(np.broadcast_to(active, (batch.block_count, batch.warp_count, 32)))
        missing = np.logical_and(active, (words & living & ~here) != 0)
        if missing.any():
            lanes = words & living & ~here
            self._add(batch, index, NOT_THERE, missing, (lanes & own) != 0)

    def _check_source(self, batch: Batch, index: int, decoded: Decoded) -> None:
        from gpuprof.emulator.semantics.forms import arithmetic_form
        from gpuprof.emulator.semantics.warp import SHUFFLES, shuffle_source

        sources = arithmetic_form(decoded).sources
        mode = next((word for word in SHUFFLES if decoded.has(word)), None)
        if mode is None or len(sources) != 3:
            return
        lane, _ = shuffle_source(mode, batch.u32(sources[1]), batch.u32(sources[2]))
        shape = (batch.block_count, batch.warp_count, 32)
        active = np.broadcast_to(np.logical_and(batch.mask, batch.live), shape)
        there = np.take_along_axis(active, np.broadcast_to(lane, shape), axis=2)
        absent = active & ~there
        if absent.any():
            self._add(batch, index, INACTIVE_SOURCE, absent, absent)

    def _add(self, batch: Batch, index: int, kind: str, bad: Bool, meant: Bool) -> None:
        if (index, kind) in self.faults:
            return
        row, warp, lane = first_lane(batch, bad)
        full = np.broadcast_to(meant, (batch.block_count, batch.warp_count, 32))
        word = int(ballot(np.ascontiguousarray(full[row : row + 1, warp : warp + 1]))[0, 0, 0])
        block, warp = batch.identify(row, warp)
        self.faults[index, kind] = MaskFault(index, kind, block, warp, lane, word)
