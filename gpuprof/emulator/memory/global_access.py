"""LDG and STG: global loads and stores, with their requests, sectors and lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, Step
from gpuprof.emulator.counting.pattern_memo import PatternMemo, count_sectors
from gpuprof.emulator.memory.addresses import GlobalPlace, access_width, memory_operand, wide_address
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.sass.model import Operand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import GlobalMemory, LaneState

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]

_SIGNED = {1: np.int8, 2: np.int16}
_SECTOR = 32
_BASE = np.uint64(GLOBAL_BASE)
_LINE_MASK = ~127
#: Addresses up to which a pattern is looked up whole, and how many patterns an instruction remembers.
_SMALL = 2048
_PATTERNS = 4096


class GlobalCount:
    """Counts requests, sectors and lines of one instruction."""

    __slots__ = ("index", "memo", "width")

    def __init__(self, index: int, width: int) -> None:
        self.index = index
        self.width = width
        self.memo = PatternMemo()

    def count(self, lanes: LaneState, offsets: Int64) -> None:
        """One request per warp with an enabled lane; sectors over all enabled lanes."""
        counters, index, mask = lanes.counters, self.index, lanes.mask
        warps = lanes.block_count * lanes.warp_count
        if mask.size == 1:
            rows = offsets.reshape(-1, offsets.shape[2])
            sectors, tags = count_sectors(rows, None, self.memo)
            factor = warps // len(rows)
            counters.issued[index] += warps
            counters.ideal_sectors[index] += warps * (-(-self.width * WARP // _SECTOR))
        else:
            spread, enabled = _spread(offsets, mask)
            sectors, tags = count_sectors(spread, enabled, self.memo)
            factor = warps // len(enabled)
            on = enabled.sum(axis=1)
            counters.issued[index] += int(np.count_nonzero(on)) * factor
            counters.ideal_sectors[index] += int((-(-on * self.width // _SECTOR)).sum()) * factor
        counters.sectors[index] += sectors * factor
        counters.tags[index] += tags * factor


def _spread(offsets: Int64, mask: NDArray[np.bool_]) -> tuple[Int64, NDArray[np.bool_]]:
    """Offsets and mask as (warps, 32), over the axes that either has."""
    shape = (*np.broadcast_shapes(offsets.shape, mask.shape)[:2], WARP)
    return np.broadcast_to(offsets, shape).reshape(-1, WARP), np.broadcast_to(mask, shape).reshape(-1, WARP)


class GlobalSite:
    """Checks and counts the accesses of one instruction.

    Where the addresses are few and all lanes are enabled, their pattern within a line is looked up first: a loop
    steps through the same patterns again and again, and a known pattern needs two comparisons to be checked.
    """

    __slots__ = ("_count", "_known", "_place")

    def __init__(self, decoded: Decoded, index: int, width: int, verb: str) -> None:
        self._place = GlobalPlace(decoded.instruction, width, verb)
        self._count = GlobalCount(index, width)
        self._known: dict[bytes, _Pattern] = {}

    def enter(self, lanes: LaneState, addresses: Array) -> Int64:
        """Arena offsets of the enabled lanes; raises MemoryFaultError."""
        if addresses.size > _SMALL or lanes.mask.size != 1 or lanes.launch.unset_reads is not None:
            checked = self._place.offsets(lanes, addresses)
            self._count.count(lanes, checked)
            return checked
        offsets: Int64 = np.subtract(addresses, _BASE).view(np.int64)
        line = int(offsets[0, 0, 0]) & _LINE_MASK
        key = np.subtract(offsets, line).tobytes()
        known = self._known.get(key)
        if known is None or known.lanes != lanes.size or not self._place.holds(line + known.low, line + known.high):
            return self._learn(lanes, addresses, line, key)
        counters, index = lanes.counters, self._count.index
        counters.issued[index] += known.issued
        counters.ideal_sectors[index] += known.ideal_sectors
        counters.sectors[index] += known.sectors
        counters.tags[index] += known.tags
        return offsets

    def _learn(self, lanes: LaneState, addresses: Array, line: int, key: bytes) -> Int64:
        counters, index = lanes.counters, self._count.index
        lists = (counters.issued, counters.ideal_sectors, counters.sectors, counters.tags)
        before = [values[index] for values in lists]
        offsets = self._place.offsets(lanes, addresses)
        self._count.count(lanes, offsets)
        counted = [values[index] - value for values, value in zip(lists, before, strict=True)]
        if len(self._known) < _PATTERNS:
            low, high = int(np.min(offsets)) - line, int(np.max(offsets)) - line
            self._known[key] = _Pattern(lanes.size, low, high, *counted)
        return offsets


@dataclass(frozen=True)
class _Pattern:
    """What a pattern of addresses counts, and how far it reaches from the line that it begins in."""

    lanes: int  #: of the batch that it was counted for
    low: int
    high: int
    issued: int
    ideal_sectors: int
    sectors: int
    tags: int


def load(decoded: Decoded, index: int) -> Step:
    """LDG, and the global side of LD."""
    instruction = decoded.instruction
    width, signed = access_width(instruction)
    target, address = decoded.operands[0], wide_address(memory_operand(instruction))
    site = GlobalSite(decoded, index, width, "read")

    def execute(lanes: LaneState) -> None:
        offsets = site.enter(lanes, address(lanes))
        put(lanes, target, fetch(lanes.launch.arena, offsets, width, signed))

    return execute


def store(decoded: Decoded, index: int) -> Step:
    """STG, and the global side of ST."""
    instruction = decoded.instruction
    width, _ = access_width(instruction)
    source, address = decoded.operands[-1], wide_address(memory_operand(instruction))
    site = GlobalSite(decoded, index, width, "write")

    def execute(lanes: LaneState) -> None:
        offsets = site.enter(lanes, address(lanes))
        write(lanes.launch.arena, offsets, take_source(lanes, source, width), width, lanes.mask)

    return execute


def fetch(arena: GlobalMemory, offsets: Int64, width: int, signed: bool) -> tuple[Array, ...]:
    """One lane's data: a word (extended), a double word, or two double words."""
    if width == 4:
        return (arena.words.take(offsets >> 2, mode="clip"),)
    if width == 8:
        return (arena.double_words.take(offsets >> 3, mode="clip"),)
    if width == 16:
        first = offsets >> 3
        return (arena.double_words.take(first, mode="clip"), arena.double_words.take(first + 1, mode="clip"))
    view = arena.bytes if width == 1 else arena.halves
    narrow = view.take(offsets >> (width >> 1), mode="clip")
    if signed:
        return (narrow.view(_SIGNED[width]).astype(np.int32).view(np.uint32),)
    return (narrow.astype(np.uint32),)


def put(lanes: LaneState, target: Operand, data: tuple[Array, ...]) -> None:
    """Write loaded data into the registers from ``target`` on."""
    if target.is_zero:
        return
    if data[0].dtype == np.uint32:
        lanes.set_u32(target, data[0])
        return
    for step, value in enumerate(data):
        lanes.write_pair(target.index + 2 * step, value)


def take_source(lanes: LaneState, source: Operand, width: int) -> tuple[Array, ...]:
    """What a store writes: a word (its low bits for narrow stores), a double word, or two."""
    if width <= 4:
        return (lanes.raw(source),)
    if source.is_zero:
        return (lanes.u64(source),) * (width // 8)
    return tuple(lanes.register_pair(source.index + 2 * step) for step in range(width // 8))


def write(arena: GlobalMemory, offsets: Int64, data: tuple[Array, ...], width: int, mask: NDArray[np.bool_]) -> None:
    """Store enabled lanes' data; of several lanes at one address the last wins. Marks the bytes as written."""
    places, values = _select(offsets, data, mask)
    if width == 4:
        words = places >> 2
        arena.words[words] = values[0]
        arena.written[words] = 15
    elif width >= 8:
        first = places >> 3
        for step, value in enumerate(values):
            arena.double_words[first + step] = value
            arena.written[2 * (first + step)] = 15
            arena.written[2 * (first + step) + 1] = 15
    else:
        _write_narrow(arena, places, values[0], width)


def _write_narrow(arena: GlobalMemory, places: Int64, values: Array, width: int) -> None:
    view = arena.bytes if width == 1 else arena.halves
    view[places >> (width >> 1)] = values.astype(view.dtype)
    bits = (1 << width) - 1
    for first in range(0, 4, width):
        words = places[(places & 3) == first] >> 2
        arena.written[words] |= np.uint8(bits << first)


def _select(offsets: Int64, data: tuple[Array, ...], mask: NDArray[np.bool_]) -> tuple[Int64, list[Array]]:
    """Offsets and data of the enabled lanes, in lane order."""
    shape = np.broadcast_shapes(offsets.shape, *(value.shape for value in data), mask.shape)
    places = np.broadcast_to(offsets, shape)
    values = [np.broadcast_to(value, shape) for value in data]
    if mask.size == 1:
        return places, values
    enabled = np.broadcast_to(mask, shape)
    return places[enabled], [value[enabled] for value in values]
