"""Constants of a GPU from what the micro-kernels of ``gpuprof calibrate`` counted and took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Operations of ``operation<OP, ...>`` in micro.cu, by number.
OPERATIONS = ("FFMA", "IMAD", "LOP3", "MUFU", "DFMA", "HFMA2", "HMMA.16816", "HMMA.1688", "IMMA.16832", "SHFL", "I2F")
#: What one warp executes: turns times unrolled times chains.
_TURNS, _UNROLL, _CHAINS, _WARPS_PER_SCHEDULER = 64, 8, 8, 4
_STEPS = {"chase_shared": 1024, "chase_constant": 1024, "chase_l1": 1024, "chase_l2": 2048, "chase_dram": 2048}
_PAGE_STEPS = 120
_CODE_LINES, _INSTRUCTIONS_PER_LINE = 512, 8


@dataclass(frozen=True)
class Micro:
    """What ran: cycle counters (start and end of each warp) and median microseconds, by variant."""

    cycles: Mapping[str, NDArray[np.int64]]
    times_us: Mapping[str, float]
    clock_mhz: float
    sms: int
    words: int  #: of the large buffer

    def span(self, variant: str, warps: int = 1) -> float:
        """Cycles from the first start to the last end."""
        pairs = self.cycles[variant][: 2 * warps].reshape(-1, 2)
        return float(pairs[:, 1].max() - pairs[:, 0].min())

    def slope_us(self, first: str, second: str) -> float:
        """How much longer the second takes."""
        return self.times_us[second] - self.times_us[first]


def constants_of(micro: Micro, known_l1: float, known_shared: float) -> dict[str, float]:
    """The constants that the micro-kernels tell, by their names in a GPU's file.

    The chains of loads have address arithmetic in them, which is found from two latencies that are known.
    """
    per_step = {name: micro.span(name) / steps for name, steps in _STEPS.items()}
    per_step["chase_pages"] = micro.span("chase_pages") / _PAGE_STEPS
    beside, near = per_step["chase_l1"] - known_l1, per_step["chase_shared"] - known_shared
    few, many = (micro.span(f"barrier/BLOCK={32 * warps}", warps) / (4 * _TURNS) for warps in (8, 16))
    per_warp = (many - few) / 8
    found = {
        "l2_latency": per_step["chase_l2"] - beside,
        "dram_latency": per_step["chase_dram"] - beside,
        "tlb_latency": per_step["chase_pages"] - per_step["chase_dram"],
        "constant_latency": per_step["chase_constant"] - near,
        "barrier_latency": few - 8 * per_warp,
        "barrier_interval": per_warp,
        "transcendental_latency": _latency(micro, "MUFU"),
        "double_latency": _latency(micro, "DFMA"),
        "matrix_latency": _latency(micro, "HMMA.16816"),
        "shuffle_latency": _latency(micro, "SHFL"),
        **_intervals(micro),
        **_rates(micro),
    }
    return {name: round(value, 4) for name, value in found.items() if value > 0}


def _latency(micro: Micro, operation: str) -> float:
    return micro.span(f"latency/OP={OPERATIONS.index(operation)}") / (_TURNS * _UNROLL)


def _interval(micro: Micro, operation: str) -> float:
    issued = _TURNS * _UNROLL * _CHAINS * _WARPS_PER_SCHEDULER
    return micro.span(f"interval/OP={OPERATIONS.index(operation)}", 4 * _WARPS_PER_SCHEDULER) / issued


def _intervals(micro: Micro) -> dict[str, float]:
    return {
        "interval.fma": 2 * _interval(micro, "FFMA"),
        "interval.fma_heavy": _interval(micro, "IMAD"),
        "interval.alu": _interval(micro, "LOP3"),
        "interval.xu": _interval(micro, "MUFU"),
        "interval.fp64": _interval(micro, "DFMA"),
        **{f"interval.tensor.{name}": _interval(micro, name) for name in OPERATIONS if "MMA" in name},
    }


def _rates(micro: Micro) -> dict[str, float]:
    """Bandwidths (bytes per cycle, all SMs), what a block costs to launch, and the overhead of a launch."""
    nbytes, mhz = micro.words * 4, micro.clock_mhz
    many, few = 67584, 4224
    per_block = micro.slope_us(f"nothing/BLOCK=32/BLOCKS={few}", f"nothing/BLOCK=32/BLOCKS={many}") / (many - few)
    per_wide = micro.slope_us(f"nothing/BLOCK=1024/BLOCKS={few}", f"nothing/BLOCK=1024/BLOCKS={many}") / (many - few)
    return {
        "dram_bytes_per_cycle": nbytes * 0.75 / micro.slope_us("dram_read/PART=4", "dram_read/PART=1") / mhz,
        "l2_bytes_per_cycle": (1 << 24) * 8 / micro.slope_us("l2_read/TURNS=2", "l2_read/TURNS=10") / mhz,
        "block_interval": per_block * mhz * micro.sms,
        "warp_interval": per_wide * mhz * micro.sms / 32,
        "launch_gap_us": micro.slope_us("nothing_twice", "nothing_thrice"),
        "code_line_cycles": max(
            0.0, micro.span("cold_code") / _CODE_LINES - 4 * _INSTRUCTIONS_PER_LINE * (1 + 1 / _CODE_LINES)
        ),
    }
