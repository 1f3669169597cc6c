"""Optuna's samplers over a list of valid points.

A sampler chooses a position on each axis by itself; the valid point nearest to it that was not tried yet is the trial.
The sampler is told what was tried in place of what it chose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprof.search.listed import shuffled
from gpuprof.search.points import SearchPoints
from gpuprof.search.strategy import Strategy

#: Positions that a sampler may choose of which all valid points near by were tried, before one is taken at random.
_TRIES = 2


class OptunaSampler:
    """Asks an Optuna study; failed points count as the worst so far."""

    def __init__(self, points: SearchPoints, sampler: Any, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        self._points = points
        self._study = optuna.create_study(sampler=sampler)
        self._random = shuffled(len(points), np.random.default_rng(seed))
        self._given: set[int] = set()
        self._worst = 0.0
        self._names = {number: f"axis{number}" for number in points.varying}
        self._distributions: dict[str, Any] = {
            name: optuna.distributions.IntDistribution(0, len(points.axes[number].values) - 1)
            for number, name in self._names.items()
        }

    def ask(self, count: int) -> list[int]:
        """The points of the sampler's next positions."""
        found: list[int] = []
        while len(found) < count and len(self._given) < len(self._points):
            found.append(self._next())
            self._given.add(found[-1])
        return found

    def _next(self) -> int:
        for _ in range(_TRIES):
            trial = self._study.ask(self._distributions)
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            row = np.zeros((1, len(self._points.axes)), dtype=np.int64)
            for number, name in self._names.items():
                row[0, number] = trial.params[name]
            index = int(self._points.find(row)[0])
            if index < 0:
                index = self._nearest(row[0])
            if index not in self._given:
                return index
            free = [int(neighbour) for neighbour in self._points.neighbours(index) if int(neighbour) not in self._given]
            if free:
                return free[len(self._given) % len(free)]
        return next(index for index in self._random if index not in self._given)

    def _nearest(self, row: Any) -> int:
        axes = self._points.axes
        return self._points.nearest(np.array([axes[n].scale[row[n]] for n in self._points.varying]))

    def tell(self, index: int, cost: float | None) -> None:
        """A finished trial at the point that was tried."""
        if cost is not None:
            self._worst = max(self._worst, cost)
        row = self._points.rows[index]
        self._study.add_trial(
            self._optuna.trial.create_trial(
                params={name: int(row[number]) for number, name in self._names.items()},
                distributions=self._distributions,
                value=float(self._worst if cost is None else cost),
            )
        )


def make(points: SearchPoints, seed: int, trials: int | None, variety: str) -> Strategy:
    """A study with the tree-structured Parzen estimator over all axes together."""
    import warnings

    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # experimental options say so
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=12)
    return OptunaSampler(points, sampler, seed)
