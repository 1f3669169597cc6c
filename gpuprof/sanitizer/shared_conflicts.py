"""Which words of shared memory two threads touched in one barrier interval, one of them writing.

Accesses are logged as they come (a reference to an address array that the emulator made anyway) and judged when a
barrier of the whole block completes: one scatter of the writers' numbers, one gather for each access. Where addresses
do not depend on the block, one row stands for all blocks. Named barriers and ``__syncwarp`` are not looked at here: a
word that they order is a conflict all the same, which ``clocks`` then clears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.sanitizer.access_forms import ATOMIC, COPY, READ, AccessForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch
    from gpuprof.sanitizer.suspects import Suspects

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: The owner of bytes that an asynchronous copy is still writing: no thread.
_PENDING = -1
#: Copies that are remembered as pending: those that an mbarrier counts are waited for in a way that is not seen here.
_MAX_PENDING = 2048
#: Judged lists of accesses that are remembered: a loop's intervals are the same again and again.
_REMEMBERED = 4


@dataclass(frozen=True, eq=False)
class Entry:
    """One execution of one access."""

    form: AccessForm
    addresses: Array
    mask: Bool
    pending: bool = False


class SharedConflicts:
    """The log of one batch's shared accesses."""

    def __init__(self, batch: Batch, suspects: Suspects) -> None:
        self._batch = batch
        self._suspects = suspects
        self._log: list[Entry] = []
        self._first = np.zeros(batch.block_count, np.int64)  #: where each block's interval begins in the log
        self._dropped = 0
        self._copies: list[tuple[int, Entry]] = []  #: (group, copy) that no wait has covered yet
        self._group = 0
        self._clean: list[list[Entry]] = []
        self._threads = np.arange(1, batch.warp_count * 32 + 1, dtype=np.int32).reshape(1, batch.warp_count, 32)
        self._words = batch.shared.rows(4).shape[1]

    def add(self, form: AccessForm, addresses: Array, mask: Bool) -> None:
        """An access of the lanes of ``mask``."""
        entry = Entry(form, addresses, mask, form.verb == COPY)
        self._log.append(entry)
        if entry.pending:
            self._copies = [*self._copies[1 - _MAX_PENDING :], (self._group, entry)]

    def commit(self) -> None:
        """The copies since the last call are a group."""
        self._group += 1

    def wait(self, newest: int) -> None:
        """All but the newest ``newest`` groups have arrived: from here on they are ordinary writes."""
        landed = [entry for group, entry in self._copies if group < self._group - newest]
        self._copies = [(group, entry) for group, entry in self._copies if group >= self._group - newest]
        self._log += [Entry(entry.form, entry.addresses, entry.mask) for entry in landed]

    def barrier(self, blocks: Bool) -> None:
        """All threads of these blocks met; ``blocks`` is (1 or blocks,)."""
        chosen = np.broadcast_to(blocks, self._first.shape)
        for start in np.unique(self._first[chosen]).tolist():
            rows = np.flatnonzero(chosen & (self._first == start))
            self._judge(rows, self._log[start - self._dropped :])
        if self._copies and chosen.all():
            self._log = []
            self._dropped = 0
            self._first[:] = 0
            self._log += [entry for _, entry in self._copies]
            return
        end = self._dropped + len(self._log)
        self._first[chosen] = end
        lowest = int(self._first.min())
        if lowest > self._dropped:
            del self._log[: lowest - self._dropped]
            self._dropped = lowest

    def end(self) -> None:
        """The threads ended: judge what came since the last barrier."""
        self.barrier(np.ones(1, bool))

    def _judge(self, rows: Array, entries: list[Entry]) -> None:
        if not any(entry.form.verb != READ for entry in entries) or self._is_known(entries):
            return
        whole = len(rows) == self._batch.block_count
        invariant = all(entry.addresses.shape[0] == 1 and entry.mask.shape[0] == 1 for entry in entries)
        judge = _Interval(self, rows[:1] if invariant else rows, entries, alone=invariant)
        if judge.run() == 0 and whole:
            self._clean = [*self._clean[1 - _REMEMBERED :], entries]

    def _is_known(self, entries: list[Entry]) -> bool:
        """Whether the very same arrays were judged before and found clean."""
        return any(
            len(known) == len(entries)
            and all(
                old.form is new.form and old.addresses is new.addresses and old.mask is new.mask
                for old, new in zip(known, entries, strict=True)
            )
            for known in self._clean
        )


class _Interval:
    """One barrier interval of some blocks."""

    def __init__(self, log: SharedConflicts, rows: Array, entries: list[Entry], *, alone: bool) -> None:
        self._log, self._rows, self._entries, self._alone = log, rows, entries, alone
        self._stride = log._words + 4
        self._plain = np.zeros(len(rows) * self._stride, np.int32)
        self._atomic = np.zeros_like(self._plain) if any(e.form.verb == ATOMIC for e in entries) else None

    def run(self) -> int:
        """Tell the suspects of every conflict; returns how many words there were."""
        spread = [self._spread(entry) for entry in self._entries]
        for entry, (words, threads) in zip(self._entries, spread, strict=True):
            if entry.form.verb == READ:
                continue
            target = self._atomic if entry.form.verb == ATOMIC and self._atomic is not None else self._plain
            for step in range(entry.form.words):
                target[words + step] = _PENDING if entry.pending else threads
        found = 0
        for entry, (words, threads) in zip(self._entries, spread, strict=True):
            for step in range(entry.form.words):
                found += self._compare(entry, words + step, threads)
        return found

    def _spread(self, entry: Entry) -> tuple[Array, Array]:
        """(word of the rows, thread number) of every active lane, flat."""
        batch, rows = self._log._batch, self._rows
        shape = (len(rows), batch.warp_count, 32)
        addresses = entry.addresses if entry.addresses.shape[0] == 1 else entry.addresses[rows]
        mask = entry.mask if entry.mask.shape[0] == 1 else entry.mask[rows]
        present = batch.launch.present
        words = (addresses >> 2) + (np.arange(len(rows)) * self._stride).reshape(-1, 1, 1)
        words, threads = np.broadcast_to(words, shape), np.broadcast_to(self._log._threads, shape)
        if mask.size == 1 and present.size == 1:
            return words.reshape(-1), threads.reshape(-1)
        enabled = np.broadcast_to(np.logical_and(mask, present), shape)
        return words[enabled], threads[enabled]

    def _compare(self, entry: Entry, words: Array, threads: Array) -> int:
        if entry.pending:
            threads = np.full_like(threads, _PENDING)
        bad = self._differs(self._plain, words, threads)
        if self._atomic is not None and entry.form.verb != ATOMIC:
            bad |= self._differs(self._atomic, words, threads)
        if not bad.any():
            return 0
        where = words[bad]
        owner = self._plain[where]
        blocks = self._log._batch.block_ids[self._rows[where // self._stride]]
        near = (owner > 0) & ((owner - 1) // 32 == (threads[bad] - 1) // 32)
        self._log._suspects.add_shared(entry.form.index, blocks, where % self._stride, near)
        return len(where)

    def _differs(self, owners: Array, words: Array, threads: Array) -> Bool:
        owner = owners[words]
        return np.asarray((owner != 0) & (owner != threads))
