"""Rows of a run: in the order of one of their values, and which of them are the baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpuprof.errors import UsageError
from gpuprof.experiment.naming import matches
from gpuprof.results.derived import TABLE, derived_values, no_value
from gpuprof.results.model import Result, Run

ALIASES = {"time": "time_us"}


@dataclass(frozen=True)
class Order:
    """By a value of ``results.derived``, smallest first unless ``descending``."""

    name: str
    descending: bool = False

    def of(self, run: Run) -> Run:
        """The run with its rows in this order; those without the value come last, as they were."""
        values = [(derived_values(result).get(self.name), result) for result in run.results]
        valued = [(value, result) for value, result in values if value is not None]
        valued.sort(key=lambda pair: pair[0], reverse=self.descending)
        rest = [result for value, result in values if value is None]
        return replace(run, results=(*(result for _, result in valued), *rest))


def parse_order(text: str) -> Order:
    """``time``, ``registers``, ``-gflops`` (largest first); raises UsageError for a value that no row can have."""
    plain = text.strip().removeprefix("-")
    name = ALIASES.get(plain, plain)
    known = [entry.name for entry in TABLE]
    if name not in known:
        raise UsageError(f"--sort {text!r}: {no_value(plain, (*ALIASES, *known))}")
    return Order(name, text.strip().startswith("-"))


def is_baseline(run: Run, result: Result) -> bool:
    """Whether the run's baseline names this row."""
    return run.baseline is not None and matches(run.baseline, result.family, result.variant)
