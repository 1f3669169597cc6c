"""``expect:`` of the YAML, evaluated: what must hold of the results.

The values that an expectation may name are every name of ``results.derived.TABLE`` and of ``TEXTS`` and ``NUMBERS``
below. Another variant's value is read at the same sizes where the expression belongs to a variant, and is the best of
several points where it is a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expect import EXPECT_FUNCTIONS, Lookup, Parsed, parse_expectation
from gpuprof.experiment.naming import matches
from gpuprof.experiment.operators import Value, truth
from gpuprof.isa import ncu_metrics as metrics
from gpuprof.results import derived
from gpuprof.results.model import ExpectationOutcome, Result, Status

if TYPE_CHECKING:
    from gpuprof.experiment.model import Expectation, Experiment

Read = Callable[[Result], "float | int | str | None"]

_FAILED = (Status.BUILD_FAILED, Status.LAUNCH_FAILED, Status.TIMED_OUT)


def _field(section: str, name: str) -> Read:
    def read(result: Result) -> float | int | str | None:
        part = getattr(result, section)
        value: float | int | str | None = None if part is None else getattr(part, name)
        return value

    return read


def _wavefronts_per_access(result: Result) -> float | None:
    counters = derived.counters_of(result)
    if counters is None:
        return None
    values = counters.values
    wavefronts = sum(values.get(metrics.shared_wavefronts(op), 0) for op in ("ld", "st"))
    accesses = sum(values.get(metrics.shared_instructions(op), 0) for op in ("ld", "st"))
    return wavefronts / accesses if accesses else None


#: Values that are words.
TEXTS: Mapping[str, Read] = {
    "status": lambda result: result.status.value,
    "verdict": _field("verification", "verdict"),
    "limiter": _field("occupancy", "limiter"),
    "comparison": _field("timing", "comparison"),
}
#: Numbers beside those of ``derived.TABLE``.
NUMBERS: Mapping[str, Read] = {
    "time": _field("timing", "median_us"),
    "min_us": _field("timing", "min_us"),
    "wrong": _field("verification", "wrong"),
    "checked": _field("verification", "checked"),
    "instructions": _field("sass", "instructions"),
    "predicated": _field("sass", "predicated"),
    "static_shared_bytes": _field("build", "static_shared_bytes"),
    "dynamic_shared_bytes": _field("build", "dynamic_shared_bytes"),
    "spill_store_bytes": _field("build", "spill_store_bytes"),
    "spill_load_bytes": _field("build", "spill_load_bytes"),
    "max_warps_per_sm": _field("occupancy", "max_warps_per_sm"),
    "shared_wavefronts_per_access": _wavefronts_per_access,
}
_LOWER_IS_BETTER = frozenset({"time", "time_us", "min_us", "time_over_baseline"})
_HIGHER_IS_BETTER = frozenset({"gflops", "gbps", "speedup"})
_MEASURED = _LOWER_IS_BETTER | _HIGHER_IS_BETTER | {"noise", "comparison"}


def value_kinds(experiment: Experiment | None = None) -> Mapping[str, str]:
    """Every value that an expectation may name, and whether it is ``measured`` or ``counted``."""
    own = experiment.values if experiment is not None else ()
    names = [*TEXTS, *NUMBERS, *(entry.name for entry in derived.TABLE), *own]
    return {name: "measured" if name in _MEASURED else "counted" for name in names}


def load_experiment(path: Path, **options: Any) -> Experiment:
    """``experiment.load`` with the names of values in ``expect:`` checked; raises ConfigError and UsageError."""
    from gpuprof import experiment

    return experiment.load(path, values=value_kinds(), **options)


class _Missing(Exception):
    def __init__(self, detail: str, held: bool | None = None) -> None:
        self.detail = detail
        self.held = held


def evaluate_expectations(experiment: Experiment, results: Sequence[Result]) -> tuple[ExpectationOutcome, ...]:
    """Every expectation against every result that it speaks of, in the YAML's order.

    ``held`` is None where a value does not exist here, with the reason in ``detail``; a variant that failed does not
    hold.
    """
    outcomes: list[ExpectationOutcome] = []
    for expectation in experiment.expect:
        outcomes.extend(_outcomes(expectation, results, value_kinds(experiment)))
    return tuple(outcomes)


def _outcomes(
    expectation: Expectation, results: Sequence[Result], kinds: Mapping[str, str]
) -> list[ExpectationOutcome]:
    parsed = parse_expectation(expectation.expression, kinds)
    name = expectation.variant
    if name is None and not parsed.is_of_one_result:
        return [_outcome(parsed, None, None, results)]
    chosen = [result for result in results if name is None or matches(name, result.family, result.variant)]
    if not chosen:
        return [ExpectationOutcome(parsed.text, name, None, "no such variant in this run")]
    return [_outcome(parsed, result, result.variant, results) for result in chosen]


def _outcome(parsed: Parsed, result: Result | None, label: str | None, results: Sequence[Result]) -> ExpectationOutcome:
    try:
        value, scope = _evaluate(parsed, result, results)
        held = truth(value)
    except _Missing as missing:
        return ExpectationOutcome(parsed.text, label, missing.held, missing.detail)
    except ExpressionError as error:
        return ExpectationOutcome(parsed.text, label, False, str(error))
    shown = {str(lookup): scope[placeholder] for placeholder, lookup in parsed.lookups.items()}
    detail = ", ".join(f"{name} is {_shown(value)}" for name, value in shown.items())
    return ExpectationOutcome(parsed.text, label, held, detail)


def _evaluate(parsed: Parsed, result: Result | None, results: Sequence[Result]) -> tuple[Value, Mapping[str, Value]]:
    """The expression's value, and what its names stood for; raises _Missing and ExpressionError."""
    scope: dict[str, Value] = {}
    if result is not None:
        scope |= {**result.sizes, **result.parameters}
    for placeholder, lookup in parsed.lookups.items():
        scope[placeholder] = _value(lookup, result, results)
    absent = sorted(parsed.own_names - scope.keys())
    if absent:
        raise _Missing(f"has no {', '.join(absent)}")
    return parsed.expression.evaluate(scope, EXPECT_FUNCTIONS), scope


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(lookup: Lookup, result: Result | None, results: Sequence[Result]) -> Value:
    if lookup.variant is None:
        if result is None:
            raise _Missing(f"{lookup}: of no variant")
        return _read(lookup, result)
    others = [other for other in results if matches(lookup.variant, other.family, other.variant)]
    if result is not None:
        others = [other for other in others if _same_sizes(other, result)]
    if not others:
        raise _Missing(f"{lookup.variant}: no such variant in this run")
    values = [_read(lookup, other) for other in others]
    return _best(lookup, values)


def _same_sizes(other: Result, result: Result) -> bool:
    return all(other.sizes[name] == result.sizes[name] for name in other.sizes.keys() & result.sizes.keys())


def _best(lookup: Lookup, values: list[Value]) -> Value:
    if lookup.name in _LOWER_IS_BETTER:
        return min(values)
    if lookup.name in _HIGHER_IS_BETTER:
        return max(values)
    if any(value != values[0] for value in values):
        raise ExpressionError(f'{lookup} has {len(values)} values; name one point: {lookup.name}("label")')
    return values[0]


def _read(lookup: Lookup, result: Result) -> Value:
    value = _counter(lookup.name, result) if lookup.is_counter else read_value(lookup.name, result)
    if value is not None:
        return value
    detail = f"{result.variant} has no {lookup}"
    if result.status in _FAILED:
        raise _Missing(f"{detail}: {result.reason or result.status.value}", held=False)
    reason = result.reason if result.status is Status.SKIPPED else result.missing.get(_section(lookup))
    raise _Missing(f"{detail}: {reason}" if reason else detail)


def read_value(name: str, result: Result) -> float | int | str | None:
    """A value of a result by the name that expectations use; None where it does not exist."""
    reader = TEXTS.get(name) or NUMBERS.get(name)
    if reader is not None:
        return reader(result)
    entry = derived.describe(name)
    return result.values.get(name) if entry is None else entry.compute(result)


def with_own_values(experiment: Experiment, results: Sequence[Result]) -> tuple[Result, ...]:
    """The results with the YAML's own values; one that cannot be computed is missing, with its reason."""
    for name, text in experiment.values.items():
        parsed = parse_expectation(text, value_kinds(experiment))
        results = [_with_value(name, parsed, result, results) for result in results]
    return tuple(results)


def _with_value(name: str, parsed: Parsed, result: Result, results: Sequence[Result]) -> Result:
    try:
        value = _evaluate(parsed, result, results)[0]
    except (_Missing, ExpressionError) as error:
        detail = error.detail if isinstance(error, _Missing) else str(error)
        return replace(result, missing={**result.missing, name: detail})
    if isinstance(value, str):
        return replace(result, missing={**result.missing, name: f"`{parsed.text}` is not a number"})
    return replace(result, values={**result.values, name: float(value)})


def _counter(name: str, result: Result) -> float | int | None:
    for counters in (result.counters, result.ncu):
        if counters is not None and name in counters.values:
            return counters.values[name]
    return None


def _section(lookup: Lookup) -> str:
    """Where a result says why a value is missing."""
    if lookup.is_counter:
        return "counters"
    if lookup.name in _MEASURED:
        return "timing"
    return {"verdict": "verification", "max_abs": "verification", "max_rel": "verification"}.get(
        lookup.name, "counters"
    )
