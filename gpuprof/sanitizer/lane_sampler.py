"""Watches one block and keeps, of each memory instruction, the access of a warp that costs most beyond its ideal."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.isa.machine import SECTOR_BYTES
from gpuprof.isa.memory_access import (
    atomic_wavefronts,
    distinct_per_row,
    ideal_sectors,
    ideal_wavefronts,
    matrix_wavefronts,
    shared_wavefronts,
)
from gpuprof.isa.opcodes import Access, opcode
from gpuprof.sanitizer.access_forms import ATOMIC, READ, WRITE, AccessForm, access_forms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Bool, Decoded, Step
    from gpuprof.sass.model import Instruction

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]

#: Executions of an instruction that are looked at: patterns that change (a tree of a reduction) do so early.
LOOKS = 64
#: Bytes of a row of an 8x8 matrix.
MATRIX_LANES = 8


class SamplingEnded(Exception):
    """The time for looking is over; what was seen is kept."""


@dataclass(frozen=True)
class Seen:
    """The kept access: byte addresses of 32 lanes (global ones as offsets into the arena), and which took part."""

    instruction: Instruction
    space: str
    verb: str
    width: int
    addresses: Int64
    mask: NDArray[np.bool_]
    cost: int
    ideal: int
    block: int
    warp: int


class LaneSampler:
    """Implements ``emulator.contract.Observer``. ``seen`` is by instruction number and space."""

    def __init__(self, seconds: float) -> None:
        self.seen: dict[tuple[int, str], Seen] = {}
        self._looks: Counter[int] = Counter()
        self._until = time.monotonic() + seconds

    def begin(self, batch: Batch) -> None: ...

    def end(self, batch: Batch) -> None: ...

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None: ...

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None: ...

    def phase(self, batch: Batch, addresses: Array, lanes: Bool) -> None: ...

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        forms = access_forms(decoded, index)
        if not forms:
            return step

        def execute(batch: Batch) -> None:
            if self._looks[index] < LOOKS:
                self._looks[index] += 1
                self._look(batch, forms)
            elif time.monotonic() > self._until:
                raise SamplingEnded("the time for looking at lanes is over")
            step(batch)

        return execute

    def _look(self, batch: Batch, forms: tuple[AccessForm, ...]) -> None:
        for form in forms:
            for space, addresses, mask in form.places(batch):
                if space != "local":
                    shape = (batch.block_count, batch.warp_count, 32)
                    places = np.broadcast_to(addresses, shape)[0].astype(np.int64)
                    lanes = np.broadcast_to(np.logical_and(mask, batch.live), shape)[0]
                    self._keep(form, space, places, lanes, int(batch.block_ids[0]))

    def _keep(self, form: AccessForm, space: str, places: Int64, lanes: NDArray[np.bool_], block: int) -> None:
        warps = np.flatnonzero(lanes.any(axis=1))
        if not warps.size:
            return
        places, lanes = places[warps], lanes[warps]
        cost, ideal = _costs(form, space, places, lanes)
        worst = int(np.argmax(cost - ideal))
        known = self.seen.get((form.index, space))
        if known is not None and cost[worst] - ideal[worst] <= known.cost - known.ideal:
            return
        self.seen[form.index, space] = Seen(
            instruction=form.instruction,
            space=space,
            verb=form.verb if form.verb in (READ, WRITE, ATOMIC) else WRITE,
            width=form.width,
            addresses=places[worst].copy(),
            mask=lanes[worst].copy(),
            cost=int(cost[worst]),
            ideal=int(ideal[worst]),
            block=block,
            warp=int(warps[worst]),
        )


def _costs(form: AccessForm, space: str, places: Int64, lanes: NDArray[np.bool_]) -> tuple[Int64, Int64]:
    """Sectors or wavefronts of each warp, and the least for as many lanes."""
    if space == "global":
        sectors = places // SECTOR_BYTES
        cost = np.array([distinct_per_row(row[on][None]) for row, on in zip(sectors, lanes, strict=True)])
        ideal = np.array([ideal_sectors(int(on.sum()), form.width) for on in lanes])
        return cost, np.minimum(cost, ideal)
    access = opcode(form.instruction.opcode).access
    if form.verb == ATOMIC:
        cost = atomic_wavefronts(places, lanes, form.width)
    elif access in (Access.MATRIX_LOAD, Access.MATRIX_STORE):
        matrices = form.lanes // MATRIX_LANES
        return matrix_wavefronts(places, lanes, matrices), np.full(len(places), matrices, np.int64)
    else:
        cost = shared_wavefronts(Access.STORE if form.writes else Access.LOAD, places, lanes, form.width)
    return cost, np.minimum(cost, ideal_wavefronts(lanes, form.width))
