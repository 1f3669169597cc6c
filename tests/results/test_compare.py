"""Comparing runs: ratios with intervals and verdicts, code, counters; and the conditions of --fail-on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.errors import UsageError
from gpuprof.results.agreement import agreement
from gpuprof.results.compare import compare_runs, ratio_interval, verdict_of
from gpuprof.results.json import read_run
from gpuprof.results.model import Counters, Result, Run, Status, Timing
from gpuprof.results.thresholds import parse_threshold, violations

DATA = Path(__file__).parent / "data"


def timing(samples: list[float]) -> Timing:
    median = sorted(samples)[len(samples) // 2]
    return Timing(tuple(samples), median, (min(samples), max(samples)), min(samples), median, "cold", 0.01)


def run_with(*results: Result, gpu: str = "NVIDIA H200") -> Run:
    base = read_run(DATA / "gpu_run.json")
    return replace(base, results=results, environment=replace(base.environment, gpu=gpu))


def timed(samples: list[float], name: str = "v", **fields: object) -> Result:
    return Result(name, name, {}, {}, Status.OK, timing=timing(samples), **fields)


STEADY = [100.0 + 0.1 * (n % 7) for n in range(50)]  # medians 100.3, spread 0.6 %
NOISY = [100.0 + 8 * ((n * 37) % 11) for n in range(12)]


def scaled(samples: list[float], factor: float) -> list[float]:
    return [factor * sample for sample in samples]


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.05, "slower"), (0.95, "faster"), (1.0, "same"), (1.02, "slower"), (0.98, "faster")]
)
def test_steady_samples_give_clear_verdicts(factor: float, verdict: str) -> None:
    comparison = compare_runs(run_with(timed(STEADY)), run_with(timed(scaled(STEADY, factor))))
    (variant,) = comparison.variants
    assert variant.verdict == verdict
    assert variant.time_ratio == pytest.approx(factor)
    low, high = variant.time_interval
    assert low <= factor <= high
    assert high - low < 0.006


def test_noisy_samples_are_unclear() -> None:
    (variant,) = compare_runs(run_with(timed(NOISY)), run_with(timed(scaled(NOISY, 1.03)))).variants
    assert variant.verdict == "unclear"


def test_too_few_or_broken_samples_have_no_interval() -> None:
    assert ratio_interval(timing([1.0, 2.0]), timing(STEADY)) is None
    assert ratio_interval(timing([1.0, float("nan"), float("inf"), 1.0]), timing(STEADY)) is None
    assert verdict_of(None) == "unclear"


def test_what_each_run_alone_has() -> None:
    comparison = compare_runs(run_with(timed(STEADY, "old")), run_with(timed(STEADY, "new")))
    assert [(variant.variant, variant.note) for variant in comparison.variants] == [
        ("new", "only in the second run"),
        ("old", "only in the first run"),
    ]


def test_times_of_two_gpus_are_marked() -> None:
    comparison = compare_runs(run_with(timed(STEADY)), run_with(timed(STEADY), gpu="NVIDIA L4"))
    assert comparison.variants[0].note == "times of different GPUs"
    assert "GPU: NVIDIA H200 before, NVIDIA L4 after" in comparison.notes


def test_code_and_counters() -> None:
    before = read_run(DATA / "emulated_run.json")
    naive = before.results[0]
    values = {**naive.counters.values, "smsp__inst_executed.sum": 77_332_480}
    build = replace(naive.build, cubin_sha256="other")
    after = replace(before, results=(replace(naive, build=build, counters=replace(naive.counters, values=values)),))
    variant = compare_runs(before, after).variants[0]
    assert variant.code == "different"
    assert variant.counters["smsp__inst_executed.sum"].ratio == 0.5
    assert variant.values["warp_instructions"].after == 77_332_480
    assert variant.verdict == "not timed"
    assert variant.note == "counters scaled from 64 of 4,096 blocks"


def failing(condition: str, before: Run, after: Run) -> list[str]:
    return [entry.variant for entry in violations(compare_runs(before, after), [parse_threshold(condition)])]


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("slower > 3%", True),
        ("slower > 3", True),
        ("slower > 6%", False),
        ("faster > 0%", False),
        ("slower>=4.5%", True),
    ],
)
def test_slower_by_five_percent(condition: str, fails: bool) -> None:
    found = failing(condition, run_with(timed(STEADY)), run_with(timed(scaled(STEADY, 1.05))))
    assert found == (["v"] if fails else [])


def test_noise_alone_fails_nothing() -> None:
    assert failing("slower > 0%", run_with(timed(NOISY)), run_with(timed(scaled(NOISY, 1.02)))) == []


@pytest.mark.parametrize(
    ("condition", "variants"),
    [
        ("registers > 64", []),
        ("registers > 37", ["naive", "tiled/TILE=32"]),
        ("registers >= 40", ["naive"]),
        ("registers == 34", ["tiled/TILE=16"]),
        ("registers != 34", ["naive", "tiled/TILE=32"]),
        ("spill_bytes > 0", []),
        ("occupancy < 80%", ["naive"]),
        ("bank_conflict_ways > 1.5", ["tiled/TILE=32"]),
        ("registers.change > 0", []),
        ("failed > 0", []),
        ("different > 0", []),
    ],
)
def test_conditions_on_values(condition: str, variants: list[str]) -> None:
    run = read_run(DATA / "emulated_run.json")
    assert failing(condition, run, run) == variants


def test_changes_absolute_and_relative() -> None:
    before = read_run(DATA / "emulated_run.json")
    naive = before.results[0]
    after = replace(before, results=(replace(naive, build=replace(naive.build, registers=44)), *before.results[1:]))
    assert failing("registers.change > 3", before, after) == ["naive"]
    assert failing("registers.change > 4", before, after) == []
    assert failing("registers.change >= 10%", before, after) == ["naive"]
    assert failing("registers.change > 10%", before, after) == []


def test_a_variant_that_broke_or_vanished_has_failed() -> None:
    good = timed(STEADY)
    bad = replace(good, status=Status.LAUNCH_FAILED, timing=None)
    assert failing("failed > 0", run_with(good), run_with(bad)) == ["v"]
    assert failing("failed > 0", run_with(good), run_with()) == ["v"]
    assert failing("failed > 0", run_with(bad), run_with(bad)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("regs > 64", "did you mean registers"),
        ("registers", "NAME OPERATOR NUMBER"),
        ("registers > many", "NAME OPERATOR NUMBER"),
        ("registers > 64; import os", "NAME OPERATOR NUMBER"),
        ("registers > 5%", r"registers\.change > \.\.\.%"),
        ("", "NAME OPERATOR NUMBER"),
        ("qqq > 1", "known are slower, faster, failed"),
    ],
)
def test_wrong_conditions_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_threshold(text)


def both(emulated: dict[str, int], ncu: dict[str, int], **fields: object) -> Result:
    mine = Counters(emulated, "emulator", fields.pop("ran", 4), 4)
    return Result("v", "v", {}, {}, Status.OK, counters=mine, ncu=Counters(ncu, "ncu", 4, 4, **fields))


def test_agreement_counts_equal_different_and_silent() -> None:
    result = both({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "z": 9}, unavailable={"c": "not on this chip"})
    compared = agreement(result)
    assert (compared.equal, compared.different, compared.scaled) == (1, 1, False)
    assert [(pair.name, pair.equal, pair.why) for pair in compared.pairs] == [
        ("a", True, ""),
        ("b", False, ""),
        ("c", None, "not on this chip"),
    ]


def test_agreement_of_a_sample_says_so() -> None:
    assert agreement(both({"a": 1}, {"a": 1}, ran=2)).scaled
    assert agreement(Result("v", "v", {}, {}, Status.OK)) is None
