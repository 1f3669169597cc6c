"""The part of pycuda's driver interface that ``gpu`` uses, on NVIDIA's own ``cuda-bindings`` wheels.

``gpu.GpuDevice`` takes either module; both call the same functions of the driver. Every call that fails raises
``Error`` or one of its kinds, with the message in pycuda's form: ``cuStreamSynchronize failed: an illegal ...``.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from cuda.bindings import driver

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class Error(Exception):
    """A call of the driver failed."""


class MemoryError(Error):
    """No memory is left."""


class LogicError(Error):
    """What was asked for is not there, or not allowed."""


_KINDS: dict[str, type[Error]] = {
    "CUDA_ERROR_OUT_OF_MEMORY": MemoryError,
    "CUDA_ERROR_NOT_FOUND": LogicError,
    "CUDA_ERROR_INVALID_VALUE": LogicError,
    "CUDA_ERROR_INVALID_HANDLE": LogicError,
    "CUDA_ERROR_INVALID_CONTEXT": LogicError,
}
#: cuLaunchKernel's ``extra``: the parameters as one buffer, and its length (cuda.h).
_BUFFER_POINTER, _BUFFER_SIZE = 1, 2
_SHARED_SIZE_BYTES = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
_MAX_DYNAMIC = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class function_attribute:  # noqa: N801 - pycuda's name
    """Attributes of a kernel by pycuda's names."""

    SHARED_SIZE_BYTES = _SHARED_SIZE_BYTES
    MAX_DYNAMIC_SHARED_SIZE_BYTES = _MAX_DYNAMIC


class host_alloc_flags:  # noqa: N801 - pycuda's name
    """Flags of page-locked memory by pycuda's names (cuda.h: CU_MEMHOSTALLOC_DEVICEMAP)."""

    DEVICEMAP = 2


def _call(name: str, *arguments: Any) -> Any:
    """Call a function of the driver; its results without the status. Raises Error."""
    try:
        status, *values = getattr(driver, name)(*arguments)
    except RuntimeError as error:  # the package finds no libcuda, or one that is too old to have the function
        raise Error(f"{name} failed: {error}") from None
    if status != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(status)
        reason = text.decode() if text else status.name
        raise _KINDS.get(status.name, Error)(f"{name} failed: {reason}")
    return values[0] if len(values) == 1 else tuple(values)


def init() -> None:
    """Initialise the driver."""
    _call("cuInit", 0)


class Device:
    """A GPU by its ordinal."""

    def __init__(self, ordinal: int) -> None:
        self._device = _call("cuDeviceGet", ordinal)

    def retain_primary_context(self) -> Context:
        """The context that the runtime API and libraries use too."""
        return Context(self._device, _call("cuDevicePrimaryCtxRetain", self._device))


class Context:
    """A primary context."""

    def __init__(self, device: Any, context: Any) -> None:
        self._device, self._context = device, context

    def push(self) -> None:
        """Make it current."""
        _call("cuCtxPushCurrent", self._context)

    def pop(self) -> None:
        """Make the one before it current."""
        _call("cuCtxPopCurrent")

    def detach(self) -> None:
        """Give it back."""
        _call("cuDevicePrimaryCtxRelease", self._device)


class Stream:
    """A stream of the current context."""

    def __init__(self) -> None:
        self._stream = _call("cuStreamCreate", 0)

    @property
    def handle(self) -> int:
        """The CUstream as an address."""
        return int(self._stream)

    def synchronize(self) -> None:
        """Wait for all that is enqueued."""
        _call("cuStreamSynchronize", self._stream)

    def __del__(self) -> None:
        driver.cuStreamDestroy(self._stream)


class DeviceAllocation:
    """Device memory; ``int`` of it is its address."""

    def __init__(self, nbytes: int) -> None:
        self._address = int(_call("cuMemAlloc", nbytes))

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        """Give it back."""
        _call("cuMemFree", self._address)


def mem_alloc(nbytes: int) -> DeviceAllocation:
    """Device memory; raises MemoryError."""
    return DeviceAllocation(nbytes)


def mem_get_info() -> tuple[int, int]:
    """Bytes that are free, and all."""
    free, total = _call("cuMemGetInfo")
    return int(free), int(total)


def memcpy_htod(address: int, source: NDArray[Any]) -> None:
    """Copy all of a host array (C order) to the device."""
    _call("cuMemcpyHtoD", int(address), source.ctypes.data, source.nbytes)


def memcpy_dtoh(target: NDArray[Any], address: int) -> None:
    """Fill a host array from the device."""
    _call("cuMemcpyDtoH", target.ctypes.data, int(address), target.nbytes)


def memcpy_dtoh_async(target: NDArray[Any], address: int, stream: Stream) -> None:
    """The same on a stream, without waiting."""
    _call("cuMemcpyDtoHAsync", target.ctypes.data, int(address), target.nbytes, stream.handle)


def memcpy_dtod_async(target: int, source: int, nbytes: int, stream: Stream) -> None:
    """Copy on the device."""
    _call("cuMemcpyDtoDAsync", int(target), int(source), nbytes, stream.handle)


def memset_d8(address: int, byte: int, count: int) -> None:
    """Set bytes, in the order of the legacy stream."""
    _call("cuMemsetD8", int(address), byte, count)


def memset_d8_async(address: int, byte: int, count: int, stream: Stream) -> None:
    """Set bytes on a stream."""
    _call("cuMemsetD8Async", int(address), byte, count, stream.handle)


class _PageLocked:
    """Page-locked host memory: what ``base`` of an array over it is."""

    def __init__(self, nbytes: int, flags: int) -> None:
        self._address = int(_call("cuMemHostAlloc", max(1, nbytes), flags))
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (self._address, False),
            "version": 3,
        }

    def get_device_pointer(self) -> int:
        """The address by which kernels reach it."""
        return int(_call("cuMemHostGetDevicePointer", self._address, 0))

    def __del__(self) -> None:
        driver.cuMemFreeHost(self._address)


def pagelocked_empty(shape: int, dtype: DTypeLike, mem_flags: int = 0) -> NDArray[Any]:
    """A host array that the GPU copies at full rate; raises Error where no more memory may be locked."""
    memory = _PageLocked(shape * np.dtype(dtype).itemsize, mem_flags)
    array: NDArray[Any] = np.asarray(memory)
    return array.view(dtype)


def pagelocked_zeros(shape: int, dtype: DTypeLike, mem_flags: int = 0) -> NDArray[Any]:
    """The same, all zero."""
    array = pagelocked_empty(shape, dtype, mem_flags)
    array[...] = 0
    return array


class Event:
    """A point in a stream."""

    def __init__(self) -> None:
        self._event = _call("cuEventCreate", 0)

    def record(self, stream: Stream) -> Event:
        """Put it into the stream."""
        _call("cuEventRecord", self._event, stream.handle)
        return self

    def time_since(self, other: Event) -> float:
        """Milliseconds from ``other`` to this one."""
        return float(_call("cuEventElapsedTime", other._event, self._event))

    def __del__(self) -> None:
        driver.cuEventDestroy(self._event)


class Function:
    """A kernel; ``prepare`` gives the kinds of its parameters as ``struct`` letters."""

    def __init__(self, function: Any, module: Module) -> None:
        self._function, self._module, self._format = function, module, ""

    def prepare(self, arguments: Any) -> Function:
        """Letters of ``struct`` for each parameter: ``PPiQ``, or a list with one ``24s``."""
        self._format = "".join(arguments)
        return self

    def prepared_async_call(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        stream: Stream,
        *arguments: Any,
        shared_size: int = 0,
    ) -> None:
        """Launch without waiting."""
        import struct

        data = struct.pack(f"@{self._format}", *arguments)
        kept = ctypes.create_string_buffer(data, max(1, len(data)))
        size = ctypes.c_size_t(len(data))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER, ctypes.addressof(kept), _BUFFER_SIZE, ctypes.addressof(size), None
        )
        place = ctypes.addressof(extra) if data else 0
        _call("cuLaunchKernel", self._function, *grid, *block, shared_size, stream.handle, 0, place)

    def get_attribute(self, attribute: Any) -> int:
        """One of ``function_attribute``."""
        return int(_call("cuFuncGetAttribute", attribute, self._function))

    def set_attribute(self, attribute: Any, value: int) -> None:
        """One of ``function_attribute``."""
        _call("cuFuncSetAttribute", self._function, attribute, value)


class Module:
    """Loaded code, until nothing refers to it."""

    def __init__(self, image: bytes) -> None:
        self._module = _call("cuModuleLoadData", image)

    def get_function(self, symbol: str) -> Function:
        """A kernel by its mangled name; raises LogicError."""
        return Function(_call("cuModuleGetFunction", self._module, symbol.encode()), self)

    def get_global(self, symbol: str) -> tuple[int, int]:
        """Address and length of a variable; raises LogicError."""
        address, nbytes = _call("cuModuleGetGlobal", self._module, symbol.encode())
        return int(address), int(nbytes)

    def __del__(self) -> None:
        module = getattr(self, "_module", None)
        if module is not None:
            driver.cuModuleUnload(module)


def module_from_buffer(image: bytes) -> Module:
    """Load a cubin."""
    return Module(image)
