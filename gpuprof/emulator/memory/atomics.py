"""ATOMG, ATOM, RED and REDG on global memory.

Lanes are served in the order block, warp, lane. The hardware's order is not defined; for integer operations that do
not return the old value it does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Step
from gpuprof.emulator.memory.addresses import GlobalPlace, memory_operand, wide_address
from gpuprof.emulator.memory.atomic_operations import Operation, choose_operation, update, vector_operation
from gpuprof.emulator.memory.global_access import GlobalCount, take_source
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]

_PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)


class AtomicForm:
    """The parts of an atomic: where the old value goes, what is combined, and how."""

    def __init__(self, decoded: Decoded) -> None:
        operands = decoded.operands
        place = operands.index(decoded.operand(OperandKind.MEMORY))
        results = [operand for operand in operands[:place] if operand.kind not in _PREDICATES]
        self.done = [operand for operand in operands[:place] if operand.kind in _PREDICATES and not operand.is_zero]
        self.target: Operand | None = results[0] if results and not results[0].is_zero else None
        self.sources = [operand for operand in operands[place + 1 :] if operand.kind not in _PREDICATES]
        self.operation: Operation = choose_operation(decoded)

    def values(self, lanes: LaneState) -> list[Array]:
        """Source operands in the operation's type."""
        width = self.operation.width
        return [take_source(lanes, source, width)[0].view(self.operation.dtype) for source in self.sources]

    def finish(self, lanes: LaneState, old: Array, enabled: Array) -> None:
        """Hand the old values to the enabled lanes."""
        for operand in self.done:
            lanes.set_predicate(operand, np.ones((1, 1, 1), bool))
        if self.target is None:
            return
        full = np.zeros(enabled.shape, old.dtype)
        full[enabled] = old
        if self.operation.width == 8:
            lanes.set_u64(self.target, full.view(np.uint64))
        else:
            lanes.set_u32(self.target, full.view(np.uint32))


def apply(lanes: LaneState, form: AtomicForm, memory: Array, elements: Array) -> tuple[Array, Array, Array]:
    """Combine the enabled lanes' values into ``memory``; returns (old values, enabled lanes, their elements)."""
    values = form.values(lanes)
    shape = (lanes.block_count, lanes.warp_count, 32)
    enabled = np.broadcast_to(lanes.mask, shape)
    places = np.broadcast_to(elements, shape)[enabled]
    chosen = [np.broadcast_to(value, shape)[enabled] for value in values]
    view = memory.view(form.operation.dtype)
    with lanes.launch.atomic_lock:
        old = update(view, places, chosen, form.operation, form.target is not None)
    return old, enabled, places


def global_memory(decoded: Decoded, index: int) -> Step:
    """ATOMG with the old value, RED and REDG without."""
    vector = vector_operation(decoded)
    if vector is not None:
        return _vector_reduction(decoded, index, *vector)
    address, combine = wide_address(memory_operand(decoded.instruction)), global_memory_at(decoded, index)
    return lambda lanes: combine(lanes, address(lanes))


def _vector_reduction(decoded: Decoded, index: int, count: int, operation: Operation) -> Step:
    """REDG.ADD.F32x4 and its like: consecutive words, each added on its own; one aligned access of a lane."""
    operands = decoded.operands
    if operands[0].kind is not OperandKind.MEMORY or len(operands) != 2:
        raise NotCovered(f"{decoded.instruction.text}: a vector atomic with a result")
    source, width = operands[1], 4 * count
    address = wide_address(operands[0])
    place, counting = GlobalPlace(decoded.instruction, width, "atomic"), GlobalCount(index, width)

    def execute(lanes: LaneState) -> None:
        offsets = place.offsets(lanes, address(lanes))
        counting.count(lanes, offsets)
        lanes.counters.l1_sectors[index] += _serial_sectors(lanes, offsets)
        arena, shape = lanes.launch.arena, (lanes.block_count, lanes.warp_count, WARP)
        enabled = np.broadcast_to(lanes.mask, shape)
        words = np.broadcast_to(offsets >> 2, shape)[enabled]
        memory = arena.words.view(operation.dtype)
        with lanes.launch.atomic_lock:
            for step in range(count):
                value = np.broadcast_to(lanes.u32_next(source, step).view(operation.dtype), shape)[enabled]
                update(memory, words + step, [value], operation, False)
                arena.written[words + step] = 15

    return execute


def global_memory_at(decoded: Decoded, index: int) -> Callable[[LaneState, Array], None]:
    """The global side of an atomic, for addresses that are known."""
    form = AtomicForm(decoded)
    width = form.operation.width
    place, counting = GlobalPlace(decoded.instruction, width, "atomic"), GlobalCount(index, width)

    def execute(lanes: LaneState, addresses: Array) -> None:
        offsets = place.offsets(lanes, addresses)
        counting.count(lanes, offsets)
        lanes.counters.l1_sectors[index] += _serial_sectors(lanes, offsets)
        arena = lanes.launch.arena
        memory = arena.double_words if width == 8 else arena.words
        old, enabled, places = apply(lanes, form, memory, offsets >> (3 if width == 8 else 2))
        words = places * (width // 4)
        for step in range(width // 4):
            arena.written[words + step] = 15
        form.finish(lanes, old, enabled)

    return execute


def _serial_sectors(lanes: LaneState, offsets: Array) -> int:
    """Sectors when lanes of a warp that share an address go one after another: what l1tex counts on an H200.

    The n-th lanes of all addresses of a warp go together, and touch each of their sectors once. Exact in 32 of 33
    measured launches, one too few in the other.
    """
    shape = np.broadcast_shapes(offsets.shape, lanes.mask.shape)[:2]
    rows = np.broadcast_to(offsets, (*shape, WARP)).reshape(-1, WARP)
    enabled = np.broadcast_to(lanes.mask, (*shape, WARP)).reshape(-1, WARP)
    earlier = (rows[:, :, None] == rows[:, None, :]) & enabled[:, None, :] & np.tri(WARP, k=-1, dtype=bool)
    turn = earlier.sum(axis=2)
    keys = np.sort(np.where(enabled, (rows >> 5) * WARP + turn, -1), axis=1)
    fresh = keys >= 0
    fresh[:, 1:] &= keys[:, 1:] != keys[:, :-1]
    return int(np.count_nonzero(fresh)) * (lanes.block_count * lanes.warp_count // len(rows))
