"""Values of special registers that thread and block decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: High word of the generic addresses of shared and of local memory.
SHARED_WINDOW_HIGH = 0x7E00
LOCAL_WINDOW_HIGH = 0x7E80
#: And of the kernel's parameters in constant bank 0.
PARAMETER_WINDOW_HIGH = 0x7D00
_LANES = np.arange(WARP, dtype=np.uint64)


def thread_registers(block: tuple[int, int, int], warps: int) -> dict[str, Array]:
    """SR_TID.X and what else depends on the thread alone, each with axes of length 1 where it is the same."""
    threads = np.arange(warps * WARP, dtype=np.uint32).reshape(1, warps, WARP)
    x, y, z = block
    columns = {
        "SR_TID.X": threads % x,
        "SR_TID.Y": threads // x % y,
        "SR_TID.Z": threads // (x * y) % z,
        "SR_LANEID": threads % WARP,
        "SR_VIRTID": threads // WARP << 8,
        "SR_WARPID": threads // WARP,
    }
    columns["SR_TID"] = columns["SR_TID.X"] | columns["SR_TID.Y"] << 16 | columns["SR_TID.Z"] << 26
    return {name: narrow(value.astype(np.uint32)) for name, value in columns.items()} | lane_masks()


def lane_masks() -> dict[str, Array]:
    """SR_EQMASK and its siblings."""
    one = np.uint64(1)
    equal = one << _LANES
    masks = {
        "SR_EQMASK": equal,
        "SR_LTMASK": equal - one,
        "SR_LEMASK": (equal << one) - one,
        "SR_GTMASK": ~((equal << one) - one),
        "SR_GEMASK": ~(equal - one),
    }
    return {name: value.astype(np.uint32).reshape(1, 1, WARP) for name, value in masks.items()}


def block_registers(block_ids: NDArray[np.int64], grid: tuple[int, int, int]) -> dict[str, Array]:
    """SR_CTAID.X, .Y and .Z of a batch, (blocks, 1, 1), or (1, 1, 1) where all blocks share it."""
    x, y, _ = grid
    columns = {"SR_CTAID.X": block_ids % x, "SR_CTAID.Y": block_ids // x % y, "SR_CTAID.Z": block_ids // (x * y)}
    return {name: narrow(value.astype(np.uint32).reshape(-1, 1, 1)) for name, value in columns.items()}


def narrow(value: Array) -> Array:
    """``value`` with each axis dropped to length 1 along which it is the same."""
    for axis in range(3):
        first = value.take([0], axis=axis)
        if value.shape[axis] > 1 and (value == first).all():
            value = first
    return value
