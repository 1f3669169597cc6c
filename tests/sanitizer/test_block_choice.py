"""Which blocks are looked at: all of them are blocks of the grid."""

from __future__ import annotations

import pytest

from gpuprof.sanitizer.block_choice import spread_blocks


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (1, 3, 1), (7, 1, 1), (4, 4, 2), (1000, 1, 1)])
@pytest.mark.parametrize("room", [1, 2, 5, 8])
def test_chosen_blocks_are_blocks_of_the_grid(grid: tuple[int, int, int], room: int) -> None:
    total = grid[0] * grid[1] * grid[2]
    chosen = spread_blocks(grid, room).tolist()
    assert len(set(chosen)) == len(chosen) <= min(room, total)
    assert chosen
    assert all(0 <= number < total for number in chosen)
