"""The verdict: ncu's own Speed Of Light rule, the busiest memory unit, and words for what counts alone show."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.isa import ncu_metrics as m
from gpuprof.report.headlines import headlines
from gpuprof.report.verdict import bound_by_rates, pipe_metric, sol_side, verdict
from gpuprof.results.json import read_run
from gpuprof.results.metric_sets import SETS, resolve_metrics, stall_metric
from gpuprof.results.model import Counters, Result, Status

DATA = Path(__file__).parent.parent / "results" / "data"


@pytest.mark.parametrize(
    ("compute", "memory", "side"),
    [
        (10, 95, "memory"),  # over 80: the larger one
        (95, 10, "compute"),
        (85, 90, "memory"),  # near each other, but over 80
        (79, 72, "balanced"),  # under 80 and within 10
        (79, 65, "compute"),
        (61, 75, "memory"),
        (59.9, 59.9, "latency"),
        (5, 30, "latency"),
        (60, 20, "compute"),
        (90, 90, "compute"),
    ],
)
def test_the_rule_of_ncu(compute: float, memory: float, side: str) -> None:
    assert sol_side(compute, memory) == side


def rates(compute: float, memory: float, **others: float) -> dict[str, float]:
    names = {
        "dram": m.DRAM_PERCENT,
        "l2": m.L2_PERCENT,
        "l1": m.L1_PERCENT,
        "shared": m.SHARED_PIPE_PERCENT,
        "issue": m.ISSUE_PERCENT,
        "active": m.WARPS_ACTIVE_PERCENT,
        "theoretical": m.WARPS_THEORETICAL_PERCENT,
        "fma": pipe_metric("fma"),
        "barrier": stall_metric("barrier"),
        "not_selected": stall_metric("not_selected"),
    }
    return {
        m.COMPUTE_PERCENT: compute,
        m.MEMORY_PERCENT: memory,
        **{names[key]: value for key, value in others.items()},
    }


@pytest.mark.parametrize(
    ("values", "bound", "words"),
    [
        (rates(20, 92, dram=92, l2=40, l1=30), "dram", "bound by DRAM bandwidth (92% of peak)"),
        (rates(30, 85, dram=10, l2=85, l1=60), "l2", "bound by L2 bandwidth"),
        (rates(60, 95, dram=3, l2=10, l1=95, shared=94), "shared", "bound by shared-memory wavefronts (94% of peak)"),
        (rates(60, 95, dram=3, l2=10, l1=95, shared=20), "l1", "bound by L1 throughput"),
        (rates(88, 30, issue=88, fma=60), "issue", "bound by instruction issue (88% of issue slots busy)"),
        (rates(93, 30, issue=70, fma=93), "compute", "bound by the fma pipe (93% of peak)"),
        (rates(93, 30), "compute", "bound by compute"),
        (
            rates(10, 20, active=12, theoretical=100),
            "warps",
            "too few warps (12% of the warps resident, 100% possible)",
        ),
        (rates(10, 20, active=80, theoretical=100), "latency", "bound by latency (80%"),
        (rates(72, 75), "balanced", "in balance: compute 72%, memory 75% of peak"),
        (rates(10, 90), "memory", "bound by memory"),
    ],
)
def test_what_bounds_a_kernel(values: dict[str, float], bound: str, words: str) -> None:
    said = bound_by_rates(values)
    assert said.bound == bound
    assert words in said.text
    assert said.numbers.items() <= values.items()


def test_latency_names_the_most_frequent_stall() -> None:
    said = bound_by_rates(rates(10, 20, active=80, barrier=4.5, not_selected=9.0))
    assert "most often waiting at a barrier (4.5 warps per issue)" in said.text


def test_counts_alone_say_what_is_wasted_and_nothing_about_time() -> None:
    wasted = read_run(DATA / "emulated_run.json").results[2]
    said = verdict(wasted)
    assert (said.bound, said.side) == ("counted", "")
    # 83,886,080 + 2,097,152 wavefronts over 41,943,040 + 2,097,152 conflict-free ones = 1.95
    assert said.text == "counted, not timed: 1.95-way bank conflicts"
    assert "as good as they can be" in verdict(read_run(DATA / "emulated_run.json").results[1]).text


def test_nothing_counted_is_no_verdict() -> None:
    assert verdict(Result("v", "v", {}, {}, Status.BUILD_FAILED)) is None


def test_ncus_rates_go_before_the_emulators_counts() -> None:
    mine, theirs = Counters({m.INSTRUCTIONS: 1}, "emulator", 1, 1), Counters(rates(10, 95, dram=95), "ncu", 1, 1)
    assert verdict(Result("v", "v", {}, {}, Status.OK, counters=mine, ncu=theirs)).bound == "dram"


def test_headlines_are_in_ncus_order() -> None:
    values = {**rates(30, 85, dram=10, l2=85, active=50, theoretical=100, issue=20, barrier=2), m.TIME: 12_345}
    lines = list(headlines(Counters(values, "ncu", 1, 1)))
    assert lines == [
        "Duration: 12.35 µs under ncu, caches flushed",
        "Speed Of Light: compute 30%, memory 85%",
        "Throughput: DRAM 10%, L2 85%",
        "Occupancy: achieved 50%, theoretical 100%",
        "Scheduler: issue slots busy 20%",
        "Stalls (warps per issue): waiting at a barrier 2",
    ]
    assert list(headlines(Counters({m.INSTRUCTIONS: 1}, "emulator", 1, 1))) == []


def test_metric_sets_resolve_without_repetition() -> None:
    both = resolve_metrics(["basic,memory", "lts__t_sectors.sum"])
    assert len(set(both)) == len(both)
    assert set(SETS["memory"]) < set(both)
    assert both[-1] == "lts__t_sectors.sum"
    for names in SETS.values():
        assert resolve_metrics(names) == names


def test_a_word_that_is_no_metric_is_refused() -> None:
    from gpuprof.errors import UsageError

    with pytest.raises(UsageError, match=r"--ncu everything: no metric set \(basic"):
        resolve_metrics(["everything"])
