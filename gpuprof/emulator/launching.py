"""A launch from its parts: constant banks as the driver fills them, memories, and the device runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuprof.emulator.memory.constants import ConstantTable, fill_bank
from gpuprof.emulator.memory.unset_reads import UnsetReads
from gpuprof.emulator.runtime.syscalls import Runtime
from gpuprof.emulator.state.launch import DEFAULT_STACK_BYTES, LaunchContext
from gpuprof.isa.constant_bank import bank_layout
from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions

#: What ``cg::this_grid().sync()`` counts arrivals in (cooperative_groups/details/sync.h): a flag and a counter.
_WORKSPACE_BYTES = 16
#: Bytes that constant bank 0 has at least.
_BANK_BYTES = 0x400


def open_launch(
    image: KernelImage,
    arena: Arena,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    dynamic_shared_bytes: int,
    options: EmulationOptions,
) -> LaunchContext:
    """The context in which the blocks of a launch run; ``parameters`` in the layout of the cubin."""
    local_bytes = -(-(image.stack_bytes + DEFAULT_STACK_BYTES) // 16) * 16
    bank = bytearray(max(image.parameter_base + len(parameters), _BANK_BYTES))
    fill_bank(bank, bank_layout(image.arch), block, grid, local_bytes, dynamic_shared_bytes)
    if options.cooperative:
        low, high = bank_layout(image.arch).workspace
        address = _workspace(arena)
        bank[low : low + 4], bank[high : high + 4] = _word(address), _word(address >> 32)
    bank[image.parameter_base : image.parameter_base + len(parameters)] = parameters
    return LaunchContext(
        kernel=image.symbol,
        program=image.program,
        arena=arena,
        constants=ConstantTable({**image.banks, 0: bytes(bank)}),
        runtime=Runtime(arena, image.system_functions, options),
        grid=grid,
        block=block,
        options=options,
        dynamic_shared_bytes=dynamic_shared_bytes,
        shared_bytes=image.reserved_shared_bytes + image.static_shared_bytes + dynamic_shared_bytes,
        reserved_shared_bytes=image.reserved_shared_bytes,
        local_bytes=local_bytes,
        unset_reads=None if options.unset is None else UnsetReads(options.unset),
    )


def _workspace(arena: Arena) -> int:
    """The barrier of a cooperative launch, cleared; made once per memory."""
    if arena.workspace is None:
        arena.workspace = arena.allocate(_WORKSPACE_BYTES)
    arena.view(arena.workspace, _WORKSPACE_BYTES)[:] = 0
    arena.mark_written(arena.workspace, _WORKSPACE_BYTES)
    return arena.workspace


def _word(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "little")
