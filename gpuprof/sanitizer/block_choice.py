"""Which blocks of a large grid are checked: corners with their neighbours, and more as the budget allows.

Neighbouring blocks are what races between blocks need. Kernels by which blocks can talk (atomics and strong accesses
on global memory) run whole: what a block sees there depends on the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.counting.counters import Counters
    from gpuprof.emulator.program import Program

    Blocks = NDArray[np.int64]

_TALKS = frozenset(("ATOMG", "ATOM", "RED", "REDG"))


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen blocks, ascending, of that number of blocks."""

    blocks: Blocks
    total: int


def choose_blocks(request: Any, budget: int, execute: Callable[[Blocks], Counters]) -> Choice:
    """As many blocks as cost ``budget`` thread instructions, by what the first one costs."""
    x, y, z = request.grid
    total = x * y * z
    everything = np.arange(total, dtype=np.int64)
    if talks(request.image.program):
        return Choice(everything, total)
    cost = max(1, sum(execute(np.array([total // 2], np.int64)).threads))
    room = max(8, budget // cost)
    if total <= room:
        return Choice(everything, total)
    return Choice(spread_blocks(request.grid, room), total)


def spread_blocks(grid: tuple[int, int, int], room: int) -> Blocks:
    """Corners, two neighbours of the first and of the middle one, then pairs of neighbours spread over the grid."""
    x, y, z = grid
    total = x * y * z
    middle = total // 2
    corners = [a + x * (b + y * c) for c in sorted({0, z - 1}) for b in sorted({0, y - 1}) for a in sorted({0, x - 1})]
    first = [*corners, 1, x, middle, middle + 1, middle + x]
    wanted = list(dict.fromkeys(number for number in first if 0 <= number < total))[:room]
    for start in np.linspace(0, total - 2, max(0, room - len(wanted)) // 2 + 1).astype(np.int64).tolist():
        wanted += [start, start + 1]
    inside = [number for number in dict.fromkeys(wanted) if 0 <= number < total]
    return np.array(sorted(inside[:room]), np.int64)


def talks(program: Program) -> bool:
    """Whether blocks can see what others did: atomics, or strong accesses, on global memory."""
    return program.uses(_TALKS) or any(
        "STRONG" in instruction.modifiers for instruction in program.function.instructions
    )
