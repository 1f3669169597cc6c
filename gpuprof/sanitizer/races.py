"""The exact judge: accesses to suspicious words, ordered by happens-before with vector clocks.

Edges are barriers of the block (arrivals before departures), ``__syncwarp`` (a NOP that the cubin marks, or WARPSYNC),
release and acquire through atomics and strong accesses with a MEMBAR before the write, mbarrier objects, and the wait
of an asynchronous copy. Shuffles, votes and reconvergence order nothing. An acquire without a fence of the reader is
accepted. A load of shared memory that a loop repeats is strong: machine code does not mark what is volatile there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.memory.global_access import take_source
from gpuprof.emulator.memory.transaction_barriers import object_addresses, phase_done
from gpuprof.sanitizer.access_forms import (
    ATOMIC,
    BLOCK,
    COPY,
    NONE,
    READ,
    WRITE,
    AccessForm,
    access_forms,
    access_scope,
    arrives,
    bulk_object,
)
from gpuprof.sanitizer.clocks import BlockClocks
from gpuprof.sanitizer.mbarriers import Mbarriers
from gpuprof.sanitizer.releases import GLOBAL, Releases
from gpuprof.sanitizer.spin_loads import is_spin_load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Decoded, LaneState, Step
    from gpuprof.sanitizer.suspects import Suspects

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: The clock of an asynchronous copy that nobody waited for: nobody has seen it.
_PENDING = 1 << 30
#: Accesses that are judged one by one; beyond it, only words that were met before.
MAX_ACCESSES = 150_000
#: Races of one word after which it is not looked at any longer.
_WORD_RACES = 200
_SHUFFLES = frozenset(("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "R2UR"))


@dataclass(eq=False)
class Touch:
    """One access of one thread to one word."""

    block: int
    thread: int
    clock: int
    form: AccessForm
    field: int  #: its bytes of the word, as bits
    address: int
    value: int | None = None
    group: int = 0  #: of an asynchronous copy
    agent: int | None = None  #: the column of the clocks that an mbarrier object counts a copy in


@dataclass(eq=False)
class Race:
    """Two accesses that nothing orders; one example of ``count``."""

    first: Touch
    second: Touch
    space: str
    count: int = 1
    all_equal: bool = True  #: every pair was of two writes of one value


@dataclass(eq=False)
class _Word:
    writes: list[Touch] = field(default_factory=list)
    races: int = 0
    reads: dict[tuple[int, int, int], Touch] = field(default_factory=dict)


class RaceJudge:
    """Implements ``emulator.contract.Observer`` for the words of ``suspects``. Result: ``races``."""

    def __init__(self, suspects: Suspects, warps: int, collectives: Mapping[int, int]) -> None:
        self.races: dict[tuple[int, int, str], Race] = {}
        self.tentative: set[int] = set()  #: reads whose value is only compared with, by an atomicCAS that follows
        self._threads = warps * 32
        self._collectives = collectives
        self._shared = {block: _flags(words) for block, words in suspects.shared.items()}
        words = np.array(sorted(suspects.globals), np.int64)
        self._first_global = int(words[0]) if len(words) else 0
        self._globals = _flags(set((words - self._first_global).tolist())) if len(words) else None
        self._words: dict[tuple[int, int], _Word] = {}
        self._clocks: dict[int, BlockClocks] = {}
        self._releases = Releases()
        self._objects = Mbarriers(self._rows)
        self._object_words = suspects.objects
        self._counted: Callable[[LaneState], Array] | None = None  #: of the bulk copy that executes now: its object
        self._spun: set[tuple[int, int]] = set()  #: (block, address) of shared flags that a loop waits for
        self._copies: dict[tuple[int, int], list[Touch]] = {}
        self._groups: dict[int, Array] = {}
        self._left = MAX_ACCESSES

    def real_races(self) -> list[Race]:
        """Without reads of what an atomicCAS then compares with: a stale value only costs a further try."""
        return [
            race
            for race in self.races.values()
            if not self._is_flag(race)
            and not any(
                one.form.verb == READ and one.form.index in self.tentative and other.form.verb == ATOMIC
                for one, other in ((race.first, race.second), (race.second, race.first))
            )
        ]

    def _is_flag(self, race: Race) -> bool:
        return race.space == "shared" and (race.second.block, race.second.address) in self._spun

    def begin(self, batch: Batch) -> None:
        for block in batch.block_ids.tolist():
            if block in self._shared:
                self._clock(block)

    def end(self, batch: Batch) -> None:
        return None

    # -- what the emulator tells ------------------------------------------------------------------------------------
    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        opcode = decoded.instruction.opcode
        if opcode == "MEMBAR":
            scope = access_scope(decoded)
            return _then(step, lambda batch: self._fence(batch, scope))
        if opcode == "NOP" and index * 16 in self._collectives:
            return _then(step, lambda batch: self._meet(batch, np.logical_and(batch.mask, batch.live)))
        if opcode == "LDGDEPBAR":
            return _then(step, self._commit)
        if opcode == "DEPBAR" and decoded.has("LE") and len(decoded.operands) > 1:
            newest = int(decoded.operands[1].value or 0)
            return _then(step, lambda batch: self._wait(batch, newest))
        if opcode == "ARRIVES":
            return self._copies_arrive(decoded, step)
        if opcode == "SYNCS" and decoded.has("PHASECHK"):
            return self._test(decoded, step)
        forms = access_forms(decoded, index)
        if not forms:
            return step
        return self._observed(forms, step, counted=bulk_object(decoded) if opcode == "UBLKCP" else None)

    def _observed(
        self, forms: tuple[AccessForm, ...], step: Step, counted: Callable[[LaneState], Array] | None
    ) -> Step:
        arriving = arrives(forms[0].instruction)
        settles = arriving or counted is not None or "A0T1" in forms[0].instruction.modifiers

        def execute(batch: Batch) -> None:
            self._counted = counted
            for form in forms:
                for space, addresses, mask in form.places(batch):
                    if space == "shared":
                        if arriving:
                            self._objects.arrive(batch, addresses, np.logical_and(mask, batch.live))
                        self._touch_shared(batch, form, addresses, mask)
                    elif space == "global":
                        self._touch_global(batch, form, addresses, mask)
            step(batch)
            if settles:
                self._objects.settle(batch)

        return execute

    def _copies_arrive(self, decoded: Decoded, step: Step) -> Step:
        """The copies of each lane are writes of the object's agent, in the phase that they count in."""
        addresses = object_addresses(decoded)

        def execute(batch: Batch) -> None:
            where = np.broadcast_to(addresses(batch), (batch.block_count, batch.warp_count, 32))
            for row, clocks in self._rows(batch):
                for thread in self._threads_of(batch, row):
                    pending = self._copies.pop((clocks.block, thread), [])
                    for touch in pending:
                        place = int(where[row].reshape(-1)[thread])
                        touch.agent, touch.clock = self._objects.agent(batch, clocks, place)
            step(batch)
            self._objects.settle(batch)

        return execute

    def _threads_of(self, batch: Batch, row: int) -> list[int]:
        return next((threads.tolist() for each, threads in self._active(batch, batch.mask) if each == row), [])

    def _test(self, decoded: Decoded, step: Step) -> Step:
        addresses, done = object_addresses(decoded), phase_done(decoded)

        def execute(batch: Batch) -> None:
            self._objects.passed(batch, addresses(batch), np.logical_and(batch.active(), done(batch)))
            step(batch)

        return execute

    def phase(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        self._objects.passed(batch, addresses, lanes)

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        shape = (batch.block_count, batch.warp_count, 32)
        came, going, live = (np.broadcast_to(mask, shape) for mask in (arrived, leaving, batch.live))
        for row, clocks in self._rows(batch):
            here = np.flatnonzero(came[row])
            if not len(here):
                continue
            if np.array_equal(came[row], live[row]):
                here = np.arange(self._threads)  # those that ended are done: a barrier of all that live
            clocks.meet(here, np.flatnonzero(going[row]))

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        instructions = batch.launch.program.instructions
        if "COLLECTIVE" in instructions[pc // 16 - 1].modifiers:
            return
        following = [each.opcode for each in instructions[pc // 16 : pc // 16 + 2]]
        if any(opcode in _SHUFFLES for opcode in following):
            return
        self._meet(batch, lanes)

    # -- edges ------------------------------------------------------------------------------------------------------
    def _rows(self, batch: Batch) -> list[tuple[int, BlockClocks]]:
        return [
            (row, self._clocks[block]) for row, block in enumerate(batch.block_ids.tolist()) if block in self._clocks
        ]

    def _clock(self, block: int) -> BlockClocks:
        if block not in self._clocks:
            self._clocks[block] = BlockClocks(block, self._threads)
        return self._clocks[block]

    def _meet(self, batch: Batch, lanes: Bool) -> None:
        full = np.broadcast_to(lanes, (batch.block_count, batch.warp_count, 32))
        for row, clocks in self._rows(batch):
            for warp in np.flatnonzero(full[row].any(axis=1)).tolist():
                threads = warp * 32 + np.flatnonzero(full[row, warp])
                clocks.meet(threads, threads)

    def _fence(self, batch: Batch, scope: int) -> None:
        for row, threads in self._active(batch, batch.mask):
            clocks = self._clock(int(batch.block_ids[row]))
            for thread in threads.tolist():
                clocks.fence(thread, scope)

    def _active(self, batch: Batch, mask: Bool) -> list[tuple[int, Array]]:
        full = np.broadcast_to(np.logical_and(mask, batch.live), (batch.block_count, batch.warp_count, 32))
        rows = np.flatnonzero(full.any(axis=(1, 2))).tolist()
        return [(row, np.flatnonzero(full[row])) for row in rows]

    def _commit(self, batch: Batch) -> None:
        for row, threads in self._active(batch, batch.mask):
            self._groups_of(int(batch.block_ids[row]))[threads] += 1

    def _groups_of(self, block: int) -> Array:
        return self._groups.setdefault(block, np.zeros(self._threads, np.int64))

    def _wait(self, batch: Batch, newest: int) -> None:
        for row, threads in self._active(batch, batch.mask):
            block = int(batch.block_ids[row])
            groups = self._groups_of(block)
            for thread in threads.tolist():
                pending = self._copies.get((block, thread))
                if not pending:
                    continue
                last = int(groups[thread]) - newest
                clock = self._clock(block).clock(thread)
                for touch in pending:
                    if touch.group < last:
                        touch.clock = clock
                self._copies[block, thread] = [touch for touch in pending if touch.group >= last]

    def _synchronise(self, form: AccessForm, block: int, thread: int, place: tuple[int, int], scope: int) -> None:
        """A strong access or atomic: acquire what the address hands on, release what was fenced."""
        clocks = self._clock(block)
        if form.verb != WRITE:
            self._releases.acquire(clocks, thread, place, scope)
        if form.verb != READ:
            self._releases.release(clocks, thread, place, scope, replaces=form.verb == WRITE)

    # -- accesses ---------------------------------------------------------------------------------------------------
    def _touch_shared(self, batch: Batch, form: AccessForm, addresses: Array, mask: Bool) -> None:
        for row, block in enumerate(batch.block_ids.tolist()):
            flags = self._shared.get(block)
            if flags is None:
                continue
            places = np.broadcast_to(addresses[row if addresses.shape[0] > 1 else 0], (batch.warp_count, 32))
            on = np.logical_and(mask, batch.live)
            on = np.broadcast_to(on[row if on.shape[0] > 1 else 0], (batch.warp_count, 32))
            if form.verb == READ and self._object_words and form.width >= 4:
                on = self._without_tests(batch, row, places, on)
            spins = form.verb == READ and is_spin_load(batch.launch.program.instructions, form.index)
            if form.verb in (ATOMIC, WRITE) or spins:
                self._hand_on(form, block, places, on, spins=spins)
            self._touch(batch, form, "shared", flags, 0, row, places, on, block)

    def _without_tests(self, batch: Batch, row: int, places: Array, on: Bool) -> Bool:
        """Before sm_90 a load of an mbarrier object is how its phase is tested, and no access."""
        objects = on & np.isin(places >> 2, list(self._object_words))
        if objects.any():
            shape = (batch.block_count, batch.warp_count, 32)
            lanes = np.zeros(shape, bool)
            lanes[row] = objects
            self._objects.passed(batch, np.broadcast_to(places, shape), lanes)
        result: Bool = on & ~objects
        return result

    def _hand_on(self, form: AccessForm, block: int, places: Array, on: Bool, *, spins: bool) -> None:
        """Flags and locks in shared memory; where nobody fenced and nothing was released, there are none."""
        clocks = self._clock(block)
        if not (clocks.fences or self._releases or spins):
            return
        for warp, lane in np.argwhere(on).tolist():
            place = (block, int(places[warp, lane]))
            if spins:
                self._spun.add(place)
            self._synchronise(form, block, warp * 32 + lane, place, BLOCK)

    def _touch_global(self, batch: Batch, form: AccessForm, offsets: Array, mask: Bool) -> None:
        strong = form.scope != NONE
        if self._globals is None:
            return
        shape = (batch.block_count, batch.warp_count, 32)
        on = np.broadcast_to(np.logical_and(mask, batch.live), shape)
        places = np.broadcast_to(offsets, shape)
        if strong:
            for row, warp, lane in np.argwhere(on).tolist():
                address = int(places[row, warp, lane])
                self._synchronise(form, int(batch.block_ids[row]), warp * 32 + lane, (GLOBAL, address), form.scope)
        words = (places >> 2) - self._first_global
        reach = form.words
        near = on & (words > -reach) & (words < len(self._globals))
        for row in np.flatnonzero(near.any(axis=(1, 2))).tolist():
            self._touch(batch, form, "global", self._globals, self._first_global, row, places[row], near[row], -1)

    def _touch(
        self,
        batch: Batch,
        form: AccessForm,
        space: str,
        flags: Bool,
        first: int,
        row: int,
        places: Array,
        on: Bool,
        owner: int,
    ) -> None:
        block = int(batch.block_ids[row])
        clocks = self._clock(block)
        for step in range(form.words):
            words = (places >> 2) + step - first
            hit = on & (words >= 0) & (words < len(flags))
            hit &= flags[np.where(hit, words, 0)]
            if not hit.any():
                continue
            values = _stored(batch, form, step, row) if form.verb == WRITE and form.data is not None else None
            for warp, lane in np.argwhere(hit).tolist():
                thread = warp * 32 + lane
                address = int(places[warp, lane])
                if self._left <= 0:
                    return
                self._left -= 1
                touch = Touch(
                    block=block,
                    thread=thread,
                    clock=_PENDING if form.verb == COPY else clocks.clock(thread),
                    form=form,
                    field=15 if form.width >= 4 else ((1 << form.width) - 1) << (address & 3),
                    address=address + 4 * step if form.width >= 4 else address,
                    value=None if values is None else int(values[warp, lane]),
                )
                if self._counted is not None:
                    place = int(
                        np.broadcast_to(self._counted(batch), (batch.block_count, batch.warp_count, 32))[
                            row, warp, lane
                        ]
                    )
                    touch.agent, touch.clock = self._objects.agent(batch, clocks, place)
                elif form.verb == COPY:
                    touch.group = int(self._groups_of(block)[thread])
                    self._copies.setdefault((block, thread), []).append(touch)
                key = (owner, int(words[warp, lane]) + first)
                self._judge(self._words.setdefault(key, _Word()), touch, clocks, space)

    def _judge(self, word: _Word, touch: Touch, clocks: BlockClocks, space: str) -> None:
        if word.races > _WORD_RACES:
            return
        if touch.form.swaps:
            read = word.reads.get((touch.block, touch.thread, touch.field))
            if read is not None:
                self.tentative.add(read.form.index)
        kept = []
        for write in word.writes:
            seen = self._ordered(write, touch, clocks)
            if not seen and write.field & touch.field and not _agreed(write, touch):
                word.races += 1
                self._add(write, touch, space)
            if touch.form.verb == READ or not (seen and write.field & ~touch.field == 0):
                kept.append(write)
        if touch.form.verb == READ:
            word.reads[touch.block, touch.thread, touch.field] = touch
            word.writes = kept
            return
        for read in word.reads.values():
            if read.field & touch.field and not _agreed(read, touch) and not self._ordered(read, touch, clocks):
                word.races += 1
                self._add(read, touch, space)
        word.reads = {key: read for key, read in word.reads.items() if read.field & ~touch.field}
        word.writes = [*kept[-64:], touch]

    def _ordered(self, before: Touch, now: Touch, clocks: BlockClocks) -> bool:
        if before.agent is not None:
            return clocks.has_seen(now.thread, before.block, before.agent, before.clock)
        if before.block == now.block and before.thread == now.thread:
            return before.clock != _PENDING
        return clocks.has_seen(now.thread, before.block, before.thread, before.clock)

    def _add(self, first: Touch, second: Touch, space: str) -> None:
        equal = first.value is not None and first.value == second.value
        near = first.block == second.block and first.thread // 32 == second.thread // 32
        place = "warp" if near else "block" if first.block == second.block else "grid"
        key = (first.form.index, second.form.index, place)
        known = self.races.get(key)
        if known is None:
            self.races[key] = Race(first, second, space, all_equal=equal)
            return
        known.count += 1
        if known.all_equal and not equal:
            known.first, known.second, known.all_equal = first, second, False


def _agreed(first: Touch, second: Touch) -> bool:
    """Atomics of each other's scope, or strong accesses: their order is the hardware's, and no race."""
    if first.form.verb == READ and second.form.verb == READ:
        return True
    scope = min(first.form.scope, second.form.scope)
    return scope > BLOCK or (scope == BLOCK and first.block == second.block)


def _stored(batch: Batch, form: AccessForm, step: int, row: int) -> Array:
    """(warps, 32) words that a store writes at its ``step``-th word."""
    assert form.data is not None
    parts = take_source(batch, form.data, form.width)
    value = parts[step // 2] if form.width >= 8 else parts[0]
    if form.width >= 8:
        value = np.right_shift(value, np.uint64(32 * (step % 2))).astype(np.uint32)
    value = value[row if value.shape[0] > 1 else 0]
    if form.width < 4:
        value = np.bitwise_and(value, np.uint32((1 << 8 * form.width) - 1))
    return np.broadcast_to(value, (batch.warp_count, 32))


def _flags(words: set[int]) -> Bool:
    flags = np.zeros(max(words) + 1, bool)
    flags[list(words)] = True
    return flags


def _then(step: Step, tell: Any) -> Step:
    def execute(batch: Batch) -> None:
        tell(batch)
        step(batch)

    return execute
