"""Launches with attributes, cooperative ones and those in clusters, by libcuda's own ``cuLaunchKernelEx``.

pycuda has no such launch and hides its module handles, so code that needs one is loaded here a second time, into the
same context; the device gives its variables the same content. Structures and numbers are those of ``cuda.h`` (12.0).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import Any

from gpuprof.isa.machine import Dim3

_COOPERATIVE, _CLUSTER = 2, 4  #: CUlaunchAttributeID
_MAX_DYNAMIC_SHARED, _NON_PORTABLE_CLUSTER = 8, 14  #: CUfunction_attribute
_BUFFER_POINTER, _BUFFER_SIZE = 1, 2  #: CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE
#: Clusters above this size need the kernel's leave (CUDA C++ Programming Guide, "Thread Block Clusters").
PORTABLE_CLUSTER = 8


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class DriverCallError(Exception):
    """A call failed; the message is in pycuda's form: ``cuLaunchKernelEx failed: ...``."""


@dataclass(frozen=True)
class Attributes:
    """What a launch asks for besides its extents. ``cluster`` None: what the kernel itself says."""

    cooperative: bool = False
    cluster: Dim3 | None = None

    @property
    def is_plain(self) -> bool:
        return not self.cooperative and self.cluster is None


class ExtendedModule:
    """Code loaded into the current context."""

    def __init__(self, image: bytes) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._call("cuModuleLoadData", ctypes.byref(self._module), ctypes.c_char_p(image))

    def address_of(self, symbol: str) -> int:
        """Where a variable is; raises DriverCallError."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        place = (ctypes.byref(address), ctypes.byref(size))
        self._call("cuModuleGetGlobal_v2", *place, self._module, ctypes.c_char_p(symbol.encode()))
        return int(address.value)

    def launch(
        self,
        symbol: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int,
        stream: int,
        parameters: bytes,
        wanted: Attributes,
    ) -> None:
        """Launch without waiting; raises DriverCallError."""
        function = self._function(symbol)
        self._prepare(function, shared_bytes, wanted)
        attributes = _attributes(wanted)
        config = _Config(
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            shared_bytes,
            stream,
            ctypes.cast(attributes, ctypes.POINTER(_Attribute)),
            len(attributes),
        )
        kept = ctypes.create_string_buffer(parameters, max(1, len(parameters)))
        size = ctypes.c_size_t(len(parameters))
        extra = (ctypes.c_void_p * 5)(
            _BUFFER_POINTER, ctypes.addressof(kept), _BUFFER_SIZE, ctypes.addressof(size), None
        )
        place = extra if parameters else None
        self._call("cuLaunchKernelEx", ctypes.byref(config), function, None, place)

    def _function(self, symbol: str) -> ctypes.c_void_p:
        if symbol not in self._functions:
            found = ctypes.c_void_p()
            name = ctypes.c_char_p(symbol.encode())
            self._call("cuModuleGetFunction", ctypes.byref(found), self._module, name)
            self._functions[symbol] = found
        return self._functions[symbol]

    def _prepare(self, function: ctypes.c_void_p, shared_bytes: int, wanted: Attributes) -> None:
        if shared_bytes:
            self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        if wanted.cluster is not None and prod(wanted.cluster) > PORTABLE_CLUSTER:
            self._call("cuFuncSetAttribute", function, _NON_PORTABLE_CLUSTER, 1)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(status, ctypes.byref(text))
            raise DriverCallError(f"{name} failed: {(text.value or b'error ' + str(status).encode()).decode()}")

    def unload(self) -> None:
        """Give the module back."""
        self._library.cuModuleUnload(self._module)


def _attributes(wanted: Attributes) -> Any:
    found = []
    if wanted.cooperative:
        found.append(_Attribute(_COOPERATIVE, b"", (ctypes.c_uint * 16)(1)))
    if wanted.cluster is not None:
        found.append(_Attribute(_CLUSTER, b"", (ctypes.c_uint * 16)(*wanted.cluster)))
    return (_Attribute * len(found))(*found)
