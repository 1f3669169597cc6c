"""Pure statistics of kernel times. Samples are microseconds; nothing here reads a clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

CONFIDENCE = 0.95
#: Ratios whose whole interval lies within this of 1 are the same: what alignment and clock steps alone can do.
EQUIVALENCE = 0.005
#: Fewer paired rounds than this say nothing: their widest order-statistics interval covers less than 95 %.
MINIMUM_PAIRS = 6
#: A first sample this many times the median of the others is a cold start, not noise.
OUTLIER_FACTOR = 1.5


@dataclass(frozen=True)
class Summary:
    """A set of samples: ``interval`` is of the median at 95 %; ``noise`` the relative standard deviation."""

    median: float
    interval: tuple[float, float]
    minimum: float
    mean: float
    noise: float


def summarize(samples: Sequence[float]) -> Summary:
    """Median, interval, minimum, mean, noise of the finite samples; raises ValueError when there is none."""
    kept = valid(samples)
    if not kept:
        raise ValueError("no valid sample")
    return Summary(median(kept), median_interval(kept), min(kept), fmean(kept), relative_noise(kept))


def valid(samples: Sequence[float]) -> list[float]:
    """The samples that are finite and positive."""
    return [sample for sample in samples if math.isfinite(sample) and sample > 0]


def relative_noise(samples: Sequence[float]) -> float:
    """Sample standard deviation over mean; infinite for fewer than two samples."""
    if len(samples) < 2:
        return math.inf
    mean = fmean(samples)
    return math.sqrt(sum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)) / mean


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The interval of the median at 95 % from order statistics: no assumption on the distribution.

    The narrowest symmetric pair of order statistics whose binomial coverage is at least 95 % (Conover, Practical
    Nonparametric Statistics, 3rd ed., section 3.2); with fewer than 6 samples no pair reaches it: the whole range.
    """
    ordered = sorted(samples)
    rank = interval_rank(len(ordered))
    return ordered[rank], ordered[len(ordered) - 1 - rank]


def interval_rank(count: int) -> int:
    """How many samples lie outside the interval on each side: the largest r with 2 P(Binomial(n, 1/2) <= r) <= 5 %."""
    tail, rank = 0.0, 0
    while rank < (count - 1) // 2:
        tail += math.exp(
            math.lgamma(count + 1) - math.lgamma(rank + 1) - math.lgamma(count - rank + 1) - count * math.log(2)
        )
        if 2 * tail > 1 - CONFIDENCE:
            break
        rank += 1
    return max(0, rank - 1) if 2 * tail > 1 - CONFIDENCE else rank


@dataclass(frozen=True)
class Ratio:
    """Baseline time over a variant's time: above 1 is faster. ``verdict``: faster, slower, same, unclear."""

    value: float
    interval: tuple[float, float]
    verdict: str
    pairs: int


def paired_ratio(baseline: Mapping[int, float], variant: Mapping[int, float]) -> Ratio | None:
    """The median of the ratios of rounds that both took part in; None when there is no such round."""
    ratios = [baseline[number] / variant[number] for number in baseline.keys() & variant.keys()]
    if not ratios:
        return None
    interval = median_interval(ratios)
    return Ratio(median(ratios), interval, verdict(interval, len(ratios)), len(ratios))


def verdict(interval: tuple[float, float], pairs: int) -> str:
    """The word that an interval of ratios allows."""
    low, high = interval
    if pairs < MINIMUM_PAIRS:
        return "unclear"
    if low >= 1 - EQUIVALENCE and high <= 1 + EQUIVALENCE:
        return "same"
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "unclear"


def first_is_outlier(samples: Sequence[float]) -> bool:
    """Did the first sample take far longer than the rest?"""
    return len(samples) > 2 and samples[0] > OUTLIER_FACTOR * median(samples[1:])


def is_bimodal(samples: Sequence[float]) -> bool:
    """Do the samples fall into two groups further apart than they are wide?

    The widest gap between neighbours is more than half of the range, and each side holds at least a tenth.
    """
    ordered = sorted(samples)
    if len(ordered) < 10 or ordered[0] == ordered[-1]:
        return False
    gap, position = max((right - left, n + 1) for n, (left, right) in enumerate(pairwise(ordered)))
    smaller = min(position, len(ordered) - position)
    return gap > 0.5 * (ordered[-1] - ordered[0]) and smaller >= len(ordered) / 10


def drift(samples: Sequence[float]) -> float:
    """Relative change from the first third's median to the last third's; 0 for fewer than 9 samples."""
    third = len(samples) // 3
    if third < 3:
        return 0.0
    return median(samples[-third:]) / median(samples[:third]) - 1
