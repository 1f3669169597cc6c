"""Shared and local memory of a batch of blocks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_WORD = 4
_DTYPES: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


class SharedMemory:
    """Shared memory of a batch: one row of bytes per block, each word of it ``poison`` at first.

    The ``reserved`` bytes at its start (1 KiB since sm_90) are the driver's: no access of a kernel may go there.
    """

    def __init__(self, blocks: int, nbytes: int, poison: int = 0, reserved: int = 0) -> None:
        self.limit = nbytes
        self.start = reserved
        words = np.full((blocks, -(-max(nbytes, 16) // 16) * 4), poison, np.uint32)
        rows = words.view(np.uint8)
        self.views = {width: rows.view(dtype) for width, dtype in _DTYPES.items()}

    def rows(self, width: int) -> Array:
        """(blocks, elements) of that many bytes each (16: pairs of 8)."""
        result: Array = self.views[width]
        return result


class LocalMemory:
    """Local memory of a batch: word by word, and within a word lane by lane."""

    def __init__(self, blocks: int, warps: int, nbytes: int, poison: int = 0) -> None:
        self.limit = nbytes
        self._poison = poison
        self._shape = (-(-nbytes // _WORD), blocks, warps, WARP)

    @cached_property
    def words(self) -> Array:
        """(words, blocks, warps, 32); made when a kernel first uses it, since most have a stack and never touch it."""
        return np.full(self._shape, self._poison, np.uint32)
