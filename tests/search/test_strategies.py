"""Strategies over lists of points: each point once, all of them in the end, failed ones as facts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuprof.errors import StoreError, UsageError
from gpuprof.search.points import SearchAxis, SearchPoints, product_points
from gpuprof.search.recorded import read_space, replay, space_of
from gpuprof.search.strategy import STRATEGIES, make_strategy

SPACES = Path(__file__).parents[2] / "benchmarks" / "spaces"
AXES = (
    SearchAxis("a", (1, 2, 4, 8, 16)),
    SearchAxis("b", (1, 2, 3, 4)),
    SearchAxis("c", ("x", "y")),
    SearchAxis("fixed", (7,)),
)


@pytest.fixture
def points() -> SearchPoints:
    whole = product_points(AXES)
    return SearchPoints(AXES, whole.rows[(whole.rows[:, 0] + whole.rows[:, 1]) % 3 != 1])


def cost(points: SearchPoints, index: int) -> float:
    row = points.rows[index]
    return 1.0 + abs(row[0] - 3) + abs(row[1] - 2) + row[2]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_point_is_given_once_and_in_the_end_all_are(points: SearchPoints, name: str) -> None:
    strategy, given = make_strategy(name, points, seed=3, trials=20), []
    while asked := strategy.ask(3):
        given += asked
        for index in asked:
            strategy.tell(index, None if index % 5 == 0 else cost(points, index))
    assert sorted(given) == list(range(len(points)))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_seed_decides(points: SearchPoints, name: str) -> None:
    def order(seed: int) -> list[int]:
        strategy, given = make_strategy(name, points, seed=seed, trials=20), []
        for _ in range(12):
            (index,) = strategy.ask(1)
            strategy.tell(index, cost(points, index))
            given.append(index)
        return given

    assert order(1) == order(1)
    assert (order(1) == order(2)) == (name == "exhaustive")


def test_a_forest_goes_on_where_every_point_fails(points: SearchPoints) -> None:
    strategy = make_strategy("forest", points)
    for _ in range(len(points)):
        (index,) = strategy.ask(1)
        strategy.tell(index, None)
    assert strategy.ask(1) == []


def test_an_unknown_strategy_is_named_with_those_that_there_are(points: SearchPoints) -> None:
    with pytest.raises(UsageError, match="'tabu': there are forest, random, exhaustive"):
        make_strategy("tabu", points)


def test_points_are_found_and_have_neighbours(points: SearchPoints) -> None:
    for index in range(len(points)):
        assert points.find(points.rows[index : index + 1])[0] == index
        near = points.neighbours(index)
        assert all((points.rows[each] != points.rows[index]).sum() == 1 for each in near)
    assert points.find(np.array([[0, 1, 0, 0]]))[0] == -1  # dropped: (0 + 1) % 3 == 1


def test_a_model_reads_scaled_axes_and_products(points: SearchPoints) -> None:
    features = points.features(slice(None))
    assert features.shape == (len(points), 4)  # a, b, c, a * b; not the fixed one
    assert features[:, :3].min() == 0
    assert features[:, :3].max() == 1
    row = points.find(np.array([[2, 3, 0, 0]]))[0]
    assert features[row].tolist() == [0.5, 1.0, 0.0, 4.0]  # 4 * 4 is 2^4


def test_a_recorded_space_is_read_in_the_products_order(tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    file.write_text("a,b,time_ms\n2,x,5\n1,x,\n1,y,3\n")
    space = read_space(file)
    assert [axis.values for axis in space.points.axes] == [(1, 2), ("x", "y")]
    assert space.points.rows.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert np.array_equal(space.costs, [np.nan, 3, 5], equal_nan=True)
    best = replay(space, make_strategy("exhaustive", space.points), 5)
    assert best.tolist() == [np.inf, 3, 3, 3, 3]
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match=r"small\.csv: no recorded space"):
        read_space(file)


@pytest.mark.parametrize(("name", "count"), [("convolution_A100", 4362), ("dedispersion_A4000", 11130)])
def test_the_recorded_spaces_are_whole(name: str, count: int) -> None:
    space = read_space(SPACES / f"{name}.csv.gz")
    assert len(space.points) == count
    assert len(set(space.points.code(space.points.rows).tolist())) == count


def test_the_default_finds_a_narrow_valley_sooner_than_chance() -> None:
    """4,096 points of four axes; a cost under 2 has 1 point in 68."""
    axes = [SearchAxis(name, (1, 2, 4, 8, 16, 32, 64, 128)) for name in "abcd"]
    whole = product_points(axes)
    rows = whole.rows
    costs = 1 + (rows[:, 0] + rows[:, 1] - 9.0) ** 2 + 3 * abs(rows[:, 2] - 4.0) + 0.5 * rows[:, 3]
    values = [[axes[axis].values[number] for axis, number in enumerate(row)] for row in rows]
    space = space_of("valley", list("abcd"), values, costs)
    found = {
        name: float(np.mean([replay(space, make_strategy(name, space.points, seed=seed), 40)[-1] for seed in range(2)]))
        for name in ("forest", "random")
    }
    assert found["forest"] < 2.0 < found["random"]


def test_the_script_that_replays_strategies_prints_a_row_per_space_and_their_mean(tmp_path: Path) -> None:
    script = SPACES.parent / "strategies.py"
    space = tmp_path / "small.csv"
    rows = [f"{a},{b},{'' if a == b else 1 + a * b}" for a in range(1, 16) for b in range(1, 16)]
    space.write_text("\n".join(["a,b,time_ms", *rows]) + "\n")
    command = [sys.executable, str(script), "--space", str(space), "--seeds", "1", "--jobs", "1"]
    done = subprocess.run([*command, "--strategy", "random"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[2].startswith("| gpuprof | random | small | ")
    assert lines[3].startswith("| gpuprof | random | mean of 1 | ")
    assert lines[2].endswith("| 1.000 |")  # 200 of 225 points
