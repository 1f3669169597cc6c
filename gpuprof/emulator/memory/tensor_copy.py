"""Bulk tensor copies: UTMALDG from global to shared memory, UTMASTG back, and the map that they are told by.

``[URa]`` names the shared address, for a load then its mbarrier, then the coordinates, innermost first; ``[URb]`` is
the address of the map. Recorded on an H200 (tests/hardware/hopper): elements outside the array read as zero and are
not stored; rows of a box lie packed, or one swizzle's bytes apart, and address bits 4 to 6 take bits 7 to 9; the first
coordinate must be at a multiple of 16 bytes. A copy is made when it is issued, which code that waits cannot tell.

CUtensorMap's bits are not published, so the emulator's maps have bits of their own (``encode``).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered, Step
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.memory.transaction_barriers import bytes_arrive, first_of_warps
from gpuprof.emulator.state.faults import memory_fault
from gpuprof.emulator.state.operands import bind_alone
from gpuprof.emulator.state.special_values import PARAMETER_WINDOW_HIGH
from gpuprof.isa.constant_bank import bank_layout
from gpuprof.isa.memory_access import swizzled
from gpuprof.isa.tensor_map import ELEMENT_TYPES, GRANULE, MAP_BYTES, MAX_RANK, TensorMap
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

_MARK = b"gpuprof\0"
#: Mark, address, dtype, rank, swizzle, NaN fill; shape, strides; box, steps.
_FORMAT = struct.Struct("<8sQ4B4x5Q4Q5H5B")
_DTYPES = tuple(ELEMENT_TYPES)
#: What elements outside the array read as where the map asks for NaN, two bytes after the other.
_NAN = np.frombuffer(b"\xf7\x7f", np.uint8)
_SHARED_ALIGNMENT = 128


def encode(map: TensorMap, address: int) -> bytes:
    """The 128 bytes that stand for a map of the array at a global address."""
    kinds = (_DTYPES.index(map.dtype), map.rank, map.swizzle, map.nan_fill)
    sizes = (*_padded(map.shape, MAX_RANK), *_padded(map.strides, MAX_RANK - 1))
    boxes = (*_padded(map.box, MAX_RANK), *_padded(map.all_steps, MAX_RANK))
    return _FORMAT.pack(_MARK, address, *kinds, *sizes, *boxes).ljust(MAP_BYTES, b"\0")


def _padded(values: Sequence[int], count: int) -> tuple[int, ...]:
    return (*values, *(0,) * (count - len(values)))


def decode(words: bytes) -> tuple[TensorMap, int] | None:
    """A map and its array's address; None where the bytes are none."""
    mark, address, dtype, rank, swizzle, nan_fill, *rest = _FORMAT.unpack(words[: _FORMAT.size])
    if mark != _MARK:
        return None
    shape, strides, box, steps = (tuple(rest[at : at + rank]) for at in (0, 5, 9, 14))
    return TensorMap(_DTYPES[dtype], shape, strides[: rank - 1], box, steps, swizzle, bool(nan_fill)), address


def load(decoded: Decoded, index: int) -> Step:
    """UTMALDG.nD [URa], [URb]: a box to shared memory; its bytes arrive at the mbarrier."""
    copies = _Copies(decoded, first_coordinate=2)

    def execute(lanes: Batch) -> None:
        chosen = first_of_warps(lanes)
        barriers = np.broadcast_to(lanes.u32_next(copies.place, 1), chosen.shape)[chosen].tolist()
        arrived = []
        for row, barrier, shared, map, address, coordinates in copies.each(lanes, chosen, barriers):
            inside, source = copies.elements(lanes, chosen, map, address, coordinates)
            memory, places = copies.shared_places(lanes, chosen, row, shared, map)
            memory[places] = _values(lanes, map, inside, source)
            arrived.append((row, barrier, map.copied_bytes))
        bytes_arrive(lanes, arrived)

    return execute


def _values(lanes: Batch, map: TensorMap, inside: Bool, source: Array) -> Array:
    """(elements, bytes): what the box reads."""
    values = np.zeros((inside.size, map.item_bytes), np.uint8)
    if map.nan_fill:
        values.reshape(-1, 2)[:] = _NAN
    values[inside] = lanes.launch.arena.bytes[source[:, None] + np.arange(map.item_bytes)]
    return values


def store(decoded: Decoded, index: int) -> Step:
    """UTMASTG.nD [URa], [URb]: a box from shared memory; elements outside the array are left out."""
    copies = _Copies(decoded, first_coordinate=1)

    def execute(lanes: Batch) -> None:
        chosen = first_of_warps(lanes)
        nothing = [0] * int(chosen.sum())
        for row, _, shared, map, address, coordinates in copies.each(lanes, chosen, nothing):
            inside, target = copies.elements(lanes, chosen, map, address, coordinates)
            memory, places = copies.shared_places(lanes, chosen, row, shared, map)
            places = np.broadcast_to(places, (inside.size, map.item_bytes))[inside]
            spread = target[:, None] + np.arange(map.item_bytes)
            lanes.launch.arena.bytes[spread] = memory[places]
            np.bitwise_or.at(lanes.launch.arena.written, spread >> 2, (1 << (spread & 3)).astype(np.uint8))

    return execute


class _Copies:
    """What an instruction's copies are told, and where they reach."""

    def __init__(self, decoded: Decoded, first_coordinate: int) -> None:
        ranks = [word for word in decoded.modifiers if len(word) == 2 and word.endswith("D")]
        memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
        registers = [memory.uniform or memory.base for memory in memories]
        if len(ranks) != 1 or len(registers) != 2 or len(decoded.modifiers) != 1 or None in registers:
            raise NotCovered(decoded.instruction.text)
        self.decoded = decoded
        self._rank, self._first = int(ranks[0][0]), first_coordinate
        self.place, self._map = (register for register in registers if isinstance(register, Operand))

    def each(self, lanes: Batch, chosen: Bool, more: list[int]) -> list[tuple[int, int, int, TensorMap, int, Any]]:
        """Per warp: its row, the number of ``more``, the shared address, the map, its array's address, coordinates."""

        def values(words: Array) -> list[int]:
            found: list[int] = np.broadcast_to(words, chosen.shape)[chosen].tolist()
            return found

        shared = values(lanes.u32_next(self.place, 0))
        axes = [values(lanes.u32_next(self.place, self._first + axis).view(np.int32)) for axis in range(self._rank)]
        rows = values(lanes.row_offsets(1))
        maps = [self._read(lanes, chosen, place) for place in values(lanes.u64(bind_alone(self._map)))]
        return [
            (row, other, at, *map, coordinates)
            for row, other, at, map, coordinates in zip(rows, more, shared, maps, zip(*axes, strict=True), strict=True)
        ]

    def _read(self, lanes: Batch, chosen: Bool, place: int) -> tuple[TensorMap, int]:
        """The map at an address: among the parameters, or in global memory."""
        if place >> 32 == PARAMETER_WINDOW_HIGH:
            base = bank_layout(self.decoded.arch).parameters
            offset = base + (place & 0xFFFFFFFF)
            words = bytes(lanes.constants.banks.get(0, b"")[offset : offset + MAP_BYTES])
        else:
            region = lanes.launch.arena.region_of(place - GLOBAL_BASE)
            inside = region is not None and place - GLOBAL_BASE + MAP_BYTES <= region.end
            words = lanes.launch.arena.view(place, MAP_BYTES).tobytes() if inside else b""
        found = decode(words) if len(words) == MAP_BYTES else None
        if found is None or found[0].rank != self._rank:
            held = "no tensor map" if found is None else f"a map of {found[0].rank} dimensions"
            raise self._fault(lanes, chosen, place, f"{{address}} holds {held}, which this copy needs")
        return found

    def _fault(self, lanes: Batch, chosen: Bool, place: int, message: str) -> Exception:
        addresses = np.full((1, 1, 1), place, np.uint64)
        return memory_fault(lanes, self.decoded.instruction, chosen, addresses, f"tensor copy: {message}")

    def elements(
        self, lanes: Batch, chosen: Bool, map: TensorMap, address: int, coordinates: Sequence[int]
    ) -> tuple[Bool, Array]:
        """Which elements of the box lie in the array, (elements,), and the arena offsets of those."""
        if coordinates[0] * map.item_bytes % GRANULE:
            at = f"coordinate {coordinates[0]} of {map.dtype} is not at a multiple of {GRANULE} bytes"
            raise self._fault(lanes, chosen, address, f"the first {at}")
        inside = np.ones((1,) * map.rank, np.bool_)
        offsets = np.zeros((1,) * map.rank, np.int64)
        strides = (map.item_bytes, *map.strides)
        for axis in range(map.rank):
            along = coordinates[axis] + np.arange(map.counts[axis]) * map.all_steps[axis]
            position = along.reshape((-1,) + (1,) * axis)
            inside = inside & (position >= 0) & (position < map.shape[axis])
            offsets = offsets + position * strides[axis]
        inside, offsets = inside.reshape(-1), offsets.reshape(-1)
        found = address - GLOBAL_BASE + offsets[inside]
        region = lanes.launch.arena.region_of(address - GLOBAL_BASE)
        if region is None or (len(found) and int(found.max()) + map.item_bytes > region.end):
            raise self._fault(lanes, chosen, address, "the array at {address} is larger than its buffer")
        return inside, found

    def shared_places(
        self, lanes: Batch, chosen: Bool, row: int, start: int, map: TensorMap
    ) -> tuple[Array, NDArray[np.int64]]:
        """A row of shared memory, and where the elements lie in it: (elements, bytes)."""
        line = map.counts[0] * map.item_bytes
        pitch = map.swizzle or line
        lines = int(np.prod(map.counts[1:]))
        first = start + np.arange(lines)[:, None] * pitch
        places = (first + np.arange(0, line, map.item_bytes)).reshape(-1)
        if start % _SHARED_ALIGNMENT or start < lanes.shared.start or start + lines * pitch > lanes.shared.limit:
            where = f"{lines * pitch} bytes at shared address {{address}}: outside, or not aligned to 128"
            raise self._fault(lanes, chosen, start, where)
        spread = swizzled(places, map.swizzle)[:, None] + np.arange(map.item_bytes)
        return lanes.shared.rows(1)[row], spread
