"""Which blocks of a large grid run, and how their counts stand for all.

Blocks are sorted into classes by their place: along each axis first, last, or between. Blocks of one class mostly do
the same work (bounds checks act in the last row or column), so one block of every class runs, and the rest of the
budget goes to the largest class. Counts of a class are scaled by its size over the blocks that ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class BlockClass:
    """Blocks of one kind of place: their numbers, ascending."""

    blocks: NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.blocks)

    @property
    def pilot(self) -> int:
        """The block that runs first: the one in the middle."""
        return int(self.blocks[len(self.blocks) // 2])


def block_classes(grid: Dim3) -> tuple[BlockClass, ...]:
    """The classes of a grid, at most 27, largest last. Their blocks together are all blocks."""
    x, y, z = grid
    numbers = np.arange(x * y * z, dtype=np.int64)
    key = _place(numbers % x, x) * 9 + _place(numbers // x % y, y) * 3 + _place(numbers // (x * y), z)
    classes = [BlockClass(numbers[key == value]) for value in np.unique(key)]
    return tuple(sorted(classes, key=lambda each: (each.size, each.pilot)))


def _place(index: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """0 first, 1 between, 2 last along an axis."""
    return np.where(index == 0, 0, np.where(index == length - 1, 2, 1)).astype(np.int64)


def choose_more(blocks: BlockClass, count: int) -> NDArray[np.int64]:
    """``count`` further blocks of a class (or all), spread evenly, without its pilot."""
    others: NDArray[np.int64] = blocks.blocks[blocks.blocks != blocks.pilot]
    if count < len(others):
        others = others[np.linspace(0, len(others) - 1, max(count, 0)).round().astype(np.int64)]
    return others
