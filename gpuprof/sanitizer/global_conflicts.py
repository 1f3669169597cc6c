"""Which words of global memory two threads touched that no barrier of one block ordered, one of them writing.

Each word has a shadow: who wrote it last and who read it since, with the number of barriers that their block had
passed. Buffers that the launch never writes have none; that is known from a run before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.sanitizer.access_forms import ATOMIC, BLOCK, READ, AccessForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch
    from gpuprof.emulator.memory.arena import Region
    from gpuprof.sanitizer.suspects import Suspects

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: In place of a reader's number: threads of several blocks.
_BLOCKS = -1
SAME_WARP, SAME_BLOCK, OTHER_BLOCK = range(3)


class _Shadow:
    """One buffer. Threads are numbered over the grid from 1; an atomic writer is negative.

    A reader of -2 - b stands for several threads of block b.
    """

    def __init__(self, region: Region) -> None:
        self.first = region.start >> 2
        words = (region.end >> 2) - self.first + 5
        self.writer = np.zeros(words, np.int64)
        self.writer_epoch = np.zeros(words, np.int32)
        self.reader = np.zeros(words, np.int64)
        self.reader_epoch = np.zeros(words, np.int32)


class GlobalConflicts:
    """Shadows of the buffers that a launch writes."""

    def __init__(self, regions: Sequence[Region], threads: int, suspects: Suspects) -> None:
        self._regions = sorted(regions, key=lambda region: region.start)
        self._starts = np.array([region.start for region in self._regions], np.int64)
        self._ends = np.array([region.end for region in self._regions], np.int64)
        self._shadows: dict[int, _Shadow] = {}
        self._per_block = threads
        self._suspects = suspects

    def add(self, batch: Batch, form: AccessForm, offsets: Array, mask: Bool, epochs: Array) -> None:
        """An access of the lanes of ``mask``; ``epochs`` (blocks,) are the barriers that each block passed."""
        if not self._regions:
            return
        low, high = int(offsets.min()), int(offsets.max())
        near = int(np.searchsorted(self._ends, low, side="right"))
        if near == len(self._regions) or high < self._starts[near]:
            return
        shape = (batch.block_count, batch.warp_count, 32)
        enabled = np.broadcast_to(np.logical_and(mask, batch.launch.present), shape)
        places = np.broadcast_to(offsets, shape)[enabled]
        numbers = (batch.block_ids * self._per_block).reshape(-1, 1, 1) + np.arange(
            1, self._per_block + 1, dtype=np.int64
        ).reshape(1, -1, 32)
        threads = np.broadcast_to(numbers, shape)[enabled]
        epoch = np.broadcast_to(epochs.reshape(-1, 1, 1), shape)[enabled]
        region = np.searchsorted(self._ends, places, side="right")
        region = np.minimum(region, len(self._regions) - 1)
        inside = (places >= self._starts[region]) & (places < self._ends[region])
        for number in np.unique(region[inside]).tolist():
            here = inside & (region == number)
            shadow = self._shadow(number)
            words = (places[here] >> 2) - shadow.first
            for step in range(form.words):
                _Touch(self, shadow, form, words + step, threads[here], epoch[here]).judge()

    def _shadow(self, number: int) -> _Shadow:
        if number not in self._shadows:
            self._shadows[number] = _Shadow(self._regions[number])
        return self._shadows[number]


@dataclass(frozen=True, eq=False)
class _Touch:
    """One word of each active lane's access."""

    log: GlobalConflicts
    shadow: _Shadow
    form: AccessForm
    words: Array
    threads: Array
    epochs: Array

    def judge(self) -> None:
        shadow, words, threads, epochs = self.shadow, self.words, self.threads, self.epochs
        blocks = (threads - 1) // self.log._per_block
        atomic = self.form.verb == ATOMIC and self.form.scope > BLOCK
        writer = shadow.writer[words]
        number = np.abs(writer)
        other = (number != 0) & (number != threads)
        ordered = ((number - 1) // self.log._per_block == blocks) & (shadow.writer_epoch[words] < epochs)
        bad = other & ~ordered
        if atomic:
            bad &= writer > 0
        self._tell(bad, number)
        if self.form.verb == READ:
            self._read(blocks)
            return
        reader = shadow.reader[words]
        own_block = np.where(reader > 0, (reader - 1) // self.log._per_block, -2 - reader) == blocks
        settled = own_block & (shadow.reader_epoch[words] < epochs)
        self._tell((reader != 0) & (reader != threads) & ~settled, np.maximum(reader, 0))
        shadow.writer[words] = -threads if atomic else threads
        shadow.writer_epoch[words] = epochs
        shadow.reader[words] = 0
        if not atomic:
            last = shadow.writer[words]
            self._tell(last != threads, last)

    def _read(self, blocks: Array) -> None:
        shadow, words, threads = self.shadow, self.words, self.threads
        known = shadow.reader[words]
        several = -2 - blocks
        own_block = np.where(known > 0, (known - 1) // self.log._per_block, -2 - known) == blocks
        past = own_block & (shadow.reader_epoch[words] < self.epochs)
        alone = (known == 0) | (known == threads) | past
        shadow.reader[words] = np.where(alone, threads, np.where(own_block, several, _BLOCKS))
        shadow.reader_epoch[words] = self.epochs
        after = shadow.reader[words]  # lanes of this access that meet on a word
        met = (after != threads) & (after > 0)
        if met.any():
            mine, theirs = blocks[met], (after[met] - 1) // self.log._per_block
            shadow.reader[words[met]] = np.where(mine == theirs, -2 - mine, _BLOCKS)

    def _tell(self, bad: Bool, owners: Array) -> None:
        if not bad.any():
            return
        owner, thread = np.abs(owners[bad]), self.threads[bad]
        per_block = self.log._per_block
        same_block = (owner > 0) & ((owner - 1) // per_block == (thread - 1) // per_block)
        kinds = np.where(
            same_block, np.where((owner - 1) // 32 == (thread - 1) // 32, SAME_WARP, SAME_BLOCK), OTHER_BLOCK
        )
        words = self.words[bad] + self.shadow.first
        self.log._suspects.add_global(self.form.index, kinds, words, (thread - 1) // per_block)
