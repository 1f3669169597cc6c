"""Calling the compiled code: its structures for ctypes, and the libraries loaded once per process."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.compiled.build import runtime_library
from gpuprof.emulator.compiled.functions import TABLE_NAMES
from gpuprof.emulator.semantics.interpolation import interpolator

if TYPE_CHECKING:
    from pathlib import Path

I64 = ctypes.c_int64
POINTER = ctypes.c_void_p
#: Why a launch stopped (lanes.hpp: Fault).
NONE, REPEAT_IN_NUMPY, ENDLESS, DEADLOCK, UNKNOWN_PLACE, TRACE_FULL = range(6)
#: Counters of an instruction (lanes.hpp: Counter), by the names of ``counting.counters.Counters``.
COUNTERS = (
    "issued",
    "ideal_sectors",
    "sectors",
    "tags",
    "wavefronts",
    "ideal_wavefronts",
    "l1_sectors",
    "copied_sectors",
    "off",
    "untaken",
    "copies",
    "joined",
    "joined_threads",
    "divergent",
    "shared",
    "local",
    "parted",
)
#: Counters of an instruction in memory: whole lines of the cache.
COUNTER_PLACES = 24


class LaunchRecord(ctypes.Structure):
    """``Launch`` of runtime.hpp."""

    _fields_ = (
        ("entries", POINTER),
        ("places", I64),
        ("segments", I64),
        ("registers", I64),
        ("warps", I64),
        ("threads", I64),
        ("shared_bytes", I64),
        ("local_bytes", I64),
        ("limit", I64),
        ("dynamic_shared", I64),
        ("grid", I64 * 3),
        ("block", I64 * 3),
        ("banks", POINTER * 5),
        ("arena", POINTER),
        ("written", POINTER),
        ("arena_bytes", I64),
        ("starts", POINTER),
        ("ends", POINTER),
        ("regions", I64),
        ("reserved_bytes", I64),
        ("poison", I64),
        ("reversed", I64),
        ("round", POINTER),
        ("rounds", I64),
    )


class StopRecord(ctypes.Structure):
    """``Stop`` of runtime.hpp."""

    _fields_ = (("fault", I64), ("site", I64), ("block", I64), ("warp", I64), ("lane", I64))


#: The arrays that the runtime points to live as long as it.
_KEPT: list[Any] = []


@cache
def runtime() -> Any:
    """The runtime's library, with MUFU's tables set. Kernels' libraries find its functions by name."""
    library = ctypes.CDLL(str(runtime_library()), mode=ctypes.RTLD_GLOBAL)
    library.gp_run.restype = I64
    library.gp_run.argtypes = (POINTER, POINTER, I64, POINTER, POINTER, POINTER)
    library.gp_run_traced.restype = I64
    library.gp_run_traced.argtypes = (*library.gp_run.argtypes, POINTER)
    library.gp_trace_new.restype = POINTER
    library.gp_trace_new.argtypes = (I64,)
    library.gp_trace_counts.argtypes = (POINTER, POINTER)
    library.gp_trace_copy.argtypes = (POINTER, POINTER, POINTER, POINTER)
    library.gp_trace_free.argtypes = (POINTER,)
    library.gp_set_table.argtypes = (ctypes.c_int, POINTER, POINTER, POINTER, POINTER, I64)
    for number, name in enumerate(TABLE_NAMES):
        table = interpolator(name)
        arrays = [
            np.ascontiguousarray(array) for array in (table.constant, table.linear, table.quadratic, table.squares)
        ]
        _KEPT.append(arrays)
        library.gp_set_table(number, *(array.ctypes.data for array in arrays), table.low_bits)
    return library


@cache
def entries(path: Path) -> int:
    """The address of a kernel library's table of entries."""
    runtime()
    library = ctypes.CDLL(str(path))
    library.gp_entries.restype = POINTER
    return int(library.gp_entries())
