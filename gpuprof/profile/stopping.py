"""When a variant has been sampled enough: objects with ``add`` and ``finished``, driven by samples alone.

The rule follows the public description of NVIDIA's nvbench (its "stdrel" criterion): stop when the relative standard
deviation is small enough after a minimum of samples and of sampled time, when the noise no longer changes, or when time
is up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpuprof.profile.options import TimingOptions
from gpuprof.profile.statistics import relative_noise, valid

MIN_SAMPLES = 10
#: So many samples stand for the minimum time: the interval of a median is then a thirtieth of the noise, and every
#: sample is kept in the JSON.
ENOUGH_SAMPLES = 1000
MAX_SAMPLES = 5000
#: The noise is a plateau when this many of its last values differ by less than this, relative to their mean.
PLATEAU_VALUES = 8
PLATEAU_SPREAD = 0.05
#: So many samples in a row that are no times end a variant: its clock is broken.
MAX_INVALID = 20


class StoppingRule(Protocol):
    """``finished`` is empty while more samples are wanted, then the reason."""

    @property
    def finished(self) -> str: ...

    @property
    def wanted(self) -> int | None:
        """How many samples are still wanted at most; None: as many as you like."""
        ...

    def add(self, samples_us: Sequence[float], wall_seconds: float) -> None:
        """Take samples, and the wall time that they cost."""
        ...


class SampleCount:
    """Stop after a fixed number of valid samples."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._invalid = 0

    @property
    def finished(self) -> str:
        if self._invalid >= MAX_INVALID:
            return "invalid"
        return "" if self._left > 0 else "samples"

    @property
    def wanted(self) -> int | None:
        return self._left

    def add(self, samples_us: Sequence[float], wall_seconds: float) -> None:
        kept = len(valid(samples_us))
        self._left -= kept
        self._invalid = 0 if kept else self._invalid + len(samples_us)


class NoiseRule:
    """Stop by noise, plateau or time."""

    def __init__(self, options: TimingOptions) -> None:
        self._options = options
        self._samples: list[float] = []
        self._noise: list[float] = []
        self._total_us = 0.0
        self._wall = 0.0
        self._invalid = 0

    @property
    def wanted(self) -> int | None:
        return None

    @property
    def finished(self) -> str:
        if self._invalid >= MAX_INVALID:
            return "invalid"
        count = len(self._samples)
        enough = count >= MIN_SAMPLES and self._total_us * 1e-6 >= self._options.min_time
        enough = enough or count >= ENOUGH_SAMPLES
        if enough and self._noise[-1] < self._options.max_noise:
            return "noise"
        if enough and self._on_plateau():
            return "plateau"
        if count >= MAX_SAMPLES:
            return "samples"
        return "time" if self._wall >= self._options.timeout else ""

    def add(self, samples_us: Sequence[float], wall_seconds: float) -> None:
        kept = valid(samples_us)
        self._invalid = 0 if kept else self._invalid + len(samples_us)
        self._samples += kept
        self._total_us += sum(kept)
        self._wall += wall_seconds
        if kept:
            self._noise.append(relative_noise(self._samples))

    def _on_plateau(self) -> bool:
        last = self._noise[-PLATEAU_VALUES:]
        return len(last) == PLATEAU_VALUES and relative_noise(last) < PLATEAU_SPREAD


def stopping_rule(options: TimingOptions, iters: int | None) -> StoppingRule:
    """The rule for a variant: a fixed count when the command line or the YAML gives one."""
    count = options.iters or iters
    return SampleCount(count) if count else NoiseRule(options)
