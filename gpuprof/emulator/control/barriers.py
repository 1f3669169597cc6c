"""Who waits for whom: convergence barriers within a warp, and barriers of a block.

Masks are kept literally, as the hardware does: BSSY stores the mask of the active lanes, BSYNC waits until every lane
of that mask (but those that exited or BREAKed) waits too. Each lane holds its own copy of a barrier register, so that
the two sides of a branch may use the same register at once. BSYNC issues once for each part that arrives, and the
parts continue as one (measured on an H200: ``tests/hardware/h200``, kernel ``predoff``); ``_count_joined`` says when
they issue it once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Batch, BlockBarrier, Fragment, Waiting
from gpuprof.emulator.control import barrier_rules
from gpuprof.emulator.control.divergence import park
from gpuprof.emulator.state.operands import FALSE, TRUE
from gpuprof.isa.machine import INSTRUCTION_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: What a terminator returns when its fragment does not simply go on.
PARKED = -1
#: The slot whose mask a WARPSYNC waits for; 0 to 15 are B0 to B15.
WARPSYNC_SLOT = 16
#: That of WARPSYNC.EXCLUSIVE and .COLLECTIVE, whose lanes go on by groups of one mask.
GROUP_SLOT = 17
#: That of SYNCS.PHASECHK.TRYWAIT: its lanes try again whenever a phase of an mbarrier is complete.
PHASE_SLOT = 18
_FULL = np.uint32(0xFFFFFFFF)


def ballot(mask: Bool) -> Array:
    """(blocks, warps, 1) words: bit i of a warp's word is lane i of the mask."""
    if mask.shape[2] == 1:
        result: Array = np.where(mask, _FULL, np.uint32(0))
        return result
    return np.packbits(mask, axis=2, bitorder="little").view(np.uint32)


def set_barrier(batch: Batch, slot: int, words: Array) -> None:
    """Give the active lanes this mask in a barrier register."""
    if batch.write_mask is not None:
        words = np.where(batch.write_mask, words, batch.barriers[slot])
    batch.barriers[slot] = words


def set_restored(batch: Batch, slot: int, value: Bool) -> None:
    """Remember of the active lanes whether BMOV wrote their barrier register last."""
    if batch.restored[slot] is not value:
        batch.restored[slot] = (
            value if batch.write_mask is None else np.where(batch.write_mask, value, batch.restored[slot])
        )


def arrive(batch: Batch, slot: int, pc: int, steps: int, *, pooled: bool = False) -> int:
    """The active lanes reach a convergence barrier and want to go on at ``pc``; ``pooled`` as ``Fragment`` has it."""
    if batch.quiet and batch.mask.size == 1:
        _count_joined(batch, slot, pc, TRUE, TRUE)
        if batch.observer is not None and slot == WARPSYNC_SLOT:
            batch.observer.warp_barrier(batch, batch.mask, pc)
        return pc
    missing = batch.barriers[slot] & ballot(batch.live) & ~ballot(batch.mask)
    whole = np.logical_and(missing == 0, batch.mask)
    if not np.logical_and(missing != 0, batch.mask).any():
        _count_joined(batch, slot, pc, batch.mask, TRUE)
        if batch.observer is not None and slot == WARPSYNC_SLOT:
            batch.observer.warp_barrier(batch, batch.mask, pc)
        return pc
    for wait in batch.waits:
        if wait.slot == slot and wait.pc == pc:
            wait.mask = np.logical_or(wait.mask, batch.mask)
            wait.steps = max(wait.steps, steps)
            break
    else:
        batch.waits.append(Waiting(slot, pc, batch.mask, steps))
    release(batch, slot, whole, pooled=pooled)
    return PARKED


def arrive_group(batch: Batch, pc: int, steps: int) -> int:
    """The active lanes reach a WARPSYNC whose groups go on alone: each when all live lanes of its mask wait in one."""
    batch.waits.append(Waiting(GROUP_SLOT, pc, batch.mask, steps))
    release_groups(batch)
    return PARKED


def release_groups(batch: Batch) -> None:
    """Let whole groups go on, each as a fragment of its own, at the place from which its lowest lane came."""
    here = [wait for wait in batch.waits if wait.slot == GROUP_SLOT]
    shape = (batch.block_count, batch.warp_count, WARP)
    words = np.broadcast_to(batch.barriers[GROUP_SLOT], shape)
    waiting = np.zeros(shape, bool)
    places = np.zeros(shape, np.int64)
    for wait in here:
        waiting |= wait.mask
        places = np.where(wait.mask, wait.pc, places)
    left = waiting & ~_missing_mates(words, waiting, np.broadcast_to(batch.live, shape))
    gone = left.copy()
    if here:
        _count_groups(batch, here[-1].pc // INSTRUCTION_BYTES - 1, words, left)
    steps = max((wait.steps for wait in here), default=0)
    while left.any():
        lowest = left.argmax(axis=2)[:, :, None]
        group = left & (words == np.take_along_axis(words, lowest, axis=2))
        starts = np.where(group, np.take_along_axis(places, lowest, axis=2), -1)
        for start in np.unique(starts[group]).tolist():
            batch.push(start, starts == start, steps, alone=True)
        left &= ~group
    for wait in here:
        wait.mask = np.logical_and(wait.mask, ~gone)
    batch.waits = [wait for wait in batch.waits if wait.mask.any()]


def _count_groups(batch: Batch, index: int, words: Array, going: Bool) -> None:
    """One group's lanes leave, the fewest first, and the rest issues the instruction again (as ``_count_repeats``)."""
    same = (words[..., :, None] == words[..., None, :]) & going[..., None, :] & going[..., :, None]
    first = going & (same.argmax(axis=-1) == np.arange(WARP))
    sizes = np.sort(np.where(first, same.sum(axis=-1), 0), axis=-1)
    left = sizes.sum(axis=-1, keepdims=True) - np.cumsum(sizes, axis=-1)
    repeats = (sizes > 0) & (left > 0)
    counters = batch.counters
    counters.joined[index] += int(np.count_nonzero(repeats))
    counters.joined_threads[index] += int(left[repeats].sum())
    counters.divergent[index] += int(np.count_nonzero(repeats))
    counters.parted[index] += int(np.count_nonzero(repeats.any(axis=-1)))


def _try_again(batch: Batch) -> None:
    """Let those who wait for a phase look again; that they issued it once is counted already."""
    for wait in [wait for wait in batch.waits if wait.slot == PHASE_SLOT]:
        index = wait.pc // INSTRUCTION_BYTES
        batch.counters.warps[index] -= batch.count_warps(wait.mask)
        batch.counters.threads[index] -= batch.count_lanes(wait.mask)
        batch.push(wait.pc, wait.mask, wait.steps)
    batch.waits = [wait for wait in batch.waits if wait.slot != PHASE_SLOT]


def _missing_mates(words: Array, waiting: Bool, live: Bool) -> Bool:
    """Lanes of whose mask a live lane does not wait with the same mask; all (blocks, warps, 32)."""
    same = (words[..., :, None] == words[..., None, :]) & waiting[..., None, :]
    mates = np.packbits(same, axis=-1, bitorder="little").view(np.uint32)[..., 0]
    missing: Bool = (words & ballot(np.ascontiguousarray(live)) & ~mates) != 0
    return missing


def release(batch: Batch, slot: int, whole: Bool = FALSE, *, freed_by: str = "", pooled: bool = False) -> None:
    """Let those go on whose whole group waits; lanes of ``whole`` did not have to.

    ``freed_by``: EXIT or BREAK, when not the last lane's arrival but its leaving made the group whole.
    """
    if slot == GROUP_SLOT:
        release_groups(batch)
        return
    if slot == PHASE_SLOT:
        _try_again(batch)
        return
    here = [wait for wait in batch.waits if wait.slot == slot]
    if not here:
        return
    waiting = here[0].mask
    for wait in here[1:]:
        waiting = np.logical_or(waiting, wait.mask)
    missing = batch.barriers[slot] & ballot(batch.live) & ~ballot(waiting)
    ready = np.logical_and(waiting, missing == 0)
    if slot != WARPSYNC_SLOT and ready.shape[2] > 1 and batch.barriers[slot].shape[2] > 1:
        ready = _of_one_group(batch, slot, waiting, ready)
    if not ready.any():
        return
    if batch.observer is not None and slot == WARPSYNC_SLOT:
        batch.observer.warp_barrier(batch, ready, here[0].pc)
    for wait in here:
        going = np.logical_and(wait.mask, ready)
        if not pooled:
            _count_joined(batch, slot, wait.pc, going, whole, freed=bool(freed_by))
        if freed_by == "BREAK":
            _set_aside(batch, wait.pc, going, wait.steps)
        else:
            batch.push(wait.pc, going, wait.steps)
        wait.mask = np.logical_and(wait.mask, ~ready)
    batch.waits = [wait for wait in batch.waits if wait.mask.any()]


def _set_aside(batch: Batch, pc: int, mask: Bool, steps: int) -> None:
    """Lanes freed by one of their warp that still runs: it goes on first, as after a split."""
    park(batch, Fragment(pc, mask, 0, 0, steps), mask)


def _count_joined(batch: Batch, slot: int, pc: int, going: Bool, whole: Bool, *, freed: bool = False) -> None:
    """Lanes that go on as one from the barrier before ``pc`` may issue it once more, together.

    Measured on an H200: WARPSYNC does where parts had to wait (all but ``whole``; kernel ``meeting``), and BSYNC where
    the barrier register of one of them was restored by BMOV, which functions do that others call (``recursion_once``),
    unless the last ones came from the pool, with whom those who wait issue it anyway (``recursion_double``), or where
    the last one of the group did not come but left it by EXIT or BREAK (``freed``; ``return_in_nested``).
    The hardware's own counters have these issues, those by kind of operation have not.
    """
    if slot == WARPSYNC_SLOT:
        again = np.logical_and(going, ~whole)
    elif freed:
        again = going
    else:
        again = np.logical_and(going, np.logical_and(going, batch.restored[slot]).any(axis=2, keepdims=True))
    if again.any():
        batch.counters.joined[pc // INSTRUCTION_BYTES - 1] += batch.count_warps(again)
        batch.counters.joined_threads[pc // INSTRUCTION_BYTES - 1] += batch.count_lanes(again)


def _of_one_group(batch: Batch, slot: int, waiting: Bool, ready: Bool) -> Bool:
    """Those of ``ready`` whose whole group waits in the same barrier.

    In recursion a lane may wait while deeper calls use the register for groups of their own; the mask tells them apart.
    """
    words = np.broadcast_to(batch.barriers[slot], np.broadcast_shapes(batch.barriers[slot].shape, waiting.shape))
    here, able = np.broadcast_to(waiting, words.shape), np.broadcast_to(ready, words.shape)
    lowest = np.where(here, words, _FULL).min(axis=2, keepdims=True)
    mixed = np.logical_and(here, words != lowest).any(axis=2) & able.any(axis=2)
    if not mixed.any():
        return ready
    rows, warps = np.nonzero(mixed)
    mine, waits = words[rows, warps], here[rows, warps]
    same = np.logical_and(mine[:, :, None] == mine[:, None, :], waits[:, None, :])
    mates = np.packbits(same, axis=2, bitorder="little").view(np.uint32)[:, :, 0]
    live = np.broadcast_to(ballot(batch.live), (*words.shape[:2], 1))[rows, warps]
    result: Bool = able.copy()
    result[rows, warps] &= (mine & live & ~mates) == 0
    return result


def leave(batch: Batch, mask: Bool, pc: int) -> None:
    """Lanes exit at ``pc``: no barrier waits for them any longer."""
    if not batch.quiet:
        batch.exits[pc] = np.logical_or(batch.exits.get(pc, FALSE), mask)
    batch.live = np.logical_and(batch.live, ~mask)
    recheck(batch, "EXIT")


def recheck(batch: Batch, freed_by: str) -> None:
    """Lanes left by EXIT or BREAK: see who may go on now."""
    for slot in {wait.slot for wait in batch.waits} - {PHASE_SLOT}:
        release(batch, slot, freed_by=freed_by)
    if not batch.detached:
        for number in list(batch.block_barriers):
            check_block(batch, number)


def break_out(batch: Batch, slot: int, mask: Bool) -> None:
    """BREAK: the lanes of ``mask`` are no longer waited for, by those who hold the same mask in the register."""
    words = batch.barriers[slot]
    if words.shape[2] == 1 or mask.shape[2] == 1:
        batch.barriers[slot] = words & ~ballot(mask)
    else:
        batch.barriers[slot] = _without(words, mask)
    recheck(batch, "BREAK")


def _without(words: Array, mask: Bool) -> Array:
    """Per-lane masks without the lanes of ``mask``, wherever they equal what those lanes hold."""
    words, left = (array.copy() for array in np.broadcast_arrays(words, mask))
    held = words.copy()
    while left.any():
        value = np.take_along_axis(held, left.argmax(axis=2)[:, :, None], axis=2)
        leaving = np.logical_and(left, held == value)
        gone = np.where(left.any(axis=2, keepdims=True), ballot(leaving), np.uint32(0))
        words = np.where(held == value, words & ~gone, words)
        left &= ~leaving
    return words


def arrive_block(batch: Batch, number: int, pc: int, steps: int, *, threads: int | None, waits: bool) -> int:
    """BAR.SYNC and BAR.ARV: the active lanes arrive at a barrier of their block."""
    if threads is None:
        everyone = not batch.exits
    else:
        everyone = -(-threads // WARP) == batch.warp_count and batch.live is batch.launch.present
    if batch.quiet and everyone and number not in batch.block_barriers:
        if batch.observer is not None:
            batch.observer.barrier(batch, number, batch.mask, batch.mask if waits else FALSE)
        return pc
    barrier = batch.block_barriers.setdefault(number, BlockBarrier(FALSE))
    _join(batch, barrier, threads)
    if waits:
        barrier.waits.append((pc, batch.mask, steps))
    check_block(batch, number)
    return PARKED if waits else pc


def reduce_block(batch: Batch, number: int, pc: int, steps: int, *, threads: int | None, kind: str, value: Bool) -> int:
    """BAR.RED: as BAR.SYNC, and a predicate is reduced over the lanes that arrive."""
    barrier = batch.block_barriers.setdefault(number, BlockBarrier(FALSE))
    barrier.reduction = kind
    barrier.values = np.where(batch.mask, value, barrier.values)
    _join(batch, barrier, threads)
    barrier.waits.append((pc, batch.mask, steps))
    check_block(batch, number)
    return PARKED


def _join(batch: Batch, barrier: BlockBarrier, threads: int | None) -> None:
    barrier.arrived = np.logical_or(barrier.arrived, batch.mask)
    barrier.threads = threads


def check_block(batch: Batch, number: int) -> None:
    """Release the warps of every generation that is complete; raises BarrierRuleError for one that breaks a rule.

    Without a count all warps that still live have to come. A count is of arrivals, 32 for each warp, and warps that
    exited do not arrive: of more warps than it names, the first go on and the others wait for the next generation.
    """
    while number in batch.block_barriers:
        barrier = batch.block_barriers[number]
        done = _warps_done(batch, barrier)
        if not done.any():
            return
        if barrier.threads is None:
            barrier_rules.check_release(batch, barrier.waits, done)
        if barrier.reduction:
            result = _reduce(batch, barrier, done)
            blocks = done.any(axis=1, keepdims=True)
            batch.barrier_result = np.where(blocks, result, batch.barrier_result)
        waits, barrier.waits = barrier.waits, []
        if batch.observer is not None:
            leaving = FALSE
            for _, mask, _ in waits:
                leaving = np.logical_or(leaving, np.logical_and(mask, done))
            batch.observer.barrier(batch, number, np.logical_and(barrier.arrived, done), leaving)
        for pc, mask, steps in waits:
            batch.push(pc, np.logical_and(mask, done), steps)
            left = np.logical_and(mask, ~done)
            if left.any():
                barrier.waits.append((pc, left, steps))
        barrier.arrived = np.logical_and(barrier.arrived, ~done)
        if not barrier.waits and not barrier.arrived.any():
            del batch.block_barriers[number]
        elif barrier.threads is None:
            return


def _warps_done(batch: Batch, barrier: BlockBarrier) -> Bool:
    """(blocks, warps, 1): warps of a complete generation. A warp arrives when all its live lanes have."""
    shape = (batch.block_count, batch.warp_count, WARP)
    live = np.broadcast_to(batch.live, shape)
    came = np.broadcast_to(barrier.arrived, shape)
    arrived = np.asarray(np.logical_or(came, ~live).all(axis=2) & came.any(axis=2))
    living = np.asarray(live.any(axis=2))
    if barrier.threads is None:
        complete = np.logical_or(arrived, ~living).all(axis=1, keepdims=True)
        return np.asarray(np.logical_and(arrived, complete))[:, :, None]
    wanted = max(1, -(-barrier.threads // WARP))
    order = np.cumsum(arrived, axis=1)
    return np.asarray(arrived & (order <= wanted) & (order[:, -1:] >= wanted))[:, :, None]


def _reduce(batch: Batch, barrier: BlockBarrier, done: Bool) -> Array:
    """(blocks, 1, 1) results: POPC counts true lanes, AND and OR give 1 or 0 over the lanes of the generation."""
    shape = (batch.block_count, batch.warp_count, WARP)
    came = np.logical_and(np.broadcast_to(barrier.arrived, shape), done)
    values = np.broadcast_to(barrier.values, shape)
    true: Array = np.logical_and(came, values).sum(axis=(1, 2), keepdims=True)
    if barrier.reduction == "AND":
        true = true == came.sum(axis=(1, 2), keepdims=True)
    elif barrier.reduction == "OR":
        true = true > 0
    return true.astype(np.uint32)


__all__ = ["FALSE", "PARKED", "TRUE", "Batch", "Fragment"]
