"""The YAML's expressions: Python's syntax, a whitelist of nodes, and functions by name. No code of the user's runs.

No attributes but ``.T``, no indexing, no undeclared names, no keywords but those of the functions; lengths, depths,
integers, shifts and arrays are bounded (``operators.MAX_BITS``, ``operators.MAX_BYTES``). ``functions.FUNCTIONS`` is
what may be called. Python's words that mean nothing here (``in``, ``is``, ``from`` ...) are names like any other.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpuprof.errors import BudgetError, ExpressionError, ShapeError
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.operators import BINARY, MAX_BITS, Function, Value, compare, invert, negate, tidy, truth

MAX_LENGTH = 2000
MAX_DEPTH = 60

#: Words of the expression language: no size, parameter or buffer can be called so.
RESERVED = frozenset(("and", "or", "not", "if", "else", "True", "False", "None"))
#: Python's other keywords are names here, marked while Python parses the text.
_MARK = "__is_a_name"
_WORDS = "|".join(sorted(set(keyword.kwlist) - RESERVED))
_FREE_WORDS = re.compile(rf"""(?P<text>"[^"]*"|'[^']*')|(?<![\w.])(?P<word>{_WORDS})(?!\w)""")

_REFUSED = {
    ast.Attribute: "attribute access (.{0.attr})",
    ast.Subscript: "indexing",
    ast.Lambda: "lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.NamedExpr: "assignment",
    ast.JoinedStr: "an f-string",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.Starred: "a starred argument",
    ast.Await: "await",
}


@dataclass(frozen=True)
class Expression:
    """A checked expression. ``names`` are the values that it reads, ``functions`` what it calls."""

    text: str
    tree: ast.expr
    names: frozenset[str]
    functions: frozenset[str]

    def evaluate(self, scope: Mapping[str, Value], functions: Mapping[str, Function] = FUNCTIONS) -> Value:
        """The value; raises ExpressionError with the reason and the expression."""
        return self.run(Evaluator(scope, functions))

    def run(self, evaluator: Evaluator) -> Value:
        """The value that ``evaluator`` gives; raises ExpressionError."""
        try:
            with np.errstate(all="ignore"):
                return evaluator.value(self.tree)
        except np.exceptions.AxisError as error:
            raise ShapeError(f"`{self.text}`: {error}") from None
        except ExpressionError as error:
            raise type(error)(f"`{self.text}`: {error}") from None
        except (ArithmeticError, ValueError, TypeError, IndexError, MemoryError) as error:
            reason = str(error) or type(error).__name__
            raise ExpressionError(f"`{self.text}`: {reason}") from None


def parse(
    text: str | int | float,
    *,
    functions: Iterable[str] = FUNCTIONS,
    texts: bool = False,
    rewrite: Callable[[ast.expr], ast.expr] | None = None,
) -> Expression:
    """Parse and check ``text``. Raises ExpressionError.

    ``texts`` allows quoted text, for comparisons; ``rewrite`` may replace nodes of the tree before it is checked.
    """
    source = str(text).strip()
    tree = syntax_tree(source)
    if rewrite is not None:
        tree = rewrite(tree)
    else:
        tree = _with_transposed(tree, source)
    names: set[str] = set()
    called: set[str] = set()
    try:
        _check(tree, frozenset(functions), texts, names, called, 0)
    except ExpressionError as error:
        raise ExpressionError(f"`{source}`: {error}") from None
    return Expression(source, tree, frozenset(names), frozenset(called))


def syntax_tree(source: str) -> ast.expr:
    """The Python syntax tree of one bounded expression, unchecked."""
    if not source:
        raise ExpressionError("an expression is expected, and there is none")
    if len(source) > MAX_LENGTH:
        raise ExpressionError(f"`{source[:40]}...`: {len(source)} characters, over the limit of {MAX_LENGTH}")
    text = source.replace("\n", " ")
    marked = _FREE_WORDS.sub(lambda match: match["text"] or match["word"] + _MARK, text)
    if marked != text:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return _Unmark().visit(ast.parse(marked, mode="eval").body)  # type: ignore[no-any-return]
    try:
        return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        raise ExpressionError(f"`{source[:40]}...`: nested too deeply") from None
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"`{source}`: not an expression: {reason}") from None


class _Unmark(ast.NodeTransformer):
    """Names as they were written."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(node.id.removesuffix(_MARK), node.ctx), node)


class _Transposed(ast.NodeTransformer):
    """``A.T``, as numpy writes it, is ``T(A)``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        inner = self.visit(node.value)
        if node.attr != "T":
            return ast.copy_location(ast.Attribute(inner, node.attr, node.ctx), node)
        return ast.copy_location(ast.Call(ast.Name("T", ast.Load()), [inner], []), node)


def _with_transposed(tree: ast.expr, source: str) -> ast.expr:
    if ".T" not in source:
        return tree
    try:
        return _Transposed().visit(tree)  # type: ignore[no-any-return]
    except RecursionError:
        raise ExpressionError(f"`{source[:40]}...`: nested too deeply") from None


def unknown(name: str, known: Iterable[str], kind: str = "") -> str:
    """``'Q' is not declared; did you mean 'K'? (declared: K, M, N)``."""
    known = list(known)
    near = nearest(name, known)
    what = f"{kind} '{name}'" if kind else f"'{name}'"
    hint = f"; did you mean '{near}'?" if near else ""
    listed = f" (declared: {', '.join(known[:12])}{', ...' if len(known) > 12 else ''})" if known else ""
    return f"{what} is not declared{hint}{listed}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The nearest name, case ignored, or None."""
    by_case = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), list(by_case), n=1, cutoff=0.6)
    return by_case[found[0]] if found else None


def _check(
    node: ast.AST, functions: frozenset[str], texts: bool, names: set[str], called: set[str], depth: int
) -> None:
    if depth > MAX_DEPTH:
        raise ExpressionError("nested too deeply")
    if type(node) not in _VISITORS:
        what = _REFUSED.get(type(node), type(node).__name__)
        raise ExpressionError(f"{what.format(node)} is not allowed in an expression")
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Name):
        names.add(node.id)
        children = []
    elif isinstance(node, ast.Constant):
        _check_constant(node.value, texts)
    elif isinstance(node, ast.Call):
        children = _checked_call(node, functions)
        called.add(node.func.id)  # type: ignore[attr-defined]
    elif isinstance(node, ast.BinOp) and type(node.op).__name__ not in BINARY:
        raise ExpressionError(f"{type(node.op).__name__} is not allowed in an expression")
    elif isinstance(node, ast.Compare) and any(type(op) in (ast.In, ast.NotIn, ast.Is, ast.IsNot) for op in node.ops):
        raise ExpressionError("`in` and `is` are not allowed in an expression")
    words = texts or (isinstance(node, ast.Call) and _takes_texts(node))
    for child in children:
        if isinstance(child, ast.expr):
            _check(child, functions, words if isinstance(child, ast.Constant) else texts, names, called, depth + 1)


def _takes_texts(call: ast.Call) -> bool:
    function = FUNCTIONS.get(call.func.id) if isinstance(call.func, ast.Name) else None
    return function is not None and function.texts


def _check_constant(value: object, texts: bool) -> None:
    if isinstance(value, str) and not texts:
        raise ExpressionError("text is not allowed in this expression")
    if not isinstance(value, (int, float, str)):
        raise ExpressionError(f"{type(value).__name__} is not allowed in an expression")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError(f"an integer of {value.bit_length()} bits is over the limit of {MAX_BITS}")


def _checked_call(node: ast.Call, functions: frozenset[str]) -> list[ast.AST]:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only functions may be called, by their names")
    if node.func.id not in functions:
        near = nearest(node.func.id, functions)
        hint = f"; did you mean '{near}'?" if near else f" (there are: {', '.join(sorted(functions))})"
        raise ExpressionError(f"there is no function '{node.func.id}' here{hint}")
    if any(keyword.arg is None for keyword in node.keywords):
        raise ExpressionError("a starred argument is not allowed in an expression")
    return [*node.args, *(keyword.value for keyword in node.keywords)]


@dataclass
class Budget:
    """What is left to compute: visits of syntax nodes, and array elements of results."""

    operations: int
    elements: int

    def take_operation(self) -> None:
        """One syntax node is visited; raises BudgetError."""
        self.operations -= 1
        if self.operations < 0:
            raise BudgetError("the expressions of this file take too many operations over all points; simplify them")

    def take_elements(self, count: int) -> None:
        """An array of ``count`` elements was made; raises BudgetError. ``operators.array_limit`` bounds each one."""
        self.elements -= count
        if self.elements < 0:
            raise BudgetError("the expressions of this file make arrays that are too large where a number is wanted")


class Evaluator:
    """Walks a checked tree. ``elementwise``, ``operate`` and ``apply`` are what a subclass may do differently."""

    def __init__(
        self, scope: Mapping[str, Value], functions: Mapping[str, Function], budget: Budget | None = None
    ) -> None:
        self.scope = scope
        self.functions = functions
        self.budget = budget

    def elementwise(self, call: Callable[..., Any], *values: Value) -> Value:
        """``call`` over values that broadcast."""
        return tidy(call(*values))

    def operate(self, name: str, left: Value, right: Value) -> Value:
        """A binary operator by the name of its syntax node."""
        return BINARY[name](left, right)

    def apply(self, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A function by its name."""
        return tidy(self.functions[name].call(*arguments, **keywords))

    def value(self, node: ast.expr) -> Value:
        if self.budget is None:
            return _VISITORS[type(node)](self, node)
        self.budget.take_operation()
        value = _VISITORS[type(node)](self, node)
        if isinstance(value, np.ndarray):
            self.budget.take_elements(value.size)
        return value

    def name(self, node: ast.Name) -> Value:
        if node.id not in self.scope:
            raise ExpressionError(unknown(node.id, sorted(self.scope)))
        return tidy(self.scope[node.id])

    def constant(self, node: ast.Constant) -> Value:
        return tidy(node.value)

    def binary(self, node: ast.BinOp) -> Value:
        return self.operate(type(node.op).__name__, self.value(node.left), self.value(node.right))

    def unary(self, node: ast.UnaryOp) -> Value:
        return self.elementwise(_UNARY[type(node.op)], self.value(node.operand))

    def boolean(self, node: ast.BoolOp) -> Value:
        """Short-circuits over scalars; over arrays, elementwise."""
        is_and = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for operand in node.values[1:]:
            if not isinstance(result, np.ndarray) and bool(result) != is_and:
                return result
            value = self.value(operand)
            if isinstance(result, np.ndarray) or isinstance(value, np.ndarray):
                result = self.elementwise(np.logical_and if is_and else np.logical_or, result, value)
            else:
                result = value
        return result

    def compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        result: Value = True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            outcome = self.elementwise(partial(compare, type(op).__name__), left, right)
            result = outcome if result is True else self.elementwise(np.logical_and, result, outcome)
            if result is False:
                return False
            left = right
        return result

    def conditional(self, node: ast.IfExp) -> Value:
        condition = self.value(node.test)
        if isinstance(condition, np.ndarray):
            return self.apply("where", [condition, self.value(node.body), self.value(node.orelse)], {})
        return self.value(node.body if truth(condition) else node.orelse)

    def call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Name)
        arguments = [self.value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        try:
            return self.apply(node.func.id, arguments, keywords)
        except TypeError as error:
            reason = str(error).split("() ", 1)[-1].replace("'str'", "text")
            raise ExpressionError(f"{node.func.id}: {reason} ({self.functions[node.func.id].meaning})") from None


def _not(value: Value) -> Value:
    return tidy(np.logical_not(value)) if isinstance(value, np.ndarray) else not value


_UNARY: Mapping[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.Not: _not,
    ast.USub: negate,
    ast.Invert: invert,
    ast.UAdd: lambda value: value,
}

_VISITORS: Mapping[type[ast.AST], Callable[[Evaluator, Any], Value]] = {
    ast.Name: Evaluator.name,
    ast.Constant: Evaluator.constant,
    ast.BinOp: Evaluator.binary,
    ast.UnaryOp: Evaluator.unary,
    ast.BoolOp: Evaluator.boolean,
    ast.Compare: Evaluator.compare,
    ast.IfExp: Evaluator.conditional,
    ast.Call: Evaluator.call,
}
