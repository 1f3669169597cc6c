"""Running a batch: pick a fragment, run its straight code, follow it until it splits, waits or ends.

Of one warp a single side of a branch runs at a time (``sides``). Which warps' fragment runs next changes only how well
they are batched, never a count. The lowest program counter goes first, so that warps that left a loop early wait for
the others and go on together; a fragment that runs long while others could run gives way to them, so that a spin on a
lock cannot starve the lock's holder.
"""

from __future__ import annotations

from math import prod
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.contract import NotCovered
from gpuprof.emulator.control import compaction, divergence
from gpuprof.emulator.control.barriers import PHASE_SLOT, Batch, Fragment
from gpuprof.emulator.state.faults import call_site, code_location, first_lane, lane_location
from gpuprof.errors import BarrierDeadlockError, EmulationError, InstructionLimitError
from gpuprof.isa.machine import INSTRUCTION_BYTES, Dim3

if TYPE_CHECKING:
    from gpuprof.emulator.contract import Code, StraightCode

#: Runs that fragments execute by lowest program counter before another gets a turn; halved each time that happens,
#: so that a loop that only another fragment can end costs little, and long loops of many warps stay batched.
TURN = 256
SHORTEST_TURN = 16
#: As TURN, where warps run alone: far more than a warp executes between two barriers.
ORDERED_TURN = 1 << 14
#: So many times longer run the first sides of branches before the sides that were set aside get a turn too.
PARKED_TURNS = 16
_NEVER = 1 << 60


class OutOfTime(Exception):
    """A launch passed its deadline, which only a first try in this engine has."""


def run_batch(batch: Batch, program: Code) -> None:
    """Run all lanes of the batch to their ends; raises EmulationError and its kinds."""
    run_fragments(batch, program, _NEVER)
    if batch.observer is not None:
        batch.observer.end(batch)
    if batch.waits or batch.block_barriers:
        raise _deadlock(batch, program)
    fold_hits(batch)


def run_fragments(batch: Batch, program: Code, stop: int) -> None:
    """Run until no fragment is left that is before program counter ``stop``."""
    ordered = batch.launch.options.order is not None
    turn, length = 0, ORDERED_TURN if ordered else TURN
    deadline = batch.launch.deadline
    while batch.fragments:
        if deadline is not None and perf_counter() > deadline:
            raise OutOfTime("the launch takes longer than it was given")
        parked = bool(batch.others or batch.pool)
        fair = turn >= (length * PARKED_TURNS if parked else length)
        if fair and parked:
            divergence.wake_all(batch)
        if ordered and not fair:
            fragment, bound = batch.chosen_by_order(), _NEVER
        else:
            fragment, bound = _choose(batch, fair=fair)
        if fragment.pc >= stop:
            batch.fragments.append(fragment)
            return
        if fair:
            turn, length = 0, max(SHORTEST_TURN, length // 2)
        part = compaction.worthwhile(batch, fragment)
        if part is not None:
            compaction.run_part(batch, part, program, min(bound, stop), run_fragments)
            turn += 1
            divergence.wake(batch, program)
            continue
        before = len(batch.fragments)
        turn += _run_fragment(batch, fragment, program, min(bound, stop), SHORTEST_TURN if fair else length)
        if len(batch.fragments) > before + 1:
            divergence.set_aside(batch, batch.fragments[before:])
        divergence.wake(batch, program)
        if batch.detached and batch.fragments and _only_at_barriers(batch, program):
            return


def _only_at_barriers(batch: Batch, program: Code) -> bool:
    """Whether a part of a batch can go no further, since block barriers belong to the whole."""
    return all(program.instructions[fragment.pc // INSTRUCTION_BYTES].opcode == "BAR" for fragment in batch.fragments)


def _choose(batch: Batch, *, fair: bool) -> tuple[Fragment, int]:
    """The next fragment, merged with others at its place, and the program counter up to which it may run."""
    fragments = batch.fragments
    if len(fragments) == 1:
        return fragments.pop(), _NEVER
    if fair:
        return fragments.pop(0), _NEVER
    low = min(fragment.pc for fragment in fragments)
    here = [fragment for fragment in fragments if fragment.pc == low]
    batch.fragments = [fragment for fragment in fragments if fragment.pc != low]
    chosen = here[0]
    for other in here[1:]:
        if not _merge(batch, chosen, other):
            batch.fragments.append(other)
    bound = min((fragment.pc for fragment in batch.fragments), default=_NEVER)
    return chosen, bound


def _merge(batch: Batch, into: Fragment, other: Fragment) -> bool:
    """Step two fragments together, unless both hold lanes of one warp: those stay two issues."""
    if into.pooled is not other.pooled:
        return False
    mine, theirs = into.mask.any(axis=2), other.mask.any(axis=2)
    if np.logical_and(mine, theirs).any():
        return False
    into.mask = np.logical_or(into.mask, other.mask)
    into.lanes += other.lanes
    into.warps += other.warps
    into.steps = max(into.steps, other.steps)
    return True


def _run_fragment(batch: Batch, fragment: Fragment, program: Code, bound: int, most: int) -> int:
    """Run one fragment until it is parked, reaches ``bound``, or took ``most`` runs; returns how many it took."""
    batch.mask = fragment.mask
    batch.write_mask = None if batch.quiet else fragment.mask
    batch.lanes_on = fragment.lanes
    runs, hits, limit = program.runs, batch.hits, batch.launch.options.instruction_limit
    pc, count = fragment.pc, 0
    while True:
        run = runs.get(pc) or program.run_at(pc)
        if batch.detached and program.instructions[run.first].opcode == "BAR":
            break
        hit = hits.get(run)
        if hit is None:
            hit = hits[run] = [0, 0]
        hit[0] += fragment.warps
        hit[1] += fragment.lanes
        _execute(batch, run, program)
        fragment.steps += run.last - run.first
        if fragment.steps > limit:
            raise _endless(batch, program, run)
        pc = run.end if run.terminator is None else run.terminator(batch, fragment)
        count += 1
        if pc < 0:
            return count
        if pc >= bound or count >= most:
            break
    fragment.pc, fragment.pooled = pc, False
    batch.fragments.append(fragment)
    return count


def _execute(batch: Batch, run: StraightCode, program: Code) -> None:
    step = None
    try:
        for step in run.steps:
            step(batch)
    except EmulationError as error:
        if error.location is None and step is not None:
            location = program.location(run.first + run.steps.index(step))
            raise type(error)(str(error), location) from None
        raise
    except NotCovered as reason:  # of an operand that has no value to read
        number = run.first + (run.steps.index(step) if step is not None else 0)
        raise program.unknown(number, str(reason)) from None
    except (FloatingPointError, ValueError, IndexError, TypeError, KeyError, AttributeError) as error:
        number = run.first + (run.steps.index(step) if step is not None else 0)
        raise EmulationError(f"the emulator failed on an instruction ({error!r})", program.location(number)) from error


def _endless(batch: Batch, program: Code, run: StraightCode) -> InstructionLimitError:
    limit = batch.launch.options.instruction_limit
    where = first_lane(batch, batch.mask)
    place = lane_location(batch, program.instructions[run.last - 1], where)
    return InstructionLimitError(endless_message(limit, batch.block_count, batch.launch.grid), place)


def endless_message(limit: int, together: int, grid: Dim3) -> str:
    """Why a warp that does not end may not; ``together`` blocks of the grid run side by side."""
    message = f"a warp executed more than {limit:,} instructions: an endless loop? If not, raise --emulate-limit"
    if together >= prod(grid):
        return message
    return (
        f"{message}. Or it waits for a block that was not launched: {together:,} of the {prod(grid):,} blocks run at a "
        "time, in the grid's order; blocks that wait for later ones need `cooperative: true`"
    )


def _deadlock(batch: Batch, program: Code) -> BarrierDeadlockError:
    """Nothing can run: name what the waiting lanes wait for."""
    for number, barrier in batch.block_barriers.items():
        for pc, mask, _ in barrier.waits:
            instruction = program.instructions[pc // INSTRUCTION_BYTES - 1]
            where = first_lane(batch, mask)
            block, thread = batch.launch.name_lane(batch, where)
            message = f"deadlock: part of the block waits at barrier {number} that the rest can never reach"
            if barrier.threads is not None:
                arrived = int(
                    np.broadcast_to(barrier.arrived, (batch.block_count, batch.warp_count, 32))[where[0]].sum()
                )
                message = (
                    f"deadlock: barrier {number} waits for {barrier.threads} threads, and only {arrived} of the "
                    f"block's {batch.launch.threads} come; name as many as reach it, a multiple of 32"
                )
            return BarrierDeadlockError(message, code_location(batch.launch.kernel, instruction, block, thread))
    for wait in batch.waits:
        phase = wait.slot == PHASE_SLOT
        number, where = wait.pc // INSTRUCTION_BYTES - (not phase), first_lane(batch, wait.mask)
        if program.instructions[number].source is None:
            caller = call_site(batch, wait.pc, where)
            number = number if caller is None else caller
        place = lane_location(batch, program.instructions[number], where)
        what = (
            "an mbarrier's phase is never completed" if phase else "lanes of a warp wait for others that can never come"
        )
        return BarrierDeadlockError(f"deadlock: {what}", place)
    return BarrierDeadlockError("deadlock: threads arrived at a barrier that nobody waits for")


def fold_hits(batch: Batch) -> None:
    """Turn executions of runs into executions of instructions."""
    counters = batch.counters
    for run, (warps, lanes) in batch.hits.items():
        for index in range(run.first, run.last):
            counters.warps[index] += warps
            counters.threads[index] += lanes
    batch.hits.clear()
