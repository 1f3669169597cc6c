"""Rows in the order of a value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.errors import UsageError
from gpuprof.results.json import read_run
from gpuprof.results.lookup import parse_order
from gpuprof.results.model import Run

DATA = Path(__file__).parent / "data"


def times(*values: float | None) -> Run:
    run = read_run(DATA / "gpu_run.json")
    row = run.results[0]
    assert row.timing is not None
    rows = [
        replace(row, variant=f"v{n}", timing=None if time is None else replace(row.timing, median_us=time))
        for n, time in enumerate(values)
    ]
    return replace(run, results=tuple(rows))


@pytest.mark.parametrize(("text", "expected"), [("time", "3 1 0 2 4"), ("-time_us", "0 1 3 2 4")])
def test_rows_without_a_value_come_last(text: str, expected: str) -> None:
    ordered = parse_order(text).of(times(30.0, 20.0, None, 10.0, None))
    assert [row.variant for row in ordered.results] == [f"v{n}" for n in expected.split()]


def test_equal_values_stay_as_they_were() -> None:
    ordered = parse_order("time").of(times(1.0, 1.0, 0.5, 1.0))
    assert [row.variant for row in ordered.results] == ["v2", "v0", "v1", "v3"]


def test_a_value_that_there_is_not_is_named_with_its_neighbours() -> None:
    with pytest.raises(UsageError, match=r"--sort 'gflop': no value 'gflop'; did you mean gflops"):
        parse_order("gflop")
    with pytest.raises(UsageError, match="known are time, time_us"):
        parse_order("-")
