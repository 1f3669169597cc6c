"""What a search minimises: a value or an expression of values, and what a row costs by it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gpuprof.errors import ExpressionError, UsageError
from gpuprof.experiment.expect import check, parse_expectation
from gpuprof.experiment.model import Experiment
from gpuprof.results.expectations import value_kinds, with_own_values
from gpuprof.results.model import Result, Status

NAME = "objective"  #: the row's value that holds it
#: What is minimised where nothing is said: with a GPU, and without one.
TIMED, COUNTED = "time_us", "sm_cycles"
_SPELLINGS = {"time": "time_us", "energy": "energy_mj"}


@dataclass(frozen=True)
class Objective:
    """``expression`` is over values of a row; ``basis`` is ``measured`` where it reads a time, else ``counted``."""

    expression: str
    basis: str

    def cost(self, result: Result) -> float | None:
        """The row's cost; None where it failed, differs, or has no such value."""
        if result.status not in (Status.OK, Status.UNCHECKED):
            return None
        value = result.values.get(NAME)
        return float(value) if value is not None and math.isfinite(value) else None

    def in_rows(self, experiment: Experiment) -> Experiment:
        """The experiment whose rows have the objective as a value of their own."""
        return replace(experiment, values={**experiment.values, NAME: self.expression})

    def of(self, experiment: Experiment, result: Result) -> Result:
        """The row with its objective."""
        (row,) = with_own_values(self.in_rows(experiment), (result,))
        return row


def parse_objective(text: str | None, experiment: Experiment, *, has_gpu: bool) -> Objective:
    """The objective of ``--objective``; None: the time, or without a GPU the counted ``sm_cycles``.

    Raises UsageError for a name that no row has, and for a measured value without a GPU.
    """
    if text is None:
        return Objective(TIMED, "measured") if has_gpu else Objective(COUNTED, "counted")
    plain = text.strip()
    expression = _SPELLINGS.get(plain, plain)
    if expression == NAME and NAME in experiment.values:
        expression = experiment.values[NAME]
    kinds = value_kinds(experiment)
    declared = {name for variant in experiment.variants for name in (*variant.sizes, *variant.parameters)}
    try:
        parsed = parse_expectation(expression, kinds)
        check(parsed, {variant.family for variant in experiment.variants}, {*declared, *parsed.own_names}, kinds)
    except ExpressionError as error:
        raise UsageError(f"--objective {text!r}: {error}") from None
    read = [lookup.name for lookup in parsed.lookups.values()]
    if not read:
        names = ", ".join(sorted(parsed.own_names)) or "no value"
        raise UsageError(f"--objective {text!r} reads {names}, and no value of a row: try time, -gflops or {COUNTED}")
    basis = "measured" if any(kinds.get(name) == "measured" for name in read) else "counted"
    if basis == "measured" and not has_gpu:
        raise UsageError(
            f"--objective {text!r} is measured, and there is no GPU here: choose a counted value, such as {COUNTED}"
        )
    return Objective(expression, basis)
