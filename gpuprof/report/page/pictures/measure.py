"""What the pictures of a run show: time where it was measured, else what was counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from gpuprof.report import units
from gpuprof.results.best import UNITS
from gpuprof.results.derived import sm_cycles
from gpuprof.results.model import Result, Run, Status


@dataclass(frozen=True)
class Measure:
    """``title`` names the quantity with its unit and how it was obtained."""

    title: str
    value: Callable[[Result], float | None]
    show: Callable[[float], str]
    timed: bool = False


def _time(result: Result) -> float | None:
    return None if result.timing is None else result.timing.median_us


def _least_cycles(result: Result) -> float | None:
    found = sm_cycles(result)
    return None if found is None else max(found.values())


def busiest(result: Result) -> str:
    """The part of an SM that needs most cycles, in words; empty without counters."""
    found = sm_cycles(result)
    return UNITS[max(found, key=lambda unit: found[unit])] if found else ""


def _code(result: Result) -> float | None:
    return None if result.sass is None else float(result.sass.instructions)


TIME = Measure("median time", _time, units.microseconds, timed=True)
CYCLES = Measure("SM cycles at least, summed over SMs (counted, no time)", _least_cycles, units.short_count)
CODE = Measure("instructions in the code (nothing was launched)", _code, units.short_count)


def measure_of(run: Run) -> Measure | None:
    """The first of the measures that some right variant has."""
    return next((each for each in (TIME, CYCLES, CODE) if any(values_of(run, each))), None)


def values_of(run: Run, measure: Measure) -> list[tuple[Result, float]]:
    """Of the variants that ran and did not differ: a wrong result is never ranked."""
    right = [result for result in run.results if result.status is Status.OK]
    found = ((result, measure.value(result)) for result in right)
    return [(result, value) for result, value in found if value is not None and math.isfinite(value) and value > 0]
