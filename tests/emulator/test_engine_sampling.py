"""Which blocks represent a grid."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.emulator.sampling import block_classes, choose_more


@pytest.mark.parametrize(
    ("grid", "sizes"),
    [
        ((64, 64, 1), [1, 1, 1, 1, 62, 62, 62, 62, 62 * 62]),
        ((100, 1, 1), [1, 1, 98]),
        ((1, 1, 1), [1]),
        ((2, 2, 1), [1, 1, 1, 1]),
        ((3, 3, 3), [1] * 27),
    ],
)
def test_classes_are_corners_edges_and_interior(grid: tuple[int, int, int], sizes: list[int]) -> None:
    classes = block_classes(grid)
    assert [each.size for each in classes] == sizes
    everything = np.sort(np.concatenate([each.blocks for each in classes]))
    assert np.array_equal(everything, np.arange(np.prod(grid)))


def test_more_blocks_are_spread_and_never_the_pilot() -> None:
    interior = block_classes((64, 64, 1))[-1]
    more = choose_more(interior, 20)
    assert len(set(more.tolist())) == 20
    assert interior.pilot not in more
    assert set(more.tolist()) <= set(interior.blocks.tolist())
    assert len(set((more // 64).tolist())) > 15  # many rows of the grid
    assert len(choose_more(interior, 10**9)) == interior.size - 1
    assert len(choose_more(interior, 0)) == 0
