"""The timeline of one SM, in C++ compiled once by the g++ that is there and kept in the build cache."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.compiled.build import CannotCompile, compiled_sources
from gpuprof.errors import ModelError
from gpuprof.model.stalls import REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.model.launch_trace import LaunchTrace

_RUNTIME = Path(__file__).with_name("runtime")
#: The fields of ``Machine`` (runtime/machine.hpp), in its order.
MACHINE = (
    "shared_latency",
    "l1_latency",
    "l2_latency",
    "dram_latency",
    "l2_bytes_per_cycle",
    "dram_bytes_per_cycle",
    "write_bytes_per_cycle",
    "block_start",
    "block_interval",
    "warp_interval",
    "mio_entries",
    "lg_entries",
    "write_backlog_bytes",
    "dram_backlog_bytes",
    "special_register_latency",
    "shuffle_latency",
    "transcendental_latency",
    "constant_latency",
    "double_latency",
    "matrix_latency",
    "barrier_latency",
    "barrier_interval",
    "uniform_latency",
    "branch_latency",
    "l1_lines",
    "l1_fill_latency",
    "dram_queue_latency",
    "tlb_latency",
    "tlb_entries",
    "page_sectors_log2",
    "write_line_cycles",
    "scattered_line_cycles",
    "relaunch",
    "share_power",
    "code_line_cycles",
    "l2_request_bytes",
    "dram_request_bytes",
    "register_window",
    "atomic_cycles",
    "max_cycles",
)


class _Machine(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in MACHINE]


class _Launch(ctypes.Structure):
    _fields_ = (
        ("machine", ctypes.POINTER(_Machine)),
        ("code", ctypes.c_void_p),
        ("instructions", ctypes.c_int64),
        ("blocks", ctypes.c_int64),
        ("warps", ctypes.c_int64),
        ("slots", ctypes.c_int64),
        ("runs", ctypes.c_void_p),
        ("runs_of", ctypes.c_void_p),
        ("accesses", ctypes.c_void_p),
        ("accesses_of", ctypes.c_void_p),
        ("sectors", ctypes.c_void_p),
        ("dram_bytes", ctypes.c_void_p),
        ("cold", ctypes.c_void_p),
        ("queue", ctypes.c_void_p),
        ("queued", ctypes.c_int64),
    )


class _Outcome(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_double)
        for name in [
            "cycles",
            "issued",
            "l1_hits",
            "l1_misses",
            "dram_bytes",
            "lsu_busy",
            "l2_busy",
            "dram_busy",
            "write_busy",
        ]
    )


@dataclass(frozen=True, eq=False)
class SmWork:
    """What one SM is to run. ``dram_bytes`` and ``cold`` are by sector of the trace (``model.sharing``)."""

    trace: LaunchTrace
    code: NDArray[np.void]
    dram_bytes: NDArray[np.float32]
    cold: NDArray[np.uint8]
    slots: int  #: blocks resident together


@dataclass(frozen=True, eq=False)
class SmTime:
    """How long it took. ``stalls``: (instructions, reasons) warp cycles, where asked for; ``busy``: by unit, cycles."""

    cycles: float
    issued: float
    l1_hits: float
    l1_misses: float
    busy: dict[str, float]
    stalls: NDArray[np.float64] | None = None


def run_timeline(work: SmWork, blocks: int, machine: dict[str, float], *, stalls: bool = False) -> SmTime:
    """Run ``blocks`` blocks, the traced ones in their order and again from the first; raises ModelError."""
    trace, library = work.trace, _library()
    record = _Machine(**machine)
    queue = np.arange(blocks, dtype=np.int32)
    counted = np.zeros((len(work.code), len(REASONS)), np.float64) if stalls else None
    arrays = {
        "code": np.ascontiguousarray(work.code),
        "runs": np.ascontiguousarray(trace.runs),
        "runs_of": np.ascontiguousarray(trace.runs_of),
        "accesses": np.ascontiguousarray(trace.accesses),
        "accesses_of": np.ascontiguousarray(trace.accesses_of),
        "sectors": np.ascontiguousarray(trace.sectors),
        "dram_bytes": np.ascontiguousarray(work.dram_bytes, np.float32),
        "cold": np.ascontiguousarray(work.cold, np.uint8),
        "queue": queue,
    }
    launch = _Launch(
        machine=ctypes.pointer(record),
        instructions=len(work.code),
        blocks=len(trace.blocks),
        warps=trace.warps,
        slots=min(work.slots, blocks),
        queued=blocks,
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    outcome = _Outcome()
    failed = library.gp_timeline(
        ctypes.byref(launch), ctypes.byref(outcome), None if counted is None else counted.ctypes.data, None
    )
    if failed:
        raise ModelError("the timeline came to no end: warps wait at a barrier that nobody opens")
    return SmTime(
        cycles=outcome.cycles,
        issued=outcome.issued,
        l1_hits=outcome.l1_hits,
        l1_misses=outcome.l1_misses,
        busy={
            "lsu": outcome.lsu_busy,
            "l2": outcome.l2_busy,
            "dram": outcome.dram_busy,
            "write": outcome.write_busy,
        },
        stalls=counted,
    )


def load_rounds(trace: LaunchTrace, code: NDArray[np.void]) -> NDArray[np.int32]:
    """Per access: how many rounds of loads its warp had waited for before it."""
    rounds = np.zeros(len(trace.accesses), np.int32)
    arrays = {
        "code": np.ascontiguousarray(code),
        "runs": np.ascontiguousarray(trace.runs),
        "runs_of": np.ascontiguousarray(trace.runs_of),
        "accesses": np.ascontiguousarray(trace.accesses),
        "accesses_of": np.ascontiguousarray(trace.accesses_of),
    }
    launch = _Launch(**{name: array.ctypes.data for name, array in arrays.items()})
    _library().gp_rounds(ctypes.byref(launch), len(trace.runs_of) - 1, rounds.ctypes.data)
    return rounds


@dataclass(frozen=True, eq=False)
class Touched:
    """Per sector from ``low`` on: the earliest round in which a block touches it, and how many blocks do so then."""

    low: int
    first: NDArray[np.int32]
    blocks: NDArray[np.uint32]


#: The round of a sector that nobody touches.
NEVER = np.iinfo(np.int32).max


def touched(
    low: int,
    span: int,
    groups: Sequence[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]],
) -> Touched:
    """Who touches what first, of groups of (sectors, their rounds, bytes by which blocks move them, blocks of each)."""
    library = _library()
    first, blocks = np.full(span, NEVER, np.int32), np.zeros(span, np.uint32)
    for sectors, rounds, shifts, _ in groups:
        places = (sectors.ctypes.data, rounds.ctypes.data, len(sectors), shifts.ctypes.data, len(shifts), low, span)
        library.gp_first_rounds(*places, first.ctypes.data)
    for sectors, rounds, shifts, times in groups:
        moves = (shifts.ctypes.data, times.ctypes.data, len(shifts), low, span)
        own = (sectors.ctypes.data, rounds.ctypes.data, len(sectors))
        library.gp_touches(*own, *moves, first.ctypes.data, blocks.ctypes.data)
    return Touched(low, first, blocks)


@cache
def _library() -> Any:
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted(_RUNTIME.glob("*.hpp")))
    try:
        path = compiled_sources("timeline", [_RUNTIME / "timeline.cpp"], headers)
    except CannotCompile as reason:
        raise ModelError(str(reason)) from None
    library = ctypes.CDLL(str(path))
    library.gp_timeline.argtypes = (ctypes.c_void_p,) * 4
    number, address = ctypes.c_int64, ctypes.c_void_p
    library.gp_rounds.argtypes = (address, number, address)
    library.gp_first_rounds.argtypes = (address, address, number, address, number, number, number, address)
    library.gp_touches.argtypes = (address, address, number, address, address, *(number,) * 3, address, address)
    for function in (library.gp_rounds, library.gp_first_rounds, library.gp_touches):
        function.restype = None
    return library
