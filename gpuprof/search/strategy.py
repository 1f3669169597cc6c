"""What a strategy is, and the list of them.

A strategy is asked for points and told their costs. Several may be asked for before the first is told, so that builds
run side by side; a strategy never gives a point twice. A cost of None is a point that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from gpuprof.errors import MissingToolError, UsageError
from gpuprof.search.points import SearchPoints

DEFAULT = "forest"


class Strategy(Protocol):
    """Chooses points by their indices."""

    def ask(self, count: int) -> list[int]:
        """Up to ``count`` points that were not given before; none when there is nothing left."""
        ...

    def tell(self, index: int, cost: float | None) -> None:
        """A point's cost, smaller is better; None when it failed."""
        ...


@dataclass(frozen=True)
class Kind:
    """A strategy by its name: ``module`` has a function ``make(points, seed, trials, variety)``."""

    module: str
    meaning: str
    variety: str = ""
    package: str = ""  #: what it needs beside numpy


STRATEGIES: Mapping[str, Kind] = {
    "forest": Kind("forest", "a random forest of the costs so far chooses the most promising points", "", "sklearn"),
    "random": Kind("listed", "in random order", "random"),
    "exhaustive": Kind("listed", "every point, in the order of the lists", "exhaustive"),
    "tpe": Kind("sampler", "Optuna's tree-structured Parzen estimator", "tpe", "optuna"),
    "differential": Kind("minimizer", "scipy's differential evolution", "differential", "scipy"),
    "annealing": Kind("minimizer", "scipy's dual annealing", "annealing", "scipy"),
}


def make_strategy(name: str, points: SearchPoints, *, seed: int = 0, trials: int | None = None) -> Strategy:
    """The strategy of that name over ``points``; ``trials`` is the budget where it is known.

    Raises UsageError for an unknown name, MissingToolError where its package is not installed.
    """
    kind = STRATEGIES.get(name)
    if kind is None:
        raise UsageError(f"--strategy {name!r}: there are {', '.join(STRATEGIES)}")
    if kind.package and find_spec(kind.package) is None:
        raise MissingToolError(f"--strategy {name} needs {kind.package}: pip install '.[tune]' in gpuprof's checkout")
    make = cast(
        Callable[[SearchPoints, int, "int | None", str], Strategy],
        import_module(f"gpuprof.search.{kind.module}").make,
    )
    return make(points, seed, trials, kind.variety)
