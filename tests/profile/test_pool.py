"""Rounds of interleaved timing against a synthetic clock: no device, no waiting."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import pytest

from gpuprof.errors import LaunchError
from gpuprof.profile import interleaved_timing as pool_module
from gpuprof.profile.advice import timing_warnings
from gpuprof.profile.interleaved_timing import ROUND_SIZE, ROUNDS, TimingPool
from gpuprof.profile.messages import Sample, Sampled
from gpuprof.profile.options import TimingOptions

FIXED = TimingOptions(iters=50)


@pytest.fixture(autouse=True)
def _no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The synthetic clock needs none, and its order is what most tests look at."""
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", float("inf"))


class Clock:
    """Times that drift with every sample taken; ``factor`` by label."""

    def __init__(self, factor: dict[str, float], drift: float = 0.0, mhz: Callable[[int], float] | None = None) -> None:
        self.factor, self.drift, self.mhz = factor, drift, mhz
        self.order: list[str] = []

    def __call__(self, requests: Sequence[Sample]) -> Generator[Sampled, None, None]:
        for request in requests:
            yield self.answer(request)

    def answer(self, request: Sample) -> Sampled:
        now = len(self.order)
        self.order += [request.label] * request.count
        value = 100 * self.factor[request.label] * (1 + self.drift * now)
        return Sampled((value,) * request.count, 1e-6, self.mhz(now) if self.mhz else None)


def run_all(pool: TimingPool) -> list[str]:
    finished: list[str] = []
    for _ in range(1000):
        if not pool.active:
            return finished
        for label in pool.round():
            pool.remove(label)
            finished.append(label)
    raise AssertionError("the pool never ends")


def test_a_fixed_count_is_taken_exactly_and_spread_over_rounds() -> None:
    clock = Clock({"a": 1, "b": 1})
    pool = TimingPool(FIXED, clock)
    pool.add("a", "a", None)
    pool.add("b", "a", None)
    run_all(pool)
    assert len(pool.track("b").samples) == 50
    assert len(pool.track("b").rounds) >= ROUNDS
    assert clock.order[:4] == ["a", "b", "a", "a"]  # a probe each, then turns that alternate


def test_a_drifting_clock_leaves_the_ratio_alone() -> None:
    pool = TimingPool(FIXED, Clock({"base": 2.0, "fast": 1.0}, drift=0.001))
    pool.add("base", "base", None)
    pool.add("fast", "base", None)
    run_all(pool)
    ratio = pool.ratio("fast")
    assert ratio is not None
    assert ratio.verdict == "faster"
    assert ratio.value == pytest.approx(2.0, rel=0.01)  # the clock itself drifted by 10 %
    assert pool.ratio("base") is None


def test_the_baseline_takes_turns_until_the_last_variant_is_done() -> None:
    clock = Clock({"base": 1.0, "late": 1.0})
    pool = TimingPool(FIXED, clock)
    pool.add("base", "base", None)
    run_all(pool)
    pool.add("late", "base", None)
    run_all(pool)
    ratio = pool.ratio("late")
    assert ratio is not None
    assert (ratio.verdict, ratio.pairs >= ROUNDS) == ("same", True)


def test_rounds_hold_a_limited_number_of_variants() -> None:
    labels = [f"v{n}" for n in range(40)]
    clock = Clock(dict.fromkeys(labels, 1.0))
    pool = TimingPool(FIXED, clock)
    for label in labels:
        pool.add(label, None, None)
    pool.round()
    assert set(clock.order) == set(labels[:ROUND_SIZE])
    assert sorted(run_all(pool)) == sorted(labels)


def test_samples_of_a_throttled_clock_are_dropped_and_said() -> None:
    pool = TimingPool(FIXED, Clock({"a": 1.0}, mhz=lambda now: 1000.0 if 10 <= now < 20 else 1980.0))
    pool.add("a", None, None)
    run_all(pool)
    track = pool.track("a")
    assert len(track.samples) == 50
    assert track.discarded == 10  # two turns of five
    assert "10 samples were dropped" in timing_warnings(track, FIXED)[0]


def test_a_clock_that_stays_low_does_not_hang_the_run() -> None:
    pool = TimingPool(FIXED, Clock({"a": 1.0}, mhz=lambda now: 1980.0 if now == 0 else 900.0))
    pool.add("a", None, None)
    assert run_all(pool) == ["a"]


def test_a_gpu_that_idled_is_warmed_up_and_those_samples_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.5)
    monkeypatch.setattr(pool_module, "WARM_UP_SECONDS", 0.0)
    rising = Clock({"a": 1.0}, mhz=lambda now: min(1980.0, 400.0 + 100 * now))
    pool = TimingPool(FIXED, rising)
    pool.add("a", None, None)
    run_all(pool)
    assert len(pool.track("a").samples) == 50
    assert pool.track("a").discarded == 0
    assert set(pool.track("a").clocks_mhz) == {1980.0}  # no turn was taken while the clock rose


@pytest.mark.parametrize(("mhz", "warming"), [(1980.0, 2), (1965.0, 2), (1200.0, 5)])
def test_a_clock_that_stands_where_it_was_needs_no_more_warm_up(
    mhz: float, warming: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock({"a": 1.0}, mhz=lambda now: 1980.0 if now < 1 else mhz)
    pool = TimingPool(FIXED, clock)
    pool.add("a", None, None)
    pool.round()  # one sample, at 1,980 MHz
    seconds = iter(range(100))  # two readings of the time per sample
    monkeypatch.setattr(pool_module.time, "perf_counter", lambda: float(next(seconds)))
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", -float("inf"))
    monkeypatch.setattr(pool_module, "WARM_UP_SECONDS", 8.0)
    monkeypatch.setattr(pool_module, "MAX_WARM_UP_SECONDS", 50.0)
    pool.round()
    assert len(clock.order) == 1 + warming + 2  # a later turn takes 50 / 25 samples


def test_a_pool_is_full_with_its_device_s_share() -> None:
    pool = TimingPool(FIXED, Clock(dict.fromkeys("abc", 1.0)), size=2)
    pool.add("a", None, None)
    assert not pool.is_full
    pool.add("b", None, None)
    assert pool.is_full
    pool.remove("a")
    assert not pool.is_full


def test_an_error_names_the_variant_that_was_running() -> None:
    def broken(requests: Sequence[Sample]) -> Generator[Sampled, None, None]:
        for request in requests:
            if request.label == "bad":
                raise LaunchError("boom")
            yield Sampled((1.0,) * request.count, 1e-6)

    pool = TimingPool(FIXED, broken)
    pool.add("good", "good", None)
    pool.add("bad", "good", None)
    with pytest.raises(LaunchError):
        pool.round()
    assert pool.running == "bad"
    pool.forget("bad")
    assert run_all(pool) == ["good"]


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([100.0] * 20 + [130.0] * 20, "two groups"),
        ([100.0 + n for n in range(60)], "drifted by"),
        ([3.0] * 30, "--batch"),
    ],
)
def test_warnings_fit_the_samples(samples: list[float], words: str) -> None:
    pool = TimingPool(TimingOptions(iters=len(samples)), Clock({"a": 1.0}))
    pool.add("a", None, None)
    pool.track("a").take(1, Sampled(tuple(samples), 0.1))
    assert any(words in text for text in timing_warnings(pool.track("a"), TimingOptions()))


def test_a_steady_kernel_has_no_warning() -> None:
    pool = TimingPool(TimingOptions(iters=20), Clock({"a": 1.0}))
    pool.add("a", None, None)
    run_all(pool)
    assert timing_warnings(pool.track("a"), TimingOptions()) == ()
