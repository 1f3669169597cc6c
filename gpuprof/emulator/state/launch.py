"""One launch as all its batches see it: constants, thread values, memories, the device runtime's state."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP
from gpuprof.emulator.memory.constants import ConstantTable, fill_bank
from gpuprof.emulator.runtime import syscalls
from gpuprof.emulator.state.operands import TRUE
from gpuprof.emulator.state.special_values import thread_registers
from gpuprof.isa.constant_bank import bank_layout
from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.control.barriers import Batch
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions
    from gpuprof.emulator.state.lane_state import LaneState
    from gpuprof.errors import CodeLocation

    Array = NDArray[Any]


#: Where code lies in the address space; functions of the device runtime follow at SYSTEM_OFFSET.
CODE_BASE = 0x7D00_0000_0000
#: Local memory that a thread has at least: the driver's default stack.
DEFAULT_STACK_BYTES = 1024


class LaunchContext:
    """Constants, geometry and memories of one launch."""

    def __init__(
        self,
        image: KernelImage,
        arena: Arena,
        grid: Dim3,
        block: Dim3,
        parameters: bytes,
        dynamic_shared_bytes: int,
        options: EmulationOptions,
    ) -> None:
        self.kernel = image.symbol
        self.program = image.program
        self.arena = arena
        self.grid = grid
        self.block = block
        self.code_base = CODE_BASE
        self.options = options
        self.dynamic_shared_bytes = dynamic_shared_bytes
        self.threads = block[0] * block[1] * block[2]
        self.warps = -(-self.threads // WARP)
        self.present = _present(self.threads, self.warps)
        self.reserved_shared_bytes = image.reserved_shared_bytes
        self.shared_bytes = image.reserved_shared_bytes + image.static_shared_bytes + dynamic_shared_bytes
        self.local_bytes = -(-(image.stack_bytes + DEFAULT_STACK_BYTES) // 16) * 16
        self.constants = ConstantTable(self._banks(image, parameters))
        self.thread_values = thread_registers(block, self.warps)
        self.atomic_lock = Lock()
        self.deadline: float | None = None  #: by ``time.perf_counter``; above it OutOfTime is raised
        self.runtime = syscalls.Runtime(arena, image.system_functions, options)

    def _banks(self, image: KernelImage, parameters: bytes) -> dict[int, bytes]:
        bank = bytearray(max(image.parameter_base + len(parameters), 0x400))
        layout = bank_layout(image.arch)
        fill_bank(bank, layout, self.block, self.grid, self.local_bytes, self.dynamic_shared_bytes)
        bank[image.parameter_base : image.parameter_base + len(parameters)] = parameters
        return {**image.banks, 0: bytes(bank)}

    def gather_constant(self, bank: int, index: Array, offset: int, width: int) -> Array:
        return self.constants.gather(bank, index, offset, width)

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

    def system_call(self, batch: Batch, pc: int, location: CodeLocation) -> int:
        """Run a function of the device runtime for the active lanes; returns where they go on."""
        return self.runtime.call(batch, pc, location)


def _present(threads: int, warps: int) -> NDArray[np.bool_]:
    """Lanes that exist: all, or (1, warps, 32) where the last warp is not full."""
    if threads % WARP == 0:
        return TRUE
    return (np.arange(warps * WARP) < threads).reshape(1, warps, WARP)
