"""Which metrics answer which question: the sets that ``--ncu`` takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpuprof.errors import UsageError
from gpuprof.isa import ncu_metrics as m

#: Counters that repeat exactly from launch to launch: those that the emulator is held against.
EXACT: tuple[str, ...] = (
    m.INSTRUCTIONS,
    m.THREAD_INSTRUCTIONS,
    m.THREAD_INSTRUCTIONS_ON,
    *(m.thread_op(op) for op in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")),
    *(m.thread_op(op) for op in ("integer", "bit", "control", "conversion", "memory")),
    *(m.requests(op) for op in ("ld", "st", "red", "atom")),
    *(m.sectors(op) for op in ("ld", "st", "red", "atom")),
    *(m.sass_sectors(op, "local") for op in ("ld", "st")),
    *(m.shared_instructions(op) for op in ("ld", "st", "atom")),
    *(m.shared_wavefronts(op) for op in ("ld", "st", "atom")),
    *(m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_IDEAL),
    *(m.BRANCHES, m.BRANCHES_UNIFORM, m.BRANCHES_DIVERGENT, m.WARPS_LAUNCHED),
)

#: Counters that are part of the instrumented code, or of the launch: every event is seen, on grids of any size.
_EXACT = re.compile(
    r"smsp__sass_|sass__|memory_l[12]_|(?:smsp|sm)__\w*inst_executed|"
    r"(?:thread_)?inst_executed|sm__warps_launched|launch__"
)


def is_exact(name: str) -> bool:
    """Whether ncu sees every event of that counter.

    The others are collected by units of the hardware in several passes, and can lose events on large grids: an H200
    (driver 580.159.04, ncu 2025.3.1) once gave 134,173,468 for ``l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`` of a
    launch with 134,217,728, which was what it gave the next time.
    """
    return _EXACT.match(name) is not None


BASIC: tuple[str, ...] = (
    *(m.TIME, m.COMPUTE_PERCENT, m.MEMORY_PERCENT, m.DRAM_PERCENT, m.L2_PERCENT, m.L1_PERCENT),
    *(m.WARPS_ACTIVE_PERCENT, m.WARPS_THEORETICAL_PERCENT, m.ISSUE_PERCENT, m.WARPS_ELIGIBLE),
    *(m.SHARED_PIPE_PERCENT, m.LSU_PIPE_PERCENT),
    *(m.INSTRUCTIONS, m.THREAD_INSTRUCTIONS, m.THREAD_INSTRUCTIONS_ON),
    *(m.requests(op) for op in ("ld", "st")),
    *(m.sectors(op) for op in ("ld", "st")),
    *(m.shared_instructions(op) for op in ("ld", "st")),
    *(m.shared_wavefronts(op) for op in ("ld", "st")),
    *(m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_IDEAL),
)

MEMORY: tuple[str, ...] = (
    *BASIC,
    *(m.L1_HIT_PERCENT, m.L2_HIT_PERCENT, m.DRAM_BYTES_READ, m.DRAM_BYTES_WRITTEN, m.DRAM_RATE),
    *(m.sectors(op, "local") for op in ("ld", "st")),
    *(m.GLOBAL_SECTORS, m.GLOBAL_SECTORS_IDEAL),
    *("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum", "lts__t_bytes.sum.per_second"),
)

PIPES = ("alu", "fma", "fp16", "fp64", "lsu", "tensor", "uniform", "xu")

COMPUTE: tuple[str, ...] = (
    *BASIC,
    *(m.thread_op(op) for op in ("fadd", "fmul", "ffma", "dfma", "hfma", "integer", "conversion")),
    *(f"sm__inst_executed_pipe_{pipe}.avg.pct_of_peak_sustained_active" for pipe in PIPES),
    "sm__inst_executed_pipe_tensor.sum",
)

#: Why warps stood still, in the words of ncu's warp state section.
STALL_REASONS: Mapping[str, str] = {
    "long_scoreboard": "waiting for global or local memory",
    "short_scoreboard": "waiting for shared memory or special functions",
    "barrier": "waiting at a barrier",
    "wait": "fixed latency of the instruction before",
    "not_selected": "another warp was chosen",
    "math_pipe_throttle": "the math pipe was busy",
    "mio_throttle": "the queue to shared memory was full",
    "lg_throttle": "the queue to global memory was full",
    "tex_throttle": "the texture queue was full",
    "dispatch_stall": "the dispatcher was held",
    "drain": "waiting for stores at the end",
    "membar": "waiting at a memory fence",
    "no_instruction": "waiting for instructions",
    "imc_miss": "waiting for constants",
    "branch_resolving": "waiting for a branch",
    "sleeping": "sleeping",
}


def stall_metric(reason: str) -> str:
    """Warps in that state per issued instruction."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


STALLS: tuple[str, ...] = (
    *BASIC,
    "smsp__average_warp_latency_per_inst_issued.ratio",
    *(stall_metric(reason) for reason in STALL_REASONS),
)

SETS: Mapping[str, tuple[str, ...]] = {
    "basic": BASIC,
    "memory": MEMORY,
    "compute": COMPUTE,
    "stalls": STALLS,
    "exact": EXACT,
    "full": tuple(dict.fromkeys((*MEMORY, *COMPUTE, *STALLS, *EXACT))),
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")


def resolve_metrics(wanted: Iterable[str]) -> tuple[str, ...]:
    """Set names and metric names, also comma-separated, as one list of metrics without repetitions.

    Raises:
        UsageError: a word that is neither a set nor looks like a metric.
    """
    names: list[str] = []
    for word in (part.strip() for text in wanted for part in text.split(",")):
        if word in SETS:
            names += SETS[word]
        elif (_NAME.fullmatch(word) and "__" in word) or word.startswith(("memory_", "inst_", "thread_")):
            names.append(word)
        elif word:
            raise UsageError(f"--ncu {word}: no metric set ({', '.join(SETS)}) and no metric's name")
    return tuple(dict.fromkeys(names))
