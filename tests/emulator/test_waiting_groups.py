"""Who may go on from a convergence barrier, on masks alone."""

from __future__ import annotations

import numpy as np

from gpuprof.emulator.contract import Waiting
from gpuprof.emulator.control import divergence
from gpuprof.emulator.control.barriers import WARPSYNC_SLOT, arrive, break_out, release
from gpuprof.emulator.control.batch import Batch
from gpuprof.emulator.counting.counters import Counters
from gpuprof.emulator.state.operands import FALSE, TRUE, ZERO


def lanes(*numbers: int) -> np.ndarray:
    mask = np.zeros((1, 1, 32), bool)
    mask[0, 0, list(numbers)] = True
    return mask


def word(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


def one_warp(slot: int, held: dict[int, int]) -> Batch:
    """A batch of one warp whose lanes hold these masks in a barrier register."""
    batch = Batch.__new__(Batch)
    batch.block_count, batch.warp_count, batch.size = 1, 1, 32
    batch.barriers = [ZERO] * 17
    batch.restored = [FALSE] * 17
    batch.barriers[slot] = np.array([held.get(lane, 0) for lane in range(32)], np.uint32).reshape(1, 1, 32)
    batch.live, batch.mask, batch.write_mask = TRUE, TRUE, None
    batch.fragments, batch.waits, batch.block_barriers = [], [], {}
    batch.others, batch.pool = [], []
    batch.detached, batch.partial = True, False
    batch.counters = Counters.zeros(8)
    return batch


def running(batch: Batch) -> list[list[int]]:
    return [np.flatnonzero(fragment.mask).tolist() for fragment in batch.fragments]


def test_a_lane_of_an_outer_call_waits_until_its_own_group_is_back() -> None:
    """Lane 0 waits for 0, 1 and 2; these two wait for each other, in the same register, one call deeper."""
    batch = one_warp(6, {0: word(0, 1, 2), 1: word(1, 2), 2: word(1, 2)})
    batch.waits = [Waiting(6, 0x40, lanes(0, 1, 2), 0)]
    release(batch, 6)
    assert running(batch) == [[1, 2]]
    assert np.flatnonzero(batch.waits[0].mask).tolist() == [0]


def test_break_leaves_the_groups_of_outer_calls_alone() -> None:
    outer, inner = word(0, 1, 2), word(1, 2)
    batch = one_warp(6, {0: outer, 1: inner, 2: inner})
    break_out(batch, 6, lanes(1))
    assert batch.barriers[6][0, 0, :3].tolist() == [outer, word(2), word(2)]


def test_break_of_two_groups_at_once() -> None:
    batch = one_warp(6, {0: word(0, 1), 1: word(0, 1), 2: word(2, 3), 3: word(2, 3)})
    break_out(batch, 6, lanes(0, 2))
    assert batch.barriers[6][0, 0, :4].tolist() == [word(1), word(1), word(3), word(3)]


def test_warpsync_is_issued_once_more_by_all_who_met() -> None:
    """An H200 counts 264 issues in kernel active_masks, where 8 warps meet in two parts: 16 arrivals and 8 together."""
    everyone = dict.fromkeys(range(32), 0xFFFFFFFF)
    batch = one_warp(WARPSYNC_SLOT, everyone)
    for part in (lanes(*range(20)), lanes(*range(20, 32))):
        batch.mask = part
        arrive(batch, WARPSYNC_SLOT, 0x30, 0)
    assert running(batch) == [list(range(32))]
    assert (batch.counters.joined[2], batch.counters.joined_threads[2]) == (1, 32)


def test_a_warp_that_comes_whole_issues_warpsync_once() -> None:
    batch = one_warp(WARPSYNC_SLOT, dict.fromkeys(range(32), 0xFFFFFFFF))
    assert arrive(batch, WARPSYNC_SLOT, 0x30, 0) == 0x30
    assert sum(batch.counters.joined) == 0


class Straight:
    """A program of which every instruction is a BSYNC."""

    instructions = [type("Instruction", (), {"opcode": "BSYNC"})()] * 8


def split(batch: Batch, taken: range, rest: range) -> None:
    """A branch of the running lanes: some to 0x40, the others to 0x20."""
    batch.fragments = []
    batch.push(0x40, lanes(*taken), 0)
    batch.push(0x20, lanes(*rest), 0)
    divergence.set_aside(batch, batch.fragments[:])


def test_the_smaller_side_goes_first_and_the_fall_through_on_a_tie() -> None:
    batch = one_warp(0, {})
    split(batch, range(20), range(20, 32))
    assert (running(batch), batch.fragments[0].pc) == ([list(range(20, 32))], 0x20)
    split(batch, range(20, 26), range(26, 32))
    assert (running(batch), batch.fragments[0].pc) == ([list(range(26, 32))], 0x20)


def test_a_side_that_a_later_split_pushed_out_meets_those_who_wait() -> None:
    """As in kernel atomsf, launch random2: parts of 21, 10 and 1 lanes issue BSYNC with 1, 10 and 32 lanes."""
    batch = one_warp(0, {})
    split(batch, range(21), range(21, 32))
    split(batch, range(21, 31), range(31, 32))
    assert running(batch) == [[31]]
    issued = []
    for _ in range(3):
        (current,) = batch.fragments
        batch.fragments = []
        issued.append(current.lanes)
        batch.waits.append(Waiting(0, current.pc + 16, current.mask, 0))
        batch.waits[0].pc = batch.waits[-1].pc = 0x50
        divergence.wake(batch, Straight())  # type: ignore[arg-type]
    assert issued == [1, 10, 21]
    assert batch.counters.joined_threads[4] == 11
    assert (batch.fragments, batch.others, batch.pool) == ([], [], [])
