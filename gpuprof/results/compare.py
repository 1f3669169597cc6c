"""Two runs side by side, variant by variant: times with their interval, resources, counters, machine code.

The verdict of a time ratio is the interval's: ``faster`` or ``slower`` only when the whole interval of the ratio says
so and by more than one part in two hundred, ``same`` when the whole interval is that close to 1, else ``unclear``.
Samples of two runs are not interleaved, so the interval comes from each run's own samples (a bootstrap of the ratio of
medians), and a drift of the clock between the runs is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from gpuprof.results.derived import counters_of, derived_values
from gpuprof.results.model import Counters, Result, Run, Timing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console, ConsoleOptions, RenderResult

#: A ratio this near to 1 is the same: what ten repeats of one kernel on a quiet GPU differ by.
SAME_WITHIN = 0.005
BOOTSTRAP_ROUNDS = 2000
CONFIDENCE = 95.0


@dataclass(frozen=True)
class Pair:
    """A value in both runs; ``before`` or ``after`` is None where that run has none."""

    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """after over before."""
        if self.before is None or self.after is None or self.before == 0:
            return None
        return self.after / self.before

    @property
    def equal(self) -> bool:
        return self.before == self.after


@dataclass(frozen=True)
class VariantComparison:
    """One variant in two runs. ``time_ratio`` is after over before: above 1 is slower.

    ``code`` is ``same``, ``different`` or ``unknown`` (one run has no cubin). ``values`` are the derived values of
    either run, ``counters`` the raw ones, both by name. ``note`` says what limits the comparison.
    """

    variant: str
    before: Result | None
    after: Result | None
    time_ratio: float | None
    time_interval: tuple[float, float] | None
    verdict: str
    code: str
    values: Mapping[str, Pair]
    counters: Mapping[str, Pair]
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two runs compared; ``notes`` say what differs between their machines."""

    before: Run
    after: Run
    variants: tuple[VariantComparison, ...]
    notes: tuple[str, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table of ``gpuprof compare``."""
        yield from import_module("gpuprof.report.display").show_comparison(self, console, options)


def compare_runs(before: Run, after: Run) -> Comparison:
    """Compare by variant label: those of ``after`` in their order, then those that only ``before`` has."""
    old = {result.variant: result for result in before.results}
    new = {result.variant: result for result in after.results}
    labels = [*new, *(label for label in old if label not in new)]
    timed = _comparable_times(before, after)
    variants = tuple(_compare(label, old.get(label), new.get(label), timed) for label in labels)
    return Comparison(before, after, variants, tuple(_environment_notes(before, after)))


def _comparable_times(before: Run, after: Run) -> bool:
    """Times of two different GPUs are no answer to "did it get slower?", but they are still shown."""
    return before.environment.gpu == after.environment.gpu


def _compare(label: str, before: Result | None, after: Result | None, same_gpu: bool) -> VariantComparison:
    ratio, interval, verdict = _time(before, after)
    return VariantComparison(
        variant=label,
        before=before,
        after=after,
        time_ratio=ratio,
        time_interval=interval,
        verdict=verdict,
        code=_code(before, after),
        values=_pairs(derived_values(before) if before else {}, derived_values(after) if after else {}),
        counters=_pairs(_counter_values(before), _counter_values(after)),
        note=_note(before, after, same_gpu),
    )


def _pairs(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Pair]:
    return {name: Pair(before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))}


def _counter_values(result: Result | None) -> Mapping[str, float]:
    counters = counters_of(result) if result else None
    return counters.values if counters else {}


def _code(before: Result | None, after: Result | None) -> str:
    if before is None or after is None or before.build is None or after.build is None:
        return "unknown"
    old, new = before.build, after.build
    if old.code_sha256 and new.code_sha256:  # a cubin also holds line numbers and paths
        return "same" if old.code_sha256 == new.code_sha256 and old.arch == new.arch else "different"
    return "same" if old.cubin_sha256 == new.cubin_sha256 else "different"


def _note(before: Result | None, after: Result | None, same_gpu: bool) -> str:
    if before is None:
        return "only in the second run"
    if after is None:
        return "only in the first run"
    parts = []
    if before.timing and after.timing:
        if not same_gpu:
            parts.append("times of different GPUs")
        if before.timing.protocol != after.timing.protocol:
            parts.append(f"timed {before.timing.protocol} and {after.timing.protocol}")
    parts += _counter_notes(counters_of(before), counters_of(after))
    if before.sizes != after.sizes:
        parts.append("sizes differ")
    return ", ".join(parts)


def _counter_notes(before: Counters | None, after: Counters | None) -> list[str]:
    if before is None or after is None:
        return []
    notes = []
    if before.source != after.source:
        notes.append(f"counted by {before.source} and {after.source}")
    sampled = [part for part in (before, after) if part.blocks_run < part.blocks_total]
    if sampled:
        notes.append(f"counters scaled from {sampled[0].blocks_run:,} of {sampled[0].blocks_total:,} blocks")
    return notes


def _time(before: Result | None, after: Result | None) -> tuple[float | None, tuple[float, float] | None, str]:
    if before is None or after is None or before.timing is None or after.timing is None:
        return None, None, "not timed"
    if before.timing.median_us <= 0:
        return None, None, "unclear"
    ratio = after.timing.median_us / before.timing.median_us
    interval = ratio_interval(before.timing, after.timing)
    return ratio, interval, verdict_of(interval)


def verdict_of(interval: tuple[float, float] | None) -> str:
    """``faster``, ``slower``, ``same`` or ``unclear``, from the interval of after over before."""
    if interval is None:
        return "unclear"
    low, high = interval
    if low > 1 + SAME_WITHIN:
        return "slower"
    if high < 1 - SAME_WITHIN:
        return "faster"
    return "same" if low >= 1 - SAME_WITHIN and high <= 1 + SAME_WITHIN else "unclear"


def ratio_interval(before: Timing, after: Timing) -> tuple[float, float] | None:
    """The 95 % interval of the ratio of medians, by bootstrap with a fixed seed; None with fewer than 3 samples."""
    import numpy as np

    samples = [np.asarray(part.samples_us, dtype=np.float64) for part in (before, after)]
    samples = [part[np.isfinite(part) & (part > 0)] for part in samples]
    if min(part.size for part in samples) < 3:
        return None
    random = np.random.default_rng(0)
    old, new = (_resampled_medians(part, random) for part in samples)
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(new / old, (tail, 100 - tail))
    return float(low), float(high)


def _resampled_medians(samples: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """(BOOTSTRAP_ROUNDS,) medians of samples drawn with replacement; of at most 400 samples, evenly chosen."""
    import numpy as np

    samples = samples[:: -(-samples.size // 400)]
    drawn = random.choice(samples, size=(BOOTSTRAP_ROUNDS, samples.size))
    medians: NDArray[np.float64] = np.median(drawn, axis=1)
    return medians


#: Fields of the environment whose change can explain a difference, with their names for people.
_WATCHED: Sequence[tuple[str, str]] = (
    ("gpu", "GPU"),
    ("driver", "driver"),
    ("nvcc", "nvcc"),
    ("gpuprof", "gpuprof"),
    ("device", "device"),
)


def _environment_notes(before: Run, after: Run) -> list[str]:
    notes = []
    for name, words in _WATCHED:
        old, new = getattr(before.environment, name), getattr(after.environment, name)
        if old != new:
            notes.append(f"{words}: {old or 'none'} before, {new or 'none'} after")
    for name in dict.fromkeys((*before.environment.variables, *after.environment.variables)):
        old, new = before.environment.variables.get(name), after.environment.variables.get(name)
        if old != new:
            notes.append(f"{name}: {old or 'not set'} before, {new or 'not set'} after")
        else:
            notes.append(f"{name} was set in both: {old}")
    if before.experiment != after.experiment:
        notes.append(f"experiments: {before.experiment} before, {after.experiment} after")
    return notes
