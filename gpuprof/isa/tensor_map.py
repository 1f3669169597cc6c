"""Tensor maps: what a bulk tensor copy (TMA) is told of an array in global memory.

Rules and limits: CUDA driver API, cuTensorMapEncodeTiled. Sizes go from the innermost dimension outwards, as the driver
takes them. Tiled maps without interleave; im2col maps are not described.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: dtype -> (bytes of an element, CUtensorMapDataType).
ELEMENT_TYPES: dict[str, tuple[int, int]] = {
    "uint8": (1, 0),
    "int8": (1, 0),
    "uint16": (2, 1),
    "int16": (2, 1),
    "uint32": (4, 2),
    "int32": (4, 3),
    "uint64": (8, 4),
    "int64": (8, 5),
    "float16": (2, 6),
    "float32": (4, 7),
    "float64": (8, 8),
    "bfloat16": (2, 9),
}
#: Bytes of a swizzled row -> CUtensorMapSwizzle.
SWIZZLES: dict[int, int] = {0: 0, 32: 1, 64: 2, 128: 3}
MAP_BYTES, MAP_ALIGNMENT = 128, 64
MAX_RANK, MAX_BOX, MAX_STEP, MAX_SIZE, MAX_STRIDE = 5, 256, 8, 1 << 32, 1 << 40
GRANULE = 16  #: bytes of which addresses, strides and rows of a box are multiples


@dataclass(frozen=True)
class TensorMap:
    """An array, the box that one copy moves, and how it lies in shared memory."""

    dtype: str
    shape: tuple[int, ...]  #: elements
    strides: tuple[int, ...]  #: bytes, of every dimension but the innermost
    box: tuple[int, ...]  #: elements
    steps: tuple[int, ...] = ()  #: every how many elements one is taken; empty: each
    swizzle: int = 0  #: bytes of a row: 0, 32, 64, 128
    nan_fill: bool = False  #: elements outside the array read as NaN, not as zero

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def item_bytes(self) -> int:
        return ELEMENT_TYPES[self.dtype][0]

    @property
    def all_steps(self) -> tuple[int, ...]:
        return self.steps or (1,) * self.rank

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of the box that are copied, by dimension."""
        return tuple(-(-size // step) for size, step in zip(self.box, self.all_steps, strict=True))

    @property
    def copied_bytes(self) -> int:
        """Bytes that one copy announces to its mbarrier, those outside the array included."""
        return math.prod(self.counts) * self.item_bytes

    @property
    def array_bytes(self) -> int:
        """Bytes from the array's first element to behind its last one."""
        strides = (self.item_bytes, *self.strides)
        return sum((size - 1) * stride for size, stride in zip(self.shape, strides, strict=True)) + self.item_bytes


def mistakes_of(map: TensorMap) -> list[str]:
    """What the driver would refuse, a line each with the value and the limit."""
    if map.dtype not in ELEMENT_TYPES:
        return [f"a tensor map of {map.dtype}: the types are {', '.join(ELEMENT_TYPES)}"]
    if not 1 <= map.rank <= MAX_RANK:
        return [f"a tensor map of {map.rank} dimensions: 1 to {MAX_RANK} are possible"]
    if len(map.box) != map.rank or len(map.all_steps) != map.rank or len(map.strides) != map.rank - 1:
        return [f"a tensor map of {map.rank} dimensions needs a box of {map.rank} sizes, not {len(map.box)}"]
    found = []
    for size, limit, name in (
        *((size, MAX_SIZE, "size") for size in map.shape),
        *((size, MAX_BOX, "box") for size in map.box),
        *((size, MAX_STEP, "step") for size in map.all_steps),
    ):
        if not 1 <= size <= limit:
            found.append(f"{name} {size:,} of a tensor map: 1 to {limit:,} is possible")
    for stride in map.strides:
        if stride % GRANULE or not 0 < stride < MAX_STRIDE:
            found.append(f"rows of a tensor map lie {stride:,} bytes apart: that must be a multiple of {GRANULE}")
    row = map.box[0] * map.item_bytes
    if row % GRANULE:
        found.append(f"a row of the box has {row} bytes: that must be a multiple of {GRANULE}")
    if map.swizzle not in SWIZZLES:
        found.append(f"swizzle {map.swizzle}: one of {', '.join(str(each) for each in SWIZZLES)}")
    elif map.swizzle and row > map.swizzle:
        found.append(f"a row of the box has {row} bytes, more than its swizzle of {map.swizzle}")
    return found
