"""What the pictures of a run show: time where it was measured, a modelled one where it was not, else counts."""

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
    """``title`` names the quantity with its unit and how it was obtained.

    ``interval`` gives the ends of an uncertain one, and ``interval_words`` says of what.
    """

    title: str
    value: Callable[[Result], float | None]
    show: Callable[[float], str]
    unit: str
    interval: Callable[[Result], tuple[float, float] | None] = lambda result: None
    interval_words: str = ""


def _time(result: Result) -> float | None:
    return None if result.timing is None else result.timing.median_us


def _interval(result: Result) -> tuple[float, float] | None:
    return None if result.timing is None else result.timing.interval_us


def _modelled_time(result: Result) -> float | None:
    value = result.modelled.get("time_us")
    return None if value is None else float(value)


def _modelled_interval(result: Result) -> tuple[float, float] | None:
    low, high = (result.modelled.get(name) for name in ("time_low_us", "time_high_us"))
    return None if low is None or high is None else (float(low), float(high))


def _least_cycles(result: Result) -> float | None:
    found = sm_cycles(result)
    return None if found is None else max(found.values())


def busiest(result: Result) -> str:
    """The part of an SM that needs most cycles, in words; empty without counters."""
    found = sm_cycles(result)
    return UNITS[max(found, key=lambda unit: found[unit])] if found else ""


def _code(result: Result) -> float | None:
    return None if result.sass is None else float(result.sass.instructions)


TIME = Measure("median time", _time, units.microseconds, "µs", _interval, "the 95% interval of the median")
MODELLED_TIME = Measure(
    "modelled time (an estimate)",
    _modelled_time,
    units.microseconds,
    "µs, modelled",
    _modelled_interval,
    "an assumed interval",
)
CYCLES = Measure(
    "SM cycles at least, summed over SMs (counted, no time)", _least_cycles, units.short_count, "SM cycles"
)
CODE = Measure("instructions in the code (nothing was launched)", _code, units.short_count, "instructions")


def measure_of(run: Run) -> Measure | None:
    """The first of the measures that some right variant has."""
    return next((each for each in (TIME, MODELLED_TIME, CYCLES, CODE) if any(values_of(run, each))), None)


def values_of(run: Run, measure: Measure) -> list[tuple[Result, float]]:
    """Of the variants that ran and did not differ: a wrong result is never ranked."""
    right = [result for result in run.results if result.status is Status.OK]
    found = ((result, measure.value(result)) for result in right)
    return [(result, value) for result, value in found if value is not None and math.isfinite(value) and value > 0]
