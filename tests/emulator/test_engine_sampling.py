"""Which blocks represent a grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.emulator.sampling import block_classes, choose_more
from tests.sass.sass_tools import compile_cubin


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


LONG = """extern "C" __global__ void longs(int n, float* out) {
    float s = 0;
    for (int k = 0; k < n; ++k) s = s * 0.5f + k;
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
"""


@pytest.mark.parametrize(("budget", "blocks", "warns"), [(500_000, 1, True), (3_000_000, 3, False), (10**9, 64, False)])
def test_first_blocks_count_and_one_over_the_budget_is_said(
    budget: int, blocks: int, warns: bool, tmp_path: Path
) -> None:
    source = tmp_path / "long.cu"
    source.write_text(LONG)
    cubin = compile_cubin(source, "sm_89", tmp_path)
    device = EmulatedDevice(EmulationOptions(budget=budget))
    target = device.allocate(4 * 8192)
    arguments = ((2000).to_bytes(4, "little"), Pointer(target))
    counters = device.launch(Launch(cubin, "longs", (64, 1, 1), (128, 1, 1), 0, arguments))
    assert counters.blocks_run == blocks
    assert bool(counters.warnings) is warns
    assert all(f"over the budget of {budget:,}" in warning for warning in counters.warnings)
    whole = EmulatedDevice(EmulationOptions(budget=None))
    target = whole.allocate(4 * 8192)
    exact = whole.launch(Launch(cubin, "longs", (64, 1, 1), (128, 1, 1), 0, (arguments[0], Pointer(target))))
    assert counters.counters["smsp__inst_executed.sum"] == exact.counters["smsp__inst_executed.sum"]
