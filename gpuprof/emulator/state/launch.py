"""One launch as all its batches see it: constants, thread values, memories, the device runtime's state."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import CODE_BASE, WARP
from gpuprof.emulator.state.operands import TRUE
from gpuprof.emulator.state.special_values import thread_registers
from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Code, Constants, DeviceRuntime, GlobalMemory, LaneState, UnsetReads
    from gpuprof.emulator.options import EmulationOptions

    Array = NDArray[Any]


__all__ = ["CODE_BASE", "DEFAULT_STACK_BYTES", "LaunchContext"]

#: Local memory that a thread has at least: the driver's default stack.
DEFAULT_STACK_BYTES = 1024


@dataclass
class LaunchContext:
    """Constants, geometry and memories of one launch. Implements ``contract.LaunchContext``."""

    kernel: str
    program: Code
    arena: GlobalMemory
    constants: Constants
    runtime: DeviceRuntime
    grid: Dim3
    block: Dim3
    options: EmulationOptions
    dynamic_shared_bytes: int
    shared_bytes: int  #: of a block, with those that the driver keeps
    reserved_shared_bytes: int
    local_bytes: int  #: of a thread
    code_base: int = CODE_BASE
    atomic_lock: Lock = field(default_factory=Lock)
    unset_reads: UnsetReads | None = None

    def __post_init__(self) -> None:
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.warps = -(-self.threads // WARP)
        self.present = _present(self.threads, self.warps)
        self.thread_values = thread_registers(self.block, self.warps)
        self.deadline: float | None = None  #: by ``time.perf_counter``; above it OutOfTime is raised

    def name_lane(self, lanes: LaneState, where: tuple[int, int, int]) -> tuple[Dim3, Dim3]:
        """(block, thread) indices of a lane given as (block row, warp, lane) of a batch."""
        row, warp, lane = where
        return self.name_thread(*lanes.identify(row, warp), lane)

    def name_thread(self, block_id: int, warp_id: int, lane: int) -> tuple[Dim3, Dim3]:
        """(block, thread) indices of a lane given by the numbers of its block in the grid and its warp in the block."""
        thread = warp_id * WARP + lane
        x, y, _ = self.grid
        tx, ty, _ = self.block
        block = (block_id % x, block_id // x % y, block_id // (x * y))
        return block, (thread % tx, thread // tx % ty, thread // (tx * ty))


def _present(threads: int, warps: int) -> NDArray[np.bool_]:
    """Lanes that exist: all, or (1, warps, 32) where the last warp is not full."""
    if threads % WARP == 0:
        return TRUE
    return (np.arange(warps * WARP) < threads).reshape(1, warps, WARP)
