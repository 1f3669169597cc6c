"""scipy's global minimisers over a list of valid points.

A minimiser calls a function of a position in the unit cube and waits for its value, so that it runs in a thread of its
own; the function's value is the cost of the nearest valid point. Positions near a point that was tried already are
answered from memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.search.listed import shuffled
from gpuprof.search.points import SearchPoints
from gpuprof.search.strategy import Strategy

#: Answers from memory in a row after which the minimiser has converged.
_ENOUGH = 500
_WAIT_SECONDS = 30.0


class _Ended(Exception):
    """Nobody asks any more."""


class Minimizer:
    """One point at a time; where several are asked for, random ones are added, whose costs are remembered too."""

    def __init__(self, points: SearchPoints, minimise: Callable[[Callable[[Any], float]], object], seed: int) -> None:
        self._points = points
        self._minimise = minimise
        self._random = shuffled(len(points), np.random.default_rng(seed))
        self._costs: dict[int, float] = {}
        self._given: set[int] = set()
        self._wanted: SimpleQueue[int | None] = SimpleQueue()
        self._answers: SimpleQueue[float | None] = SimpleQueue()
        self._waiting: int | None = None  #: the point whose cost the minimiser waits for
        self._ended = False
        self._repeats = 0
        self._thread = threading.Thread(target=self._run, name="minimiser", daemon=True)
        self._thread.start()

    def ask(self, count: int) -> list[int]:
        """The minimiser's point, and random ones beside it."""
        found: list[int] = []
        if self._waiting is None and not self._ended:
            self._take()
        if self._waiting is not None and self._waiting not in self._given:
            found.append(self._waiting)
        for index in self._random if len(found) < count else ():
            if index not in self._given and index not in found:
                found.append(index)
            if len(found) == count:
                break
        self._given.update(found)
        return found

    def tell(self, index: int, cost: float | None) -> None:
        """Remember it, and answer the minimiser where it waits for this one."""
        self._costs[index] = np.inf if cost is None else cost
        if index == self._waiting:
            self._waiting = None
            self._answers.put(self._value(index))

    def close(self) -> None:
        """End the minimiser's thread."""
        self._answers.put(None)

    def _take(self) -> None:
        try:
            self._waiting = self._wanted.get(timeout=_WAIT_SECONDS)
        except Empty:
            self._waiting = None
        if self._waiting is None:
            self._ended = True

    def _value(self, index: int) -> float:
        """Failed points as twice the worst, so that all values are finite."""
        worst = max((cost for cost in self._costs.values() if np.isfinite(cost)), default=1.0)
        cost = self._costs[index]
        return cost if np.isfinite(cost) else 2.0 * worst

    def _function(self, position: NDArray[np.float64]) -> float:
        index = self._points.nearest(np.asarray(position))
        if index in self._costs:
            self._repeats += 1
            if self._repeats > _ENOUGH:
                raise _Ended
            return self._value(index)
        self._repeats = 0
        self._wanted.put(index)
        answer = self._answers.get()
        if answer is None:
            raise _Ended
        return answer

    def _run(self) -> None:
        try:
            self._minimise(self._function)
        except _Ended:
            pass
        finally:
            self._wanted.put(None)


def make(points: SearchPoints, seed: int, trials: int | None, variety: str) -> Strategy:
    """``differential`` or ``annealing``."""
    from scipy import optimize

    bounds = [(0.0, 1.0)] * len(points.varying)
    budget = 100 * (trials or len(points))

    def differential(function: Callable[[Any], float]) -> object:
        return optimize.differential_evolution(function, bounds, seed=seed, popsize=3, maxiter=budget, polish=False)

    def annealing(function: Callable[[Any], float]) -> object:
        return optimize.dual_annealing(function, bounds, seed=seed, maxiter=budget, no_local_search=True)

    return Minimizer(points, differential if variety == "differential" else annealing, seed)
