"""A forest of regression trees over the costs so far, and the points that it finds most promising.

Each tree is grown from a resampling of the tried points, so that trees disagree where little was tried. A point is as
promising as the mean of the trees' predictions less their standard deviation (a lower confidence bound; Hutter, Hoos
and Leyton-Brown, "Sequential Model-Based Optimization for General Algorithm Configuration", LION 2011, use such a kind
of forest). Trees cut along one column at a time, which fits the steps that times have in such parameters, and care
neither for a column's scale nor for outliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.search.listed import shuffled
from gpuprof.search.points import Features, SearchPoints
from gpuprof.search.strategy import Strategy

#: Points before the first forest.
FIRST = 8
TREES = 30
#: The share of the columns that a cut chooses from.
COLUMNS = 0.5
#: Standard deviations of the trees that a point is given as credit.
CREDIT = 1.0
#: A forest is grown for each point up to this number of tried points, then for so many points at once.
EARLY, LATER = 24, 4
#: Points that a forest looks at: all of a small space, else random ones and neighbours of the best.
MAX_LOOKED_AT = 20_000
_LEADERS = 20


class Forest:
    """Grows a new forest when it is asked, unless points of the last one are left."""

    def __init__(self, points: SearchPoints, seed: int) -> None:
        self._points = points
        self._generator = np.random.default_rng(seed)
        self._first = shuffled(len(points), self._generator)
        self._given: set[int] = set()
        self._tried: dict[int, float] = {}  #: logarithm or value of the cost; nan: failed
        self._waiting: list[int] = []
        self._columns: Features | None = points.features(slice(None)) if len(points) <= MAX_LOOKED_AT else None

    def ask(self, count: int) -> list[int]:
        """Random points first, then the forest's."""
        found: list[int] = []
        while len(found) < count and len(self._given) < len(self._points):
            index = self._next(count - len(found))
            self._given.add(index)
            found.append(index)
        return found

    def tell(self, index: int, cost: float | None) -> None:
        """Keep a cost; the rest of the last forest's points is dropped when it is time for a new one."""
        self._given.add(index)
        self._tried[index] = np.nan if cost is None else cost

    def _next(self, wanted: int) -> int:
        if not self._waiting:
            finite = sum(np.isfinite(cost) for cost in self._tried.values())
            if len(self._given) < FIRST or finite < 2:
                return next(index for index in self._first if index not in self._given)
            self._waiting = self._promising(max(wanted, 1 if len(self._tried) < EARLY else LATER))
        return self._waiting.pop(0)

    def _promising(self, count: int) -> list[int]:
        tried = np.fromiter(self._tried, dtype=np.int64)
        candidates = self._candidates()
        trees = self._grow(self._features(tried), _targets(np.array(list(self._tried.values()))))
        columns = self._features(candidates)
        predictions = np.array([tree.predict(columns)[:, 0] for tree in trees])
        bound = predictions.mean(axis=0) - CREDIT * predictions.std(axis=0)
        bound += 1e-9 * self._generator.random(len(bound))  # equal predictions in random order
        return [int(index) for index in candidates[np.argsort(bound)[:count]]]

    def _candidates(self) -> NDArray[np.int64]:
        """Points that were not given yet."""
        given = np.fromiter(self._given, dtype=np.int64, count=len(self._given))
        if len(self._points) <= MAX_LOOKED_AT:
            free = np.ones(len(self._points), dtype=bool)
            free[given] = False
            return np.flatnonzero(free)
        leaders = sorted(self._tried, key=lambda index: (np.isnan(self._tried[index]), self._tried[index]))[:_LEADERS]
        near = [self._points.neighbours(index) for index in leaders]
        random = self._generator.integers(len(self._points), size=MAX_LOOKED_AT)
        return np.setdiff1d(np.concatenate([random, *near]), given)

    def _features(self, indices: NDArray[np.int64]) -> Features:
        return self._points.features(indices) if self._columns is None else self._columns[indices]

    def _grow(self, columns: Features, targets: NDArray[np.float64]) -> list[Any]:
        from sklearn.tree import DecisionTreeRegressor

        count = len(targets)
        trees = []
        for seed in self._generator.integers(1 << 31, size=TREES):
            weights = np.bincount(self._generator.integers(count, size=count), minlength=count).astype(np.float64)
            tree = DecisionTreeRegressor(max_features=COLUMNS, random_state=int(seed))
            trees.append(tree.fit(columns, targets, sample_weight=weights, check_input=False).tree_)
        return trees


def _targets(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms where all costs are positive; failed points as bad as the worst that ran."""
    ran = np.isfinite(costs)
    known = costs[ran]
    values = np.log(known) if known.min() > 0 else known
    targets = np.full(len(costs), values.max())
    targets[ran] = values
    return targets


def make(points: SearchPoints, seed: int, trials: int | None, variety: str) -> Strategy:
    """The strategy over these points."""
    return Forest(points, seed)
