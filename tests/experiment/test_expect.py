"""Expectations over results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment import expect
from gpuprof.experiment.model import Expectation, Experiment
from gpuprof.results.expectations import evaluate_expectations, value_kinds
from gpuprof.results.model import (
    BuildFacts,
    Counters,
    ExpectationOutcome,
    OccupancyFacts,
    Result,
    Status,
    Timing,
    Verification,
)

LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
LOAD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def result(label: str, us: float | None = None, *, sectors: int = 500, n: int = 64, **fields: Any) -> Result:
    """A verified variant with 100 load requests; timed when ``us`` is given."""
    timing = None if us is None else Timing((us,), us, (us, us), us, us, "cold", 0.0)
    family, *point = label.split("/")
    parameters = {part.split("=")[0]: int(part.split("=")[1]) for part in point if not part.startswith("N=")}
    values = {LOAD_SECTORS: sectors, LOAD_REQUESTS: 100, "smsp__inst_executed.sum": 1000}
    return (
        Result(
            variant=label,
            family=family,
            parameters=parameters,
            sizes={"N": n},
            status=Status.OK,
            build=BuildFacts((), 1.0, False, "", "", "", registers=40),
            occupancy=OccupancyFacts(2, 32, 48, 100 * 32 / 48, "warps"),
            timing=timing,
            counters=Counters(values, "emulator", 1, 1),
            verification=Verification("ok", 0.0, 0.0, 1, 1),
            missing={} if timing else {"timing": "no GPU"},
        )
        if not fields
        else replace(result(label, us, sectors=sectors, n=n), **fields)
    )


def outcomes(text: str, *results: Result, variant: str | None = None) -> list[ExpectationOutcome]:
    experiment = Experiment("x", "", Path("x.yaml"), (), None, (Expectation(text, variant),))
    return list(evaluate_expectations(experiment, results))


def held(text: str, *results: Result, variant: str | None = None) -> list[bool | None]:
    return [outcome.held for outcome in outcomes(text, *results, variant=variant)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("verdict == 'ok'", True),
        ("load_sectors_per_request == 5", True),
        ("load_sectors_per_request == 4", False),
        ("registers <= 64 and status == 'ok'", True),
        ("near(occupancy, 66.7)", True),
        ("limiter == 'warps'", True),
        ('counter("smsp__inst_executed.sum") == 1000', True),
        ('counters["smsp__inst_executed.sum"] == warp_instructions', True),
        ("max_abs == 0", True),
        ("gcd(STRIDE, 32) == 4 and N == 64", True),
        ("time < 5", None),
        ("ffma_longest_run > 3", None),
        ("store_sectors_per_request == 4", None),
    ],
)
def test_values_of_one_result(text: str, expected: bool | None) -> None:
    assert held(text, result("v/STRIDE=12")) == [expected]


def test_the_detail_shows_what_was_read() -> None:
    (outcome,) = outcomes("load_sectors_per_request == 4", result("v"))
    assert outcome == ExpectationOutcome("load_sectors_per_request == 4", "v", False, "load_sectors_per_request is 5")
    (outcome,) = outcomes("time < 5", result("v"))
    assert (outcome.held, outcome.detail) == (None, "v has no time: no GPU")


def test_each_result_unless_a_variant_is_named() -> None:
    results = [result("a/P=1"), result("a/P=2", sectors=800), result("b")]
    assert held("load_sectors_per_request == 5", *results) == [True, False, True]
    assert held("load_sectors_per_request == 5", *results, variant="a/P=2") == [False]
    assert held("load_sectors_per_request == 5", *results, variant="a") == [True, False]
    (outcome,) = outcomes("verdict == 'ok'", *results, variant="c")
    assert (outcome.held, outcome.detail) == (None, "no such variant in this run")


def test_other_variants() -> None:
    naive, slow, fast = result("naive", 10.0), result("tiled/TILE=8", 12.0), result("tiled/TILE=16", 5.0)
    assert held("time.tiled < time.naive", naive, slow, fast) == [True]  # the best of tiled's two
    assert held('time("tiled/TILE=8") < time.naive', naive, slow, fast) == [False]
    assert held("time < 2 * time.naive", naive, slow, fast, variant="tiled") == [True, True]
    assert held("time.tiled < time.naive", result("naive"), result("tiled")) == [None]
    (outcome,) = outcomes("load_sectors.tiled == 500", naive, slow, result("tiled/TILE=16", sectors=1))
    assert outcome.held is False
    assert 'name one point: load_sectors("label")' in outcome.detail


def test_other_variants_are_read_at_the_same_sizes() -> None:
    results = [
        result("a/N=1", 4.0, n=1),
        result("a/N=2", 8.0, n=2),
        result("b/N=1", 3.0, n=1),
        result("b/N=2", 9.0, n=2),
    ]
    assert held("time < time.a", *results, variant="b") == [True, False]


def test_what_failed_does_not_hold_and_what_was_skipped_is_open() -> None:
    failed = result("v", status=Status.BUILD_FAILED, reason="k.cu:3: no", verification=None, counters=None)
    (outcome,) = outcomes("verdict == 'ok'", failed)
    assert (outcome.held, outcome.detail) == (False, "v has no verdict: k.cu:3: no")
    assert held("status == 'build_failed'", failed) == [True]
    assert held("verdict == 'ok'", result("v", status=Status.SKIPPED, reason="no GPU", verification=None)) == [None]


@pytest.mark.parametrize("text", ["verdict.__class__", "time.tiled.real", "().__class__", 'open("x")', "counters.x"])
def test_expectations_cannot_reach_python(text: str) -> None:
    with pytest.raises(ExpressionError):
        expect.check(expect.parse_expectation(text, value_kinds()), ["tiled"], [], value_kinds())
