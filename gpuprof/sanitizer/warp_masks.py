"""Masks of warp collectives: ``__syncwarp``, shuffles, votes. Who is named must come, and who comes must be named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.control.barrier_rules import went_round
from gpuprof.emulator.control.barriers import WARPSYNC_SLOT, ballot
from gpuprof.emulator.state.faults import first_lane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Step
    from gpuprof.emulator.control.barriers import Batch
    from gpuprof.emulator.semantics.base import Decoded

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

        def execute(batch: Batch) -> None:
            if register is not None:
                self._check_mask(batch, index, batch.registers[register])
            if opcode == "SHFL":
                self._check_source(batch, index, decoded)
            step(batch)

        return execute

    def meet(self, batch: Batch, lanes: Bool, pc: int) -> None:
        """A WARPSYNC released ``lanes``: those that it named and that ended elsewhere never came."""
        if not batch.exits:
            return
        shape = (batch.block_count, batch.warp_count, 32)
        present = np.broadcast_to(batch.launch.present, shape)
        met = np.broadcast_to(lanes, shape)
        words = np.broadcast_to(batch.barriers[WARPSYNC_SLOT], shape) & ballot(present) & ~ballot(met)
        bad = np.logical_and(met, words != 0)
        if bad.any() and any(went_round(batch.launch.program, pc - 16, at) for at in batch.exits):
            own = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32)).reshape(1, 1, 32)
            word = words.max(axis=2, keepdims=True)
            self._add(batch, pc // 16 - 1, NOT_THERE, bad, (word & own) != 0)

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
