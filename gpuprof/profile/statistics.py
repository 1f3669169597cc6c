"""Pure statistics of kernel times. Samples are microseconds; nothing here reads a clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import NormalDist, fmean, median

CONFIDENCE = 0.95
#: Ratios whose whole interval lies within this of 1 are the same: what alignment and clock steps alone can do.
EQUIVALENCE = 0.005
#: Fewer paired rounds than this say nothing: even the whole range of their ratios covers less than 95 %.
MIN_PAIRS = 6
#: More rounds than this are joined first.
MAX_PAIRS = 200
#: Up to this number of values the distribution of signed ranks is counted out; above it is as good as normal.
EXACT_RANKS = 50
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
    """The Hodges-Lehmann estimate of the ratio over the rounds that both took part in; None when there is none."""
    ratios = [baseline[number] / variant[number] for number in sorted(baseline.keys() & variant.keys())]
    if not ratios:
        return None
    value, interval = pseudo_median(ratios)
    return Ratio(value, interval, verdict(interval, len(ratios)), len(ratios))


def pseudo_median(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median of the means of all pairs of values (each with itself too), and its interval at 95 %.

    Hodges and Lehmann's estimate with the interval of Wilcoxon's signed ranks (Hollander, Wolfe, Chicken, Nonparametric
    Statistical Methods, 3rd ed., sections 3.2 and 3.3). As steady as the mean for normal noise, where a median needs
    half as many values again, and unmoved by outliers in a quarter of the values. The interval takes the noise to be
    symmetric, which the ratio of two times in turn is nearly.
    """
    thinned = _thinned(values)
    count = len(thinned)
    means = sorted((thinned[first] + thinned[second]) / 2 for first in range(count) for second in range(first, count))
    rank = signed_rank(count)
    return median(means), (means[rank], means[len(means) - 1 - rank])


def _thinned(values: Sequence[float]) -> list[float]:
    """Medians of neighbours, so that at most MAX_PAIRS are left: the pairs of all would be too many."""
    size = math.ceil(len(values) / MAX_PAIRS)
    return [median(values[start : start + size]) for start in range(0, len(values), size)]


def signed_rank(count: int) -> int:
    """How many means of pairs lie outside the interval on each side: the largest r with 2 P(signed rank <= r) <= 5 %.

    Exact up to 50 values, by counting the subsets of 1..count with each sum; the normal limit above. 0 where even the
    whole range covers less.
    """
    most = count * (count + 1) // 2
    if count > EXACT_RANKS:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return math.floor(most / 2 - NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * deviation)
    subsets = [1] + [0] * most
    for number in range(1, count + 1):
        for total in range(most, number - 1, -1):
            subsets[total] += subsets[total - number]
    allowed = (1 - CONFIDENCE) / 2 * 2.0**count
    return max(0, sum(below <= allowed for below in accumulate(subsets)) - 1)


def verdict(interval: tuple[float, float], pairs: int) -> str:
    """The word that an interval of ratios allows."""
    low, high = interval
    if pairs < MIN_PAIRS:
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
