"""Stopping rules driven by synthetic sequences."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from gpuprof.profile.options import TimingOptions
from gpuprof.profile.stopping import MAX_INVALID, NoiseRule, SampleCount, StoppingRule, stopping_rule

OPTIONS = TimingOptions(min_time=0.001, max_noise=0.005, timeout=10.0)


def drive(rule: StoppingRule, samples: Iterator[float], wall: float = 0.001, most: int = 10_000) -> int:
    """Feed samples one at a time until the rule stops; how many it took."""
    for count in range(1, most + 1):
        rule.add([next(samples)], wall)
        if rule.finished:
            return count
    return most


def normal(noise: float, seed: int = 3) -> Iterator[float]:
    generator = random.Random(seed)
    while True:
        yield 100 * (1 + generator.gauss(0, noise))


def constant(value: float) -> Iterator[float]:
    while True:
        yield value


def test_a_steady_kernel_stops_at_ten_samples() -> None:
    rule = NoiseRule(OPTIONS)
    assert drive(rule, constant(100.0)) == 10  # 10 x 100 us = the minimum time of 1 ms
    assert rule.finished == "noise"


def test_the_minimum_time_holds_a_short_kernel_back() -> None:
    rule = NoiseRule(OPTIONS)
    assert drive(rule, constant(10.0)) == 100  # 100 x 10 us = 1 ms


def test_many_samples_stand_for_the_minimum_time() -> None:
    rule = NoiseRule(OPTIONS)
    assert drive(rule, constant(0.5)) == 1000  # 1,000 x 0.5 us are half of the minimum time
    assert rule.finished == "noise"


def test_noise_that_does_not_fall_is_a_plateau() -> None:
    rule = NoiseRule(OPTIONS)
    count = drive(rule, normal(0.05))
    assert rule.finished == "plateau"
    assert 10 < count < 1000


def test_heavy_tails_end_by_time() -> None:
    def tails() -> Iterator[float]:
        value = 100.0
        while True:
            value *= 1.3  # every sample is worse than all before: the noise never settles
            yield value

    rule = NoiseRule(TimingOptions(min_time=0.0, timeout=0.05))
    drive(rule, tails(), wall=0.005, most=20)
    assert rule.finished in ("time", "plateau")
    assert drive(NoiseRule(TimingOptions(min_time=1e9, timeout=0.05)), constant(1.0), wall=0.0051) == 10


def test_samples_that_are_no_times_end_a_variant() -> None:
    rule = NoiseRule(OPTIONS)
    assert drive(rule, constant(math.nan)) == MAX_INVALID
    assert rule.finished == "invalid"


def test_a_fixed_count_counts_valid_samples_only() -> None:
    rule = SampleCount(3)
    rule.add([1.0, math.nan, 2.0], 0.1)
    assert (rule.finished, rule.wanted) == ("", 1)
    rule.add([3.0], 0.1)
    assert rule.finished == "samples"


def test_the_command_line_wins_over_the_yaml_and_both_over_noise() -> None:
    assert stopping_rule(TimingOptions(iters=7), 50).wanted == 7
    assert stopping_rule(TimingOptions(), 50).wanted == 50
    assert isinstance(stopping_rule(TimingOptions(), None), NoiseRule)
