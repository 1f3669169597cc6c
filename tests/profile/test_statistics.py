"""Statistics on synthetic samples; the expected numbers are computed by hand or taken from published tables."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("count", "rank"), [(3, 0), (6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137), (50, 434)]
)
def test_signed_ranks_are_those_of_the_published_tables(count: int, rank: int) -> None:
    """Wilcoxon's critical values for 5 %, two-sided."""
    assert stats.signed_rank(count) == rank


def test_the_normal_limit_of_signed_ranks_continues_the_table() -> None:
    """For n = 60 the tables have 648, for n = 100 1955."""
    assert stats.signed_rank(60) == pytest.approx(648, abs=1)
    assert stats.signed_rank(100) == pytest.approx(1955, abs=2)


def test_pseudo_median_by_hand() -> None:
    """Of 1, 2, 9 the means are 1, 1.5, 2, 5, 5.5, 9: the middle two are 2 and 5. Three values have no interval."""
    assert stats.pseudo_median([9.0, 1.0, 2.0]) == (3.5, (1.0, 9.0))
    assert stats.pseudo_median([4.0]) == (4.0, (4.0, 4.0))


def ratios_of_repeats(noise: Callable[[random.Random], float], repeats: int = 200) -> list[stats.Ratio]:
    """Repeats of 25 rounds: a noisy baseline of 160 us, with a clock that drifts by 5 %, over a steady 100 us."""
    generator, found = random.Random(11), []
    for _ in range(repeats):
        clock = [1 + 0.002 * number for number in range(25)]
        baseline = [160 * speed * noise(generator) for speed in clock]
        ratio = stats.paired_ratio(rounds(baseline), rounds([100 * speed for speed in clock]))
        assert ratio is not None
        found.append(ratio)
    return found


NOISES: dict[str, Callable[[random.Random], float]] = {
    "steady": lambda generator: 1 + generator.gauss(0, 0.012),
    "heavy-tailed": lambda generator: 1 + generator.gauss(0, 0.012) * (8 if generator.random() < 0.1 else 1),
    "bimodal": lambda generator: 1 + generator.choice((-0.01, 0.01)) + generator.gauss(0, 0.002),
}


@pytest.mark.parametrize("name", NOISES)
def test_the_interval_of_a_ratio_holds_the_truth(name: str) -> None:
    """95 % of them must; 200 repeats decide it to 3 points."""
    ratios = ratios_of_repeats(NOISES[name])
    assert sum(ratio.interval[0] <= 1.6 <= ratio.interval[1] for ratio in ratios) / len(ratios) >= 0.92
    assert statistics.fmean(ratio.value for ratio in ratios) == pytest.approx(1.6, rel=0.001)


@pytest.mark.parametrize(("name", "limit"), [("steady", 1.1), ("heavy-tailed", 1.3)])
def test_a_ratio_moves_hardly_more_than_the_mean_of_steady_noise(name: str, limit: float) -> None:
    """The mean of 25 with 1.2 % noise moves by 0.24 %, their median by 0.30 %, with tails their mean by 0.6 %."""
    values = [ratio.value / 1.6 for ratio in ratios_of_repeats(NOISES[name])]
    assert statistics.stdev(values) < limit * 0.012 / 5


def test_thousands_of_rounds_are_joined_and_keep_their_ratio() -> None:
    many = steady(3000, value=160.0, noise=0.01)
    ratio = stats.paired_ratio(rounds(many), rounds([100.0] * 3000))
    assert ratio is not None
    assert ratio.value == pytest.approx(1.6, rel=0.001)
    assert ratio.pairs == 3000


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
