"""``expect:`` of the YAML: what must hold of the results.

An expectation is an expression over the values of one result: every name of ``results.derived.TABLE`` and of
``TEXTS`` and ``NUMBERS`` below, the result's sizes and parameters, and ``counter("smsp__inst_executed.sum")`` for any
counter. ``time.tiled`` or ``time("tiled/TILE=16")`` reads another variant's value: at the same sizes where the
expression belongs to a variant, and the best of several points where it is a time.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import Expression, nearest, parse, unknown
from gpuprof.experiment.functions import FUNCTIONS, Function
from gpuprof.experiment.model import Expectation, Experiment
from gpuprof.experiment.naming import matches
from gpuprof.experiment.operators import Value, truth
from gpuprof.isa import ncu_metrics as metrics
from gpuprof.results import derived
from gpuprof.results.model import ExpectationOutcome, Result, Status

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
#: Where a result's ``missing`` says why a value is not there; the others are counters.
_SECTIONS = dict.fromkeys(("verdict", "max_abs", "max_rel", "wrong", "checked"), "verification")
_LOWER_IS_BETTER = frozenset({"time", "time_us", "min_us"})
_HIGHER_IS_BETTER = frozenset({"gflops", "gbps", "speedup"})
MEASURED = _LOWER_IS_BETTER | _HIGHER_IS_BETTER | {"noise", "comparison"}


def _near(a: float, b: float, within: float = 0.01) -> bool:
    return math.isclose(a, b, rel_tol=within)


_BORROWED = ("abs", "min", "max", "cdiv", "gcd", "round", "floor", "ceil", "sqrt", "log2")
_FUNCTIONS: Mapping[str, Function] = {
    **{
        name: FUNCTIONS[name] for name in ("abs", "min", "max", "cdiv", "gcd", "round", "floor", "ceil", "sqrt", "log2")
    },
    "near": Function(_near, "near(a, b, within=0.01): relative"),
}


@dataclass(frozen=True)
class Lookup:
    """One value that an expectation reads: a name or a counter, of this result or of another variant."""

    name: str
    variant: str | None = None
    is_counter: bool = False

    def __str__(self) -> str:
        name = f'counter("{self.name}")' if self.is_counter else self.name
        return name if self.variant is None else f"{name} of {self.variant}"


@dataclass(frozen=True)
class Parsed:
    """An expectation's expression, its lookups standing under placeholder names."""

    text: str
    expression: Expression
    lookups: Mapping[str, Lookup]

    @property
    def own_names(self) -> frozenset[str]:
        """Names that are no lookups: sizes and parameters."""
        return self.expression.names - self.lookups.keys()

    @property
    def is_of_one_result(self) -> bool:
        """Whether it must be evaluated for each result, rather than once."""
        return bool(self.own_names) or any(lookup.variant is None for lookup in self.lookups.values())


def value_names() -> list[str]:
    """Every value that an expectation may name."""
    return [*TEXTS, *NUMBERS, *(entry.name for entry in derived.TABLE)]


class _Rewriter(ast.NodeTransformer):
    """Replaces reads of values by placeholder names."""

    def __init__(self) -> None:
        self.known = frozenset(value_names())
        self.lookups: dict[str, Lookup] = {}

    def _place(self, lookup: Lookup) -> ast.Name:
        name = f"_value{len(self.lookups)}"
        self.lookups[name] = lookup
        return ast.Name(name, ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._place(Lookup(node.id)) if node.id in self.known else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.known:
            return self._place(Lookup(node.value.id, node.attr))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        words = [text for text in texts if isinstance(text, str)]
        if isinstance(node.func, ast.Name) and words and len(words) == len(node.args) and not node.keywords:
            if node.func.id == "counter" and len(words) <= 2:
                return self._place(Lookup(words[0], words[1] if len(words) > 1 else None, is_counter=True))
            if node.func.id in self.known and len(words) == 1:
                return self._place(Lookup(node.func.id, words[0]))
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Name) and isinstance(key, str):
            if node.value.id == "counters":
                return self._place(Lookup(key, is_counter=True))
            if node.value.id in self.known:
                return self._place(Lookup(node.value.id, key))
        return node


def parse_expectation(text: str) -> Parsed:
    """Parse and check; raises ExpressionError. Names are checked by ``check``."""
    rewriter = _Rewriter()

    def rewrite(tree: ast.expr) -> ast.expr:
        try:
            result: ast.expr = rewriter.visit(tree)
        except RecursionError:
            raise ExpressionError("nested too deeply") from None
        return result

    expression = parse(text, functions=_FUNCTIONS, texts=True, rewrite=rewrite)
    return Parsed(expression.text, expression, rewriter.lookups)


def check(parsed: Parsed, families: Iterable[str], declared: Iterable[str]) -> None:
    """Raise ExpressionError for a variant or a name that does not exist."""
    families, declared = list(families), list(declared)
    for lookup in parsed.lookups.values():
        if lookup.variant is not None and lookup.variant.split("/")[0] not in families:
            near = nearest(lookup.variant, families)
            hint = f"; did you mean '{near}'?" if near else f" (variants: {', '.join(families)})"
            raise ExpressionError(f"`{parsed.text}`: there is no variant '{lookup.variant}'{hint}")
    for name in sorted(parsed.own_names - set(declared)):
        raise ExpressionError(f"`{parsed.text}`: {unknown(name, [*declared, *value_names()])}")


def is_gpu_only(parsed: Parsed) -> bool:
    """Whether it reads something that only a clock gives."""
    return any(lookup.name in MEASURED for lookup in parsed.lookups.values() if not lookup.is_counter)


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
        outcomes.extend(_outcomes(expectation, results))
    return tuple(outcomes)


def _outcomes(expectation: Expectation, results: Sequence[Result]) -> list[ExpectationOutcome]:
    parsed = parse_expectation(expectation.expression)
    name = expectation.variant
    if name is None and not parsed.is_of_one_result:
        return [_outcome(parsed, None, None, results)]
    chosen = [result for result in results if name is None or matches(name, result.family, result.variant)]
    if not chosen:
        return [ExpectationOutcome(parsed.text, name, None, "no such variant in this run")]
    return [_outcome(parsed, result, result.variant, results) for result in chosen]


def _outcome(parsed: Parsed, result: Result | None, label: str | None, results: Sequence[Result]) -> ExpectationOutcome:
    scope: dict[str, Value] = {}
    if result is not None:
        scope |= {**result.sizes, **result.parameters}
    try:
        for placeholder, lookup in parsed.lookups.items():
            scope[placeholder] = _value(lookup, result, results)
        absent = sorted(parsed.own_names - scope.keys())
        if absent:
            raise _Missing(f"has no {', '.join(absent)}")
        held = truth(parsed.expression.evaluate(scope, _FUNCTIONS))
    except _Missing as missing:
        return ExpectationOutcome(parsed.text, label, missing.held, missing.detail)
    except ExpressionError as error:
        return ExpectationOutcome(parsed.text, label, False, str(error))
    shown = {str(lookup): scope[placeholder] for placeholder, lookup in parsed.lookups.items()}
    detail = ", ".join(f"{name} is {_shown(value)}" for name, value in shown.items())
    return ExpectationOutcome(parsed.text, label, held, detail)


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
    return None if entry is None else entry.compute(result)


def _counter(name: str, result: Result) -> float | int | None:
    for counters in (result.counters, result.ncu):
        if counters is not None and name in counters.values:
            return counters.values[name]
    return None


def _section(lookup: Lookup) -> str:
    """Where a result says why a value is missing."""
    if lookup.is_counter:
        return "counters"
    if lookup.name in MEASURED:
        return "timing"
    return {"verdict": "verification", "max_abs": "verification", "max_rel": "verification"}.get(
        lookup.name, "counters"
    )
