"""Outputs in any order: sorted, as a set, or the first so many; a wrong one is still found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof import experiment as experiments
from gpuprof.errors import ConfigError
from gpuprof.experiment.model import Tolerance
from gpuprof.profile.verification.unordered import Ordering, compare_unordered, in_order
from gpuprof.results.model import Status
from tests.profile.experiments import rows_of

EXACT = Tolerance(0, 0)

SOURCE = """
extern "C" __global__ void compact(const int *x, int n, int *y, int *kept)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % MODULUS == 0) y[atomicAdd(kept, 1)] = x[i] + ADDED;
}
"""
CONFIG = """
sizes: {N: 1000}
buffers:
  x: {dtype: int32, shape: N, fill: (i * 7) % 1000}
  y: {dtype: int32, shape: N, output: true, unordered: {count: kept}}
  kept: {dtype: int32, shape: 1, fill: 0, output: true}
reference:
  y: sort(where(x % 5 == 0, x, 100000))
  kept: sum(x % 5 == 0)
variants:
  compact:
    {source: k.cu, kernel: compact, block: 64, grid: "cdiv(N, 64)", args: [x, N, y, kept],
     params: {MODULUS: [5, 10], ADDED: [0, 1]}}
"""
REFERENCE_IS_A_VARIANT = """
sizes: {N: 1000}
buffers:
  x: {dtype: int32, shape: N, fill: (i * 7) % 1000}
  y: {dtype: int32, shape: N, output: true, unordered: {count: kept}}
  kept: {dtype: int32, shape: 1, fill: 0, output: true}
reference: first
variants:
  first: &call
    {source: k.cu, kernel: compact, block: 64, grid: "cdiv(N, 64)", args: [x, N, y, kept],
     params: {MODULUS: 5, ADDED: 0}}
  second: {<<: *call, block: 32, grid: "cdiv(N, 32)"}
  wrong: {<<: *call, params: {MODULUS: 5, ADDED: 5}}
"""
SETS = """
sizes: {N: 1000}
buffers:
  y: {dtype: int32, shape: N, output: true, unordered: ORDER}
reference: {y: WANT}
variants:
  v: {source: k.cu, kernel: reversed, block: 64, grid: "cdiv(N, 64)", args: [y, N]}
"""
REVERSED = """
extern "C" __global__ void reversed(int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[n - 1 - i] = i % 10;
}
"""


def test_a_compaction_by_an_atomic_counter(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, CONFIG, SOURCE)
    statuses = {label: row.status for label, row in rows.items()}
    assert statuses.pop("compact/MODULUS=5/ADDED=0") is Status.OK
    assert set(statuses.values()) == {Status.DIFFERS}
    assert "when sorted" in (rows["compact/MODULUS=5/ADDED=1"].reason or "")


def test_a_variant_as_the_reference_of_a_compaction(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, REFERENCE_IS_A_VARIANT, SOURCE)
    assert {label: row.status for label, row in rows.items()} == {
        "first": Status.OK,
        "second": Status.OK,
        "wrong": Status.DIFFERS,
    }


@pytest.mark.parametrize(
    ("order", "want", "status"),
    [
        ("false", "arange(N) % 10", Status.DIFFERS),
        ("true", "arange(N) % 10", Status.OK),
        ("true", "arange(N) % 20 // 2", Status.OK),
        ("true", "arange(N) % 11", Status.DIFFERS),
        ("set", "clip(arange(N), 0, 9)", Status.OK),
        ("set", "clip(arange(N), 0, 10)", Status.DIFFERS),
        ("set", "clip(arange(N), 0, 8)", Status.DIFFERS),
    ],
)
def test_sorted_and_as_a_set(tmp_path: Path, order: str, want: str, status: Status) -> None:
    config = SETS.replace("ORDER", order).replace("WANT", want)
    assert rows_of(tmp_path, config, REVERSED)["v"].status is status


def test_a_part_of_an_unordered_output(tmp_path: Path) -> None:
    """The first ten elements of the kernel are 9 to 0, whatever the rest holds."""
    config = SETS.replace("ORDER", "true").replace("{y: WANT}", '{y: {value: VALUE, where: "i < 10"}}')
    assert rows_of(tmp_path, config.replace("VALUE", "arange(N)"), REVERSED)["v"].status is Status.OK
    assert rows_of(tmp_path, config.replace("VALUE", "arange(N) + 1"), REVERSED)["v"].status is Status.DIFFERS


def test_unsigned_references_wrap_before_they_are_sorted() -> None:
    got, want = np.array([4294967295, 1, 0], dtype=np.uint32), np.array([-1, 0, 1])
    assert compare_unordered("y", got, want, EXACT, Ordering("sorted")).wrong == 0


def test_a_tolerance_and_what_was_never_written() -> None:
    got = np.array([3.0, 1.0, 2.0, 9.0], dtype=np.float32)
    want = np.array([1.0, 2.0, 3.001, 0.0])
    three = Ordering("sorted", 3)
    assert compare_unordered("y", got, want, Tolerance(0, 0.01), three).wrong == 0
    assert compare_unordered("y", got, want, Tolerance(0, 0.0001), three).wrong == 1
    assert compare_unordered("y", got, want, Tolerance(0, 0.01), Ordering("sorted")).wrong == 4
    assert compare_unordered("y", got, want, Tolerance(0, 0.01), Ordering("set")).wrong > 0
    unwritten = np.array([False, True, False, True])
    check = compare_unordered("y", got, want, Tolerance(0, 0.01), three, unwritten)
    assert (check.wrong, check.unwritten) == (1, 1)


def test_the_digest_is_of_what_counts() -> None:
    left, right = np.array([2, 1, 1, 7]), np.array([1, 2, 1, 8])
    assert np.array_equal(in_order(left, Ordering("sorted", 3)), in_order(right, Ordering("sorted", 3)))
    assert in_order(left, Ordering("set", 3)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{count: kept}", "often", "unordered: expected true, set, or {count: an output}, got 'often'"),
        ("{count: kept}", "{count: x}", "'x' is not another output of integers"),
        ("{count: kept}", "{counts: kept}", "did you mean 'count'"),
        ("  kept: sum(x % 5 == 0)\n", "", "'kept' has no reference, which y needs"),
        ("fill: (i * 7) % 1000", "fill: 0, unordered: true", "only an `output` is compared"),
    ],
)
def test_mistakes(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in CONFIG
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "e.yaml").write_text(CONFIG.replace(before, after))
    with pytest.raises(ConfigError) as caught:
        experiments.load(tmp_path / "e.yaml")
    assert message in str(caught.value)
