"""Recorded spaces: points and costs from a file, and the replay of a strategy on them without a device."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import StoreError
from gpuprof.search.points import SearchAxis, SearchPoints
from gpuprof.search.strategy import Strategy


@dataclass(frozen=True)
class RecordedSpace:
    """``costs`` by point, nan for one that failed."""

    name: str
    points: SearchPoints
    costs: NDArray[np.float64]

    @property
    def optimum(self) -> float:
        """The least cost."""
        return float(np.nanmin(self.costs))


def space_of(name: str, head: Sequence[str], rows: Sequence[Sequence[object]], costs: Sequence[float]) -> RecordedSpace:
    """A space from rows of parameter values; equal values of an axis are found here. Rows may be in any order."""
    axes: list[SearchAxis] = []
    numbers = np.zeros((len(rows), len(head)), dtype=np.int64)
    for column, title in enumerate(head):
        values = sorted({row[column] for row in rows}, key=lambda value: (isinstance(value, str), value))
        place = {value: number for number, value in enumerate(values)}
        axes.append(SearchAxis(title, tuple(values)))
        numbers[:, column] = [place[row[column]] for row in rows]
    order = np.argsort(SearchPoints(axes, numbers).code(numbers), kind="stable")
    return RecordedSpace(name, SearchPoints(axes, numbers[order]), np.asarray(costs, dtype=np.float64)[order])


def read_space(path: Path) -> RecordedSpace:
    """A CSV (also ``.csv.gz``): a column per parameter, and a last one with the cost, empty where the point failed.

    Raises StoreError for a file that is none.
    """
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            head, *rows = list(csv.reader(file))
        values = [[_number(text) for text in row[:-1]] for row in rows]
        costs = [float(row[-1]) if row[-1].strip() else float("nan") for row in rows]
    except (OSError, ValueError, UnicodeDecodeError, IndexError) as error:
        raise StoreError(f"{path}: no recorded space (CSV of parameters and a cost): {error}") from None
    return space_of(path.name.split(".")[0], head[:-1], values, costs)


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def replay(space: RecordedSpace, strategy: Strategy, trials: int) -> NDArray[np.float64]:
    """The best cost after each of ``trials`` trials (inf before the first that ran): one point at a time."""
    costs: list[float] = []
    while len(costs) < trials:
        asked = strategy.ask(1)
        if not asked:
            break
        cost = float(space.costs[asked[0]])
        strategy.tell(asked[0], None if np.isnan(cost) else cost)
        costs.append(np.inf if np.isnan(cost) else cost)
    costs += [np.inf] * (trials - len(costs))
    best: NDArray[np.float64] = np.minimum.accumulate(np.array(costs))
    return best
