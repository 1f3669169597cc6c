"""A GPU through pycuda, or through a module with the part of its interface that is used here (``drivers``).

The primary context, so that host libraries share it. Memory has guard zones before and after, checked by
``overrun``. After a fault the context is lost (``lost``): the process must be replaced, and nothing is freed in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.arch.launch_limits import needs_opt_in
from gpuprof.device import tensor_maps
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
from gpuprof.device.drivers import import_driver
from gpuprof.device.gpus import find_gpus
from gpuprof.device.jobs import HostCall, HostScalar
from gpuprof.device.launch_attributes import Attributes, DriverCallError, ExtendedModule
from gpuprof.errors import DeviceMemoryError, KernelNotFoundError, LaunchError, MissingDeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.isa.tensor_map import TensorMap

#: Bytes before and after every allocation that a correct kernel leaves alone. A multiple of 4 KiB keeps the
#: alignment that cudaMalloc promises (256 bytes) and that vector loads and swizzles rely on.
GUARD_BYTES = 4096
GUARD_BYTE = 0xA5
#: The driver maps large allocations in pages of this size: such a buffer keeps its place at the start of one, since a
#: kernel that lives on the caches can be slower by some percent when its inputs begin elsewhere.
PAGE_BYTES = 2 << 20
#: How long a held stream waits for its release at most, in ns: longer only when the host itself was stopped.
HOLD_NS = 2_000_000_000
#: A buffer of this many times the L2 is written to flush it.
L2_FACTOR = 1
#: Device memory is looked at in pieces of this size: the cost of a call (some 10 us) is small beside the copy, and the
#: piece is still in the core's cache when it is read.
PIECE_BYTES = 2 << 20
#: The comparing kernel: threads per block, and blocks for each SM, which are more than enough to fill DRAM's queues.
COMPARE_THREADS = 256
COMPARE_BLOCKS_PER_SM = 8
#: This share of the memory stays free of what is kept for comparison.
FREE_SHARE = 0.25
#: Errors after which the context cannot be used again, by the words in pycuda's messages.
_CONTEXT_LOST = (
    "illegal address",
    "an illegal memory access",
    "illegal instruction",
    "misaligned address",
    "invalid address space",
    "invalid program counter",
    "launch failed",
    "launch failure",
    "launch timed out",
    "hardware stack error",
    "assert",
    "unspecified",
    "uncorrectable",
    "context is destroyed",
)


#: Words of page-locked memory that kernels of support.cu and the host share.
_GENERATION, _TIMED_OUT, _DIFFERS = range(3)


@dataclass(frozen=True)
class _Allocation:
    memory: Any  #: pycuda's DeviceAllocation, guards included
    address: int
    nbytes: int


class GpuDevice:
    """One GPU. Set ``support`` to the cubin of ``support.cu``: without it, the stream cannot be held while timing."""

    def __init__(self, ordinal: int) -> None:
        self._cuda = import_driver()
        self.lost = False
        self.ordinal = ordinal
        self._context = self._opened_context(ordinal)
        self._description = find_gpus().devices[ordinal]
        self.stream = self._cuda.Stream()
        self._allocations: dict[int, _Allocation] = {}
        self._modules: dict[Path, Any] = {}
        self._functions: dict[tuple[Path, str], Any] = {}
        self._tensor_maps: dict[tuple[TensorMap, int], bytes] = {}
        self._opted_in: dict[tuple[Path, str], int] = {}
        self._libraries: dict[Path, ctypes.CDLL] = {}
        self._extended: dict[Path, ExtendedModule] = {}
        self._variables: dict[Path, dict[str, int]] = {}  #: cubin -> bytes of each variable that was set
        self._next = 1
        self.support: Path | None = None
        self._flags: NDArray[np.int32] | None = None
        self._generation = 0
        self._scratch: _Allocation | None = None
        self._staging: NDArray[np.uint8] | None = None

    def _opened_context(self, ordinal: int) -> Any:
        """The primary context, made current; raises MissingDeviceError where the driver gives none."""
        try:
            self._cuda.init()
            context: Any = self._cuda.Device(ordinal).retain_primary_context()
            context.push()
            return context
        except self._cuda.Error as error:
            repair = "Repair: install NVIDIA's display driver, or --device none"
            raise MissingDeviceError(f"gpu:{ordinal} cannot be opened: {str(error).rstrip('.')}. {repair}") from None

    @property
    def description(self) -> DeviceDescription:
        return self._description

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(clock=self, host_calls=self, guards=self, pieces=self, comparison=self, support=self)

    # memory

    def allocate(self, nbytes: int) -> Handle:
        front = PAGE_BYTES if nbytes >= PAGE_BYTES else GUARD_BYTES
        memory = self._allocate_raw(front + nbytes + GUARD_BYTES)
        handle = Handle(self._next, nbytes)
        self._next += 1
        self._allocations[handle.identifier] = _Allocation(memory, int(memory) + front, nbytes)
        self._guard(handle)
        return handle

    def _allocate_raw(self, nbytes: int) -> Any:
        try:
            return self._cuda.mem_alloc(nbytes)
        except self._cuda.MemoryError:
            free, total = self._cuda.mem_get_info()
            raise DeviceMemoryError(
                f"out of device memory: {nbytes:,} bytes were asked for, {free:,} of {total:,} are free"
            ) from None

    def _guard(self, handle: Handle) -> None:
        allocation = self._allocations[handle.identifier]
        with self._translated():
            for address in (allocation.address - GUARD_BYTES, allocation.address + allocation.nbytes):
                self._cuda.memset_d8(address, GUARD_BYTE, GUARD_BYTES)

    def free(self, handle: Handle) -> None:
        self._allocations.pop(handle.identifier).memory.free()

    def write(self, handle: Handle, data: NDArray[np.generic]) -> None:
        if data.nbytes:
            with self._translated():
                self._cuda.memcpy_htod(self._address(handle), np.ascontiguousarray(data))

    def read(self, handle: Handle, dtype: str, shape: tuple[int, ...]) -> NDArray[np.generic]:
        result: NDArray[np.generic] = np.empty(shape, dtype)
        if result.nbytes:
            with self._translated():
                self._cuda.memcpy_dtoh(result, self._address(handle))
        return result

    def pieces(self, handle: Handle) -> Iterator[NDArray[np.uint8]]:
        """The bytes, piece by piece through page-locked memory; the next is copied while this one is looked at.

        That is several times as fast as a fresh host array, which the driver fills through such memory of its own.
        """
        if self._staging is None:
            self._staging = self._page_locked(2 * PIECE_BYTES)
        halves = (self._staging[:PIECE_BYTES], self._staging[PIECE_BYTES:])
        starts = range(0, handle.nbytes, PIECE_BYTES)
        landed = None
        for number, start in enumerate(starts):
            piece = halves[number % 2][: min(PIECE_BYTES, handle.nbytes - start)]
            with self._translated():
                self._cuda.memcpy_dtoh_async(piece, self._address(handle) + start, self.stream)
            if landed is not None:
                yield landed
            self.synchronize()
            landed = piece
        if landed is not None:
            yield landed

    def _page_locked(self, nbytes: int) -> NDArray[np.uint8]:
        try:
            memory: NDArray[np.uint8] = self._cuda.pagelocked_empty(nbytes, np.uint8)
        except self._cuda.Error:  # a machine that locks no more memory: slower, as right
            memory = np.empty(nbytes, np.uint8)
        return memory

    def has_room(self, nbytes: int) -> bool:
        """Can so much be kept beside the jobs' own buffers, only to compare with?"""
        if self.support is None:
            return False
        with self._translated():
            free, total = self._cuda.mem_get_info()
        return bool(free - nbytes >= FREE_SHARE * total)

    def equal(self, left: Handle, right: Handle) -> bool:
        """Do both hold the same bytes? Compared by the GPU."""
        if left.nbytes != right.nbytes:
            return False
        function = self._support_kernel("gpuprof_compare", "PPQP")
        flags = self._host_flags()
        flags[_DIFFERS] = 0
        blocks = max(1, min(COMPARE_BLOCKS_PER_SM * (self._description.multiprocessors or 1), left.nbytes // 4096))
        with self._translated():
            function.prepared_async_call(
                (blocks, 1, 1),
                (COMPARE_THREADS, 1, 1),
                self.stream,
                self._address(left),
                self._address(right),
                left.nbytes,
                self._flag_address(_DIFFERS),
            )
        self.synchronize()
        return not flags[_DIFFERS]

    def fill(self, handle: Handle, byte: int) -> None:
        if handle.nbytes:
            with self._translated():
                self._cuda.memset_d8_async(self._address(handle), byte, handle.nbytes, self.stream)
                self.stream.synchronize()

    def poison(self, handle: Handle, byte: int) -> None:
        self.fill(handle, byte)

    def written_bytes(self, handle: Handle) -> int | None:
        return None

    def written(self, handle: Handle) -> NDArray[np.bool_] | None:
        return None

    def overrun(self, handle: Handle) -> int | None:
        """The first byte offset outside ``handle`` that was written (negative: in front), or None; guards are reset."""
        allocation = self._allocations[handle.identifier]
        for start in (-GUARD_BYTES, allocation.nbytes):
            zone = np.empty(GUARD_BYTES, np.uint8)
            with self._translated():
                self._cuda.memcpy_dtoh(zone, allocation.address + start)
            changed = np.flatnonzero(zone != GUARD_BYTE)
            if changed.size:
                self._guard(handle)
                return start + int(changed[-1] if start < 0 else changed[0])
        return None

    def address_of(self, pointer: Pointer) -> int:
        return self._address(pointer.handle) + pointer.offset_bytes

    def _address(self, handle: Handle) -> int:
        return self._allocations[handle.identifier].address

    # launches

    def launch(self, launch: Launch) -> LaunchCounters | None:
        self.enqueue(launch)
        self.synchronize()
        return None

    def enqueue(self, launch: Launch) -> None:
        """Launch on the stream, without waiting."""
        data = pack_parameters(tuple(self._parameter(argument) for argument in launch.arguments), launch.offsets)
        wanted = Attributes(launch.cooperative, launch.cluster)
        if not wanted.is_plain:
            self._enqueue_extended(launch, data, wanted)
            return
        function = self._function(launch, len(data))
        arguments = (data,) if data else ()
        with self._translated():
            function.prepared_async_call(
                launch.grid, launch.block, self.stream, *arguments, shared_size=launch.shared_bytes
            )

    def _enqueue_extended(self, launch: Launch, data: bytes, wanted: Attributes) -> None:
        extent = (launch.grid, launch.block, launch.shared_bytes)
        with self._translated():
            module = self._extended_module(launch.cubin)
            module.launch(launch.symbol, *extent, self.stream.handle, data, wanted)

    def _extended_module(self, cubin: Path) -> ExtendedModule:
        """The code for launches with attributes; its variables hold what those of the other module do."""
        if cubin not in self._extended:
            module = self._extended[cubin] = ExtendedModule(cubin.read_bytes())
            for symbol, nbytes in self._variables.get(cubin, {}).items():
                source, _ = self._module(cubin).get_global(symbol)
                self._cuda.memcpy_dtod_async(module.address_of(symbol), source, nbytes, stream=self.stream)
        return self._extended[cubin]

    def _parameter(self, argument: LaunchArgument) -> bytes:
        if isinstance(argument, bytes):
            return argument
        if isinstance(argument, MappedTensor):
            return self._encoded(argument)
        return self.address_of(argument).to_bytes(8, "little")

    def _encoded(self, tensor: MappedTensor) -> bytes:
        """A tensor map's bytes, encoded once per array: launches are repeated."""
        key = (tensor.map, self.address_of(tensor.pointer))
        if key not in self._tensor_maps:
            self._tensor_maps[key] = tensor_maps.encode(*key)
        return self._tensor_maps[key]

    def _function(self, launch: Launch, parameter_bytes: int) -> Any:
        """The kernel, ready for that many parameter bytes and the launch's dynamic shared memory."""
        key = (launch.cubin, launch.symbol)
        if key not in self._functions:
            function = self._load(launch.cubin, launch.symbol)
            self._functions[key] = function.prepare([f"{parameter_bytes}s"] if parameter_bytes else [])
        function = self._functions[key]
        if launch.shared_bytes > self._opted_in.get(key, 0):
            self._opt_in(function, launch.shared_bytes)
            self._opted_in[key] = launch.shared_bytes
        return function

    def _opt_in(self, function: Any, dynamic_bytes: int) -> None:
        """Allow the kernel that much dynamic shared memory, where it needs leave.

        CUDA C++ Programming Guide, "Shared Memory": beyond 48 KiB of static and dynamic memory together.
        """
        attributes = self._cuda.function_attribute
        with self._translated():
            if needs_opt_in(function.get_attribute(attributes.SHARED_SIZE_BYTES), dynamic_bytes):
                function.set_attribute(attributes.MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_bytes)

    def unload(self) -> None:
        """Forget all code: global variables start anew with the next launch."""
        self._functions.clear()
        self._opted_in.clear()
        self._modules.clear()
        for module in self._extended.values():
            module.unload()
        self._extended.clear()
        self._variables.clear()

    def _module(self, cubin: Path) -> Any:
        if cubin not in self._modules:
            with self._translated():
                self._modules[cubin] = self._cuda.module_from_buffer(cubin.read_bytes())
        return self._modules[cubin]

    def _load(self, cubin: Path, symbol: str) -> Any:
        try:
            return self._module(cubin).get_function(symbol)
        except self._cuda.LogicError:
            raise KernelNotFoundError(f"{cubin} holds no kernel {symbol}") from None

    def set_variable(self, cubin: Path, symbol: str, content: Handle) -> None:
        """Copy to a variable of the code; raises KernelNotFoundError where the cubin has none of that name."""
        module = self._module(cubin)
        try:
            address, _ = module.get_global(symbol)
        except self._cuda.LogicError:
            raise KernelNotFoundError(f"{cubin} holds no variable {symbol}") from None
        with self._translated():
            self._cuda.memcpy_dtod_async(address, self._address(content), content.nbytes, stream=self.stream)
            self._variables.setdefault(cubin, {})[symbol] = content.nbytes
            if cubin in self._extended:
                own = self._extended[cubin].address_of(symbol)
                self._cuda.memcpy_dtod_async(own, self._address(content), content.nbytes, stream=self.stream)
            self.stream.synchronize()

    def enqueue_fill(self, handle: Handle, byte: int) -> None:
        """Set every byte, on the stream."""
        with self._translated():
            self._cuda.memset_d8_async(self._address(handle), byte, handle.nbytes, self.stream)

    def enqueue_copy(self, target: Handle, source: Handle) -> None:
        """Copy all of ``source`` over ``target``, on the stream."""
        if source.nbytes:
            with self._translated():
                self._cuda.memcpy_dtod_async(
                    self._address(target), self._address(source), source.nbytes, stream=self.stream
                )

    def call_host(self, call: HostCall, arguments: tuple[Pointer | HostScalar, ...]) -> None:
        """Call a host function on the stream and wait."""
        self.enqueue_host(call, arguments)
        self.synchronize()

    def enqueue_host(self, call: HostCall, arguments: tuple[Pointer | HostScalar, ...]) -> None:
        """Call ``int f(args..., cudaStream_t)``; raises LaunchError when it returns anything but 0."""
        function = self._host_function(call)
        code = function(*(self._host_value(value) for value in arguments), ctypes.c_void_p(self.stream.handle))
        if code:
            raise LaunchError(f"{call.function} returned error {code}")

    def _host_function(self, call: HostCall) -> Callable[..., int]:
        if call.library not in self._libraries:
            try:
                self._libraries[call.library] = ctypes.CDLL(str(call.library))
            except OSError as error:
                raise LaunchError(f"cannot load the library of step {call.name}: {error}") from None
        try:
            function = getattr(self._libraries[call.library], call.function)
        except AttributeError:
            raise LaunchError(f'the library of step {call.name} has no extern "C" function {call.function}') from None
        function.restype = ctypes.c_int
        result: Callable[..., int] = function
        return result

    def _host_value(self, value: Pointer | HostScalar) -> Any:
        if isinstance(value, Pointer):
            return ctypes.c_void_p(self._address(value.handle) + value.offset_bytes)
        try:
            return np.ctypeslib.as_ctypes_type(np.dtype(value.dtype))(value.value)
        except (NotImplementedError, TypeError):
            raise LaunchError(f"a host function cannot take a {value.dtype} by value; give it a float32") from None

    def synchronize(self) -> None:
        """Wait for the stream; raises LaunchError with what the launch did."""
        with self._translated():
            self.stream.synchronize()

    # timing

    def mark(self) -> Any:
        """An event recorded on the stream."""
        with self._translated():
            return self._cuda.Event().record(self.stream)

    def elapsed_us(self, start: Any, end: Any) -> float:
        """Microseconds between two marks that have passed."""
        return float(end.time_since(start)) * 1e3

    def flush_l2(self) -> None:
        """Write a buffer of the L2's size, on the stream, so that nothing of the inputs is left there."""
        if self._scratch is None:
            nbytes = max(self._description.l2_bytes or 0, 1 << 20) * L2_FACTOR
            memory = self._allocate_raw(nbytes)
            self._scratch = _Allocation(memory, int(memory), nbytes)
        with self._translated():
            self._cuda.memset_d8_async(self._scratch.address, 0, self._scratch.nbytes, self.stream)

    def hold(self) -> None:
        """Keep the stream from going on until ``release``; after HOLD_NS it goes on by itself."""
        function = self._support_kernel("gpuprof_hold", "PPiQ")
        self._generation += 1
        flag, timed_out = self._flag_address(_GENERATION), self._flag_address(_TIMED_OUT)
        with self._translated():
            function.prepared_async_call((1, 1, 1), (1, 1, 1), self.stream, flag, timed_out, self._generation, HOLD_NS)

    def release(self) -> None:
        """Let the held stream go on."""
        self._host_flags()[_GENERATION] = self._generation

    def hold_failed(self) -> bool:
        """Did the last hold end by itself? Then what was timed after it includes launch latency."""
        return bool(self._host_flags()[_TIMED_OUT] == self._generation)

    def _support_kernel(self, name: str, arguments: str) -> Any:
        if self.support is None:
            raise LaunchError("support.cu was not built for this GPU")
        function = self._functions.get((self.support, name))
        if function is None:
            function = self._load(self.support, name).prepare(arguments)
            self._functions[(self.support, name)] = function
        return function

    def _host_flags(self) -> NDArray[np.int32]:
        if self._flags is None:
            self._flags = self._cuda.pagelocked_zeros(3, np.int32, mem_flags=self._cuda.host_alloc_flags.DEVICEMAP)
        assert self._flags is not None
        return self._flags

    def _flag_address(self, number: int) -> int:
        base: Any = self._host_flags().base
        while isinstance(base, np.ndarray):
            base = base.base
        return int(base.get_device_pointer()) + number * self._host_flags().itemsize

    # end

    def close(self) -> None:
        """Free everything, and give the primary context back: a process that ends with a live one aborts."""
        for allocation in self._allocations.values():
            allocation.memory.free()
        self._allocations.clear()
        if self._scratch is not None:
            self._scratch.memory.free()
            self._scratch = None
        self._flags = None
        self._staging = None
        self._functions.clear()
        self._modules.clear()
        del self.stream
        self._context.pop()
        self._context.detach()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """pycuda's errors as LaunchError; those that cost the context set ``lost``."""
        try:
            yield
        except self._cuda.MemoryError as error:
            raise DeviceMemoryError(f"out of device memory: {error}") from None
        except (self._cuda.Error, DriverCallError) as error:
            text = str(error)
            self.lost = self.lost or any(words in text.lower() for words in _CONTEXT_LOST)
            raise LaunchError(explain(text)) from None


def explain(text: str) -> str:
    """pycuda's message (``cuStreamSynchronize failed: an illegal ...``) as what happened to the kernel."""
    call, _, reason = text.partition(" failed: ")
    return f"the launch failed: {reason or call}"


def pack_parameters(values: tuple[bytes, ...], offsets: tuple[int, ...] = ()) -> bytes:
    """Kernel parameters in one buffer, as the driver reads them; without ``offsets`` each aligned to its own size."""
    packed = bytearray()
    if offsets:
        for offset, value in zip(offsets, values, strict=True):
            packed += bytes(offset - len(packed)) + value
        return bytes(packed)
    for value in values:
        packed += bytes(-len(packed) % len(value)) + value
    return bytes(packed)
