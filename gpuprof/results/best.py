"""Which variant of a run is best, and by what: measured time where there is one, else what was counted.

Without a clock the cost of a variant is the largest of three counts, each over what an SM does of it in a cycle: warp
instructions (four schedulers issue one each), shared-memory wavefronts (one) and global sectors (four: 128 bytes). An
SM of NVIDIA's GPUs since Volta does no more than that ("CUDA C++ Programming Guide", compute capabilities 7.x to
12.x, and the Kernel Profiling Guide's L1TEX model), so that it is a lower bound of the cycles, summed over the SMs,
where everything hits L1; it says nothing of latency, L2 or DRAM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuprof.results.derived import sm_cycles
from gpuprof.results.lookup import is_baseline
from gpuprof.results.model import Result, Run, Status

#: The basis of a modelled time, and the relative difference of two below which the model does not order them.
MODELLED, MODELLED_TIE = "modelled time", 0.02

#: What the busiest part does -> the word for it.
UNITS: Mapping[str, str] = {"issue": "issue cycles", "shared": "shared-memory cycles", "sectors": "L1 sector cycles"}


@dataclass(frozen=True)
class Best:
    """``basis`` is ``time``, ``MODELLED`` or a key of ``UNITS``; ``value`` is microseconds or cycles.

    ``next_value`` is the runner-up's.

    ``clear``: by time, whether the intervals of the two medians lie apart.
    """

    result: Result
    basis: str
    value: float
    runner_up: Result
    next_value: float
    clear: bool = True
    equal: tuple[str, ...] = ()  #: every variant of exactly the best value, where several have it


def best_of(run: Run) -> Best | None:
    """The best of the variants that ran and are right; None for fewer than two, and for variants of unequal sizes.

    A variant whose ``work`` has other operations than the baseline's (a copy, a conversion) is not in the race.
    """
    right = [result for result in run.results if result.status is Status.OK]
    if any(dict(result.sizes) != dict(right[0].sizes) for result in right):
        return None
    flop = next((result.work_flop for result in right if is_baseline(run, result)), None)
    if flop is not None:
        right = [result for result in right if result.work_flop == flop]
    timed = [(result.timing.median_us, result) for result in right if result.timing is not None]
    if timed:
        return _by_time(timed) if len(timed) > 1 else None
    modelled = [(float(result.modelled["time_us"]), result) for result in right if "time_us" in result.modelled]
    if modelled:
        return _by_modelled_time(modelled) if len(modelled) > 1 else None
    costs = [(cost, result) for result in right if (cost := sm_cycles(result)) is not None]
    if len(costs) < 2:
        return None
    costs.sort(key=lambda pair: max(pair[0].values()))
    (first, result), (second, runner_up) = costs[:2]
    basis = max(first, key=lambda unit: first[unit])
    equal = tuple(other.variant for cost, other in costs if max(cost.values()) == first[basis])
    return Best(result, basis, first[basis], runner_up, max(second.values()), equal=equal if len(equal) > 1 else ())


def _by_time(timed: list[tuple[float, Result]]) -> Best:
    (first, result), (second, runner_up) = sorted(timed, key=lambda pair: pair[0])[:2]
    assert result.timing is not None
    assert runner_up.timing is not None
    clear = result.timing.interval_us[1] < runner_up.timing.interval_us[0]
    return Best(result, "time", first, runner_up, second, clear)


def _by_modelled_time(modelled: list[tuple[float, Result]]) -> Best:
    """The model's order; clear where the times differ by more than its errors within a sweep usually do."""
    (first, result), (second, runner_up) = sorted(modelled, key=lambda pair: pair[0])[:2]
    return Best(result, MODELLED, first, runner_up, second, second > first * (1 + MODELLED_TIE))
