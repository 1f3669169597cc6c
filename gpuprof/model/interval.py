"""How far a modelled time may be off: by what bounds the kernel, from the model's errors on recorded kernels."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprof.arch.gpu_constants import GpuConstants
from gpuprof.errors import ModelError
from gpuprof.isa.machine import SUBPARTITIONS
from gpuprof.model.explanation import Prediction
from gpuprof.model.launch_time import TracedLaunch
from gpuprof.model.launch_trace import AccessKind
from gpuprof.model.pass_time import PassTime, pass_time

#: What bounds a kernel; each has its own errors in a GPU's file.
KINDS = ("short", "tensor", "memory", "shared", "compute", "latency")
#: The error that is taken where a GPU's file says none.
DEFAULT_ERROR = 0.25
#: A unit that is busy for this share of the time bounds the kernel.
_BUSY = 0.6
#: Of accesses whose addresses depend on data, above which the interval is twice as wide.
_IRREGULAR = 0.05
#: Atomic operations on global memory per warp, above which they are taken to contend.
_MAX_ATOMICS = 4.0


def predict(launches: Sequence[TracedLaunch], gpu: GpuConstants) -> Prediction:
    """The time of a pass of these launches; raises ModelError outside of what the model was held against."""
    for launch in launches:
        check_range(launch)
    found = pass_time(launches, gpu)
    kind = kind_of(launches, found, gpu)
    irregular = max(launch.irregular for launch in launches) > _IRREGULAR
    error = gpu.errors.get(kind, (DEFAULT_ERROR, DEFAULT_ERROR))[1] * (2 if irregular else 1)
    notes = ["addresses depend on data: sharing between blocks is not known"] if irregular else []
    return Prediction(found.us, found.us * (1 - min(error, 0.9)), found.us * (1 + error), kind, tuple(notes))


def kind_of(launches: Sequence[TracedLaunch], found: PassTime, gpu: GpuConstants) -> str:
    """What bounds the pass: one of ``KINDS``, of its longest launch."""
    us = [launch.cycles / gpu["clock_mhz"] for launch in found.launches]
    if sum(us) < found.us / 2:
        return "short"
    longest = us.index(max(us))
    time = found.launches[longest]
    if any(instruction.opcode.endswith("MMA") for instruction in launches[longest].instructions):
        return "tensor"
    busy = {name: cycles / max(time.sm.cycles, 1) for name, cycles in time.sm.busy.items()}
    if max(busy["dram"], busy["write"], busy["l2"]) > _BUSY:
        return "memory"
    if busy["lsu"] > _BUSY:
        return "shared"
    return "compute" if time.sm.issued / SUBPARTITIONS > _BUSY * time.sm.cycles else "latency"


def check_range(launch: TracedLaunch) -> None:
    """Raise ModelError for atomics of many threads on the same memory: the model has no contention between SMs."""
    atomics = float((launch.trace.accesses["kind"] == AccessKind.ATOMIC).sum())
    warps = len(launch.trace.blocks) * launch.trace.warps
    if atomics > _MAX_ATOMICS * warps:
        raise ModelError(
            f"{atomics / warps:.0f} global atomics per warp: contention between SMs is not modelled (limit "
            f"{_MAX_ATOMICS:.0f})"
        )
