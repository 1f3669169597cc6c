"""What people read from counters: sectors per request, bank-conflict ways, lane efficiency and the like.

``TABLE`` is the list of names, with unit, kind and meaning; ``expect:`` in the YAML, ``--fail-on``, the tables and the
exports all use these names. Shares and efficiencies are fractions from 0 to 1; what is in percent says ``percent`` in
its unit. A name whose counters are missing is absent from ``derived_values``, never 0.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.machine import WARP_LANES
from gpuprof.results.model import Counters, Result
from gpuprof.results.requested import requested_bytes, requested_load_bytes

Compute = Callable[[Result], "float | None"]
Count = Callable[[Counters], "float | None"]
T = TypeVar("T")

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Derived:
    """One readable number. ``kind`` is ``measured`` or ``counted``; ``unit`` one of ``report.units.FORMATTERS``."""

    name: str
    unit: str
    kind: str
    meaning: str
    compute: Compute
    count: Count | None = None  #: the same of counters alone, where that is enough


def _counted(name: str, unit: str, meaning: str, count: Count) -> Derived:
    """A number that counters alone give."""

    def compute(result: Result) -> float | None:
        counters = counters_of(result)
        return None if counters is None else count(counters)

    return Derived(name, unit, "counted", meaning, compute, count)


def derived_values(result: Result) -> dict[str, float]:
    """Every name of ``TABLE`` that this result has a value for, in the table's order, then the YAML's own values."""
    values = ((entry.name, entry.compute(result)) for entry in TABLE)
    return {**{name: value for name, value in values if value is not None}, **result.values}


def counted_values(counters: Counters) -> dict[str, float]:
    """Every name of ``TABLE`` that these counters alone give a value, in the table's order."""
    values = ((entry.name, entry.count(counters)) for entry in TABLE if entry.count is not None)
    return {name: value for name, value in values if value is not None}


def describe(name: str) -> Derived | None:
    """The table's entry of that name."""
    return next((entry for entry in TABLE if entry.name == name), None)


def no_value(name: str, known: Sequence[str]) -> str:
    """What is said of a name that no value has: the nearest ones, else all."""
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    return f"no value {name!r}; {hint}"


def counters_of(result: Result) -> Counters | None:
    """The counters to read: the emulator's or the only ones, else ncu's."""
    return result.counters or result.ncu


def counted_flop(counters: Counters) -> float | None:
    """Floating-point operations of FP32, FP64 and FP16 instructions, tensor cores not included."""
    if any(name in counters.unavailable for name in m.FLOP_PER_LANE):
        return None
    known = [counters.values[name] * flop for name, flop in m.FLOP_PER_LANE.items() if name in counters.values]
    return float(sum(known)) if known else None


def global_sectors(counters: Counters) -> float | None:
    """Sectors between the SM and L1 of all global accesses: loads, stores, reductions, atomics, cp.async.

    ``l1tex__*_op_ld`` holds the asynchronous copies already, the ``smsp__sass_*`` names tell them apart.
    """
    alternatives = (
        (m.GLOBAL_SECTORS,),
        tuple(m.sectors(op) for op in ("ld", "st", "red", "atom")),
        tuple(m.sass_sectors(op) for op in ("ld", "st", "red", "atom", "ldgsts")),
    )
    for names in alternatives:
        known = [counters.values[name] for name in names if name in counters.values]
        if known:
            return float(sum(known))
    return None


def _sector_bytes(counters: Counters) -> float | None:
    sectors = global_sectors(counters)
    return None if sectors is None else sectors * SECTOR_BYTES


def _first(counters: Counters, *names: str) -> float | None:
    for name in names:
        if name in counters.values:
            return float(counters.values[name])
    return None


def _value(*names: str) -> Count:
    """The first of the names that was counted."""
    return lambda counters: _first(counters, *names)


def _quotient(
    over: Callable[[T], float | None], under: Callable[[T], float | None], factor: float = 1.0
) -> Callable[[T], float | None]:
    def compute(source: T) -> float | None:
        top, bottom = over(source), under(source)
        return None if top is None or not bottom else factor * top / bottom

    return compute


def _sum(parts: Iterable[Count]) -> Count:
    """The sum of what is known; None where nothing is."""
    parts = tuple(parts)

    def compute(counters: Counters) -> float | None:
        known = [value for part in parts if (value := part(counters)) is not None]
        return sum(known) if known else None

    return compute


def _ways(ops: tuple[str, ...]) -> Count:
    """Wavefronts over the conflict-free number of them, over the given kinds of shared access."""

    def compute(counters: Counters) -> float | None:
        pairs = [pair for op in ops if (pair := _wavefronts_and_ideal(counters, op)) is not None]
        wavefronts, ideal = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        return wavefronts / ideal if ideal else None

    return compute


def _wavefronts_and_ideal(counters: Counters, op: str) -> tuple[float, float] | None:
    """From the kernel's conflict counter, else from its instructions' ideal numbers.

    Wide loads that merge (neighbouring lanes read one address, seen on an H200) need fewer wavefronts than the ideal,
    which knows only lanes and width: what they need is then their conflict-free number. None where neither is known:
    instructions alone would overstate the ways of 64- and 128-bit accesses.
    """
    wavefronts = _first(counters, m.shared_wavefronts(op))
    conflicts = _first(counters, m.shared_conflicts(op))
    if wavefronts is not None and conflicts is not None:
        return wavefronts, wavefronts - conflicts
    accesses = [
        (part[m.shared_wavefronts(op)], min(part[m.shared_wavefronts(op)], part[m.SHARED_WAVEFRONTS_IDEAL]))
        for part in (entry.counters for entry in counters.per_instruction)
        if m.shared_wavefronts(op) in part and m.SHARED_WAVEFRONTS_IDEAL in part
    ]
    return (sum(one for one, _ in accesses), sum(two for _, two in accesses)) if accesses else None


def _all_ways(counters: Counters) -> float | None:
    """Loads, stores and matrix loads where they can be distinguished, else every shared access."""
    ways = _ways(("ld", "st", "ldsm"))(counters)
    if ways is not None:
        return ways
    actual, ideal = _first(counters, m.SHARED_WAVEFRONTS), _first(counters, m.SHARED_WAVEFRONTS_IDEAL)
    return max(1.0, actual / ideal) if actual is not None and ideal else None


def _per_byte(count: Count) -> Compute:
    """Of a result: flop, by the YAML's formula where there is one, over these bytes."""

    def compute(result: Result) -> float | None:
        counters = counters_of(result)
        top, bottom = _flop(result), None if counters is None else count(counters)
        return None if top is None or not bottom else top / bottom

    return compute


def _flop(result: Result) -> float | None:
    """The YAML's formula where it gives one (it knows tensor cores), else what was counted."""
    if result.work_flop is not None:
        return result.work_flop
    counters = counters_of(result)
    return None if counters is None else counted_flop(counters)


def _time_over_baseline(result: Result) -> float | None:
    timing = result.timing
    return None if timing is None or not timing.speedup else 1 / timing.speedup


def _spill_bytes(result: Result) -> float | None:
    build = result.build
    if build is None or build.spill_store_bytes is None or build.spill_load_bytes is None:
        return None
    return build.spill_store_bytes + build.spill_load_bytes


def _shared_bytes(result: Result) -> float | None:
    build = result.build
    if build is None or build.static_shared_bytes is None:
        return None
    return build.static_shared_bytes + (build.dynamic_shared_bytes or 0)


def _attribute(section: str, name: str) -> Compute:
    """A plain field of a section of the result."""

    def compute(result: Result) -> float | None:
        part = getattr(result, section)
        value = None if part is None else getattr(part, name)
        return None if value is None else float(value)

    return compute


def _predicated_share(result: Result) -> float | None:
    sass = result.sass
    return None if sass is None or not sass.instructions else sass.predicated / sass.instructions


_INSTRUCTIONS = _value(m.INSTRUCTIONS)
_THREAD = _value(m.THREAD_INSTRUCTIONS)
_THREAD_ON = _value(m.THREAD_INSTRUCTIONS_ON)
_FFMA = _value(m.thread_op("ffma"))
_LOAD_SECTORS = _value(m.sectors("ld"), m.sass_sectors("ld"))
_STORE_SECTORS = _value(m.sectors("st"), m.sass_sectors("st"))
_LOAD_REQUESTS = _value(m.requests("ld"), m.sass_requests("ld"))
_STORE_REQUESTS = _value(m.requests("st"), m.sass_requests("st"))
_LOCAL = _sum(_value(m.sectors(op, "local"), m.sass_sectors(op, "local")) for op in ("ld", "st"))
_IDEAL_SECTORS = _value(m.GLOBAL_SECTORS_IDEAL)

#: What an SM does in a cycle at most: warp instructions (one for each scheduler), and global sectors (128 bytes).
SCHEDULERS = 4
SECTORS_PER_CYCLE = 4


def sm_cycles(result: Result) -> dict[str, float] | None:
    """Least cycles of each part of an SM, summed over SMs: ``issue``, ``shared``, ``sectors`` (see ``best``).

    None where nothing was counted.
    """
    counters = counters_of(result)
    return None if counters is None else _cycles(counters)


def _cycles(counters: Counters) -> dict[str, float] | None:
    if m.INSTRUCTIONS not in counters.values:
        return None
    names = (m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_ALL)
    return {
        "issue": counters.values[m.INSTRUCTIONS] / SCHEDULERS,
        "shared": next((float(counters.values[name]) for name in names if name in counters.values), 0.0),
        "sectors": (global_sectors(counters) or 0.0) / SECTORS_PER_CYCLE,
    }


def _busiest_cycles(counters: Counters) -> float | None:
    cycles = _cycles(counters)
    return None if cycles is None else max(cycles.values())


TABLE: tuple[Derived, ...] = (
    Derived("time_us", "us", "measured", "median kernel time", _attribute("timing", "median_us")),
    Derived("gflops", "GFLOP/s", "measured", "the YAML's flop over the median time", _attribute("timing", "gflops")),
    Derived("gbps", "GB/s", "measured", "the YAML's bytes over the median time", _attribute("timing", "gbps")),
    Derived("speedup", "times", "measured", "baseline time over this time", _attribute("timing", "speedup")),
    Derived("time_over_baseline", "ratio", "measured", "this time over the baseline's", _time_over_baseline),
    Derived("noise", "ratio", "measured", "relative standard deviation of times", _attribute("timing", "noise")),
    Derived("registers", "count", "counted", "registers per thread", _attribute("build", "registers")),
    Derived("spill_bytes", "bytes", "counted", "bytes of spill stores and loads in the code", _spill_bytes),
    Derived("stack_bytes", "bytes", "counted", "stack per thread", _attribute("build", "stack_bytes")),
    Derived("shared_bytes", "bytes", "counted", "shared memory per block, static and dynamic", _shared_bytes),
    Derived("occupancy", "percent", "counted", "theoretical occupancy, 0 to 100", _attribute("occupancy", "percent")),
    Derived("blocks_per_sm", "count", "counted", "resident blocks", _attribute("occupancy", "blocks_per_sm")),
    Derived("warps_per_sm", "count", "counted", "resident warps", _attribute("occupancy", "warps_per_sm")),
    Derived("code_instructions", "count", "counted", "instructions in the code", _attribute("sass", "instructions")),
    Derived("ffma_longest_run", "count", "counted", "longest FFMA run", _attribute("sass", "ffma_longest_run")),
    Derived(
        "ffma_share_hot_loop",
        "share",
        "counted",
        "FFMA share of the hottest loop's instructions",
        _attribute("sass", "ffma_share_hot_loop"),
    ),
    Derived(
        "shared_loads_per_ffma",
        "ratio",
        "counted",
        "shared loads per FFMA in the hottest loop",
        _attribute("sass", "shared_loads_per_ffma"),
    ),
    Derived("predicated_share", "share", "counted", "share of the code under a predicate", _predicated_share),
    _counted("warp_instructions", "count", "warp instructions executed", _INSTRUCTIONS),
    _counted("thread_instructions", "count", "active lanes, summed over instructions", _THREAD),
    _counted("ffma", "count", "lanes that executed an FFMA", _FFMA),
    _counted("ffma_share", "share", "FFMA over lanes with the predicate on", _quotient(_FFMA, _THREAD_ON)),
    _counted(
        "lane_efficiency",
        "share",
        "active lanes over 32 per warp instruction, predicate ignored",
        _quotient(_THREAD, _INSTRUCTIONS, 1 / WARP_LANES),
    ),
    _counted(
        "lane_efficiency_pred_on",
        "share",
        "active lanes with the predicate on over 32 per warp instruction",
        _quotient(_THREAD_ON, _INSTRUCTIONS, 1 / WARP_LANES),
    ),
    _counted(
        "branch_efficiency",
        "share",
        "branches in which all active lanes go one way",
        _quotient(_value(m.BRANCHES_UNIFORM), _value(m.BRANCHES)),
    ),
    _counted("divergent_branches", "count", "branches that split a warp", _value(m.BRANCHES_DIVERGENT)),
    _counted("load_requests", "count", "global load requests", _LOAD_REQUESTS),
    _counted("load_sectors", "count", "32-byte sectors of global loads", _LOAD_SECTORS),
    _counted("store_requests", "count", "global store requests", _STORE_REQUESTS),
    _counted("store_sectors", "count", "32-byte sectors of global stores", _STORE_SECTORS),
    _counted("load_sectors_per_request", "ratio", "per global load", _quotient(_LOAD_SECTORS, _LOAD_REQUESTS)),
    _counted("store_sectors_per_request", "ratio", "per global store", _quotient(_STORE_SECTORS, _STORE_REQUESTS)),
    _counted(
        "sectors_per_request",
        "ratio",
        "per global load or store",
        _quotient(_sum((_LOAD_SECTORS, _STORE_SECTORS)), _sum((_LOAD_REQUESTS, _STORE_REQUESTS))),
    ),
    _counted(
        "load_bytes_per_request",
        "ratio",
        "bytes fetched per global load request: 32 for each sector",
        _quotient(_LOAD_SECTORS, _LOAD_REQUESTS, SECTOR_BYTES),
    ),
    _counted(
        "store_bytes_per_request",
        "ratio",
        "bytes written per global store request: 32 for each sector",
        _quotient(_STORE_SECTORS, _STORE_REQUESTS, SECTOR_BYTES),
    ),
    _counted("requested_bytes", "count", "bytes that the lanes of global loads and stores ask for", requested_bytes),
    _counted("ideal_sectors", "count", "sectors that the lanes' own bytes would fill", _IDEAL_SECTORS),
    _counted(
        "useful_bytes_percent",
        "percent",
        "ideal over actual global sectors, 0 to 100",
        _quotient(_IDEAL_SECTORS, _value(m.GLOBAL_SECTORS), 100.0),
    ),
    _counted("local_sectors", "count", "32-byte sectors of local memory (spills, arrays)", _LOCAL),
    _counted(
        "sm_cycles",
        "count",
        "least cycles of the busiest part of an SM (issue, shared memory, L1 sectors), summed over SMs",
        _busiest_cycles,
    ),
    _counted("shared_load_ways", "ways", "wavefronts over conflict-free ones, loads", _ways(("ld",))),
    _counted("shared_store_ways", "ways", "wavefronts over conflict-free ones, stores", _ways(("st",))),
    _counted("bank_conflict_ways", "ways", "wavefronts over conflict-free ones, all", _all_ways),
    _counted("flop_counted", "count", "FP32, FP64, FP16 operations executed", counted_flop),
    Derived(
        "flop_per_byte",
        "flop/byte",
        "counted",
        "flop over the bytes of all global sectors (SM to L1, not DRAM)",
        _per_byte(_sector_bytes),
        _quotient(counted_flop, _sector_bytes),
    ),
    Derived(
        "flop_per_requested_byte",
        "flop/byte",
        "counted",
        "flop over the bytes that the lanes of global loads ask for",
        _per_byte(requested_load_bytes),
        _quotient(counted_flop, requested_load_bytes),
    ),
    Derived("max_abs", "difference", "counted", "largest absolute difference", _attribute("verification", "max_abs")),
    Derived("max_rel", "difference", "counted", "largest relative difference", _attribute("verification", "max_rel")),
)
