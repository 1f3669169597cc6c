"""CUtensorMap, as the driver of this machine encodes it (cuTensorMapEncodeTiled, CUDA 12 and later)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from gpuprof.errors import LaunchError
from gpuprof.isa.tensor_map import ELEMENT_TYPES, MAP_ALIGNMENT, MAP_BYTES, SWIZZLES, TensorMap

_NO_INTERLEAVE = 0
_PROMOTE_TO_128_BYTES = 2  #: CU_TENSOR_MAP_L2_PROMOTION_L2_128B


def encode(map: TensorMap, address: int) -> bytes:
    """The 128 bytes for an array at a device address; raises LaunchError."""
    room = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
    aligned = -(-ctypes.addressof(room) // MAP_ALIGNMENT) * MAP_ALIGNMENT
    try:
        function = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    except (OSError, AttributeError):
        raise LaunchError("a tensor map needs a driver of CUDA 12 or later") from None
    status = function(
        ctypes.c_void_p(aligned),
        ELEMENT_TYPES[map.dtype][1],
        map.rank,
        ctypes.c_void_p(address),
        _array(ctypes.c_uint64, map.shape),
        _array(ctypes.c_uint64, map.strides),
        _array(ctypes.c_uint32, map.box),
        _array(ctypes.c_uint32, map.all_steps),
        _NO_INTERLEAVE,
        SWIZZLES[map.swizzle],
        _PROMOTE_TO_128_BYTES,
        int(map.nan_fill),
    )
    if status:
        raise LaunchError(f"the driver refused a tensor map of {map.dtype} {map.shape[::-1]} (error {status})")
    return ctypes.string_at(aligned, MAP_BYTES)


def _array(kind: Any, values: Sequence[int]) -> Any:
    return (kind * max(1, len(values)))(*values)
