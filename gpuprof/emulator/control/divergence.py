"""Which side of a divergent branch goes first, and when the others get their turn.

The rule was found from launches that an H200 counted (``tests/hardware``); it gives every recorded number of issues:

* Of two sides the one with fewer lanes goes first, on a tie the fall-through. The other is set aside.
* When the running side ends or waits, the side that the last split set aside goes on.
* A split while one is set aside already pushes that one out into a pool. The pool's turn comes when nothing is set
  aside; all its lanes at one instruction go on together. Where that is a BSYNC, those who wait in it issue it again
  with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Batch, Fragment
from gpuprof.isa.machine import INSTRUCTION_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Code

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]


def set_aside(batch: Batch, new: Sequence[Fragment]) -> None:
    """Keep of the fragments that one step made a single one per warp; the larger sides have to wait."""
    going: list[Fragment] = []
    for fragment in new:
        left = fragment.mask
        for rival in going:
            mine, theirs = lanes_per_warp(left), lanes_per_warp(rival.mask)
            both = np.logical_and(mine > 0, theirs > 0)
            if both.any():
                yields = np.logical_and(both, mine > theirs)
                park(batch, fragment, np.logical_and(left, yields))
                park(batch, rival, np.logical_and(rival.mask, np.logical_and(both, ~yields)))
                rival.mask = np.logical_and(rival.mask, ~np.logical_and(both, ~yields))
                left = np.logical_and(left, ~yields)
        if left is not fragment.mask:
            fragment.mask = left
        going.append(fragment)
    _recount(batch, going)


def lanes_per_warp(mask: Bool) -> Array:
    """(blocks or 1, warps or 1, 1): how many lanes of each warp."""
    count: Array = mask.sum(axis=2, keepdims=True) * (WARP // mask.shape[2])
    return count


def _recount(batch: Batch, going: Sequence[Fragment]) -> None:
    for fragment in going:
        batch.fragments.remove(fragment)
        batch.push(fragment.pc, fragment.mask, fragment.steps, alone=fragment.alone)


def park(batch: Batch, fragment: Fragment, mask: Bool) -> None:
    """Set lanes aside; what was set aside of their warps goes to the pool."""
    if not mask.any():
        return
    warps = mask.any(axis=2, keepdims=True)
    for other in batch.others:
        out = np.logical_and(other.mask, warps)
        if out.any():
            batch.pool.append(_part(batch, other, out))
            other.mask = np.logical_and(other.mask, ~warps)
    batch.others = [other for other in batch.others if other.mask.any()]
    batch.others.append(_part(batch, fragment, mask))


def _part(batch: Batch, fragment: Fragment, mask: Bool) -> Fragment:
    lanes, warps = batch.count_lanes(mask), batch.count_warps(mask)
    return Fragment(fragment.pc, mask, lanes, warps, fragment.steps, fragment.alone)


def wake(batch: Batch, program: Code) -> None:
    """Give warps of which nothing runs their next side."""
    if not (batch.others or batch.pool):
        return
    busy = np.zeros((1, 1, 1), bool)
    for fragment in batch.fragments:
        busy = np.logical_or(busy, fragment.mask.any(axis=2, keepdims=True))
    batch.others, busy = _start_idle(batch, batch.others, busy)
    alone = [fragment for fragment in batch.pool if fragment.alone]
    batch.pool = [fragment for fragment in batch.pool if not fragment.alone]
    for pc in sorted({fragment.pc for fragment in batch.pool}):
        here = [fragment for fragment in batch.pool if fragment.pc == pc]
        rest = [fragment for fragment in batch.pool if fragment.pc != pc]
        mask = here[0].mask
        for fragment in here[1:]:
            mask = np.logical_or(mask, fragment.mask)
        together = Fragment(pc, mask, 0, 0, max(fragment.steps for fragment in here))
        idle = ~busy
        started = len(batch.fragments)
        left, busy = _start_idle(batch, [together], busy)
        if program.instructions[pc // INSTRUCTION_BYTES].opcode == "BSYNC":
            for fragment in batch.fragments[started:]:
                fragment.pooled = True
            _count_again(batch, pc, np.logical_and(idle, mask.any(axis=2, keepdims=True)))
        batch.pool = rest + left
    if alone:
        left, busy = _start_idle(batch, alone, busy)
        batch.pool += left


def _start_idle(batch: Batch, parked: list[Fragment], busy: Bool) -> tuple[list[Fragment], Bool]:
    """Push the lanes of idle warps; returns what stays parked, and which warps are busy now."""
    for fragment in parked:
        going = np.logical_and(fragment.mask, ~busy)
        if going.any():
            batch.push(fragment.pc, going, fragment.steps, alone=fragment.alone)
            fragment.mask = np.logical_and(fragment.mask, busy)
            busy = np.logical_or(busy, going.any(axis=2, keepdims=True))
    return [fragment for fragment in parked if fragment.mask.any()], busy


def _count_again(batch: Batch, pc: int, warps: Bool) -> None:
    """Lanes of these warps that wait in the BSYNC at ``pc`` issue it again."""
    for wait in batch.waits:
        if wait.pc == pc + INSTRUCTION_BYTES:
            batch.counters.joined_threads[pc // INSTRUCTION_BYTES] += batch.count_lanes(
                np.logical_and(wait.mask, warps)
            )


def wake_all(batch: Batch) -> None:
    """Let everything run: a lane may spin until one that was set aside has done something."""
    parked, batch.others, batch.pool = batch.others + batch.pool, [], []
    for fragment in parked:
        batch.push(fragment.pc, fragment.mask, fragment.steps)
