"""ATOMS: atomics on shared memory, with the wavefronts that each kind costs (measured on an H200)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Step
from gpuprof.emulator.counting.pattern_memo import WavefrontMemo
from gpuprof.emulator.memory import transaction_barriers
from gpuprof.emulator.memory.atomic_operations import Operation
from gpuprof.emulator.memory.atomics import AtomicForm, apply
from gpuprof.emulator.memory.global_access import take_source
from gpuprof.emulator.memory.shared_access import SharedPlaces, ideal_rule, width_rule
from gpuprof.emulator.state.operands import ZERO
from gpuprof.isa import memory_access
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]


def shared(decoded: Decoded, index: int) -> Step:
    """Every form of ATOMS that is known."""
    if decoded.has("ARRIVE"):
        return transaction_barriers.arrive_before_sm90(decoded, index)
    if decoded.has("CAST"):
        return _spin(decoded, index)
    if decoded.has("POPC"):
        return _count_lanes(decoded, index)
    form = AtomicForm(decoded)
    width = form.operation.width
    rule = (
        memory_access.compare_and_swap_wavefronts if form.operation.name == "CAS" else memory_access.atomic_wavefronts
    )
    places = SharedPlaces(decoded, index, width, "atomic", _memo(rule, width))

    def execute(lanes: LaneState) -> None:
        rows = lanes.shared.rows(width)
        elements = (places.get(lanes) >> (3 if width == 8 else 2)) + lanes.row_offsets(rows.shape[1])
        old, enabled, _ = apply(lanes, form, rows.reshape(-1), elements)
        form.finish(lanes, old, enabled)

    return execute


def _memo(rule: Callable[[Any, Any, int], Any], width: int) -> WavefrontMemo:
    return WavefrontMemo(width_rule(rule, width), ideal_rule(width))


def _count_lanes(decoded: Decoded, index: int) -> Step:
    """ATOMS.POPC.INC.32 RZ, [a]: one more for each lane; costs as much as a store."""
    if not decoded.has("INC") or not decoded.operands[0].is_zero:
        raise NotCovered(decoded.instruction.mnemonic)
    places = SharedPlaces(decoded, index, 4, "atomic", _memo(memory_access.store_wavefronts, 4))

    def execute(lanes: LaneState) -> None:
        rows = lanes.shared.rows(4)
        elements = (places.get(lanes) >> 2) + lanes.row_offsets(rows.shape[1])
        flat = np.broadcast_to(elements, (lanes.block_count, lanes.warp_count, WARP))[lanes.active()]
        with lanes.launch.atomic_lock:
            np.add.at(rows.reshape(-1), flat, np.uint32(1))

    return execute


def _spin(decoded: Decoded, index: int) -> Step:
    """ATOMS.CAST.SPIN Rd, [a], compare, new: of the lanes on one bank the first tries; Rd (Pd) = 1 where it swapped."""
    width = 8 if decoded.has("64") else 4
    places = SharedPlaces(decoded, index, width, "atomic", _memo(memory_access.spin_wavefronts, width))
    sources = [operand for operand in decoded.operands[1:] if operand.kind is not OperandKind.MEMORY]
    if len(sources) != 2:
        raise NotCovered(decoded.instruction.text)
    target = decoded.operands[0]
    swap = Operation("CAS", np.uint64 if width == 8 else np.uint32, width, np.add)

    def execute(lanes: LaneState) -> None:
        shape = (lanes.block_count, lanes.warp_count, WARP)
        addresses = np.broadcast_to(places.get(lanes), shape)
        tries = _first_on_bank(addresses, lanes.active(), width)
        rows = lanes.shared.rows(width)
        flat = ((addresses >> (width // 4 + 1)) + lanes.row_offsets(rows.shape[1]))[tries]
        compare, new = (np.broadcast_to(take_source(lanes, source, width)[0], shape)[tries] for source in sources)
        swapped = np.zeros(shape, np.uint32)
        swapped[tries] = _swap_in_order(rows.reshape(-1).view(swap.dtype), flat, compare, new)
        if target.kind is OperandKind.PREDICATE:  # since sm_100
            lanes.set_predicate(target, swapped)
            return
        lanes.set_u32(target, swapped)
        if width == 8:  # nvcc compares both words with 1
            lanes.set_u32_next(target, 1, ZERO)

    return execute


def _first_on_bank(addresses: Array, enabled: Array, width: int) -> Array:
    """Per warp: the first enabled lane of each bank."""
    bank = addresses // width % (128 // width)
    key = np.where(enabled, bank, -1 - np.arange(WARP))
    same = key[..., :, None] == key[..., None, :]
    result: Array = np.logical_and(enabled, same.argmax(axis=-1) == np.arange(WARP))
    return result


def _swap_in_order(memory: Array, places: Array, compare: Array, new: Array) -> Array:
    """Compare and swap in order; of several lanes at one place at most those succeed that find their value."""
    swapped = np.zeros(len(places), np.uint32)
    left = np.arange(len(places))
    while len(left):
        _, first = np.unique(places[left], return_index=True)
        now = left[first]
        good = memory[places[now]] == compare[now]
        memory[places[now][good]] = new[now][good]
        swapped[now[good]] = 1
        left = np.setdiff1d(left, now, assume_unique=True)
    return swapped
