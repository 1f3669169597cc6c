"""Special registers: S2R, S2UR, CS2R and CS2UR."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP, Decoded, NotCovered, Parts, Step
from gpuprof.emulator.state.operands import ZERO, scalar
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, SHARED_WINDOW_HIGH, thread_registers
from gpuprof.sass.model import OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Read = Callable[[LaneState], Array]


_PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)


def _fixed(number: int) -> Read:
    value = scalar(number)
    return lambda lanes: value


def _clock(shift: int) -> Read:
    """A clock that goes forward: nanoseconds, since the emulator has no cycles."""
    return lambda lanes: scalar(time.perf_counter_ns() >> shift & 0xFFFFFFFF)


def _dynamic_shared(lanes: LaneState) -> Array:
    return scalar(lanes.launch.dynamic_shared_bytes)


#: Registers that neither thread nor block decides. One multiprocessor, one cluster of one block.
_OTHERS: dict[str, Read] = {
    "SRZ": lambda lanes: ZERO,
    "SR_CLOCKLO": _clock(0),
    "SR_CLOCKHI": _clock(32),
    "SR_GLOBALTIMERLO": _clock(0),
    "SR_GLOBALTIMERHI": _clock(32),
    "SR_VIRTUALSMID": _fixed(0),
    "SR_SMID": _fixed(0),
    "SR_NSMID": _fixed(1),
    "SR_SWINHI": _fixed(SHARED_WINDOW_HIGH),
    "SR_LWINHI": _fixed(LOCAL_WINDOW_HIGH),
    "SR_SMEMSZ": _dynamic_shared,
    "SR_CgaCtaId": _fixed(0),
    "SR_CgaSize": _fixed(1),
    "SR_REGALLOC": _fixed(0),
    "SR_ORDERING_TICKET": _fixed(0),
    "SR_NWARPID": _fixed(64),
}
_THREAD_NAMES = frozenset(thread_registers((1, 1, 1), 1))
_BLOCK_NAMES = frozenset(("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"))


def reader(name: str) -> Read:
    """How to read a special register; raises NotCovered for an unknown one."""
    if name in _THREAD_NAMES:
        return lambda lanes: lanes.thread_values[name]
    if name in _BLOCK_NAMES:
        return lambda lanes: lanes.block_values[name]
    if name in _OTHERS:
        return _OTHERS[name]
    raise NotCovered(f"special register {name}")


def _upper(name: str) -> str:
    """The register that holds the upper half: SR_CLOCKLO's is SR_CLOCKHI, SRZ's is SRZ."""
    return name.removesuffix("LO") + "HI" if name.endswith("LO") else name


def read_special(decoded: Decoded, index: int) -> Step:
    """S2R and S2UR: 32 bits; CS2R and CS2UR: 64 unless ``.32``."""
    target, source = decoded.operands[0], decoded.operands[-1]
    if source.kind is not OperandKind.SPECIAL:
        raise NotCovered(f"operand {source.text}")
    name = source.name.rstrip()
    wide = decoded.instruction.opcode.startswith("C") and not decoded.has("32")
    uniform = target.kind is OperandKind.UNIFORM
    low, high = reader(name), reader(_upper(name)) if wide else None

    def execute(lanes: LaneState) -> None:
        value = low(lanes)
        if uniform and value.shape[2] > 1:
            value = first_active(lanes, value)
        lanes.set_u32(target, value)
        if high is not None:
            lanes.set_u32_next(target, 1, high(lanes))

    return execute


def first_active(lanes: LaneState, value: Array) -> Array:
    """Per warp the value of its first active lane, (blocks, warps, 1)."""
    if lanes.mask.size == 1:
        return value[:, :, :1]
    spread, mask = np.broadcast_arrays(value, lanes.mask)
    return np.take_along_axis(spread, mask.argmax(axis=2)[:, :, None], axis=2)


def to_uniform(decoded: Decoded, index: int) -> Step:
    """R2UR[ Pd,] URd, Ra: the value of the first active lane; Pd says per lane that its value is another one.

    The meaning of Pd follows from the loops that nvcc makes of it for sm_90 (a lane leaves once its value was the
    uniform one) and was not measured.
    """
    predicates = [operand for operand in decoded.operands if operand.kind in _PREDICATES and not operand.is_zero]
    data = Parts(operand for operand in decoded.operands if operand.kind not in _PREDICATES)
    target, source = data.exactly(2)

    def execute(lanes: LaneState) -> None:
        value = lanes.u32(source)
        chosen = first_active(lanes, value)
        lanes.set_u32(target, chosen)
        for operand in predicates:
            lanes.set_predicate(operand, value != chosen)

    return execute


def elect(decoded: Decoded, index: int) -> Step:
    """ELECT Pd, URd, Pa: of the active lanes with a true Pa the lowest is elected: its Pd is true, URd its number.

    Source: PTX ISA, "elect.sync"; that it is the lowest was recorded on an H200 (``tests/hardware``, ``elected``).
    """
    predicate, target, source = decoded.operands.exactly(3)

    def execute(lanes: LaneState) -> None:
        candidates = np.logical_and(lanes.active(), lanes.predicate(source))
        first = candidates.argmax(axis=2)[:, :, None]
        lanes.set_predicate(predicate, np.logical_and(candidates, np.arange(WARP) == first))
        lanes.set_u32(target, first.astype(np.uint32))

    return execute
