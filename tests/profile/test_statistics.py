"""Statistics on synthetic samples; the expected numbers are computed by hand or taken from published tables."""

from __future__ import annotations

import math
import random

import pytest

from gpuprof.profile import statistics as stats


def steady(count: int, value: float = 100.0, noise: float = 0.001, seed: int = 1) -> list[float]:
    generator = random.Random(seed)
    return [value * (1 + generator.gauss(0, noise)) for _ in range(count)]


@pytest.mark.parametrize(
    ("count", "rank"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (10, 1), (15, 3), (20, 5), (50, 17), (100, 39)]
)
def test_interval_ranks_are_those_of_the_published_tables(count: int, rank: int) -> None:
    """Conover, table A3, p = 1/2: for n = 10 the 2nd and 9th, for 20 the 6th and 15th, for 100 the 40th and 61st."""
    assert stats.interval_rank(count) == rank


def test_the_interval_of_ten_samples_is_the_second_and_the_ninth() -> None:
    assert stats.median_interval([5, 1, 4, 2, 3, 10, 9, 6, 8, 7]) == (2, 9)


def test_coverage_of_the_interval_is_at_least_95_percent_on_a_skewed_distribution() -> None:
    generator = random.Random(7)
    truth = math.log(2)  # the median of Exp(1)
    hits = 0
    for _ in range(2000):
        low, high = stats.median_interval([generator.expovariate(1) for _ in range(25)])
        hits += low <= truth <= high
    assert hits / 2000 > 0.94


def test_summary_by_hand() -> None:
    summary = stats.summarize([1.0, 2.0, 3.0])
    assert (summary.median, summary.minimum, summary.mean) == (2.0, 1.0, 2.0)
    assert summary.noise == pytest.approx(0.5)  # the deviation of 1, 2, 3 is 1, over a mean of 2


def test_invalid_samples_are_left_out_and_none_at_all_is_an_error() -> None:
    assert stats.summarize([math.nan, 4.0, -1.0, math.inf]).median == 4.0
    with pytest.raises(ValueError, match="no valid sample"):
        stats.summarize([math.nan])


def test_one_outlier_moves_the_mean_and_not_the_median() -> None:
    summary = stats.summarize([10.0] * 99 + [10_000.0])
    assert summary.median == 10.0
    assert summary.interval == (10.0, 10.0)
    assert summary.mean == pytest.approx(109.9)


def rounds(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values))


def test_a_drift_that_hits_both_alike_leaves_the_ratio() -> None:
    drifting = [100 * (1 + 0.03 * n) for n in range(20)]
    ratio = stats.paired_ratio(rounds(drifting), rounds([value / 2 for value in drifting]))
    assert ratio is not None
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval == (pytest.approx(2.0), pytest.approx(2.0))
    assert ratio.verdict == "faster"


def test_only_rounds_that_both_took_part_in_are_paired() -> None:
    ratio = stats.paired_ratio({1: 10.0, 2: 10.0}, {2: 5.0, 3: 1.0})
    assert ratio is not None
    assert (ratio.value, ratio.pairs) == (2.0, 1)
    assert ratio.verdict == "unclear"  # one pair says nothing
    assert stats.paired_ratio({1: 10.0}, {2: 5.0}) is None


@pytest.mark.parametrize(
    ("interval", "pairs", "word"),
    [
        ((1.02, 1.05), 10, "faster"),
        ((0.90, 0.97), 10, "slower"),
        ((0.998, 1.003), 10, "same"),
        ((0.97, 1.04), 10, "unclear"),
        ((1.02, 1.05), 5, "unclear"),
        ((1.001, 1.004), 10, "same"),  # beyond 1, but by less than clock steps do
    ],
)
def test_verdicts(interval: tuple[float, float], pairs: int, word: str) -> None:
    assert stats.verdict(interval, pairs) == word


def test_two_clock_states_are_bimodal_and_noise_is_not() -> None:
    assert stats.is_bimodal(steady(20) + steady(15, value=130))
    assert not stats.is_bimodal(steady(40, noise=0.02))
    assert not stats.is_bimodal([100.0] * 30)
    assert not stats.is_bimodal([100.0, 101.0] * 3)  # too few to say


def test_drift_is_the_change_from_the_first_to_the_last_third() -> None:
    assert stats.drift([100.0] * 10 + [105.0] * 10 + [110.0] * 10) == pytest.approx(0.1)
    assert stats.drift([1.0, 2.0]) == 0.0


def test_first_sample_outlier() -> None:
    assert stats.first_is_outlier([200.0, 100.0, 100.0, 101.0])
    assert not stats.first_is_outlier([110.0, 100.0, 100.0])
    assert not stats.first_is_outlier([200.0, 100.0])
