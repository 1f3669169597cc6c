"""The heap of device-side malloc and free: one buffer of the arena, first fit."""

from __future__ import annotations

import bisect

_ALIGNMENT = 16


class Heap:
    """Blocks within one buffer. Addresses are virtual; 0 says that there is no room, as malloc does."""

    def __init__(self, base: int, nbytes: int) -> None:
        self.base = base
        self.nbytes = nbytes
        self._blocks: list[tuple[int, int]] = []  # (offset, size), ascending

    def allocate(self, nbytes: int) -> int:
        """The address of ``nbytes`` bytes, or 0."""
        wanted = -(-max(nbytes, 1) // _ALIGNMENT) * _ALIGNMENT
        place = 0
        for offset, size in self._blocks:
            if offset - place >= wanted:
                break
            place = offset + size
        if place + wanted > self.nbytes:
            return 0
        bisect.insort(self._blocks, (place, wanted))
        return self.base + place

    def free(self, address: int) -> bool:
        """Give a block back; False when no block begins at the address."""
        offset = address - self.base
        for index, block in enumerate(self._blocks):
            if block[0] == offset:
                del self._blocks[index]
                return True
        return False
