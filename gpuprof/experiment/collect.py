"""Gathering the mistakes of one file while its variants are expanded, so that all are reported at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from gpuprof.errors import BudgetError, ConfigError, ConfigProblem, ExpressionError, UnreadableFileError, UsageError
from gpuprof.experiment.document import Document, Path_
from gpuprof.experiment.expressions import Budget, Evaluator, Expression, parse, unknown
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.operators import Value, array_limit
from gpuprof.experiment.scipy_functions import missing

Built = TypeVar("Built")

#: What the expressions of one file may compute while it is checked, over all points: visits of syntax nodes (a million
#: take about a second of Python) and array elements.
MAX_CHECK_OPERATIONS = 3_000_000
MAX_CHECK_ELEMENTS = 1 << 24
#: A mistake that this many points share ends the expansion: further points would say the same.
MAX_POINTS_OF_A_MISTAKE = 100


BRACES = re.compile(r"\{([^{}]*)\}")


class Skip(Exception):
    """The value cannot be had because of a mistake that is already reported."""


@dataclass
class _Mistake:
    message: str
    point: str
    others: set[str] = field(default_factory=set)


class Collector:
    """Problems by place: a mistake that many points share is reported once, with their number."""

    def __init__(self, document: Document, dropped: Iterable[Path_] = ()) -> None:
        self.document = document
        self.dropped = frozenset(dropped)
        self.point = ""
        self._first: dict[tuple[Path_, str], _Mistake] = {}
        self._parsed: dict[tuple[Path_, str], Expression | None] = {}
        self._done: set[object] = set()
        self._declaring = ("sizes", "buffers", "params")
        self._told_names: frozenset[str] = frozenset()
        self._budget = Budget(MAX_CHECK_OPERATIONS, MAX_CHECK_ELEMENTS)

    @property
    def is_clean(self) -> bool:
        """Whether no mistake was found so far, so that what is missing cannot follow from one."""
        return not self._first and not self.dropped

    def begin_again(self) -> None:
        """Forget the mistakes so far, with a fresh budget: points of a search are judged one by one."""
        self._first.clear()
        self._budget = Budget(MAX_CHECK_OPERATIONS, MAX_CHECK_ELEMENTS)

    def take_problems(self) -> tuple[ConfigProblem, ...]:
        """The mistakes so far, which are then forgotten."""
        problems = tuple(self._told(path, mistake) for (path, _), mistake in self._first.items())
        self._first.clear()
        return problems

    def add(self, path: Path_, message: str, kind: str = "") -> None:
        """Report ``message`` at ``path``; ``kind`` tells several mistakes of one place apart."""
        mistake = self._first.setdefault((path, kind), _Mistake(message, self.point))
        if mistake.point != self.point:
            mistake.others.add(self.point)
        if len(mistake.others) >= MAX_POINTS_OF_A_MISTAKE:
            self.raise_if_any()

    @contextmanager
    def at(self, path: Path_) -> Iterator[None]:
        """Report an error of the block at ``path`` and go on."""
        try:
            yield
        except Skip:
            pass
        except (ExpressionError, UsageError, UnreadableFileError) as error:
            self.add(path, str(error))

    def tried(self, build: Callable[[], Built]) -> Built | None:
        """What ``build`` gives, or None where it was skipped, so that what is beside it is looked at too."""
        try:
            return build()
        except Skip:
            return None

    @contextmanager
    def shared_by(self, names: Iterable[str]) -> Iterator[None]:
        """Within it, an expression that reads one of ``names`` is skipped in silence: their mistakes are reported."""
        before = self._told_names
        self._told_names = before.union(names)
        try:
            yield
        finally:
            self._told_names = before

    def is_dropped(self, path: Path_) -> bool:
        """Whether a value at or under ``path`` was wrong and is already reported."""
        return any(drop[: len(path)] == path or path[: len(drop)] == drop for drop in self.dropped)

    def expression(self, path: Path_, text: str | int | float, *, texts: bool = False) -> Expression:
        """The parsed expression; a mistake in it is reported once. Raises Skip."""
        key = (path, str(text))
        if key not in self._parsed:
            self._parsed[key] = None
            with self.at(path):
                found = parse(text, texts=texts)
                needs = missing(found.functions)
                if needs is not None:
                    raise ExpressionError(f"`{found.text}`: {needs}")
                self._parsed[key] = found
        parsed = self._parsed[key]
        if parsed is None:
            raise Skip
        return parsed

    def known(self, path: Path_, expression: Expression, names: Iterable[str], hints: Mapping[str, str]) -> None:
        """Every name of the expression is declared, or is reported with the nearest one. Raises Skip."""
        missing = sorted(expression.names.difference(names))
        for name in missing:
            if self.is_told(name):
                continue
            message = hints.get(name) or unknown(name, sorted(names))
            self.add(path, f"`{expression.text}`: {message}", name)
        if missing:
            raise Skip

    def evaluate(
        self, path: Path_, text: str | int | float, scope: Mapping[str, Value], hints: Mapping[str, str] | None = None
    ) -> Value:
        """The value of an expression of the YAML; mistakes are reported. Raises Skip."""
        if isinstance(text, float) and not math.isfinite(text):
            return text  # .inf and .nan of the YAML, which no expression says
        expression = self.expression(path, text, texts=True)
        self.known(path, expression, scope, hints or {})
        try:
            with array_limit(8 * MAX_CHECK_ELEMENTS):
                return expression.run(Evaluator(scope, FUNCTIONS, self._budget))
        except BudgetError as error:
            self.add(path, str(error))
            self.raise_if_any()
            raise Skip from None
        except ExpressionError as error:
            self.add(path, f"{error}{values_of(expression, scope)}")
            raise Skip from None

    def integer(
        self, path: Path_, text: str | int | float, scope: Mapping[str, Value], hints: Mapping[str, str] | None = None
    ) -> int:
        """An expression that must give an integer; 64.0 counts as one. Raises Skip."""
        value = self.evaluate(path, text, scope, hints)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            shown = f"'{value}'" if isinstance(value, str) else value if isinstance(value, (int, float)) else "an array"
            hint = "; use cdiv(a, b) or //" if isinstance(value, float) else ""
            given = f"and `{text}` is {shown}{hint}" if str(text) != str(value) else f"got {shown}"
            self.add(path, f"expected an integer, {given}")
            raise Skip
        return value

    def number(
        self, path: Path_, text: str | int | float, scope: Mapping[str, Value], hints: Mapping[str, str] | None = None
    ) -> int | float:
        """An expression that must give one number. Raises Skip."""
        value = self.evaluate(path, text, scope, hints)
        if isinstance(value, (int, float)):
            return value
        self.add(path, f"expected a number, and `{text}` is {'text' if isinstance(value, str) else 'an array'}")
        raise Skip

    def is_told(self, name: str) -> bool:
        """Whether the name's own declaration was wrong, or all of its section's, or its value at this point."""
        if name in self._told_names:
            return True
        for drop in self.dropped:
            for position, part in enumerate(drop):
                if part in self._declaring and (drop[position + 1 :] == () or drop[position + 1] == name):
                    return True
        return False

    def once(self, key: object, check: Callable[[], None]) -> None:
        """Run a check that many points share only for the first of them."""
        if key not in self._done:
            self._done.add(key)
            check()

    def raise_if_any(self, before: Iterable[ConfigProblem] = ()) -> None:
        """Raise ConfigError with everything found, in the order of the file's lines."""
        problems = [*before, *(self._told(path, mistake) for (path, _), mistake in self._first.items())]
        if problems:
            raise ConfigError(tuple(sorted(problems, key=lambda problem: problem.line or 0)))

    def _told(self, path: Path_, mistake: _Mistake) -> ConfigProblem:
        message = mistake.message
        if mistake.point and "/" in mistake.point:
            more = f" and {len(mistake.others)} more" if mistake.others else ""
            message += f" (at {mistake.point}{more})"
        return self.document.problem(path, message)


def number_text(value: Value) -> str:
    """A value as it reaches nvcc: an integer, a float as Python prints it, or text."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def filled(
    collector: Collector, path: Path_, text: str, scope: Mapping[str, Value], hints: Mapping[str, str] | None = None
) -> str:
    """The text with every ``{expression}`` replaced by its value; raises Skip."""
    return BRACES.sub(lambda match: number_text(collector.evaluate(path, match[1], scope, hints)), text)


def values_of(expression: Expression, scope: Mapping[str, Value]) -> str:
    """`` with N = 0``: the scalars that an expression read, for a message."""
    parts = [
        f"{name} = {scope[name]}" for name in sorted(expression.names) if isinstance(scope.get(name), (int, float))
    ]
    return f" with {', '.join(parts)}" if parts else ""
