"""``expect:`` of the YAML, parsed: expressions over the values of results, and which values they read.

An expectation is an expression over the values of one result (``results.expectations`` has their names), the result's
sizes and parameters, and ``counter("smsp__inst_executed.sum")`` for any counter. ``time.tiled`` or
``time("tiled/TILE=16")`` reads another variant's value.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import Expression, nearest, parse, unknown
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.naming import is_pattern
from gpuprof.experiment.operators import Function

#: Name of a value -> its kind, ``measured`` or ``counted``; None: any name may be a value.
ValueKinds = Mapping[str, str]


def _near(a: float, b: float, within: float = 0.01) -> bool:
    return math.isclose(a, b, rel_tol=within)


_BORROWED = ("abs", "min", "max", "cdiv", "gcd", "round", "floor", "ceil", "sqrt", "log2")
EXPECT_FUNCTIONS: Mapping[str, Function] = {
    **{name: FUNCTIONS[name] for name in _BORROWED},
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


class _Rewriter(ast.NodeTransformer):
    """Replaces reads of values by placeholder names."""

    def __init__(self, values: ValueKinds | None) -> None:
        self.values = values
        self.lookups: dict[str, Lookup] = {}

    def _place(self, lookup: Lookup) -> ast.Name:
        name = f"_value{len(self.lookups)}"
        self.lookups[name] = lookup
        return ast.Name(name, ast.Load())

    def _is_value(self, name: str) -> bool:
        return name not in EXPECT_FUNCTIONS if self.values is None else name in self.values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._place(Lookup(node.id)) if self.values is not None and node.id in self.values else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and self._is_value(node.value.id):
            return self._place(Lookup(node.value.id, node.attr))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
        words = [text for text in texts if isinstance(text, str)]
        if isinstance(node.func, ast.Name) and words and len(words) == len(node.args) and not node.keywords:
            if node.func.id == "counter" and len(words) <= 2:
                return self._place(Lookup(words[0], words[1] if len(words) > 1 else None, is_counter=True))
            if self._is_value(node.func.id) and len(words) == 1:
                return self._place(Lookup(node.func.id, words[0]))
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Name) and isinstance(key, str):
            if node.value.id == "counters":
                return self._place(Lookup(key, is_counter=True))
            if self._is_value(node.value.id):
                return self._place(Lookup(node.value.id, key))
        return node


def parse_expectation(text: str, values: ValueKinds | None) -> Parsed:
    """Parse and check; raises ExpressionError. Names are checked by ``check``."""
    rewriter = _Rewriter(values)

    def rewrite(tree: ast.expr) -> ast.expr:
        try:
            result: ast.expr = rewriter.visit(tree)
        except RecursionError:
            raise ExpressionError("nested too deeply") from None
        return result

    expression = parse(text, functions=EXPECT_FUNCTIONS, texts=True, rewrite=rewrite)
    return Parsed(expression.text, expression, rewriter.lookups)


def check(parsed: Parsed, families: Iterable[str], declared: Iterable[str], values: ValueKinds | None) -> None:
    """Raise ExpressionError for a variant or a name that does not exist; without ``values`` names may be anything."""
    families, declared = list(families), list(declared)
    for lookup in parsed.lookups.values():
        if lookup.variant is None or is_pattern(lookup.variant):
            continue
        if lookup.variant.split("/")[0] not in families:
            near = nearest(lookup.variant, families)
            hint = f"; did you mean '{near}'?" if near else f" (variants: {', '.join(families)})"
            raise ExpressionError(f"`{parsed.text}`: there is no variant '{lookup.variant}'{hint}")
    if values is None:
        return
    for name in sorted(parsed.own_names - set(declared)):
        raise ExpressionError(f"`{parsed.text}`: {unknown(name, [*declared, *values])}")
