"""LD, ST, ATOM and QSPC: generic addresses, which name global, shared or local memory by window.

Accesses that go to global memory count as global ones, those to shared memory as shared ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered, Step
from gpuprof.emulator.counting.pattern_memo import WavefrontMemo
from gpuprof.emulator.memory import atomics, global_access, local_access, shared_access
from gpuprof.emulator.memory.addresses import GlobalPlace, WindowPlace, access_width, memory_operand, wide_address
from gpuprof.emulator.memory.shared_access import SharedCount, ideal_rule, width_rule
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, SHARED_WINDOW_HIGH
from gpuprof.isa import memory_access
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Access = Callable[[LaneState, Array], None]

_HIGH = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SHARED, _LOCAL = np.uint64(SHARED_WINDOW_HIGH), np.uint64(LOCAL_WINDOW_HIGH)


def load(decoded: Decoded, index: int) -> Step:
    """LD: by window; lanes of one warp may go to different memories."""
    width, signed = access_width(decoded.instruction)
    target = decoded.operands[0]
    place, counting = GlobalPlace(decoded.instruction, width, "read"), global_access.GlobalCount(index, width)
    window = _Windows(decoded, index, width, "read", memory_access.load_wavefronts)

    def from_global(lanes: LaneState, addresses: Array) -> None:
        offsets = place.offsets(lanes, addresses)
        counting.count(lanes, offsets)
        global_access.put(lanes, target, global_access.fetch(lanes.launch.arena, offsets, width, signed))

    def from_shared(lanes: LaneState, addresses: Array) -> None:
        places = window.shared(lanes, addresses)
        global_access.put(lanes, target, shared_access.fetch(lanes, places, width, signed))

    def from_local(lanes: LaneState, addresses: Array) -> None:
        places = window.local(lanes, addresses)
        global_access.put(lanes, target, local_access.fetch(lanes, places, width, signed))

    return _dispatch(wide_address(memory_operand(decoded.instruction)), from_global, from_shared, from_local)


def store(decoded: Decoded, index: int) -> Step:
    """ST: by window."""
    width, _ = access_width(decoded.instruction)
    source = decoded.operands[-1]
    place, counting = GlobalPlace(decoded.instruction, width, "write"), global_access.GlobalCount(index, width)
    window = _Windows(decoded, index, width, "write", memory_access.store_wavefronts)

    def to_global(lanes: LaneState, addresses: Array) -> None:
        offsets = place.offsets(lanes, addresses)
        counting.count(lanes, offsets)
        data = global_access.take_source(lanes, source, width)
        global_access.write(lanes.launch.arena, offsets, data, width, lanes.mask)

    def to_shared(lanes: LaneState, addresses: Array) -> None:
        places = window.shared(lanes, addresses)
        shared_access.write(lanes, places, global_access.take_source(lanes, source, width), width)

    def to_local(lanes: LaneState, addresses: Array) -> None:
        places = window.local(lanes, addresses)
        local_access.write(lanes, places, global_access.take_source(lanes, source, width), width)

    return _dispatch(wide_address(memory_operand(decoded.instruction)), to_global, to_shared, to_local)


def atomic(decoded: Decoded, index: int) -> Step:
    """ATOM: on global or shared memory, by window. ADD.F16x2 reports in its predicate that it was done."""
    form = atomics.AtomicForm(decoded)
    width = form.operation.width
    on_global = atomics.global_memory_at(decoded, index)
    window = _Windows(decoded, index, width, "atomic", memory_access.atomic_wavefronts)

    def on_shared(lanes: LaneState, addresses: Array) -> None:
        places = window.shared(lanes, addresses)
        rows = lanes.shared.rows(width)
        elements = (places >> (3 if width == 8 else 2)) + lanes.row_offsets(rows.shape[1])
        old, enabled, _ = atomics.apply(lanes, form, rows.reshape(-1), elements)
        form.finish(lanes, old, enabled)

    def on_local(lanes: LaneState, addresses: Array) -> None:
        raise NotCovered("an atomic on local memory")

    return _dispatch(wide_address(memory_operand(decoded.instruction)), on_global, on_shared, on_local)


def query_space(decoded: Decoded, index: int) -> Step:
    """QSPC.E.S (.G, .L): whether a generic address is shared (global, local)."""
    kinds = {"S": SHARED_WINDOW_HIGH, "L": LOCAL_WINDOW_HIGH, "G": None}
    kind = next((word for word in decoded.modifiers if word in kinds), None)
    if kind is None:
        raise NotCovered(decoded.instruction.mnemonic)
    window = kinds[kind]
    address = wide_address(memory_operand(decoded.instruction))
    results = [o for o in decoded.operands if o.kind is OperandKind.PREDICATE and not o.is_zero]

    def execute(lanes: LaneState) -> None:
        high = address(lanes) >> _HIGH
        inside = high == np.uint64(window) if window is not None else (high != _SHARED) & (high != _LOCAL)
        for operand in results:
            lanes.set_predicate(operand, inside)

    return execute


class _Windows:
    """Shared and local sides of one generic instruction: checked and counted addresses within the window."""

    def __init__(self, decoded: Decoded, index: int, width: int, verb: str, rule: Callable[..., Any]) -> None:
        self._shared = WindowPlace(decoded.instruction, width, verb, "shared")
        self._local = WindowPlace(decoded.instruction, width, verb, "local")
        self._index = index
        self._shared_count = SharedCount(index, WavefrontMemo(width_rule(rule, width), ideal_rule(width)))
        self._local_count = local_access.LocalCount(index, width)

    def shared(self, lanes: LaneState, addresses: Array) -> Array:
        places = np.bitwise_and(addresses, _LOW).astype(np.int64)
        self._shared.check_shared(lanes, places)
        issued, passes, ideal = self._shared_count.measure(lanes, places)
        counters = lanes.counters
        counters.shared[self._index] += issued
        counters.wavefronts[self._index] += passes
        counters.ideal_wavefronts[self._index] += ideal
        result: Array = places
        return result

    def local(self, lanes: LaneState, addresses: Array) -> Array:
        places = np.bitwise_and(addresses, _LOW).astype(np.int64)
        self._local.check_local(lanes, places)
        lanes.counters.local[self._index] += self._local_count.issued(lanes, places)
        result: Array = places
        return result


def _dispatch(address: Callable[[LaneState], Array], on_global: Access, on_shared: Access, on_local: Access) -> Step:
    def execute(lanes: LaneState) -> None:
        addresses = address(lanes)
        high = addresses >> _HIGH
        shared, local = high == _SHARED, high == _LOCAL
        if not (shared.any() or local.any()):
            on_global(lanes, addresses)
            return
        mask, write_mask = lanes.mask, lanes.write_mask
        neither = np.logical_not(np.logical_or(shared, local))
        for inside, access in ((neither, on_global), (shared, on_shared), (local, on_local)):
            part = np.logical_and(mask, inside)
            if not part.any():
                continue
            everyone = lanes.count_lanes(part) == lanes.count_lanes(mask)
            lanes.mask = mask if everyone else part
            lanes.write_mask = write_mask if everyone else part
            access(lanes, addresses)
        lanes.mask, lanes.write_mask = mask, write_mask

    return execute
