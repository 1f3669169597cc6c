"""Where a kernel's time goes, as modelled: stall reasons by source line and loop, and what would be gained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.errors import ModelError
from gpuprof.model.code_table import code_table
from gpuprof.model.explanation import Explanation, Share, WhatIf
from gpuprof.model.interval import predict
from gpuprof.model.launch_time import TracedLaunch
from gpuprof.model.launch_trace import AccessKind
from gpuprof.model.pass_time import Change, pass_time
from gpuprof.model.stalls import REASONS
from gpuprof.sass.def_use import destination_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.arch.gpu_constants import GpuConstants
    from gpuprof.sass.model import Instruction

#: Instructions before a waiting one in which what it waits for is looked for.
_LOOK_BACK = 400
#: Bandwidths that are taken for endless, in bytes per cycle.
_ENDLESS = 1e9


def explain(variant: str, launches: Sequence[TracedLaunch], gpu: GpuConstants) -> Explanation:
    """Explain a pass of these launches; raises ModelError."""
    found = pass_time(launches, gpu, stalls=True)
    longest = max(range(len(launches)), key=lambda number: found.launches[number].cycles)
    launch, time = launches[longest], found.launches[longest].sm
    if time.stalls is None or not time.stalls.sum():
        raise ModelError("no instruction was timed")
    stalls = time.stalls
    return Explanation(
        variant=variant,
        prediction=predict(launches, gpu),
        kernel=launch.kernel,
        issue_share=time.issued / 4 / max(time.cycles, 1),
        reasons=_shares(stalls.sum(axis=0)),
        lines=_grouped(stalls, launch, _line_of),
        loops=_grouped(stalls, launch, lambda launch, index: launch.loops.get(index, "")),
        what_if=_what_if(launches, gpu, found.us),
    )


def _shares(cycles: NDArray[np.float64]) -> dict[str, float]:
    total = float(cycles.sum()) or 1.0
    return {name: float(count) / total for name, count in zip(REASONS, cycles, strict=True) if count > 0}


def _line_of(launch: TracedLaunch, index: int) -> str:
    source = launch.instructions[index].source
    place = source.of_user if source is not None else None
    return "" if place is None else f"{place.file.rsplit('/', 1)[-1]}:{place.line}"


def _grouped(
    stalls: NDArray[np.float64], launch: TracedLaunch, name_of: Callable[[TracedLaunch, int], str]
) -> tuple[Share, ...]:
    """Parts of the code by name, those with most cycles first; what has no name is left out."""
    total = float(stalls.sum())
    cycles: dict[str, NDArray[np.float64]] = {}
    waits: dict[str, Counter[str]] = {}
    score = [REASONS_AT["long_scoreboard"], REASONS_AT["short_scoreboard"]]
    for index in np.flatnonzero(stalls.sum(axis=1) > 0).tolist():
        name = name_of(launch, index)
        if not name:
            continue
        cycles[name] = cycles.get(name, np.zeros(len(REASONS))) + stalls[index]
        waited = float(stalls[index][score].sum())
        if waited > 0.005 * total:
            for source in awaited(launch.instructions, index):
                waits.setdefault(name, Counter())[_described(launch, source)] += round(waited)
    shares = [
        Share(
            name,
            float(found.sum()) / total,
            _shares(found),
            tuple(text for text, _ in waits.get(name, Counter()).most_common(2)),
        )
        for name, found in cycles.items()
    ]
    return tuple(sorted(shares, key=lambda each: -each.share))


REASONS_AT = {name: place for place, name in enumerate(REASONS)}


def _described(launch: TracedLaunch, index: int) -> str:
    instruction = launch.instructions[index]
    line = _line_of(launch, index)
    return f"{instruction.mnemonic} of {line}" if line else instruction.mnemonic


def awaited(instructions: Sequence[Instruction], index: int) -> list[int]:
    """Instructions before ``index`` that set a scoreboard which it waits for: the last of each scoreboard.

    In a loop the one that sets it may stand after it; the code order is then searched from the end of the loop.
    """
    wanted = instructions[index].control.wait_mask
    found: list[int] = []
    for place in (
        *range(index - 1, max(-1, index - _LOOK_BACK), -1),
        *range(index, min(index + _LOOK_BACK, len(instructions))),
    ):
        if not wanted:
            break
        control = instructions[place].control
        for barrier in (control.write_barrier, control.read_barrier):
            if barrier is not None and wanted >> barrier & 1:
                wanted &= ~(1 << barrier)
                found.append(place)
    return [place for place in found if destination_count(instructions[place]) or place in found[:1]]


# -- what if --------------------------------------------------------------------------------------------------------
def _what_if(launches: Sequence[TracedLaunch], gpu: GpuConstants, now: float) -> tuple[WhatIf, ...]:
    questions: tuple[tuple[str, Sequence[TracedLaunch], Change | None], ...] = (
        ("no bank conflicts", [_without_conflicts(launch, gpu) for launch in launches], None),
        ("every load hits the L1", launches, _perfect_l1),
        ("infinite DRAM", launches, _infinite_dram),
        ("twice the occupancy", [replace(launch, slots=2 * launch.slots) for launch in launches], None),
    )
    answers = []
    for name, changed, change in questions:
        us = pass_time(changed, gpu, change=change).us
        answers.append(WhatIf(name, us, max(0.0, now - us)))
    return tuple(sorted(answers, key=lambda each: -each.saves_us))


def _without_conflicts(launch: TracedLaunch, gpu: GpuConstants) -> TracedLaunch:
    """Every access of shared memory in as few wavefronts as its width allows."""
    words = code_table(launch.instructions, gpu)["words"]
    accesses = launch.trace.accesses.copy()
    shared = np.isin(accesses["kind"], (AccessKind.SHARED, AccessKind.COPY_STORE))
    least = np.maximum(1, words[accesses["site"]]).astype(np.int32)
    accesses["passes"] = np.where(shared, np.minimum(accesses["passes"], least), accesses["passes"])
    return replace(launch, trace=replace(launch.trace, accesses=accesses))


def _perfect_l1(machine: dict[str, float]) -> dict[str, float]:
    free = {"l2_latency": 0.0, "dram_latency": 0.0, "l1_fill_latency": 0.0, "l2_bytes_per_cycle": _ENDLESS}
    return {**_infinite_dram(machine), **free, "tlb_latency": 0.0}


def _infinite_dram(machine: dict[str, float]) -> dict[str, float]:
    return {
        **machine,
        "dram_bytes_per_cycle": _ENDLESS,
        "dram_latency": machine["l2_latency"],
        "dram_queue_latency": 0.0,
        "dram_request_bytes": 0.0,
    }
