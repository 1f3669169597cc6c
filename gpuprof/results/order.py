"""The rows of a run in the order of one of their values."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from gpuprof.errors import UsageError
from gpuprof.results.derived import TABLE, derived_values
from gpuprof.results.model import Run

ALIASES = {"time": "time_us"}


@dataclass(frozen=True)
class Order:
    """By a value of ``results.derived``, smallest first unless ``descending``."""

    name: str
    descending: bool = False

    def of(self, run: Run) -> Run:
        """The run with its rows in this order; those without the value come last, as they were."""
        keys = {id(result): derived_values(result).get(self.name) for result in run.results}
        valued = [result for result in run.results if keys[id(result)] is not None]
        rest = [result for result in run.results if keys[id(result)] is None]
        valued.sort(key=lambda result: keys[id(result)] or 0.0, reverse=self.descending)
        return replace(run, results=(*valued, *rest))


def parse_order(text: str) -> Order:
    """``time``, ``registers``, ``-gflops`` (largest first); raises UsageError for a value that no row can have."""
    plain = text.strip().removeprefix("-")
    name = ALIASES.get(plain, plain)
    known = [entry.name for entry in TABLE]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else f"; known are time, {', '.join(known)}"
        raise UsageError(f"--sort {text!r}: no value {plain!r}{hint}")
    return Order(name, text.strip().startswith("-"))
