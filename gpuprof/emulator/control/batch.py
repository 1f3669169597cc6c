"""The state of a batch: its lanes, the fragments that can run, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import BlockBarrier, Fragment, LaunchContext, Observer, StraightCode, Waiting
from gpuprof.emulator.control import barriers
from gpuprof.emulator.memory.block_memory import LocalMemory, SharedMemory
from gpuprof.emulator.state.lane_state import LaneState, initial_state
from gpuprof.emulator.state.operands import ZERO, ZERO64
from gpuprof.emulator.state.parts import file_of_registers, fresh, own, part_of, per_warp, same

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.counting.counters import Counters

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]


@dataclass(eq=False, kw_only=True)
class Batch(LaneState):
    """A batch of blocks with its fragments and what waits. Implements ``contract.Batch``."""

    live: Bool = per_warp()
    barrier_result: Array = per_warp()
    returns: list[Array] = file_of_registers()  #: one: where the lanes of a WARPSYNC.COLLECTIVE go on after it
    hits: dict[StraightCode, list[int]] = same(default_factory=dict)
    phases: list[int] = same(default_factory=lambda: [0])  #: one: completed phases of mbarriers
    fragments: list[Fragment] = fresh(list)
    waits: list[Waiting] = fresh(list)
    others: list[Fragment] = fresh(list)  #: of each warp the side that the last split set aside
    pool: list[Fragment] = fresh(list)  #: sides that later splits pushed out of ``others``
    block_barriers: dict[int, BlockBarrier] = fresh(dict)
    exits: dict[int, Bool] = fresh(dict)  #: lanes that ended, by the EXIT's program counter, where others still run
    patience: int = fresh(0)  #: runs spent on few warps at the cost of all
    partial: bool = fresh(False)  #: only a part of the fragment is being looked at
    observer: Observer | None = same(default=None)
    random: np.random.Generator | None = same(default=None)  #: of an order with a seed
    detached: bool = own(default=False)  #: a part of a batch: block barriers are the whole batch's to decide

    @classmethod
    def of_blocks(cls, launch: LaunchContext, block_ids: NDArray[np.int64], counters: Counters) -> Batch:
        """These blocks of a launch, before their first instruction."""
        poison, blocks = launch.options.poison, len(block_ids)
        order = launch.options.order
        return cls(
            launch=launch,
            counters=counters,
            shared=SharedMemory(blocks, launch.shared_bytes, poison, launch.reserved_shared_bytes),
            local=LocalMemory(blocks, launch.warps, launch.local_bytes, poison),
            live=launch.present,
            barrier_result=ZERO,
            returns=[ZERO64],
            observer=launch.options.observer,
            random=None if order is None or order.seed is None else np.random.default_rng(order.seed),
            **initial_state(launch, block_ids),
        )

    def part(self, rows: Array, warps: Array) -> Batch:
        """The warps (rows[i], warps[i]) as a batch with one per row; it shares the memories and has yet to start."""
        return part_of(self, rows, warps, {**self.place_of_part(rows, warps), "detached": True})

    def set_return(self, target: Array) -> None:
        """Remember of the active lanes where they go on after ENDCOLLECTIVE."""
        self.returns[0] = target if self.write_mask is None else np.where(self.write_mask, target, self.returns[0])

    def start(self, pc: int) -> None:
        """All lanes at the kernel's entry; with an order of warps, each warp for itself."""
        if self.observer is not None:
            self.observer.begin(self)
        if self.launch.options.order is None:
            self.push(pc, self.live, 0)
            return
        for warp in range(self.warp_count):
            alone = np.zeros((1, self.warp_count, 1), bool)
            alone[0, warp] = True
            self.push(pc, np.logical_and(self.live, alone), 0)

    def chosen_by_order(self) -> Fragment:
        """The fragment whose turn it is when warps run one at a time: the highest warp's, or a random one."""
        if self.random is not None:
            return self.fragments.pop(int(self.random.integers(len(self.fragments))))
        order = self.launch.options.order
        sign = -1 if order is not None and order.lowest_first else 1
        warps = [sign * int(np.flatnonzero(fragment.mask.any(axis=(0, 2)))[-1]) for fragment in self.fragments]
        return self.fragments.pop(max(range(len(warps)), key=lambda number: (warps[number], number)))

    def push(self, pc: int, mask: Bool, steps: int, *, alone: bool = False) -> None:
        """Lanes that are ready to run from ``pc``."""
        lanes = self.count_lanes(mask)
        if lanes:
            self.fragments.append(Fragment(pc, mask, lanes, self.count_warps(mask), steps, alone))

    def complete_phase(self) -> None:
        """A phase of an mbarrier is complete: those who wait for one look again."""
        self.phases[0] += 1
        barriers.release(self, barriers.PHASE_SLOT)

    @property
    def quiet(self) -> bool:
        """Nothing runnable and nothing waiting beside the current fragment: it holds all live lanes."""
        waiting = self.fragments or self.waits or self.others or self.pool or self.block_barriers
        return not (waiting or self.detached or self.partial)
