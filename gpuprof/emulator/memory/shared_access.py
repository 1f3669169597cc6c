"""LDS, STS and LDSM: shared memory of the batch's blocks, with bank conflicts.

Addresses of shared memory mostly depend on the thread alone. Then they are of shape (1, warps, 32), are checked and
counted once for all blocks, and are remembered until a register that they are made of changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Step
from gpuprof.emulator.counting.pattern_memo import WavefrontMemo
from gpuprof.emulator.memory.addresses import WindowPlace, access_width, address_sources, memory_operand, narrow_address
from gpuprof.emulator.memory.global_access import put, take_source
from gpuprof.isa import memory_access

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]

_SIGNED: dict[int, Any] = {1: np.int8, 2: np.int16}


class SharedCount:
    """Counts the wavefronts of one instruction."""

    __slots__ = ("index", "memo")

    def __init__(self, index: int, memo: WavefrontMemo) -> None:
        self.index = index
        self.memo = memo

    def measure(self, lanes: LaneState, addresses: Int64) -> tuple[int, int, int]:
        """(executions with an enabled lane, wavefronts, wavefronts without conflicts) over the batch."""
        mask = lanes.mask
        shape = (*np.broadcast_shapes(addresses.shape, mask.shape)[:2], WARP)
        rows = np.broadcast_to(addresses, shape).reshape(-1, WARP)
        enabled = np.broadcast_to(mask, shape).reshape(-1, WARP)
        factor = lanes.block_count * lanes.warp_count // len(rows)
        passes, ideal = self.memo.count(rows, enabled)
        return int(np.count_nonzero(enabled.any(axis=1))) * factor, passes * factor, ideal * factor

    def add(self, lanes: LaneState, measured: tuple[int, int, int]) -> None:
        counters, index = lanes.counters, self.index
        counters.issued[index] += measured[0]
        counters.wavefronts[index] += measured[1]
        counters.ideal_wavefronts[index] += measured[2]


class SharedPlaces:
    """Addresses of one instruction, checked and counted; kept while the registers they come from stay the same."""

    def __init__(self, decoded: Decoded, index: int, width: int, verb: str, memo: WavefrontMemo) -> None:
        operand = memory_operand(decoded.instruction)
        self._address = narrow_address(operand)
        self._sources = address_sources(operand)
        self._place = WindowPlace(decoded.instruction, width, verb, "shared")
        self._count = SharedCount(index, memo)
        self._index = index

    def get(self, lanes: LaneState) -> Int64:
        """Byte addresses, (1 or blocks, 1 or warps, 1 or 32)."""
        first, second = self._sources(lanes)
        known = lanes.memo.get(self._index)
        if known is None or known[0] is not first or known[1] is not second or known[2] is not lanes.mask:
            addresses = self._address(lanes)
            self._place.check_shared(lanes, addresses)
            known = (first, second, lanes.mask, addresses, self._count.measure(lanes, addresses))
            lanes.memo[self._index] = known
        self._count.add(lanes, known[4])
        return known[3]


def load(decoded: Decoded, index: int) -> Step:
    """LDS in every width."""
    width, signed = access_width(decoded.instruction)
    memo = WavefrontMemo(width_rule(memory_access.load_wavefronts, width), ideal_rule(width))
    places, target = SharedPlaces(decoded, index, width, "read", memo), decoded.operands[0]

    def execute(lanes: LaneState) -> None:
        put(lanes, target, fetch(lanes, places.get(lanes), width, signed))

    return execute


def store(decoded: Decoded, index: int) -> Step:
    """STS in every width."""
    width, _ = access_width(decoded.instruction)
    memo = WavefrontMemo(width_rule(memory_access.store_wavefronts, width), ideal_rule(width))
    places, source = SharedPlaces(decoded, index, width, "write", memo), decoded.operands[-1]

    def execute(lanes: LaneState) -> None:
        write(lanes, places.get(lanes), take_source(lanes, source, width), width)

    return execute


def load_matrix(decoded: Decoded, index: int) -> Step:
    """LDSM.16.M88 and .MT88: 8x8 matrices of 16-bit elements, one row address per lane."""
    if not decoded.has("M88", "MT88") or not decoded.has("16"):
        raise NotCovered("LDSM other than .16.M88 and .16.MT88")
    matrices = next((int(word) for word in ("2", "4") if decoded.has(word)), 1)
    transposed, target = decoded.has("MT88"), decoded.operands[0]

    def rule(addresses: Int64, mask: Bool) -> Int64:
        return memory_access.matrix_wavefronts(addresses, mask, matrices)

    def ideal(mask: Bool) -> Int64:
        return np.asarray(mask.any(axis=1) * matrices)

    places = SharedPlaces(decoded, index, 16, "read", WavefrontMemo(rule, ideal))

    def execute(lanes: LaneState) -> None:
        addresses = np.broadcast_to(places.get(lanes), (lanes.block_count, lanes.warp_count, WARP))
        for matrix in range(matrices):
            rows = addresses[:, :, 8 * matrix : 8 * matrix + 8]
            lanes.set_u32_next(target, matrix, _matrix(lanes, rows, transposed))

    return execute


def store_matrix(decoded: Decoded, index: int) -> Step:
    """STSM.16.M88 and .MT88: as ``load_matrix``, the other way."""
    if not decoded.has("M88", "MT88") or not decoded.has("16"):
        raise NotCovered("STSM other than .16.M88 and .16.MT88")
    matrices = next((int(word) for word in ("2", "4") if decoded.has(word)), 1)
    transposed, source = decoded.has("MT88"), decoded.operands[-1]

    def rule(addresses: Int64, mask: Bool) -> Int64:
        return memory_access.matrix_wavefronts(addresses, mask, matrices)

    def ideal(mask: Bool) -> Int64:
        return np.asarray(mask.any(axis=1) * matrices)

    places = SharedPlaces(decoded, index, 16, "write", WavefrontMemo(rule, ideal))
    lane = np.arange(WARP)

    def execute(lanes: LaneState) -> None:
        addresses = np.broadcast_to(places.get(lanes), (lanes.block_count, lanes.warp_count, WARP))
        for matrix in range(matrices):
            rows = addresses[:, :, 8 * matrix : 8 * matrix + 8]
            value = lanes.u32_next(source, matrix)
            if not transposed:
                write(lanes, rows[:, :, lane // 4] + 4 * (lane % 4), (value,), 4)
                continue
            write(lanes, rows[:, :, 2 * (lane % 4)] + 2 * (lane // 4), (value,), 2)
            high = np.right_shift(value, np.uint32(16))
            write(lanes, rows[:, :, 2 * (lane % 4) + 1] + 2 * (lane // 4), (high,), 2)

    return execute


def _matrix(lanes: LaneState, rows: Int64, transposed: bool) -> Array:
    """What each lane gets of one matrix, whose eight row addresses are the last axis of ``rows``."""
    lane = np.arange(WARP)
    if not transposed:
        return fetch(lanes, rows[:, :, lane // 4] + 4 * (lane % 4), 4, False)[0]
    low = fetch(lanes, rows[:, :, 2 * (lane % 4)] + 2 * (lane // 4), 2, False)[0]
    high = fetch(lanes, rows[:, :, 2 * (lane % 4) + 1] + 2 * (lane // 4), 2, False)[0]
    result: Array = np.bitwise_or(low, np.left_shift(high, np.uint32(16)))
    return result


def fetch(lanes: LaneState, addresses: Int64, width: int, signed: bool) -> tuple[Array, ...]:
    """One lane's data from shared memory, as ``global_access.fetch``."""
    if width == 16:
        first = addresses >> 3
        return (_gather(lanes, first, 8), _gather(lanes, first + 1, 8))
    data = _gather(lanes, addresses >> _SHIFTS[width], width)
    if width >= 4:
        return (data,)
    return (data.view(_SIGNED[width]).astype(np.int32).view(np.uint32) if signed else data.astype(np.uint32),)


_SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3, 16: 3}


def _gather(lanes: LaneState, elements: Int64, width: int) -> Array:
    rows = lanes.shared.rows(width)
    if elements.shape[0] == 1 and lanes.rows is None:
        result: Array = rows.take(elements[0], axis=1, mode="clip")
        return result
    return rows.reshape(-1).take(elements + lanes.row_offsets(rows.shape[1]), mode="clip")


def write(lanes: LaneState, addresses: Int64, data: tuple[Array, ...], width: int) -> None:
    """Store enabled lanes' data into shared memory; of several lanes at one address the last wins."""
    elements = addresses >> _SHIFTS[width]
    for step, value in enumerate(data):
        rows = lanes.shared.rows(width)
        _scatter(lanes, rows, elements + step, value.astype(rows.dtype) if width < 4 else value)


def _scatter(lanes: LaneState, rows: Array, elements: Int64, value: Array) -> None:
    mask = lanes.mask
    if elements.shape[0] == 1 and lanes.rows is None and mask.shape[0] == 1:
        shape = np.broadcast_shapes(elements.shape, value.shape, mask.shape)
        places, values = np.broadcast_to(elements[0], shape[1:]), np.broadcast_to(value, shape)
        if mask.size == 1:
            rows[:, places.reshape(-1)] = values.reshape(shape[0], -1)
        else:
            enabled = np.broadcast_to(mask[0], shape[1:])
            rows[:, places[enabled]] = values[:, enabled]
        return
    flat = elements + lanes.row_offsets(rows.shape[1])
    shape = np.broadcast_shapes(flat.shape, value.shape, mask.shape)
    enabled = np.broadcast_to(mask, shape)
    rows.reshape(-1)[np.broadcast_to(flat, shape)[enabled]] = np.broadcast_to(value, shape)[enabled]


def width_rule(rule: Callable[[Int64, Bool, int], Int64], width: int) -> Callable[[Int64, Bool], Int64]:
    """A wavefront rule for accesses of ``width`` bytes."""
    return lambda addresses, mask: rule(addresses, mask, width)


def ideal_rule(width: int) -> Callable[[Bool], Int64]:
    """The conflict-free number of wavefronts for accesses of ``width`` bytes."""
    return lambda mask: memory_access.ideal_wavefronts(mask, width)
