"""LDGSTS: cp.async, global to shared memory. It is done at once, which race-free code cannot tell."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Step
from gpuprof.emulator.counting import bypass_copies
from gpuprof.emulator.memory import global_access, shared_access
from gpuprof.emulator.memory.addresses import GlobalPlace, WindowPlace, access_width, narrow_address, wide_address
from gpuprof.emulator.memory.global_access import GlobalCount
from gpuprof.isa import memory_access
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, LaneState
    from gpuprof.emulator.memory.addresses import AddressReader
    from gpuprof.sass.model import Operand

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]
    Bool = NDArray[np.bool_]


def copy(decoded: Decoded, index: int) -> Step:
    """LDGSTS.E[.BYPASS][.64|.128][.ZFILL] [shared], [global][, P]: a false P fills with zeros.

    With ZFILL the low bits of the global address are no address: they say how many bytes at the end are zeros.
    """
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    predicates = [operand for operand in decoded.operands if operand.kind is OperandKind.PREDICATE]
    if len(memories) != 2 or len(predicates) > 1:
        raise NotCovered(decoded.instruction.text)
    width, _ = access_width(decoded.instruction)
    target = narrow_address(memories[0])
    shared_place = WindowPlace(decoded.instruction, width, "asynchronous write", "shared")
    source = _Source(decoded, memories[1], width)
    condition: Operand | None = predicates[0] if predicates else None
    counting = _counting(decoded, index, width)

    def execute(lanes: LaneState) -> None:
        addresses = target(lanes)
        shared_place.check_shared(lanes, addresses)
        if condition is None:
            offsets, data = source.read(lanes)
            counting.count(lanes, addresses, offsets, lanes.mask)
        else:
            reads = np.logical_and(lanes.mask, lanes.predicate(condition))
            offsets, data = source.read_some(lanes, reads)
            counting.count(lanes, addresses, offsets, reads)
        shared_access.write(lanes, addresses, data, width)

    return execute


def _counting(decoded: Decoded, index: int, width: int) -> CopyCount:
    return CopyCount(
        index,
        width,
        bypass=decoded.has("BYPASS"),
        zero_fill=decoded.has("ZFILL"),
        guard_misread=misreads_guard(decoded),
    )


def misreads_guard(decoded: Decoded) -> bool:
    """Whether the counters by instruction take the guard for what it is not: for LDGSTS.BYPASS, P0 counts as false.

    So ncu (2025.3, H200) has nothing for ``@P0`` and all active lanes for ``@!P0``, at the addresses in their
    registers; other predicates, and l1tex's own counters, are right (``tests/hardware``: ``bypass_copy<true>``).
    """
    guard = decoded.instruction.predicate
    if guard is None or not decoded.has("BYPASS"):
        return False
    return guard.kind is OperandKind.PREDICATE and guard.index == 0


def with_misread_guard(guarded: Step, decoded: Decoded, index: int) -> Step:
    """A guarded copy for which ``misreads_guard`` holds, with what the counters by instruction have for it."""
    guard = decoded.instruction.predicate
    if guard is None or not guard.negate:
        return guarded
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    conditions = [operand for operand in decoded.operands if operand.kind is OperandKind.PREDICATE]
    width, _ = access_width(decoded.instruction)
    target, source = narrow_address(memories[0]), wide_address(memories[1])
    counting = _counting(decoded, index, width)

    def execute(lanes: Batch) -> None:
        addresses, sources = target(lanes), source(lanes).astype(np.int64)
        reads = lanes.mask
        for condition in conditions:
            reads = np.logical_and(reads, lanes.predicate(condition))
        counting.count_misread(lanes, addresses, sources, reads)
        guarded(lanes)

    return execute


class _Source:
    """The global side of one instruction."""

    def __init__(self, decoded: Decoded, operand: Operand, width: int) -> None:
        self._address: AddressReader = wide_address(operand)
        self._place = GlobalPlace(decoded.instruction, width, "asynchronous read")
        self._width = width
        self._zero_fill = decoded.has("ZFILL")

    def read(self, lanes: LaneState) -> tuple[Int64, tuple[Array, ...]]:
        """Arena offsets of the enabled lanes, and their data; raises MemoryFaultError."""
        addresses = self._address(lanes)
        low = np.uint64(self._width - 1)
        if not self._zero_fill:
            offsets = self._place.offsets(lanes, addresses)
            return offsets, global_access.fetch(lanes.launch.arena, offsets, self._width, False)
        offsets = self._place.offsets(lanes, np.bitwise_and(addresses, ~low))
        data = global_access.fetch(lanes.launch.arena, offsets, self._width, False)
        kept = self._width - np.bitwise_and(addresses, low).astype(np.int64)
        return offsets, tuple(_first_bytes(word, kept - word.itemsize * number) for number, word in enumerate(data))

    def read_some(self, lanes: LaneState, reads: Bool) -> tuple[Int64, tuple[Array, ...]]:
        """As ``read``, where only some lanes read: the others' data are zeros."""
        mask = lanes.mask
        if not reads.any():
            zeros = np.zeros((1, 1, 1), np.uint32 if self._width == 4 else np.uint64)
            return np.zeros((1, 1, 1), np.int64), (zeros,) * max(self._width // 8, 1)
        lanes.mask = reads
        offsets, data = self.read(lanes)
        lanes.mask = mask
        return offsets, tuple(np.where(reads, value, value.dtype.type(0)) for value in data)


def _first_bytes(word: Array, count: Int64) -> Array:
    """``word`` (32 or 64 bits) with only its first ``count`` bytes, which may be negative or more than it has."""
    kept = np.clip(count, 0, word.itemsize)
    one = word.dtype.type(1)
    bits = np.minimum(8 * kept, 8 * word.itemsize - 1).astype(word.dtype)
    field = np.left_shift(one, bits) - one
    return np.where(kept == word.itemsize, word, np.bitwise_and(word, field))


class CopyCount:
    """Requests, sectors and lines as for a load, and wavefronts where both sides' banks count.

    A lane that fills with zeros is part of the instruction and of its wavefronts, but requests nothing. The bypassing
    form (cp.async.cg) moves sectors, and counts them by rules of its own; what ZFILL clears takes a second pass.
    """

    def __init__(
        self, index: int, width: int, *, bypass: bool, zero_fill: bool = False, guard_misread: bool = False
    ) -> None:
        self.index = index
        self.width = width
        self.bypass = bypass
        self._guard_misread = guard_misread
        self._kind = np.int64 if bypass else np.uint8
        self._turns = 2 if bypass and zero_fill else 1
        self._global = GlobalCount(index, width)
        self._known: dict[bytes, tuple[int, int, int, int]] = {}

    def count(self, lanes: LaneState, addresses: Int64, offsets: Int64, reads: Bool) -> None:
        """``reads`` are the enabled lanes that read; the other enabled lanes fill with zeros."""
        counters, index, mask = lanes.counters, self.index, lanes.mask
        before = counters.sectors[index]
        if reads.any():
            lanes.mask = reads
            self._global.count(lanes, offsets)
            lanes.mask = mask
        for (passes, ideal, requested, copied), warps, executed in self._warps(lanes, addresses, offsets, reads):
            counters.copies[index] += warps if executed else 0
            counters.ideal_wavefronts[index] += ideal * warps
            counters.l1_sectors[index] += requested * warps
            if not self._guard_misread:
                counters.wavefronts[index] += passes * warps
                counters.copied_sectors[index] += copied * warps
        if not self.bypass:
            counters.l1_sectors[index] += counters.sectors[index] - before
            counters.copied_sectors[index] += counters.sectors[index] - before

    def count_misread(self, lanes: LaneState, addresses: Int64, sources: Int64, reads: Bool) -> None:
        """Only the counters by instruction, as if the lanes of ``lanes.mask`` all had a true guard."""
        for (passes, _, _, copied), warps, _ in self._warps(lanes, addresses, sources, reads):
            lanes.counters.wavefronts[self.index] += passes * warps
            lanes.counters.copied_sectors[self.index] += copied * warps

    def _warps(
        self, lanes: LaneState, addresses: Int64, offsets: Int64, reads: Bool
    ) -> Iterable[tuple[tuple[int, int, int, int], int, bool]]:
        """(what a warp counts, how many such warps there are, whether any lane is enabled)."""
        mask = lanes.mask
        shape = (*np.broadcast_shapes(addresses.shape, offsets.shape, mask.shape, reads.shape)[:2], WARP)
        factor = lanes.block_count * lanes.warp_count // (shape[0] * shape[1])
        shared, source, enabled, reading = (
            np.broadcast_to(value, shape).reshape(-1, WARP) for value in (addresses, offsets, mask, reads)
        )
        patterns = np.concatenate([self._place(shared), self._place(source), enabled, reading], axis=1)
        for pattern, number in _equal_rows(patterns.astype(self._kind)):
            any_enabled = any(pattern[len(pattern) // 2 : len(pattern) * 3 // 4])
            yield self._one(pattern), number * factor, any_enabled

    def _place(self, addresses: Array) -> Array:
        """What of the addresses matters: their banks, and for whole sectors their distances too."""
        if not self.bypass:
            return np.remainder(addresses, _LINE)
        lowest: Array = addresses.min(axis=1, keepdims=True) // _LINE * _LINE
        return np.subtract(addresses, lowest)

    def _one(self, pattern: bytes) -> tuple[int, int, int, int]:
        """(wavefronts, ideal wavefronts, sectors requested, sectors copied) of one warp."""
        found = self._known.get(pattern)
        if found is None:
            shared, source, mask, reads = np.frombuffer(pattern, self._kind).astype(np.int64).reshape(4, 1, WARP)
            found = self._fresh(shared, source, mask.astype(bool), reads.astype(bool))
            if len(self._known) < _PATTERNS:
                self._known[pattern] = found
        return found

    def _fresh(self, shared: Int64, source: Int64, mask: Bool, reads: Bool) -> tuple[int, int, int, int]:
        ideal = int(memory_access.ideal_wavefronts(mask, self.width)[0])
        if not self.bypass:
            return int(memory_access.copy_wavefronts(shared, source, mask, reads, self.width)[0]), ideal, 0, 0
        lanes = _lanes(shared[0], source[0], reads[0])
        filled = int(memory_access.ideal_wavefronts(mask & ~reads, self.width)[0])
        moved = bypass_copies.passes(lanes) * self._turns
        return moved + filled, ideal, bypass_copies.requested_sectors(lanes), bypass_copies.copied_sectors(lanes)


_LINE = 128
#: How many patterns an instruction remembers.
_PATTERNS = 4096


def _equal_rows(rows: Array) -> Iterable[tuple[bytes, int]]:
    """The different rows, as bytes, and how often each occurs."""
    data, size = rows.tobytes(), rows.shape[1] * rows.itemsize
    return Counter(data[start : start + size] for start in range(0, len(data), size)).items()


def _lanes(shared: Int64, source: Int64, reads: Bool) -> Sequence[bypass_copies.Lane]:
    return [(lane, int(shared[lane]), int(source[lane])) for lane in np.flatnonzero(reads).tolist()]
