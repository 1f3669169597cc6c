"""Running a few warps of a large batch on their own.

When a loop's trip count depends on data, the last warps in it would be stepped at the cost of the whole batch. They
are gathered into a small batch of one warp per row, run until they would meet others again, and scattered back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpuprof.emulator.contract import WARP, Batch, Fragment, Waiting
from gpuprof.emulator.control.barriers import PHASE_SLOT, leave, release
from gpuprof.emulator.state.parts import files, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Code

    Array = NDArray[Any]
    RunFragments = Callable[[Batch, Code, int], None]

Masked = TypeVar("Masked", Fragment, Waiting)

#: A fragment is gathered when it holds at most this share of a batch's warps, and the batch is this large.
_SHARE = 4
_MIN_LANES = 4096
#: Gathering costs some hundred array operations, so a short detour is not worth it.
_PATIENCE = 8


class Part:
    """Chosen warps of a batch, by their (block row, warp) numbers."""

    def __init__(self, fragment: Fragment, rows: Array, warps: Array) -> None:
        self.fragment = fragment
        self.rows = rows
        self.warps = warps


def worthwhile(batch: Batch, fragment: Fragment) -> Part | None:
    """The part to gather for this fragment, or None when it had better run where it is."""
    if batch.observer is not None or batch.launch.options.order is not None:
        return None
    if batch.size < _MIN_LANES or fragment.warps * _SHARE > batch.block_count * batch.warp_count:
        return None
    batch.patience += 1
    if batch.patience < _PATIENCE:
        return None
    batch.patience = 0
    shape = (batch.block_count, batch.warp_count)
    rows, warps = np.nonzero(np.broadcast_to(fragment.mask.any(axis=2), shape))
    return Part(fragment, rows, warps)


def run_part(batch: Batch, part: Part, program: Code, stop: int, run: RunFragments) -> None:
    """Run the part up to program counter ``stop`` or to where it waits, and put its state back."""
    small = batch.part(part.rows, part.warps)
    before = {name: list(file) for name, file in files(small).items()}
    fragment = part.fragment
    mask = take(fragment.mask, part.rows, part.warps)
    small.push(fragment.pc, mask, fragment.steps)
    _move_waiting(batch, small, part)
    phases = batch.phases[0]
    run(small, program, stop)
    _scatter_files(batch, small, part, before)
    _return_lanes(batch, small, part, completed=batch.phases[0] > phases)


def _move_waiting(batch: Batch, small: Batch, part: Part) -> None:
    """What waits of the chosen warps goes with them: their order is decided in the part."""
    chosen = np.zeros((batch.block_count, batch.warp_count, 1), bool)
    chosen[part.rows, part.warps] = True
    _move(batch.others, small.others, part, chosen)
    _move(batch.pool, small.pool, part, chosen)
    _move(batch.waits, small.waits, part, chosen)


def _move(large: list[Masked], small: list[Masked], part: Part, chosen: Array) -> None:
    for each in list(large):
        mask = take(np.logical_and(each.mask, chosen), part.rows, part.warps)
        if mask.any():
            moved = copy(each)
            moved.mask = mask
            small.append(moved)
            each.mask = np.logical_and(each.mask, ~chosen)
            if not each.mask.any():
                large.remove(each)


def put(batch: Batch, old: Array, new: Array, rows: Array, warps: Array) -> Array:
    """``old`` with the chosen warps' values replaced by ``new`` (chosen or 1, 1, lanes)."""
    lanes = max(old.shape[2], new.shape[2])
    full = np.broadcast_to(old, (batch.block_count, batch.warp_count, lanes)).copy()
    full[rows, warps] = np.broadcast_to(new, (len(rows), 1, lanes))[:, 0]
    result: Array = full
    return result


def _scatter_files(batch: Batch, small: Batch, part: Part, before: Mapping[str, list[Array]]) -> None:
    large_files = files(batch)
    for name, file in files(small).items():
        for index, value in enumerate(file):
            if value is not before[name][index]:
                large_files[name][index] = put(batch, large_files[name][index], value, part.rows, part.warps)


def _return_lanes(batch: Batch, small: Batch, part: Part, *, completed: bool) -> None:
    """Fragments and waiting lanes of the part become the batch's again; exits are seen by its barriers.

    ``completed``: a phase of an mbarrier was completed in the part, for which others may wait.
    """
    none = np.zeros((1, 1, 1), bool)
    for fragment in small.fragments:
        batch.push(fragment.pc, put(batch, none, fragment.mask, part.rows, part.warps), fragment.steps)
    for small_list, large_list in ((small.others, batch.others), (small.pool, batch.pool)):
        for each in small_list:
            each.mask = put(batch, none, each.mask, part.rows, part.warps)
            large_list.append(each)
    slots = set()
    for wait in small.waits:
        mask = put(batch, none, wait.mask, part.rows, part.warps)
        slots.add(wait.slot)
        for known in batch.waits:
            if known.slot == wait.slot and known.pc == wait.pc:
                known.mask = np.logical_or(known.mask, mask)
                break
        else:
            batch.waits.append(Waiting(wait.slot, wait.pc, mask, wait.steps))
    gone = np.logical_and(take(batch.live, part.rows, part.warps), ~small.live)
    for pc, lanes in small.exits.items():
        ended = np.logical_and(gone, lanes)
        if ended.any():
            mask = np.broadcast_to(ended, (len(part.rows), 1, WARP))
            leave(batch, put(batch, none, mask, part.rows, part.warps), pc)
    for slot in (slots - {PHASE_SLOT}) | ({PHASE_SLOT} if completed else set()):
        release(batch, slot)
