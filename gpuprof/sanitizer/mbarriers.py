"""The order that mbarrier objects make: who arrived in a phase, before who finds that phase complete.

A copy whose completion an object counts (cp.async.mbarrier.arrive, bulk copies) is a write of the object's own *agent*,
a column of the block's clocks of its own: those who waited for the phase have seen it, the thread that issued the copy
has not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.sanitizer.clocks import AGENTS, merged

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch
    from gpuprof.sanitizer.clocks import BlockClocks, Remote

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

_PHASE = np.uint64(63)  #: bit of an object that turns with every phase
_BYTES = 8


@dataclass(eq=False)
class _Object:
    """One object: what its arrivals know, of this phase and of those that are complete."""

    agent: int
    parity: int
    phases: int = 0
    arrived: Remote = field(default_factory=dict)
    complete: Remote = field(default_factory=dict)


class Mbarriers:
    """The objects of the blocks that have clocks."""

    def __init__(self, clocks: Callable[[Batch], list[tuple[int, BlockClocks]]]) -> None:
        self._clocks = clocks
        self._objects: dict[tuple[int, int], _Object] = {}

    def arrive(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        """The lanes are about to arrive at the objects at their addresses."""
        for _, clocks, address, threads in self._parts(batch, addresses, lanes):
            object_ = self._object(batch, clocks, address)
            object_.arrived = merged((object_.arrived, clocks.collect(threads)))

    def settle(self, batch: Batch) -> None:
        """After arrivals or bytes: a phase that is complete hands on what its arrivals knew."""
        memory = batch.shared.rows(_BYTES)
        for row, clocks in self._clocks(batch):
            for (block, address), object_ in self._objects.items():
                parity = int(memory[row, address // _BYTES] >> _PHASE)
                if block == clocks.block and parity != object_.parity:
                    object_.parity = parity
                    object_.phases += 1
                    own = np.zeros(clocks.known.shape[1], np.int32)
                    own[object_.agent] = object_.phases
                    object_.complete = merged((object_.complete, object_.arrived, {block: own}))
                    object_.arrived = {}

    def passed(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        """The lanes found the phase of their object complete."""
        for _, clocks, address, threads in self._parts(batch, addresses, lanes):
            known = self._objects.get((clocks.block, address))
            if known is not None and known.complete:
                for thread in threads.tolist():
                    clocks.learn(thread, known.complete)

    def agent(self, batch: Batch, clocks: BlockClocks, address: int) -> tuple[int, int]:
        """(column, clock) of a copy that the present phase of an object counts."""
        object_ = self._object(batch, clocks, address // _BYTES * _BYTES)
        return object_.agent, object_.phases + 1

    def _object(self, batch: Batch, clocks: BlockClocks, address: int) -> _Object:
        key = (clocks.block, address)
        if key not in self._objects:
            row = next(row for row, each in self._clocks(batch) if each is clocks)
            parity = int(batch.shared.rows(_BYTES)[row, address // _BYTES] >> _PHASE)
            number = sum(block == clocks.block for block, _ in self._objects)
            self._objects[key] = _Object(clocks.threads + number % AGENTS, parity)
        return self._objects[key]

    def _parts(
        self, batch: Batch, addresses: Array, lanes: Bool
    ) -> list[tuple[int, BlockClocks, int, NDArray[np.int64]]]:
        """(row, clocks, address, threads) for each block with clocks and each object that its lanes name."""
        shape = (batch.block_count, batch.warp_count, 32)
        where, on = np.broadcast_to(addresses, shape), np.broadcast_to(lanes, shape)
        parts = []
        for row, clocks in self._clocks(batch):
            threads = np.flatnonzero(on[row])
            named = where[row].reshape(-1)[threads] // _BYTES * _BYTES
            parts += [(row, clocks, int(each), threads[named == each]) for each in np.unique(named)]
        return parts
