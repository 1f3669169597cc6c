"""Counters of a pass: the timed launches' counts added up, by kernel and by source line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gpuprof.device.session import StepCounters
from gpuprof.results.model import Counters


def step_counters(steps: Sequence[StepCounters]) -> dict[str, Counters]:
    """Each step's own counters, by its name, without its lines; empty where there is only one step."""
    if len(steps) < 2:
        return {}
    return {
        step.step: Counters(
            values={
                name: value for name, value in step.counters.counters.items() if name not in step.counters.unavailable
            },
            source=step.counters.source,
            blocks_run=step.counters.blocks_run,
            blocks_total=step.counters.blocks_total,
            unavailable=step.counters.unavailable,
        )
        for step in steps
    }


def counters_of(steps: Sequence[StepCounters], seconds: float | None = None) -> Counters | None:
    """The sum over the timed kernel steps (over all when none is timed); None when nothing counted.

    ``seconds`` is the wall time of the pass.
    """
    chosen = [step for step in steps if step.timed] or list(steps)
    if not chosen:
        return None
    totals: Counter[str] = Counter()
    unavailable: dict[str, str] = {}
    for step in chosen:
        totals.update(step.counters.counters)
        unavailable.update(step.counters.unavailable)
    return Counters(
        values={name: value for name, value in totals.items() if name not in unavailable},
        source=chosen[0].counters.source,
        blocks_run=sum(step.counters.blocks_run for step in chosen),
        blocks_total=sum(step.counters.blocks_total for step in chosen),
        unavailable=unavailable,
        per_instruction=tuple(
            replace(entry, step=step.step) for step in chosen for entry in step.counters.per_instruction
        ),
        printed="".join(step.counters.printed for step in steps),
        engine="+".join(sorted({step.counters.engine for step in chosen} - {""})),
        seconds=seconds,
    )
