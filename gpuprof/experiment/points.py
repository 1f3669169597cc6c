"""The points of a variant: the product of its sizes' and parameters' lists, less what ``where`` drops."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpuprof.errors import ExpressionError
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.expressions import RESERVED, parse
from gpuprof.experiment.operators import Value, truth
from gpuprof.experiment.overrides import override_values
from gpuprof.experiment.schema import ExperimentModel, VariantModel

Scalar = int | float | str

MAX_CHAIN = 100  #: names that one size or parameter needs, one through the other
MAX_POINTS = 100_000  #: before ``where``, of all variants together
_TYPE_NAME = re.compile(r"[A-Za-z_][\w:]*(\s*<.*>)?(\s+[A-Za-z_]\w*)*(\s*\*)*")


@dataclass(frozen=True)
class Axis:
    """One size or parameter: its values as written, and whether it shows in labels (a list was given)."""

    name: str
    path: Path_
    values: tuple[Any, ...]
    varies: bool
    is_size: bool


@dataclass(frozen=True)
class Point:
    """One point of the product: every size and parameter has its value."""

    label: str
    sizes: Mapping[str, int | float]
    parameters: Mapping[str, Scalar]
    wrong: frozenset[str] = frozenset()  #: names without a value here; why is reported
    loops: Mapping[str, int] = field(default_factory=dict)  #: the numbers of the repetitions around a step

    @property
    def scope(self) -> dict[str, Value]:
        return {**self.sizes, **self.parameters, **self.loops}


def axes_of(model: ExperimentModel, family: str, variant: VariantModel, overrides: Mapping[str, str]) -> list[Axis]:
    """The sizes and parameters of a variant, sizes first, overrides applied."""
    axes: dict[str, Axis] = {}
    base: Path_ = ("variants", family)
    for values, path, is_size in (
        (model.sizes, ("sizes",), True),
        (variant.sizes, (*base, "sizes"), True),
        (variant.params, (*base, "params"), False),
    ):
        for name, value in values.items():
            axes[name] = _axis(name, (*path, name), value, is_size, overrides)
    return list(axes.values())


def _axis(name: str, path: Path_, value: Any, is_size: bool, overrides: Mapping[str, str]) -> Axis:
    listed = isinstance(value, list)
    values = list(value) if listed else [value]
    if name in overrides:
        values = override_values(name, overrides[name])
    return Axis(name, path, tuple(values), listed or len(values) > 1, is_size)


def check_declarations(model: ExperimentModel, collector: Collector) -> None:
    """Names that mean two things, or that an expression cannot say."""
    for name in {**model.sizes, **model.buffers}:
        section = "sizes" if name in model.sizes else "buffers"
        _check_name(name, (section, name), collector)
        if name in model.sizes and name in model.buffers:
            collector.add(("buffers", name), "name already used for a size")
    for family, variant in model.variants.items():
        for name in variant.params:
            path: Path_ = ("variants", family, "params", name)
            _check_name(name, path, collector)
            for kind, names in (("size", {**model.sizes, **variant.sizes}), ("buffer", model.buffers)):
                if name in names:
                    collector.add(path, f"name already used for a {kind}")


def _check_name(name: str, path: Path_, collector: Collector) -> None:
    if name in RESERVED or name == "i":
        what = "the flat index of fills" if name == "i" else "a word of the expression language"
        collector.add(path, f"'{name}' is {what}; choose another name")


def expand_points(family: str, axes: list[Axis], where: str | None, collector: Collector) -> Iterator[Point | None]:
    """Every point, sizes outermost; None for one that ``where`` dropped. One whose ``where`` is wrong is left out."""
    for chosen in itertools.product(*(axis.values for axis in axes)):
        written = {axis.name: (axis, value) for axis, value in zip(axes, chosen, strict=True)}
        shown = ",".join(f"{a.name}={v}" for a, v in written.values() if a.varies)
        collector.point = f"{family}/{shown}" if shown else family
        try:
            point = resolve_point(family, written, collector)
            with collector.shared_by(point.wrong):
                keep = where is None or _holds(("variants", family, "where"), where, point, collector)
        except Skip:
            continue
        finally:
            collector.point = ""
        yield point if keep else None


def _holds(path: Path_, where: str, point: Point, collector: Collector) -> bool:
    value = collector.evaluate(path, where, point.scope)
    try:
        return truth(value)
    except ExpressionError as error:
        collector.add(path, str(error))
        raise Skip from None


def resolve_point(family: str, written: Mapping[str, tuple[Axis, Any]], collector: Collector) -> Point:
    """Evaluate sizes and parameters in the order that they need one another; circles are reported."""
    resolver = _Resolver(written, collector)
    for name in written:
        with suppress(Skip):
            resolver.resolve(name)
    values = resolver.values
    sizes: dict[str, int | float] = {}
    parameters: dict[str, Scalar] = {}
    for name, value in values.items():
        if written[name][0].is_size:
            sizes[name] = value  # type: ignore[assignment]
        else:
            parameters[name] = value  # type: ignore[assignment]
    shown = [axis for axis, _ in written.values() if axis.varies]
    ordered = [axis for axis in shown if not axis.is_size] + [axis for axis in shown if axis.is_size]
    texts = {name: label_text(values.get(name, value)) for name, (_, value) in written.items()}
    label = "/".join([family, *(f"{axis.name}={texts[axis.name]}" for axis in ordered)])
    return Point(label, sizes, parameters, frozenset(resolver.wrong))


def label_text(value: Value) -> str:
    """A value in a label, without the slashes that part it."""
    return str(value).replace("/", "_").replace(" ", "")


@dataclass
class _Resolver:
    """The values of one point's names as far as they are known, and the names that have none."""

    written: Mapping[str, tuple[Axis, Any]]
    collector: Collector
    values: dict[str, Value] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)

    def resolve(self, name: str, waiting: tuple[str, ...] = ()) -> None:
        """Put the value of ``name`` into ``values``, or the name into ``wrong`` and raise Skip."""
        if name in self.wrong:
            raise Skip
        if name in self.values:
            return
        try:
            self.values[name] = self._value(name, waiting)
        except Skip:
            self.wrong.add(name)
            raise

    def _value(self, name: str, waiting: tuple[str, ...]) -> Value:
        axis, value = self.written[name]
        if len(waiting) >= MAX_CHAIN:
            self.collector.add(axis.path, f"depends on a chain of more than {MAX_CHAIN} names", "chain")
            raise Skip
        if name in waiting:
            circle = " -> ".join([*waiting[waiting.index(name) :], name])
            self.collector.add(axis.path, f"circular definition: {circle}", "circle")
            raise Skip
        result: Value
        if not isinstance(value, str) or (not axis.is_size and is_text(value, self.written)):
            result = int(value) if isinstance(value, bool) else value
        else:
            expression = self.collector.expression(axis.path, value)
            self.collector.known(axis.path, expression, self.written, {})
            for needed in sorted(expression.names):
                self.resolve(needed, (*waiting, name))
            result = self.collector.number(axis.path, value, self.values)
        return _checked_size(axis, result, self.collector) if axis.is_size else result


def _checked_size(axis: Axis, value: Value, collector: Collector) -> Value:
    """A finite number, an integer where it is whole; what is in a shape or a grid is checked there."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        collector.add(axis.path, f"is {value}; a size is a finite number")
        raise Skip
    if abs(value) >= 1 << 63:
        collector.add(axis.path, f"is {value}; a size is below 2^63")
        raise Skip
    return int(value) if float(value).is_integer() else value


def is_text(value: str, declared: Mapping[str, object]) -> bool:
    """Whether a parameter's text is a word (a C++ type) rather than an expression over declared names."""
    if value in declared:
        return False
    if _TYPE_NAME.fullmatch(value):
        try:
            return not parse(value).names.issubset(declared)
        except ExpressionError:
            return True
    return False
