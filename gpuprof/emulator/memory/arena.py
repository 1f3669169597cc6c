"""Global memory: one arena of buffers with guard zones, behind addresses whose high word is always the same.

The arena reserves address space, and the operating system gives pages when they are touched. Beside it is a
shadow, one byte per four: which bytes of a word a kernel has stored to. A race and initialisation checker can add its
own shadow in the same way.
"""

from __future__ import annotations

import bisect
import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.errors import DeviceMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Heap

    Array = NDArray[Any]

#: Where global memory begins: 4 GiB aligned, so that the low word of an address is the offset into the arena.
GLOBAL_BASE = 0x7F00_0000_0000
#: Distance that is kept free before, between and after buffers.
GUARD_BYTES = 16 << 20
_RESERVED_BYTES = 4 << 30
_MIN_BYTES = 128 << 20
_ALIGNMENT = 512
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
#: Words of the shadow that are looked at in one go.
_SHADOW_PIECE = 1 << 20
_PUNCH_HOLE = getattr(mmap, "MADV_REMOVE", 9)


@dataclass(frozen=True)
class Region:
    """A live buffer: bytes ``start`` to ``end`` (not included) of the arena."""

    start: int
    end: int


@dataclass(frozen=True)
class ArrayName:
    """What a user calls a buffer: its name, and its shape in elements of ``itemsize`` bytes."""

    name: str
    itemsize: int
    shape: tuple[int, ...]

    def element(self, offset: int) -> str:
        """``A[1024, 0]`` for a byte offset from the start; the first index may lie outside of the shape."""
        flat = offset // self.itemsize
        indices: list[int] = []
        for extent in reversed(self.shape[1:]):
            indices.insert(0, flat % extent if extent else 0)
            flat //= max(extent, 1)
        return f"{self.name}[{', '.join(str(index) for index in (flat, *indices))}]"


class Arena:
    """Buffers by virtual address. ``capacity_bytes`` limits the sum of what is allocated.

    ``bytes``, ``halves``, ``words`` and ``double_words`` are views of the whole arena, indexed by offset / width.
    """

    def __init__(self, capacity_bytes: int = 2 << 30) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self.names: dict[int, ArrayName] = {}  #: by address, for messages
        self.workspace: int | None = None  #: address of the barrier of cooperative launches, made when one first asks
        self.heap: Heap | None = None  #: of device-side malloc, made when a kernel first asks
        self._starts: list[int] = []
        self._regions: list[Region] = []
        self._reserved, self._memory, self._shadow = _reserve_both()
        self.bytes = np.frombuffer(self._memory, np.uint8)
        self.halves = self.bytes.view(np.uint16)
        self.words = self.bytes.view(np.uint32)
        self.double_words = self.bytes.view(np.uint64)
        self.written = np.frombuffer(self._shadow, np.uint8)

    def allocate(self, nbytes: int) -> int:
        """The virtual address of a new buffer, its bytes zero; raises DeviceMemoryError when it does not fit."""
        free = self.capacity_bytes - self.used_bytes
        place = self._gap(max(nbytes, 1)) if nbytes <= free else None
        if place is None:
            raise DeviceMemoryError(
                f"the emulated device is out of memory: asked for {nbytes:,} bytes, {max(free, 0):,} bytes are free "
                f"of {self.capacity_bytes:,}; use smaller sizes"
            )
        index = bisect.bisect(self._starts, place)
        self._starts.insert(index, place)
        self._regions.insert(index, Region(place, place + nbytes))
        self.used_bytes += nbytes
        return GLOBAL_BASE + place

    def free(self, address: int) -> None:
        """Give a buffer back; its address becomes unowned and its pages are released."""
        index = self._starts.index(address - GLOBAL_BASE)
        region = self._regions.pop(index)
        del self._starts[index]
        self.names.pop(address, None)
        self.used_bytes -= region.end - region.start
        _release(self._memory, region.start, region.end)
        _release(self._shadow, region.start >> 2, (region.end + 3) >> 2)

    def view(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """The bytes at a virtual address, writable."""
        offset = address - GLOBAL_BASE
        return self.bytes[offset : offset + nbytes]

    def clear_written(self, address: int, nbytes: int) -> None:
        """Forget what was stored to a buffer."""
        offset = address - GLOBAL_BASE
        self.written[offset >> 2 : (offset + nbytes + 3) >> 2] = 0

    def written_bytes(self, address: int, nbytes: int) -> NDArray[np.bool_]:
        """Per byte of a buffer: whether a kernel stored there. Made piece by piece: one byte of memory per byte."""
        first = (address - GLOBAL_BASE) >> 2
        result = np.empty(-(-nbytes // 4) * 4, np.bool_)
        for start in range(0, result.size // 4, _SHADOW_PIECE):
            words = self.written[first + start : first + min(start + _SHADOW_PIECE, result.size // 4)]
            bits = np.unpackbits(words[:, None], axis=1, bitorder="little")[:, :4]
            result[4 * start : 4 * start + bits.size] = bits.reshape(-1)
        return result[:nbytes]

    def mark_written(self, address: int, nbytes: int) -> None:
        """Take a buffer as stored to throughout, as a memset does."""
        offset = address - GLOBAL_BASE
        self.written[offset >> 2 : (offset + nbytes) >> 2] = 15
        if nbytes & 3:
            self.written[(offset + nbytes) >> 2] = (1 << (nbytes & 3)) - 1

    def count_written(self, address: int, nbytes: int) -> int:
        """How many bytes of a buffer a kernel stored to; looks at the shadow in pieces."""
        first, end = address - GLOBAL_BASE, address - GLOBAL_BASE + nbytes
        total = 0
        for start in range(first >> 2, (end + 3) >> 2, _SHADOW_PIECE):
            words = self.written[start : min(start + _SHADOW_PIECE, (end + 3) >> 2)]
            whole = int(np.count_nonzero(words == 15))
            total += 4 * whole
            if whole < np.count_nonzero(words):
                total += sum(int(np.count_nonzero(words & bit)) for bit in (1, 2, 4, 8)) - 4 * whole
        return total

    @property
    def regions(self) -> tuple[Region, ...]:
        """The live buffers, ascending."""
        return tuple(self._regions)

    def region_at(self, address: int) -> Region | None:
        """The live buffer that holds a virtual address; also where it is one of no bytes."""
        return self.region_of(address - GLOBAL_BASE)

    def region_of(self, offset: int) -> Region | None:
        """The live buffer that holds byte ``offset``."""
        index = bisect.bisect(self._starts, offset) - 1
        if index < 0 or offset >= self._regions[index].end:
            return None
        return self._regions[index]

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets of the first bytes of all live buffers, ascending, and of the bytes past their ends."""
        ends = [region.end for region in self._regions]
        return np.array(self._starts, np.int64), np.array(ends, np.int64)

    def owned(self, offsets: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
        """Per offset: whether ``width`` bytes from there lie in one live buffer."""
        if not self._regions:
            return np.zeros(offsets.shape, bool)
        starts = np.array(self._starts)
        ends = np.array([region.end for region in self._regions])
        index = np.searchsorted(starts, offsets, side="right") - 1
        return np.logical_and(index >= 0, offsets + width <= ends[index])

    def describe_nearest(self, address: int) -> str:
        """A sentence about the buffer nearest to an address that no buffer owns."""
        offset = address - GLOBAL_BASE
        if not self._regions:
            return "there is no buffer"
        region = min(self._regions, key=lambda region: max(region.start - offset, offset - region.end + 1, 0))
        size = region.end - region.start
        if offset >= region.end:
            distance = f"{offset - region.end:,} bytes past the end"
        elif offset < region.start:
            distance = f"{region.start - offset:,} bytes before the start"
        else:
            distance = f"{offset - region.start:,} bytes into it, across the end"
        named = self.names.get(GLOBAL_BASE + region.start)
        if named is None:
            return f"the nearest buffer has {size:,} bytes at 0x{GLOBAL_BASE + region.start:x}: {distance}"
        shape = f"{list(named.shape)}, {size:,} bytes"
        return f"{named.element(offset - region.start)}, {distance} of {named.name} ({shape})"

    def _gap(self, nbytes: int) -> int | None:
        """The first place with room for ``nbytes`` and guard zones on both sides."""
        place = GUARD_BYTES
        for region in self._regions:
            if place + nbytes + GUARD_BYTES <= region.start:
                return place
            place = -(-(region.end + GUARD_BYTES) // _ALIGNMENT) * _ALIGNMENT
        return place if place + nbytes + GUARD_BYTES <= self._reserved else None


def _reserve_both() -> tuple[int, mmap.mmap, mmap.mmap]:
    """Address space for buffers and for their shadow: as much as the system lets a process reserve."""
    size = _RESERVED_BYTES
    while True:
        try:
            return size, _reserve(size), _reserve(size // 4)
        except OSError as error:
            size //= 2
            if size < _MIN_BYTES:
                message = f"cannot reserve {_MIN_BYTES:,} bytes of address space for the emulated device"
                raise DeviceMemoryError(f"{message} ({error.strerror}); raise the limit (ulimit -v)") from None


def _reserve(nbytes: int) -> mmap.mmap:
    """Zeroed memory that the system commits page by page, and that forked processes share."""
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _NORESERVE)


def _release(memory: mmap.mmap, start: int, end: int) -> None:
    """Give pages back; they read as zeros. Guard zones keep other buffers off the first and last page."""
    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    memory.madvise(_PUNCH_HOLE, first, -(-(end - first) // mmap.PAGESIZE) * mmap.PAGESIZE)
