"""Nsight Compute's names of the counters that gpuprof reads or emulates, each written once.

``smsp__sass_*``, instruction, request and sector counts are pure functions of the executed instructions and
addresses: they repeat exactly from launch to launch. Cache, DRAM and time counters do not.
"""

from __future__ import annotations

from collections.abc import Mapping

INSTRUCTIONS = "smsp__inst_executed.sum"
THREAD_INSTRUCTIONS = "smsp__thread_inst_executed.sum"
THREAD_INSTRUCTIONS_ON = "smsp__thread_inst_executed_pred_on.sum"
#: The source page's counts: without what the hardware issues again where parts of a warp meet or part.
SOURCE_EXECUTED = "inst_executed"
SOURCE_THREADS = "thread_inst_executed"
SOURCE_THREADS_ON = "thread_inst_executed_true"

BRANCHES = "smsp__sass_branch_targets.sum"
BRANCH_INSTRUCTIONS = "smsp__sass_inst_executed_op_branch.sum"
BRANCHES_UNIFORM = "smsp__sass_branch_targets_threads_uniform.sum"
BRANCHES_DIVERGENT = "smsp__sass_branch_targets_threads_divergent.sum"
WARPS_LAUNCHED = "sm__warps_launched.sum"


def thread_op(name: str) -> str:
    """Predicated-on lanes of an instruction class: ``ffma``, ``integer``, ``memory`` ..."""
    return f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"


def memory_instructions(op: str, space: str) -> str:
    """Executed memory instructions; ``op`` is ``ld``, ``st``, ``red`` or ``atom``."""
    return f"smsp__sass_inst_executed_op_{space}_{op}.sum"


def shared_instructions(op: str) -> str:
    """Executed shared-memory instructions; ``op`` is ``ld``, ``st`` or ``atom``."""
    return memory_instructions(op, "shared")


def source_instructions(op: str, space: str) -> str:
    """Executed loads or stores (``op`` is ``ld`` or ``st``) by the name of the source view."""
    return f"sass__inst_executed_{space}_{'loads' if op == 'ld' else 'stores'}"


def shared_wavefronts(op: str) -> str:
    """Passes of the data stage; ``op`` is ``ld``, ``st``, ``atom``, ``ldsm``, ``ldgsts`` or one of its cache forms."""
    return f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"


def shared_conflicts(op: str) -> str:
    """Passes above the conflict-free number; ``op`` as in ``shared_wavefronts``."""
    return f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"


def requests(op: str, space: str = "global") -> str:
    """Warp-level requests; ``op`` is ``ld``, ``st``, ``red`` or ``atom``."""
    return f"l1tex__t_requests_pipe_lsu_mem_{space}_op_{op}.sum"


def sectors(op: str, space: str = "global") -> str:
    """32-byte sectors of those requests, hit or miss alike."""
    return f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum"


def sass_requests(op: str, space: str = "global") -> str:
    return "smsp__sass_l1tex_t_requests_pipe_lsu_mem_" + f"{space}_op_{op}.sum"


def sass_sectors(op: str, space: str = "global") -> str:
    return "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_" + f"{space}_op_{op}.sum"


LDSM_INSTRUCTIONS = "smsp__sass_inst_executed_op_ldsm.sum"
LDGSTS_INSTRUCTIONS = "smsp__sass_inst_executed_op_ldgsts.sum"
GLOBAL_TAGS = "smsp__sass_l1tex_tags_mem_global.sum"
SHARED_WAVEFRONTS_ALL = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum"

#: Sectors that the instructions ask for, and the number that their bytes would fill (ncu's source metrics).
GLOBAL_SECTORS = "memory_l2_theoretical_sectors_global"
GLOBAL_SECTORS_IDEAL = "memory_l2_theoretical_sectors_global_ideal"
LOCAL_SECTORS = "memory_l2_theoretical_sectors_local"
SHARED_WAVEFRONTS = "memory_l1_wavefronts_shared"
SHARED_WAVEFRONTS_IDEAL = "memory_l1_wavefronts_shared_ideal"

#: Floating-point operations per counted lane. FFMA is two; the half-precision instructions are packed pairs and
#: count once per lane (measured on an H200: HFMA2 counts 1 per lane in op_hfma), so four and two;
#: packed FP32 (sm_100 and later) likewise.
FLOP_PER_LANE: Mapping[str, int] = {
    thread_op("fadd"): 1,
    thread_op("fmul"): 1,
    thread_op("ffma"): 2,
    thread_op("fadd2"): 2,
    thread_op("fmul2"): 2,
    thread_op("ffma2"): 4,
    thread_op("dadd"): 1,
    thread_op("dmul"): 1,
    thread_op("dfma"): 2,
    thread_op("hadd"): 2,
    thread_op("hmul"): 2,
    thread_op("hfma"): 4,
}

#: What only a clock, a cache or DRAM can say, with the names that the verdict reads.
TIME = "gpu__time_duration.sum"
COMPUTE_PERCENT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY_PERCENT = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM_PERCENT = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L1_PERCENT = "l1tex__throughput.avg.pct_of_peak_sustained_active"
L2_PERCENT = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
ISSUE_PERCENT = "smsp__issue_active.avg.pct_of_peak_sustained_active"
WARPS_ACTIVE_PERCENT = "sm__warps_active.avg.pct_of_peak_sustained_active"
WARPS_THEORETICAL_PERCENT = "sm__maximum_warps_per_active_cycle_pct"
WARPS_ELIGIBLE = "smsp__warps_eligible.avg.per_cycle_active"
SHARED_PIPE_PERCENT = "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"
LSU_PIPE_PERCENT = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
DRAM_BYTES_READ = "dram__bytes_read.sum"
DRAM_BYTES_WRITTEN = "dram__bytes_write.sum"
DRAM_RATE = "dram__bytes.sum.per_second"
L1_HIT_PERCENT = "l1tex__t_sector_hit_rate.pct"
L2_HIT_PERCENT = "lts__t_sector_hit_rate.pct"
