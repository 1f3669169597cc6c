"""Strategies that learn nothing: every point in order, or in random order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuprof.search.points import SearchPoints
from gpuprof.search.strategy import Strategy


class Listed:
    """Points in a given order."""

    def __init__(self, order: Iterator[int]) -> None:
        self._order = order

    def ask(self, count: int) -> list[int]:
        """The next ones."""
        return [index for _, index in zip(range(count), self._order, strict=False)]

    def tell(self, index: int, cost: float | None) -> None:
        """Nothing is learned."""


def make(points: SearchPoints, seed: int, trials: int | None, variety: str) -> Strategy:
    """``exhaustive`` or ``random``."""
    if variety == "exhaustive":
        return Listed(iter(range(len(points))))
    return Listed(shuffled(len(points), np.random.default_rng(seed)))


def shuffled(count: int, generator: np.random.Generator) -> Iterator[int]:
    """0 .. count - 1 in random order, without a list of them while few are taken."""
    taken: set[int] = set()
    while len(taken) < count // 2:
        index = int(generator.integers(count))
        if index not in taken:
            taken.add(index)
            yield index
    rest = np.setdiff1d(np.arange(count), np.fromiter(taken, dtype=np.int64, count=len(taken)))
    yield from map(int, generator.permutation(rest))
