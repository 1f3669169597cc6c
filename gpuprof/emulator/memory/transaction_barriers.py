"""mbarrier objects in shared memory: SYNCS (before sm_90 ATOMS.ARRIVE), ARRIVES.LDGSTSBAR, and UBLKCP with its bytes.

An object is 64 bits: from bit 1 on 20 bits of minus the count of a phase, from bit 22 on 21 bits of bytes that are
still to come, from bit 43 on 20 bits of minus the arrivals that are still to come, and bit 63 is the parity of the
phase. So nvcc initialises it (SYNCS.EXCH with both counts); the arrivals' carry flips the parity. On an H200 the words
cannot be read back by LDS (``tests/hardware/forms``, ``barrier_test_wait``), so that the layout in between is ours.

SYNCS.PHASECHK.TRYWAIT suspends its warp until the phase is complete: it issues once on an H200.
Source: PTX ISA, "mbarrier"; the forms' meaning was found from nvcc's code for each PTX instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Step
from gpuprof.emulator.memory.addresses import WindowPlace, memory_operand, narrow_address
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.state.faults import first_lane, lane_location, memory_fault
from gpuprof.emulator.state.operands import bind_alone
from gpuprof.errors import EmulationError
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

_BYTES = (1 << 21) - 1
_BYTES_AT, _PHASE_AT = 22, 63


@dataclass(frozen=True)
class _Layout:
    """Where an object keeps what is still to come: bits from ``pending_at`` and ``expected_at`` on, as minus counts."""

    pending_at: int
    pending_bits: int
    expected_at: int
    expected_bits: int
    has_bytes: bool

    def arrived(self, word: int, arrivals: int) -> tuple[bool, int] | None:
        """(whether the phase is complete, the object then) after some arrivals; None: more than it waits for."""
        full = 1 << self.pending_bits
        before = word >> self.pending_at & full - 1
        pending = (before or full if self.has_bytes else before) + arrivals  # 0: all arrived, bytes are to come
        if pending > full:
            return None
        return self.settled(word, pending)

    def settled(self, word: int, pending: int) -> tuple[bool, int]:
        """The object with that pending field: complete when it overflows and no bytes are to come."""
        full = 1 << self.pending_bits
        rest = word & ~(full - 1 << self.pending_at)
        if pending < full:
            return False, rest | pending << self.pending_at
        if self.has_bytes and rest >> _BYTES_AT & _BYTES:
            return False, rest  # all arrived (0), bytes are still to come
        expected = (1 << self.expected_bits) - (word >> self.expected_at & (1 << self.expected_bits) - 1)
        return True, (rest | full - expected << self.pending_at) ^ 1 << _PHASE_AT


#: Since sm_90, and before: nvcc's initialisation for sm_80 is (2^30 - count, 2^31 - count).
_SYNCS, _ATOMS = _Layout(43, 20, 1, 20, True), _Layout(32, 31, 0, 30, False)
#: SYNCS.ARRIVE: form -> (arrivals, bytes expected), each a number or None for the source register.
_ARRIVALS: dict[str, tuple[int | None, int | None]] = {
    "A1T0": (1, 0),
    "ART0": (None, 0),
    "A0TR": (0, None),
    "A0T1": (0, 1),
    "": (1, None),
}


def bind(decoded: Decoded, index: int) -> Step:
    """Every form of SYNCS that is known, but for TRYWAIT, which may suspend its warp."""
    if decoded.has("EXCH"):
        return _exchange(decoded)
    if decoded.has("ARRIVE"):
        return _arrive(decoded)
    if decoded.has("PHASECHK"):
        return _test(decoded)
    if decoded.has("CCTL"):
        return lambda lanes: None
    raise NotCovered(decoded.instruction.mnemonic)


def is_wait(decoded_modifiers: tuple[str, ...], guarded: bool) -> bool:
    """Whether a SYNCS ends a straight run: it may suspend its warp."""
    return "TRYWAIT" in decoded_modifiers and not guarded


class _Place:
    """Where an instruction's objects are: element numbers of the batch's shared memory as 64-bit words."""

    def __init__(self, decoded: Decoded, operand: Operand | None = None) -> None:
        self._address = narrow_address(operand or memory_operand(decoded.instruction))
        self._place = WindowPlace(decoded.instruction, 8, "mbarrier access", "shared")
        self.decoded = decoded

    def elements(self, lanes: Batch) -> Array:
        """(blocks, warps, 32); raises MemoryFaultError."""
        addresses = self._address(lanes)
        self._place.check(lanes, addresses, lanes.shared.limit, lanes.shared.start)
        rows = lanes.shared.rows(8)
        flat = (addresses >> 3) + lanes.row_offsets(rows.shape[1])
        return np.broadcast_to(flat, (lanes.block_count, lanes.warp_count, WARP))


def first_of_warps(lanes: Batch) -> Bool:
    """Of every warp that executes its first active lane: instructions of the uniform datapath execute once."""
    active = lanes.active()
    first: Bool = active & (np.arange(WARP) == active.argmax(axis=2)[:, :, None])
    return first


def _exchange(decoded: Decoded) -> Step:
    """SYNCS.EXCH.64 URd, [a], URs: mbarrier.init."""
    place, source, target = _Place(decoded), decoded.operands[-1], decoded.operands[0]

    def execute(lanes: Batch) -> None:
        chosen = first_of_warps(lanes)
        places = place.elements(lanes)[chosen]
        memory = lanes.shared.rows(8).reshape(-1)
        old = np.zeros(chosen.shape, np.uint64)
        old[chosen] = memory[places]
        memory[places] = np.broadcast_to(lanes.u64(source), chosen.shape)[chosen]
        if not target.is_zero:
            lanes.set_u64(target, old.max(axis=2, keepdims=True))

    return execute


def _arrive(decoded: Decoded) -> Step:
    """SYNCS.ARRIVE.TRANS64[.A1T0|.ART0|.A0TR] Rd, [a], Rs: each active lane arrives; Rd is the state before."""
    form = next((word for word in _ARRIVALS if word and decoded.has(word)), "")
    arrivals, expected = _ARRIVALS[form]
    place, source, target = _Place(decoded), decoded.operands[-1], decoded.operands[0]

    def execute(lanes: Batch) -> None:
        active = lanes.active()
        given = np.broadcast_to(lanes.u32(source), active.shape)[active].astype(np.int64)
        before = _change(
            lanes,
            decoded,
            place.elements(lanes)[active],
            given if arrivals is None else np.full(len(given), arrivals),
            given if expected is None else np.full(len(given), expected),
        )
        if not target.is_zero:
            state = np.zeros(active.shape, np.uint64)
            state[active] = before
            lanes.set_u64(target, state)

    return execute


def arrive_before_sm90(decoded: Decoded, index: int) -> Step:
    """ATOMS.ARRIVE.64 Rd, [a]: each active lane arrives; Rd is the state before. Its phase is read by LDS."""
    if decoded.arch >= 90 or decoded.modifiers != ("ARRIVE", "64"):
        raise NotCovered(decoded.instruction.mnemonic)
    place, target = _Place(decoded), decoded.operands[0]

    def execute(lanes: Batch) -> None:
        active = lanes.active()
        places = place.elements(lanes)[active]
        nothing = np.zeros(len(places), np.int64)
        state = np.zeros(active.shape, np.uint64)
        state[active] = _change(lanes, decoded, places, nothing + 1, nothing)
        lanes.set_u64(target, state)

    return execute


def copies_arrive(decoded: Decoded, index: int) -> Step:
    """ARRIVES.LDGSTSBAR.64 [a]: cp.async.mbarrier.arrive; the lane's copies are done, so it arrives.

    Since sm_90 .ARVCNT is the form that counts as an arrival (.noinc); with .TRANSCNT the arrival that the copies owe
    is one byte, which a SYNCS.ARRIVE.A0T1 before it announced. Before sm_90 an ATOMS.ADD makes the count larger.
    """
    form = tuple(word for word in decoded.modifiers if word in ("ARVCNT", "TRANSCNT"))
    if len(form) != int(decoded.arch >= 90):
        raise NotCovered(decoded.instruction.mnemonic)
    arrivals, expected = (0, -1) if "TRANSCNT" in form else (1, 0)
    place = _Place(decoded)

    def execute(lanes: Batch) -> None:
        places = place.elements(lanes)[lanes.active()]
        nothing = np.zeros(len(places), np.int64)
        _change(lanes, decoded, places, nothing + arrivals, nothing + expected)

    return execute


def _change(lanes: Batch, decoded: Decoded, places: Array, arrivals: Array, expected: Array) -> Array:
    """Arrive in lane order; the states before. A phase that completes wakes who waits for it."""
    layout = _SYNCS if decoded.arch >= 90 else _ATOMS
    memory = lanes.shared.rows(8).reshape(-1)
    before = np.zeros(len(places), np.uint64)
    completed = False
    for number, place in enumerate(places.tolist()):
        word = int(memory[place])
        before[number] = word
        if layout.has_bytes:
            word = _with_bytes(word, int(expected[number]))
        outcome = layout.arrived(word, int(arrivals[number]))
        if outcome is None:
            where = first_lane(lanes, lanes.active())
            place_of = lane_location(lanes, decoded.instruction, where)
            raise EmulationError("more arrivals at an mbarrier than its phase waits for", place_of)
        done, memory[place] = outcome
        completed = completed or done
    if completed:
        lanes.complete_phase()
    return before


def _with_bytes(word: int, change: int) -> int:
    waiting = (word >> _BYTES_AT) + change & _BYTES
    return word & ~(_BYTES << _BYTES_AT) | waiting << _BYTES_AT


def object_addresses(decoded: Decoded) -> Callable[[Batch], Array]:
    """Per lane: the shared address of the object that an instruction names."""
    return narrow_address(memory_operand(decoded.instruction))


def phase_done(decoded: Decoded) -> Callable[[Batch], Bool]:
    """SYNCS.PHASECHK P, [a], Rs: per lane whether the phase of parity Rs >> 31 is complete."""
    place, source = _Place(decoded), decoded.operands[-1]

    def done(lanes: Batch) -> Bool:
        states = lanes.shared.rows(8).reshape(-1)[np.where(lanes.active(), place.elements(lanes), 0)]
        result: Bool = (states >> np.uint64(_PHASE_AT)).astype(np.uint32) != lanes.u32(source) >> np.uint32(31)
        return result

    return done


def result_of(decoded: Decoded) -> Operand:
    """The predicate that PHASECHK writes."""
    found = decoded.operands[0]
    if found.kind not in (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE):
        raise NotCovered(decoded.instruction.text)
    return found


def _test(decoded: Decoded) -> Step:
    done, result = phase_done(decoded), result_of(decoded)
    return lambda lanes: lanes.set_predicate(result, done(lanes))


def bulk_copy(decoded: Decoded, index: int) -> Step:
    """UBLKCP.S.G [URa], [URb], URn: n * 16 bytes from global URb to shared URa; the mbarrier at URa + 1 counts them.

    It is done at once, which code that waits for the mbarrier cannot tell.
    """
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    registers = [memory.uniform or memory.base for memory in memories]
    target, source = (*registers, None, None)[:2]
    if decoded.modifiers != ("S", "G") or target is None or source is None:
        raise NotCovered(decoded.instruction.text)
    amount = decoded.operands[-1]

    def execute(lanes: Batch) -> None:
        chosen = first_of_warps(lanes)
        shape = chosen.shape
        to, barrier = (np.broadcast_to(lanes.u32_next(target, step), shape)[chosen].tolist() for step in (0, 1))
        start = np.broadcast_to(lanes.u64(bind_alone(source)), shape)[chosen].tolist()
        size = (np.broadcast_to(lanes.u32(amount), shape)[chosen].astype(np.int64) * 16).tolist()
        rows = np.broadcast_to(lanes.row_offsets(1), shape)[chosen].tolist()
        memory = lanes.shared.rows(1)
        for row, place, first, count in zip(rows, to, start, size, strict=True):
            _check_copy(lanes, decoded, chosen, place, first, count)
            memory[row, place : place + count] = lanes.launch.arena.view(first, count)
        bytes_arrive(lanes, list(zip(rows, barrier, size, strict=True)))

    return execute


def bytes_arrive(lanes: Batch, arrivals: Sequence[tuple[int, int, int]]) -> None:
    """Bytes of bulk copies are there: (row of the batch, the mbarrier's shared address, bytes) each."""
    words = lanes.shared.rows(8)
    completed = False
    for row, at, count in arrivals:
        word = _with_bytes(int(words[row, at >> 3]), -count)
        pending = word >> _SYNCS.pending_at & (1 << _SYNCS.pending_bits) - 1
        done, words[row, at >> 3] = _SYNCS.settled(word, pending or 1 << _SYNCS.pending_bits)
        completed = completed or done
    if completed:
        lanes.complete_phase()


def _check_copy(lanes: Batch, decoded: Decoded, chosen: Bool, place: int, first: int, count: int) -> None:
    region = lanes.launch.arena.region_of(first - GLOBAL_BASE)
    inside = region is not None and first - GLOBAL_BASE + count <= region.end
    if inside and not first % 16 and not place % 16 and lanes.shared.start <= place <= lanes.shared.limit - count:
        return
    addresses = np.full((1, 1, 1), first, np.uint64)
    message = f"bulk copy of {count} bytes from {{address}} to shared address 0x{place:x}: out of bounds or misaligned"
    raise memory_fault(lanes, decoded.instruction, chosen, addresses, message)
