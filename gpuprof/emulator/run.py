"""Running a launch: blocks to batches, batches to threads, counts to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.convergence import Batch
from gpuprof.emulator.counters import Counters
from gpuprof.emulator.launch import LaunchContext
from gpuprof.emulator.loader import KernelImage
from gpuprof.emulator.model import EmulationOptions, EmulationReport
from gpuprof.emulator.schedule import run_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.memory import Arena

Dim3 = tuple[int, int, int]
#: Lanes of one batch: enough that numpy's calls are cheap per lane, few enough that arrays stay in the caches.
BATCH_LANES = 16384


def emulate(
    image: KernelImage,
    arena: Arena,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    dynamic_shared_bytes: int = 0,
    options: EmulationOptions | None = None,
) -> EmulationReport:
    options = options or EmulationOptions()
    context = LaunchContext(image, arena, grid, block, parameters, dynamic_shared_bytes, options)
    counters = Counters.zeros(len(image.program.instructions))
    total = grid[0] * grid[1] * grid[2]
    ids = np.arange(total)
    size = batch_blocks(grid, context)
    for first in range(0, total, size):
        run_blocks(context, image, ids[first : first + size], counters)
    return EmulationReport({}, {}, total, total), counters


def run_blocks(context: LaunchContext, image: KernelImage, ids: NDArray[np.int64], counters: Counters) -> None:
    with np.errstate(all="ignore"):
        batch = Batch(context, ids, counters)
        batch.start(0)
        run_batch(batch, image.program)


def batch_blocks(grid: Dim3, context: LaunchContext) -> int:
    most = max(1, BATCH_LANES // (context.warps * 32))
    if most >= grid[0]:
        return max(1, most // grid[0]) * grid[0]
    return -(-grid[0] // -(-grid[0] // most))
