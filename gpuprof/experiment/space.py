"""The points of one variant that ``where`` keeps, found without listing those that it drops.

Axes are joined one after the other. ``where`` is split at its outermost ``and``, and each part is applied as soon as
what it reads is chosen, to whole columns at once; a part that cannot be computed so (text, a division by zero that an
earlier part would exclude) is computed point by point, as ``points.expand_points`` does. The order is the product's,
sizes outermost.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import ExpressionError, UsageError
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.expressions import Evaluator, Expression, parse
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.operators import Value, truth
from gpuprof.experiment.points import Axis, Point, is_text, resolve_point

Rows = NDArray[np.uint16]
Mask = NDArray[np.bool_]

#: Kept points of one experiment, and points that may be looked at to find them.
MAX_SPACE = 10_000_000
MAX_VISITED = 400_000_000
MAX_AXIS = 1 << 16
_BLOCK = 1 << 17  #: rows that are computed at once
#: Functions that do the same to every element, whether it is a number or part of a column.
_ELEMENTWISE = frozenset({"cdiv", "min", "max", "abs", "sqrt", "exp", "log", "log2", "floor", "ceil", "round"})
_TOTAL = frozenset({"min", "max", "abs", "floor", "ceil", "round"})  #: of them, those that are defined everywhere
_FEW = 512  #: rows that are not worth a column
_MEMO = 1 << 20  #: answers that are kept of each part


@dataclass(frozen=True)
class Part:
    """One operand of the outermost ``and``: ``axes`` are the numbers of those that it depends on, in order."""

    expression: Expression
    axes: tuple[int, ...]
    by_column: bool  #: reads plain numbers only, through functions that work on columns

    @property
    def level(self) -> int:
        """The last axis that it needs; -1 for a constant."""
        return self.axes[-1] if self.axes else -1


@dataclass
class PointSpace:
    """The points of one variant (``family``); ``rows`` gives numbers of values, one column per axis.

    ``collector`` takes the mistakes of points. Raises UsageError for lists that multiply to too much.
    """

    family: str
    axes: Sequence[Axis]
    where: str | None
    collector: Collector
    visited: int = 0
    _parts: tuple[Part, ...] = ()
    _known: dict[int, dict[int, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for axis in self.axes:
            if len(axis.values) > MAX_AXIS:
                raise UsageError(f"{axis.name}: {len(axis.values):,} values; a list has at most {MAX_AXIS:,}")
        if self.size >= 1 << 62:
            raise UsageError(f"{self.family}: the lists multiply to {self.size:.1e} points; the limit is 2^62")
        if self.where is not None:
            self._parts = self._split(self.where)

    @property
    def size(self) -> int:
        """Points before ``where``."""
        return math.prod(len(axis.values) for axis in self.axes)

    def blocks(self) -> Iterator[Rows]:
        """The kept points in order, some at a time."""
        start = np.zeros((1, 0), dtype=np.uint16)
        constants = [part for part in self._parts if part.level < 0]
        if all(self._mask(part, start).all() for part in constants):
            yield from self._expand(0, start)

    def point(self, row: Sequence[int]) -> Point:
        """One point with its label and all values. Raises Skip where a value has a mistake, which is reported."""
        return resolve_point(self.family, self._written(row), self.collector)

    def keeps(self, rows: Rows) -> Mask:
        """Which of any points of the product ``where`` keeps."""
        kept = np.ones(len(rows), dtype=bool)
        for part in sorted(self._parts, key=lambda each: each.level):
            kept[kept] = self._mask(part, rows[kept])
        return kept

    def _written(self, row: Sequence[int]) -> dict[str, tuple[Axis, Any]]:
        return {axis.name: (axis, axis.values[int(number)]) for axis, number in zip(self.axes, row, strict=False)}

    def _expand(self, level: int, rows: Rows) -> Iterator[Rows]:
        """The kept points that begin with one of ``rows``."""
        if level == len(self.axes):
            yield rows
            return
        count = len(self.axes[level].values)
        step = max(1, _BLOCK // count)
        parts = [part for part in self._parts if part.level == level]
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            self.visited += len(some) * count
            if self.visited > MAX_VISITED:
                raise UsageError(
                    f"{self.family}: `where` was asked for {MAX_VISITED:,} partial points and has not ended; "
                    "shorten the lists"
                )
            numbers = np.tile(np.arange(count, dtype=np.uint16), len(some))
            joined = np.column_stack((np.repeat(some, count, axis=0), numbers))
            for part in parts:
                joined = joined[self._mask(part, joined)]
            if len(joined):
                yield from self._expand(level + 1, joined)

    def _mask(self, part: Part, rows: Rows) -> Mask:
        if not len(rows):
            return np.zeros(0, dtype=bool)
        if part.by_column and len(rows) > _FEW:
            try:
                return self._by_column(part, rows)
            except ExpressionError:
                pass  # some point has a mistake, or needs a short circuit: point by point
        return self._by_point(part, rows)

    def _by_column(self, part: Part, rows: Rows) -> Mask:
        scope: dict[str, Value] = {
            self.axes[number].name: np.asarray(self.axes[number].values)[rows[:, number]] for number in part.axes
        }
        value = part.expression.run(ColumnEvaluator(scope))
        if isinstance(value, np.ndarray):
            if value.shape != (len(rows),):
                raise ExpressionError("not one value per point")
            return value.astype(bool)
        return np.full(len(rows), truth(value))

    def _by_point(self, part: Part, rows: Rows) -> Mask:
        """Each distinct combination of what the part reads is computed once."""
        axes = list(part.axes)
        code = np.zeros(len(rows), dtype=np.int64)
        for number in axes:
            code = code * len(self.axes[number].values) + rows[:, number]
        distinct, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        known = self._known.setdefault(id(part), {})
        answers = np.empty(len(distinct), dtype=bool)
        for position, (key, row) in enumerate(zip(distinct.tolist(), first, strict=True)):
            if key not in known:
                if len(known) >= _MEMO:
                    known.clear()
                known[key] = self._holds(part, rows[row, axes].tolist())
            answers[position] = known[key]
        chosen: Mask = answers[inverse.reshape(-1)]
        return chosen

    def _holds(self, part: Part, combination: Sequence[int]) -> bool:
        """The part at one combination. With a mistake: reported, and the point kept out, as in a full expansion."""
        written = {
            self.axes[number].name: (self.axes[number], self.axes[number].values[int(chosen)])
            for number, chosen in zip(part.axes, combination, strict=True)
        }
        shown = ",".join(f"{name}={value}" for name, (axis, value) in written.items() if axis.varies)
        self.collector.point = f"{self.family}/{shown}" if shown else self.family
        path: Path_ = ("variants", self.family, "where")
        try:
            point = resolve_point(self.family, written, self.collector)
            with self.collector.shared_by(point.wrong):
                value = self.collector.evaluate(path, part.expression.text, point.scope)
            return truth(value)
        except ExpressionError as error:
            self.collector.add(path, str(error))
            return False
        except Skip:
            return False
        finally:
            self.collector.point = ""

    def _split(self, where: str) -> tuple[Part, ...]:
        path: Path_ = ("variants", self.family, "where")
        try:
            expression = self.collector.expression(path, where, texts=True)
            self.collector.known(path, expression, [axis.name for axis in self.axes], {})
        except Skip:
            return ()
        parts: list[Part] = []
        least = -1
        nonzero = frozenset(a.name for a in self.axes if all(_is_plain(value) and value for value in a.values))
        for text in conjuncts(expression):
            parsed = parse(text, texts=True)
            axes = self._needed(parsed.names)
            part = Part(parsed, axes, self._is_columnar(parsed))
            if _may_fail(parsed, nonzero):  # what stands before it may be there to exclude its mistakes
                part = replace(part, axes=tuple(sorted({*axes, *range(least, least + (least >= 0))})))
            least = max(least, part.level)
            parts.append(part)
        return tuple(parts)

    def _needed(self, names: frozenset[str]) -> tuple[int, ...]:
        """The axes that names depend on, through expressions too."""
        number = {axis.name: position for position, axis in enumerate(self.axes)}
        waiting, found = list(names), set[int]()
        while waiting:
            position = number[waiting.pop()]
            if position in found:
                continue
            found.add(position)
            waiting += self._read_by(self.axes[position], number)
        return tuple(sorted(found))

    def _read_by(self, axis: Axis, declared: Mapping[str, int]) -> list[str]:
        read: list[str] = []
        for value in axis.values:
            if isinstance(value, str) and (axis.is_size or not is_text(value, declared)):
                try:
                    read += [name for name in parse(value).names if name in declared]
                except ExpressionError:
                    continue  # reported where the point is resolved
        return read

    def _is_columnar(self, expression: Expression) -> bool:
        plain = {axis.name for axis in self.axes if all(_is_plain(value) for value in axis.values)}
        return expression.names <= plain and expression.functions <= _ELEMENTWISE


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, float)) and (isinstance(value, float) or abs(value) < 1 << 62)


def conjuncts(expression: Expression) -> list[str]:
    """The operands of the outermost ``and``, nested ones too, in their order."""

    def of(node: ast.expr) -> list[str]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return [text for value in node.values for text in of(value)]
        return [ast.unparse(node)]

    return of(expression.tree)


def _may_fail(expression: Expression, nonzero: frozenset[str]) -> bool:
    """Whether it has an operation that is undefined for some numbers; ``nonzero`` are names that are never 0."""
    risky = (ast.Pow, ast.LShift, ast.RShift, ast.Call)
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
            if not _is_nonzero(node.right, nonzero):
                return True
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _TOTAL:
            continue
        elif (isinstance(node, ast.BinOp) and isinstance(node.op, risky)) or isinstance(node, ast.Call):
            return True
    return False


def _is_nonzero(node: ast.expr, nonzero: frozenset[str]) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_nonzero(node.left, nonzero) and _is_nonzero(node.right, nonzero)
    return isinstance(node, ast.Name) and node.id in nonzero


class ColumnEvaluator(Evaluator):
    """Over columns of points: ``and``, ``or`` and conditions look only at the points that need them."""

    def __init__(self, scope: Mapping[str, Value]) -> None:
        super().__init__(scope, FUNCTIONS)

    def boolean(self, node: ast.BoolOp) -> Value:
        is_and = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for position, operand in enumerate(node.values[1:], 1):
            if not isinstance(result, np.ndarray):
                if bool(result) != is_and:
                    return result
                result = self.value(operand)
                continue
            open_ = result.astype(bool) == is_and
            if not open_.any():
                return result
            rest: ast.expr = node.values[position]
            result = _merged(result, open_, self._within(open_).value(rest))
        return result

    def conditional(self, node: ast.IfExp) -> Value:
        condition = self.value(node.test)
        if not isinstance(condition, np.ndarray):
            return self.value(node.body if truth(condition) else node.orelse)
        yes = condition.astype(bool)
        if yes.all():
            return self.value(node.body)
        if not yes.any():
            return self.value(node.orelse)
        otherwise = np.zeros(len(yes))
        otherwise = _merged(otherwise, ~yes, self._within(~yes).value(node.orelse))
        return _merged(otherwise, yes, self._within(yes).value(node.body))

    def _within(self, rows: Mask) -> ColumnEvaluator:
        return ColumnEvaluator(
            {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in self.scope.items()}
        )


def _merged(values: NDArray[Any], rows: Mask, new: Value) -> NDArray[Any]:
    """``values`` with ``new`` in some rows."""
    array = np.asarray(new)
    result = values.astype(np.result_type(values, array))
    result[rows] = array
    return result
