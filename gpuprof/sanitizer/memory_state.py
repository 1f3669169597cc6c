"""Global memory as it was before a launch, so that the launch can run again; and what two runs left there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpuprof.emulator.memory.arena import Arena, Region

    Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class MemoryState:
    """Bytes and marks of every live buffer."""

    arena: Arena
    parts: tuple[tuple[Region, Array, Array], ...]  #: buffer, its bytes, which bytes of each word were stored

    @classmethod
    def of(cls, arena: Arena) -> MemoryState:
        """A copy of what is in the arena now."""
        return cls(
            arena,
            tuple(
                (region, arena.bytes[region.start : region.end].copy(), arena.written[_words(region)].copy())
                for region in arena.regions
            ),
        )

    def restore(self, poison: int | None = None, unset: tuple[Region, ...] = ()) -> None:
        """Put it back; words of ``unset`` buffers that no launch stored to get the word ``poison``."""
        for region, data, written in self.parts:
            self.arena.bytes[region.start : region.end] = data
            self.arena.written[_words(region)] = written
            if poison is not None and region in unset:
                words = self.arena.words[region.start >> 2 : region.end >> 2]
                words[written[: len(words)] == 0] = poison

    def written_since(self) -> tuple[Region, ...]:
        """Buffers with a byte that was stored to since, or that changed."""
        return tuple(
            region
            for region, data, written in self.parts
            if not np.array_equal(self.arena.written[_words(region)], written)
            or not np.array_equal(self.arena.bytes[region.start : region.end], data)
        )

    def differences(self, other: MemoryState) -> Iterator[tuple[Region, Array]]:
        """(buffer, word numbers within it) that differ in what both runs stored; also where only one stored."""
        for (region, mine, marks), (_, theirs, others) in zip(self.parts, other.parts, strict=True):
            count = len(mine) // 4
            stored = (marks[:count] | others[:count]) != 0
            unequal = mine[: 4 * count].view(np.uint32) != theirs[: 4 * count].view(np.uint32)
            words = np.flatnonzero((unequal & stored) | (marks[:count] != others[:count]))
            if len(words):
                yield region, words

    def equals(self, other: MemoryState) -> bool:
        """Whether two runs stored the same."""
        return next(self.differences(other), None) is None


def _words(region: Region) -> slice:
    return slice(region.start >> 2, (region.end + 3) >> 2)
