"""The lazy space: the points of the full expansion in the same order, and of millions only those that are kept."""

from __future__ import annotations

import textwrap
import tracemalloc
from pathlib import Path

import pytest

from gpuprof.errors import ConfigError, UsageError
from gpuprof.experiment import load, load_tunable
from gpuprof.experiment.tunable import FailedPoint, Tunable

KERNEL = 'extern "C" __global__ void k(float *y) { y[blockIdx.x * blockDim.x + threadIdx.x] = A + B; }\n'


def written(folder: Path, params: str, where: str | None, extra: str = "", block: str = "32") -> Path:
    """A YAML over one kernel with these parameters."""
    (folder / "k.cu").write_text(KERNEL)
    condition = f"    where: {where}\n" if where else ""
    path = folder / "k.yaml"
    path.write_text(
        "buffers:\n  y: {dtype: float32, shape: [4096], output: true}\n"
        + textwrap.dedent(extra)
        + "variants:\n  k:\n    source: k.cu\n    kernel: k\n"
        + f"    params: {{{params}}}\n{condition}    block: {block}\n    grid: 4\n    args: [y]\n"
    )
    return path


def labels(found: Tunable, family: int = 0) -> list[str]:
    space = found.families[family]
    return [space.point(row).label for rows in space.blocks() for row in rows.tolist()]


WHERES = (
    None,
    "A * B <= 16 and B % C == 0 and (D or A > 3)",
    "D != 0 and A % D == 0 and E == 'half'",  # the first part keeps the second from dividing by zero
    "F > A and C <= B",
    "D == 0 or A % D == 0",
    "min(A, B) > 2 and (1 if D == 0 else A // D) > 2 and F * 2 > B",
    "E == 'half' or A * B * C > 20",
    "A ** B < 100 and not D",
)


@pytest.mark.parametrize("where", WHERES)
def test_the_points_are_those_of_the_full_expansion_in_its_order(tmp_path: Path, where: str | None) -> None:
    params = "A: [1, 2, 3, 4, 5], B: [1, 2, 3, 4], C: [1, 2, 4], D: [0, 1, 2], E: [float, half], F: [1, 'A * 2']"
    path = written(tmp_path, params, where)
    assert labels(load_tunable(path)) == [variant.label for variant in load(path).variants]


def test_columns_and_single_points_agree_where_blocks_are_large(tmp_path: Path) -> None:
    params = f"A: {list(range(1, 41))}, B: {list(range(1, 41))}, C: [0, 1, 2, 3]"
    path = written(tmp_path, params, "A * B % 8 == 0 and (C == 0 or A % C == 0) and A + B < 60")
    expected = sum(
        a * b % 8 == 0 and (c == 0 or a % c == 0) and a + b < 60
        for a in range(1, 41)
        for b in range(1, 41)
        for c in range(4)
    )
    assert sum(len(rows) for rows in load_tunable(path).families[0].blocks()) == expected


def test_millions_of_points_take_little_memory_and_those_that_where_drops_take_none(tmp_path: Path) -> None:
    values = list(range(1, 33))
    params = f"A: {values}, B: {values}, C: {values[:20]}, D: {values[:20]}, E: [1, 2, 3, 4, 5, 6, 7], F: [0, 1]"
    space = load_tunable(written(tmp_path, params, "A * B <= 64 and A * B >= 32 and C * D % 2 == 0")).families[0]
    tracemalloc.start()
    kept = sum(len(rows) for rows in space.blocks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pairs = sum(32 <= a * b <= 64 for a in values for b in values)
    even = sum(c * d % 2 == 0 for c in range(1, 21) for d in range(1, 21))
    assert space.size == 5_734_400
    assert kept == pairs * even * 14
    assert space.visited < space.size / 4
    assert peak < 50e6


def test_a_variant_is_the_one_that_run_would_make(tmp_path: Path) -> None:
    path = written(tmp_path, "A: [1, 2], B: [1, 2, 3]", "A < B")
    found, whole = load_tunable(path), load(path)
    rows = next(found.families[0].blocks()).tolist()
    assert [found.variant(0, row) for row in rows] == list(whole.variants)


def test_a_point_that_cannot_be_launched_is_a_failed_point_and_not_the_end(tmp_path: Path) -> None:
    found = load_tunable(written(tmp_path, "A: [1, 2], B: [16, 2048]", None, block="B"))
    rows = next(found.families[0].blocks()).tolist()
    made = [found.variant(0, row) for row in rows]
    failed = [each for each in made if isinstance(each, FailedPoint)]
    assert [each.label for each in failed] == ["k/A=1/B=2048", "k/A=2/B=2048"]
    assert "block x is 2048, over the limit of 1024" in failed[0].reason


def test_a_mistake_of_every_point_is_the_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'Q' is not declared"):
        load_tunable(written(tmp_path, "A: [1, 2], B: [16, 32]", None, block="Q"))
    with pytest.raises(ConfigError, match="'Z' is not declared"):
        load_tunable(written(tmp_path, "A: [1, 2], B: [16, 32]", "Z > 1"))


@pytest.mark.parametrize(
    ("params", "where", "extra", "message"),
    [
        ("A: 1, B: 2", None, "", "nothing to search"),
        ("A: [1, 2], B: 3", "A > 9", "", "`where` drops every point"),
        ("A: [1, 1], B: 3", None, "", "A: the list repeats a value"),
        ("A: [1, 2], B: 3", None, "sizes: {N: [1, 2]}\n", "N has 2 values .* --set N=1"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    tmp_path: Path, params: str, where: str | None, extra: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load_tunable(written(tmp_path, params, where, extra))


def test_search_defaults_are_read_and_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "A: [1, 2], B: 3", None, "search: {strategy: random, trials: 7, minutes: 2, seed: 3}\n")
    search = load_tunable(path).search
    assert (search.strategy, search.trials, search.minutes, search.seed) == ("random", 7, 2.0, 3)
    with pytest.raises(ConfigError, match="expected at least 1"):
        load_tunable(written(tmp_path, "A: [1, 2], B: 3", None, "search: {trials: 0}\n"))
