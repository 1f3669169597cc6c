"""LDGSTS: cp.async, global to shared memory. It is done at once, which race-free code cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator import global_access, shared_access, wavefronts
from gpuprof.emulator.addresses import GlobalPlace, WindowPlace, access_width, narrow_address, wide_address
from gpuprof.emulator.global_access import GlobalCount
from gpuprof.emulator.lanes import WARP, Step
from gpuprof.emulator.sectors import SECTOR_SHIFT, count_distinct
from gpuprof.emulator.semantics.base import Decoded, NotCovered
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.state import LaneState

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]


def copy(decoded: Decoded, index: int) -> Step:
    """LDGSTS.E[.BYPASS][.64|.128][.ZFILL] [shared], [global][, P]: a false P fills with zeros."""
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    predicates = [operand for operand in decoded.operands if operand.kind is OperandKind.PREDICATE]
    if len(memories) != 2 or len(predicates) > 1:
        raise NotCovered(decoded.instruction.text)
    width, _ = access_width(decoded.instruction)
    target, source = narrow_address(memories[0]), wide_address(memories[1])
    shared_place = WindowPlace(decoded.instruction, width, "asynchronous write", "shared")
    place = GlobalPlace(decoded.instruction, width, "asynchronous read")
    counting = CopyCount(index, width, bypass=decoded.has("BYPASS"))
    fills: Operand | None = predicates[0] if predicates else None

    def execute(lanes: LaneState) -> None:
        addresses = target(lanes)
        shared_place.check(lanes, addresses, lanes.shared.limit)
        if fills is None:
            offsets = place.offsets(lanes, source(lanes))
            counting.count(lanes, addresses, offsets)
            data = global_access.fetch(lanes.launch.arena, offsets, width, False)
        else:
            data = _partly(lanes, lanes.predicate(fills), source, place, counting, addresses, width)
        shared_access.write(lanes, addresses, data, width)

    return execute


def _partly(
    lanes: LaneState,
    condition: Array,
    source: Any,
    place: GlobalPlace,
    counting: CopyCount,
    addresses: Int64,
    width: int,
) -> tuple[Array, ...]:
    """Lanes with a true condition read memory; the others' data are zeros."""
    mask = lanes.mask
    lanes.mask = np.logical_and(mask, condition)
    if lanes.mask.any():
        offsets = place.offsets(lanes, source(lanes))
        counting.count(lanes, addresses, offsets)
        found = global_access.fetch(lanes.launch.arena, offsets, width, False)
        data = tuple(np.where(lanes.mask, value, value.dtype.type(0)) for value in found)
    else:
        data = tuple(np.zeros((1, 1, 1), np.uint32 if width == 4 else np.uint64) for _ in range(max(width // 8, 1)))
    lanes.mask = mask
    return data


class CopyCount:
    """Requests, sectors and lines as for a load, and wavefronts where both sides' banks count.

    The bypassing form (cp.async.cg) has no wavefronts, and l1tex counts pairs of sectors (both measured on an H200).
    """

    def __init__(self, index: int, width: int, *, bypass: bool) -> None:
        self.index = index
        self.width = width
        self.bypass = bypass
        self._global = GlobalCount(index, width)
        self._known: dict[bytes, tuple[int, int]] = {}

    def count(self, lanes: LaneState, addresses: Int64, offsets: Int64) -> None:
        counters, index = lanes.counters, self.index
        before = counters.sectors[index]
        self._global.count(lanes, offsets)
        if self.bypass:
            counters.l1_sectors[index] += self._bypass_sectors(lanes, addresses, offsets)
            return
        counters.l1_sectors[index] += counters.sectors[index] - before
        shape = (*np.broadcast_shapes(addresses.shape, offsets.shape, lanes.mask.shape)[:2], WARP)
        factor = lanes.block_count * lanes.warp_count // (shape[0] * shape[1])
        rows = [np.broadcast_to(value, shape).reshape(-1, WARP) for value in (addresses, offsets, lanes.mask)]
        banks = [rows[0] % 128, rows[1] % 128, rows[2]]
        patterns, times = np.unique(np.concatenate(banks, axis=1), axis=0, return_counts=True)
        for pattern, number in zip(patterns, times.tolist(), strict=True):
            passes, ideal = self._one(pattern)
            counters.wavefronts[index] += passes * number * factor
            counters.ideal_wavefronts[index] += ideal * number * factor

    def _bypass_sectors(self, lanes: LaneState, addresses: Int64, offsets: Int64) -> int:
        """Distinct pairs of shared and global sector, over the last lane of each shared address."""
        shape = (*np.broadcast_shapes(addresses.shape, offsets.shape, lanes.mask.shape)[:2], WARP)
        target, source, mask = (
            np.broadcast_to(value, shape).reshape(-1, WARP) for value in (addresses, offsets, lanes.mask)
        )
        later = (target[:, :, None] == target[:, None, :]) & mask[:, None, :] & np.tri(WARP, k=-1, dtype=bool).T
        shift, half = np.int64(SECTOR_SHIFT), np.int64(32)
        pairs: Int64 = (target.astype(np.int64) >> shift << half) + (source.astype(np.int64) >> shift)
        count = count_distinct(pairs, mask & ~later.any(axis=2))
        return count * (lanes.block_count * lanes.warp_count // len(mask))

    def _one(self, pattern: Array) -> tuple[int, int]:
        key = pattern.tobytes()
        found = self._known.get(key)
        if found is None:
            shared, source, mask = pattern.reshape(3, 1, WARP)
            enabled = mask.astype(bool)
            passes = wavefronts.copy_wavefronts(shared, source, enabled, self.width)
            ideal = wavefronts.ideal_wavefronts(enabled, self.width)
            found = self._known[key] = (int(passes[0]), int(ideal[0]))
        return found
