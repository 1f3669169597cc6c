"""The time of a variant's pass: its timed launches one after the other, as ``gpuprof run`` times them cold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpuprof.arch.gpu_constants import GpuConstants
from gpuprof.model.launch_time import TIMED_INSTRUCTIONS, LaunchTime, TracedLaunch, launch_time, machine_of

#: Changes the constants of one launch's timeline: for what-if questions.
Change = Callable[[dict[str, float]], dict[str, float]]


@dataclass(frozen=True)
class PassTime:
    """Modelled microseconds of a pass, and the launches that it is made of."""

    us: float
    launches: tuple[LaunchTime, ...]


def pass_time(
    launches: Sequence[TracedLaunch],
    gpu: GpuConstants,
    *,
    budget: int = TIMED_INSTRUCTIONS,
    stalls: bool = False,
    change: Change | None = None,
) -> PassTime:
    """The time of the timed launches of a pass with a cold L2; raises ModelError."""
    times = []
    for number, launch in enumerate(launches):
        machine = machine_of(launch, gpu, warm=number > 0)
        if change is not None:
            machine = change(machine)
        times.append(launch_time(launch, gpu, warm=number > 0, budget=budget, stalls=stalls, machine=machine))
    overhead = gpu["launch_overhead_us"] + gpu["launch_gap_us"] * (len(launches) - 1)
    return PassTime(overhead + sum(time.cycles for time in times) / gpu["clock_mhz"], tuple(times))
