"""The device that is always there: executes machine code on the emulator, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.arch.launch_limits import KernelResources, launch_problem
from gpuprof.device.base import (
    Capabilities,
    DeviceDescription,
    Handle,
    Launch,
    LaunchArgument,
    LaunchCounters,
    MappedTensor,
    Pointer,
)
from gpuprof.errors import LaunchError, LaunchLimitError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpuprof.emulator.loader import KernelImage, Module
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions, EmulationReport
    from gpuprof.model.launch_time import LaunchRequest
    from gpuprof.toolchain.tools import Toolchain

#: What a bundled experiment may take at most.
CAPACITY_BYTES = 2 << 30


class EmulatedDevice:
    """Implements ``device.base.Device``. Cubins of any architecture load, each once.

    ``tools`` supplies nvdisasm; without it the usual places are searched.
    """

    def __init__(
        self,
        options: EmulationOptions | None = None,
        tools: Toolchain | None = None,
        capacity_bytes: int = CAPACITY_BYTES,
    ) -> None:
        from gpuprof.emulator.memory.arena import Arena
        from gpuprof.emulator.options import EmulationOptions as Options

        self._options = options or Options()
        self._tools = tools
        self._arena = Arena(capacity_bytes)
        self._addresses: dict[int, tuple[int, int]] = {}
        self._modules: dict[Path, Module] = {}
        self._next = 1

    lost = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(names=self, pieces=self)

    @property
    def description(self) -> DeviceDescription:
        return DeviceDescription(
            kind="emulated", name="emulator", multiprocessors=None, memory_bytes=self._arena.capacity_bytes
        )

    def allocate(self, nbytes: int) -> Handle:
        """Zeroed memory; raises DeviceMemoryError."""
        address = self._arena.allocate(nbytes)
        handle = Handle(self._next, nbytes)
        self._next += 1
        self._addresses[handle.identifier] = (address, nbytes)
        return handle

    def name(self, handle: Handle, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """What messages call a buffer and its elements."""
        import numpy as np

        from gpuprof.emulator.memory.arena import ArrayName

        self._arena.names[self._address(handle)] = ArrayName(name, np.dtype(dtype).itemsize, shape)

    def address_of(self, pointer: Pointer) -> int:
        return self._address(pointer.handle) + pointer.offset_bytes

    def free(self, handle: Handle) -> None:
        self._arena.free(self._address(handle))
        del self._addresses[handle.identifier]

    def write(self, handle: Handle, data: NDArray[np.generic]) -> None:
        """Copy a host array to the start of ``handle``; what launches stored before is forgotten."""
        import numpy as np

        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._check_length(handle, flat.nbytes)
        self._arena.view(self._address(handle), flat.nbytes)[:] = flat
        self._arena.clear_written(self._address(handle), handle.nbytes)

    def read(self, handle: Handle, dtype: str, shape: tuple[int, ...]) -> NDArray[np.generic]:
        import numpy as np

        kind = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        self._check_length(handle, nbytes)
        found: NDArray[np.generic] = self._arena.view(self._address(handle), nbytes).copy().view(kind).reshape(shape)
        return found

    def pieces(self, handle: Handle) -> Iterator[NDArray[np.uint8]]:
        """The device's own memory, in one piece: not to be written."""
        yield self._arena.view(self._address(handle), handle.nbytes)

    def fill(self, handle: Handle, byte: int) -> None:
        self._arena.view(self._address(handle), handle.nbytes)[:] = byte
        self._arena.mark_written(self._address(handle), handle.nbytes)

    def poison(self, handle: Handle, byte: int) -> None:
        self._arena.view(self._address(handle), handle.nbytes)[:] = byte
        self._arena.clear_written(self._address(handle), handle.nbytes)

    def written_bytes(self, handle: Handle) -> int:
        """How many bytes launches since the last ``poison`` or ``write`` stored to."""
        return self._arena.count_written(self._address(handle), handle.nbytes)

    def written(self, handle: Handle) -> NDArray[np.bool_]:
        """Per byte: whether a launch since the last ``poison`` or ``write`` stored there."""
        return self._arena.written_bytes(self._address(handle), handle.nbytes)

    def set_variable(self, cubin: Path, symbol: str, content: Handle) -> None:
        """Copy all of ``content`` to a variable of the code; raises KernelNotFoundError for one that is not there."""
        data = self._arena.view(self._address(content), content.nbytes).tobytes()
        self._module(cubin).set_variable(symbol, data)

    def launch(self, launch: Launch) -> LaunchCounters:
        """Execute the kernel: the whole grid, or a sample of its blocks when the budget says so."""
        from gpuprof.emulator.engine import emulate
        from gpuprof.emulator.loader import pack_parameters

        module = self._module(launch.cubin)
        image = module.image(launch.symbol)
        _check_limits(module, launch)
        resources = module.resources(launch.symbol)
        cluster = launch.cluster or (resources.cluster if resources else None)
        if cluster not in (None, (1, 1, 1)):
            origin = "`cluster`" if launch.cluster else "__cluster_dims__"
            raise LaunchError(
                f"{launch.symbol}: the emulator executes no clusters (their barriers and distributed shared memory): "
                f"run it on a GPU with --device gpu, or leave out {origin}"
            )
        values = [self._argument(argument) for argument in launch.arguments]
        order = self._order_dependence(module, launch) if launch.reorders and not launch.cooperative else None
        watched = tuple((self._address(handle), handle.nbytes) for handle in launch.outputs)
        unset = (
            None if launch.unset is None else tuple((self._address(buffer), buffer.nbytes) for buffer in launch.unset)
        )
        options = replace(self._options, poison=launch.poison * 0x01010101, watched=watched, unset=unset)
        options = replace(options, cooperative=launch.cooperative)
        if unset is not None:
            options = replace(options, threads=1)  # what was found stays in the process that looked
        report = emulate(
            image,
            self._arena,
            launch.grid,
            launch.block,
            pack_parameters(image, values),
            launch.shared_bytes,
            replace(options, budget=None) if launch.whole else options,
        )
        expected = zip(launch.outputs, report.expected_bytes, strict=False)
        return replace(
            _launch_counters(report),
            order=order or "",
            unset_reads={(launch.unset or ())[at].identifier: place for at, place in report.unset_reads.items()},
            expected_bytes={handle.identifier: count for handle, count in expected},
        )

    def _order_dependence(self, module: Module, launch: Launch) -> str | None:
        from gpuprof.sanitizer.launch import LaunchRequest
        from gpuprof.sanitizer.order_check import order_dependence

        image, arena, parameters = self.prepared(launch)
        regions = (arena.region_at(self._address(handle)) for handle in launch.outputs)
        request = LaunchRequest(image, arena, launch.grid, launch.block, parameters, launch.shared_bytes)
        tracked = tuple(region for region in regions if region is not None)
        return order_dependence(request, tracked, launch.poison * 0x01010101)

    def prepared(self, launch: Launch) -> tuple[KernelImage, Arena, bytes]:
        """The kernel, the memory and the parameter block of a launch, for who runs it otherwise."""
        from gpuprof.emulator.loader import pack_parameters

        image = self._module(launch.cubin).image(launch.symbol)
        return image, self._arena, pack_parameters(image, [self._argument(argument) for argument in launch.arguments])

    def traceable(self, launch: Launch) -> LaunchRequest:
        """The launch as the time model asks for it; raises LaunchError and its kinds."""
        from gpuprof.model.launch_time import LaunchRequest

        module = self._module(launch.cubin)
        _check_limits(module, launch)
        image, arena, parameters = self.prepared(launch)
        resources = module.resources(launch.symbol)
        return LaunchRequest(
            image=image,
            arena=arena,
            grid=launch.grid,
            block=launch.block,
            parameters=parameters,
            shared_bytes=launch.shared_bytes,
            registers=resources.registers if resources is not None else 0,
            options=self._options,
        )

    def place(self, handle: Handle) -> int:
        """The virtual address of a buffer."""
        return self._address(handle)

    def close(self) -> None:
        self._modules.clear()
        self._addresses.clear()

    def _argument(self, argument: LaunchArgument) -> bytes:
        if isinstance(argument, Pointer):
            return self.address_of(argument).to_bytes(8, "little")
        if isinstance(argument, MappedTensor):
            from gpuprof.emulator.memory.tensor_copy import encode

            return encode(argument.map, self.address_of(argument.pointer))
        return argument

    def _module(self, cubin: Path) -> Module:
        if cubin not in self._modules:
            from gpuprof.emulator.loader import Module
            from gpuprof.sass.parse import parse_disassembly
            from gpuprof.toolchain.disasm import disassemble_text
            from gpuprof.toolchain.elf import read_cubin
            from gpuprof.toolchain.tools import find_tools

            text = disassemble_text(self._tools or find_tools(), cubin)
            self._modules[cubin] = Module(read_cubin(cubin), parse_disassembly(text), self._arena)
        return self._modules[cubin]

    def _address(self, handle: Handle) -> int:
        known = self._addresses.get(handle.identifier)
        if known is None:
            raise LaunchError(f"device memory {handle.identifier} was freed, or belongs to another device")
        return known[0]

    def _check_length(self, handle: Handle, nbytes: int) -> None:
        if nbytes > handle.nbytes:
            raise LaunchError(f"a copy of {nbytes:,} bytes does not fit a buffer of {handle.nbytes:,} bytes")


def _check_limits(module: Module, launch: Launch) -> None:
    """Raise LaunchLimitError for a launch that no GPU of the code's architecture would make."""
    resources = module.resources(launch.symbol)
    if resources is None:
        return
    kernel = KernelResources(
        resources.registers, resources.static_shared_bytes, resources.max_threads, resources.required_block
    )
    problem = launch_problem(f"sm_{module.arch}", kernel, launch.grid, launch.block, launch.shared_bytes)
    if problem is not None:
        raise LaunchLimitError(f"{launch.symbol} cannot be launched: {problem}")


def _launch_counters(report: EmulationReport) -> LaunchCounters:
    return LaunchCounters(
        counters=report.scaled,
        source="emulator",
        blocks_run=report.blocks_run,
        blocks_total=report.blocks_total,
        per_instruction=report.per_instruction,
        printed=report.printed,
        engine=report.engine,
        engine_note=report.engine_note,
        unavailable=report.unavailable,
        warnings=report.warnings,
    )
