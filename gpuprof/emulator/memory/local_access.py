"""LDL and STL: each thread's own memory, interleaved by lane as the hardware does it.

Word w of a lane lies beside word w of its neighbours, so that equal offsets in all lanes are whole sectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, Step
from gpuprof.emulator.counting.pattern_memo import PatternMemo, count_sectors
from gpuprof.emulator.memory.addresses import WindowPlace, access_width, memory_operand, narrow_address
from gpuprof.emulator.memory.global_access import put, take_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]

_SIGNED: dict[int, Any] = {1: np.int8, 2: np.int16}
_VIEWS: dict[int, Any] = {1: np.uint8, 2: np.uint16}
_WORD = 4


class LocalCount:
    """Counts sectors of one instruction: word w of lane l is at (w * 32 + l) * 4."""

    __slots__ = ("index", "memo", "words")

    def __init__(self, index: int, width: int) -> None:
        self.index = index
        self.words = max(width // _WORD, 1)
        self.memo = PatternMemo()

    def count(self, lanes: LaneState, addresses: Int64) -> None:
        """Count an LDL or STL."""
        lanes.counters.issued[self.index] += self.issued(lanes, addresses)

    def issued(self, lanes: LaneState, addresses: Int64) -> int:
        """Count sectors; returns the executions with an enabled lane."""
        counters, index, mask = lanes.counters, self.index, lanes.mask
        shape = (*np.broadcast_shapes(addresses.shape, mask.shape)[:2], WARP)
        warps = lanes.block_count * lanes.warp_count
        enabled = np.broadcast_to(mask, shape).reshape(-1, WARP)
        factor = warps // len(enabled)
        issued = int(np.count_nonzero(enabled.any(axis=1)))
        places = ((addresses >> 2) * WARP + np.arange(WARP)) * _WORD
        rows = np.broadcast_to(places, shape).reshape(-1, WARP)
        sectors, tags = count_sectors(rows, None if mask.size == 1 else enabled, self.memo)
        counters.sectors[index] += sectors * factor * self.words
        counters.tags[index] += tags * factor * self.words
        return issued * factor


def load(decoded: Decoded, index: int) -> Step:
    """LDL in every width."""
    instruction = decoded.instruction
    width, signed = access_width(instruction)
    target, address = decoded.operands[0], narrow_address(memory_operand(instruction))
    place, counting = WindowPlace(instruction, width, "read", "local"), LocalCount(index, width)

    def execute(lanes: LaneState) -> None:
        addresses = address(lanes)
        place.check_local(lanes, addresses)
        counting.count(lanes, addresses)
        put(lanes, target, fetch(lanes, addresses, width, signed))

    return execute


def store(decoded: Decoded, index: int) -> Step:
    """STL in every width."""
    instruction = decoded.instruction
    width, _ = access_width(instruction)
    source, address = decoded.operands[-1], narrow_address(memory_operand(instruction))
    place, counting = WindowPlace(instruction, width, "write", "local"), LocalCount(index, width)

    def execute(lanes: LaneState) -> None:
        addresses = address(lanes)
        place.check_local(lanes, addresses)
        counting.count(lanes, addresses)
        write(lanes, addresses, take_source(lanes, source, width), width)

    return execute


def fetch(lanes: LaneState, addresses: Int64, width: int, signed: bool) -> tuple[Array, ...]:
    """One lane's data from its local memory, as ``global_access.fetch``."""
    if width >= 8:
        pairs = range(width // 8)
        return tuple(
            np.bitwise_or(_word(lanes, addresses + 8 * p).astype(np.uint64), _high(lanes, addresses + 8 * p + 4))
            for p in pairs
        )
    word = _word(lanes, addresses)
    if width == 4:
        return (word,)
    shifted = np.right_shift(word, ((addresses & 3) * 8).astype(np.uint32)).astype(_VIEWS[width])
    return (shifted.view(_SIGNED[width]).astype(np.int32).view(np.uint32) if signed else shifted.astype(np.uint32),)


def write(lanes: LaneState, addresses: Int64, data: tuple[Array, ...], width: int) -> None:
    """Store enabled lanes' data into their local memory."""
    if width >= 8:
        for step, value in enumerate(data):
            _put_word(lanes, addresses + 8 * step, value.astype(np.uint32))
            _put_word(lanes, addresses + 8 * step + 4, np.right_shift(value, np.uint64(32)).astype(np.uint32))
    elif width == 4:
        _put_word(lanes, addresses, data[0])
    else:
        shift = ((addresses & 3) * 8).astype(np.uint32)
        field = np.left_shift(np.uint32((1 << 8 * width) - 1), shift)
        old = _word(lanes, addresses)
        new = np.bitwise_or(np.bitwise_and(old, ~field), np.bitwise_and(np.left_shift(data[0], shift), field))
        _put_word(lanes, addresses, new)


def _word(lanes: LaneState, addresses: Int64) -> Array:
    words = lanes.local.words
    if addresses.size == 1 and lanes.rows is None:
        result: Array = words[min(max(int(addresses.flat[0]) >> 2, 0), len(words) - 1)].copy()
        return result
    return words.reshape(-1).take(_flat(lanes, addresses), mode="clip")


def _high(lanes: LaneState, addresses: Int64) -> Array:
    result: Array = np.left_shift(_word(lanes, addresses).astype(np.uint64), np.uint64(32))
    return result


def _put_word(lanes: LaneState, addresses: Int64, value: Array) -> None:
    words = lanes.local.words
    if addresses.size == 1 and lanes.rows is None and lanes.mask.size == 1:
        words[int(addresses.flat[0]) >> 2] = value
        return
    flat = _flat(lanes, addresses)
    enabled = np.broadcast_to(lanes.mask, flat.shape)
    words.reshape(-1)[flat[enabled]] = np.broadcast_to(value, flat.shape)[enabled]


def _flat(lanes: LaneState, addresses: Int64) -> Int64:
    """Index of each lane's word in the whole array, (blocks, warps, 32)."""
    return (addresses >> 2) * lanes.lane_stride + lanes.lane_numbers
