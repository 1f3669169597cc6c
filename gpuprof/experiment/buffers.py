"""From the YAML's buffers to arrays with shapes and fills, at one point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuprof.errors import ExpressionError
from gpuprof.experiment import element_types, fills, limits
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.element_types import POINTER
from gpuprof.experiment.expressions import nearest
from gpuprof.experiment.model import Buffer, BufferArgument, ElementOrder, Fill, Number
from gpuprof.experiment.operators import Value
from gpuprof.experiment.points import Point
from gpuprof.experiment.schema import BufferModel, PointerFill, RandomFill, SymbolModel, UnorderedModel
from gpuprof.experiment.scipy_functions import missing


class BufferBuilder:
    """Builds buffers, each distinct one checked once: its shape, its size, and its fill at both ends."""

    def __init__(self, collector: Collector, config: Path) -> None:
        self._collector = collector
        self._folder = config.resolve().parent
        self._sampled: set[Buffer] = set()

    def build(self, path: Path_, name: str, model: BufferModel, point: Point) -> Buffer:
        """The buffer; raises Skip after reporting what is wrong with it."""
        self._check_roles(path, model)
        shape = self._collector.tried(lambda: self._shape((*path, "shape"), model, point))
        fill = self._collector.tried(lambda: self._fill((*path, "fill"), name, model, point, shape))
        if shape is None or fill is None:
            raise Skip
        order, count = _order(model)
        buffer = Buffer(name, model.dtype, shape, fill, model.output, model.scratch, order, count)
        if buffer not in self._sampled:
            self._sampled.add(buffer)
            with self._collector.at((*path, "fill")):
                fills.sample(fill, buffer)
        return buffer

    def build_symbol(self, path: Path_, name: str, model: SymbolModel, point: Point) -> Buffer:
        """What a variable of the source holds; raises Skip as ``build``."""
        given = BufferModel.model_construct(dtype=model.dtype, shape=model.shape, fill=model.fill)
        return replace(self.build(path, name, given, point), symbol=True)

    def _check_roles(self, path: Path_, model: BufferModel) -> None:
        if model.output and model.scratch:
            self._collector.add((*path, "scratch"), "a buffer is an `output` or `scratch`, not both")
        if model.dtype == POINTER and (model.output or model.scratch):
            role = "output" if model.output else "scratch"
            self._collector.add((*path, role), f"a buffer of {POINTER} is an input: addresses differ from run to run")
        if model.unordered is not False and not model.output and not self._collector.is_dropped((*path, "output")):
            self._collector.add((*path, "unordered"), "only an `output` is compared, and may be unordered")
        if model.fill is None and not model.output and not model.scratch and not self._collector.is_dropped(path):
            message = "`fill` is missing: an input holds something (what the kernel writes says `output: true`)"
            self._collector.add(path, message, "fill")
            raise Skip

    def _shape(self, path: Path_, model: BufferModel, point: Point) -> tuple[int, ...]:
        extents = []
        for position, text in enumerate(model.shape):
            place = (*path, position) if (*path, position) in self._collector.document.lines else path
            extent = self._collector.integer(place, text, point.scope)
            if extent < 1:
                shown = f"`{text}` is {extent}" if str(text) != str(extent) else f"is {extent}"
                self._collector.add(place, f"{shown}; an extent is at least 1")
                raise Skip
            extents.append(extent)
        total = element_types.nbytes_of(model.dtype, math.prod(extents))
        if element_types.is_packed(model.dtype) and extents[-1] % 2:
            self._collector.add(path, f"ends in {extents[-1]}; two {model.dtype} share a byte: it is even")
            raise Skip
        if total > limits.MAX_BUFFER_BYTES:
            message = (
                f"{extents} of {model.dtype} are {total:,} bytes; a buffer has at most {limits.MAX_BUFFER_BYTES:,}"
            )
            self._collector.add(path, message)
            raise Skip
        return tuple(extents)

    def _fill(self, path: Path_, name: str, model: BufferModel, point: Point, shape: tuple[int, ...] | None) -> Fill:
        fill = model.fill
        if fill is None:
            return Fill("poison")
        if model.dtype == POINTER or isinstance(fill, PointerFill):
            if model.dtype != POINTER:
                self._collector.add(path, f"addresses are of dtype {POINTER}, and the buffer is {model.dtype}")
                raise Skip
            return Fill("pointers")  # resolved in ``with_pointers``, once every buffer is known
        if isinstance(fill, list):
            return self._values(path, fill, point, shape)
        if isinstance(fill, RandomFill):
            return self._random(path, name, fill, model.dtype, point)
        if isinstance(fill, (bool, int, float)):
            return Fill("constant", value=fill)
        if fill in ("random", "uniform", "normal", "integers"):
            distribution = fills.default_distribution(model.dtype) if fill == "random" else fill
            return self._random(path, name, RandomFill.model_validate({"random": distribution}), model.dtype, point)
        if fill.endswith(".npy"):
            return Fill("file", file=self._folder / fill)
        return self._expression(path, fill, point)

    def _values(self, path: Path_, fill: list[Any], point: Point, shape: tuple[int, ...] | None) -> Fill:
        """Every element as a number or an expression."""
        if any(item is None or isinstance(item, PointerFill) for item in fill):
            self._collector.add(path, f"an address or null is for a buffer of dtype {POINTER}")
            raise Skip
        values = [self._collector.number((*path, position), item, point.scope) for position, item in enumerate(fill)]
        if shape is not None and len(values) != math.prod(shape):
            self._collector.add(path, f"lists {len(values)} values, and the shape {list(shape)} has {math.prod(shape)}")
            raise Skip
        return Fill("values", values=tuple(values))

    def with_pointers(
        self, path: Path_, buffer: Buffer, model: BufferModel, point: Point, buffers: Mapping[str, Buffer]
    ) -> Buffer:
        """The buffer of addresses with what each element points to; raises Skip after reporting a mistake."""
        fill, place = model.fill, (*path, "fill")
        if isinstance(fill, list):
            items = fill
            if len(items) != buffer.elements:
                message = f"lists {len(items)} addresses, and the shape {list(buffer.shape)} has {buffer.elements}"
                self._collector.add(place, message)
                raise Skip
        elif isinstance(fill, PointerFill):
            items = [fill] * buffer.elements
        else:
            message = (
                f"a buffer of {POINTER} lists the buffers that it points to: [A, B], or {{buffer: A, offset: i * N}}"
            )
            self._collector.add(place, message)
            raise Skip
        pointers = tuple(
            self._pointer((*place, index) if isinstance(fill, list) else place, item, index, point, buffers)
            for index, item in enumerate(items)
        )
        return replace(buffer, fill=Fill("pointers", pointers=pointers))

    def _pointer(
        self, path: Path_, item: Any, index: int, point: Point, buffers: Mapping[str, Buffer]
    ) -> BufferArgument | None:
        if item is None:
            return None
        name, offset = (item.buffer, item.offset) if isinstance(item, PointerFill) else (item, 0)
        target = buffers.get(name) if isinstance(name, str) else None
        if target is None or target.symbol:
            near = nearest(str(name), buffers)
            hint = f"; did you mean '{near}'?" if near else f" (buffers: {', '.join(buffers)})"
            self._collector.add(path, f"there is no buffer '{name}'{hint}", str(name))
            raise Skip
        elements = self._collector.integer(path, offset, {**point.scope, "i": index})
        if not 0 <= elements <= target.elements:
            self._collector.add(path, f"`offset` is {elements} at i = {index}; {name} has {target.elements} elements")
            raise Skip
        return BufferArgument(name, element_types.nbytes_of(target.dtype, elements))

    def _expression(self, path: Path_, text: str, point: Point) -> Fill:
        """Only what the expression reads is kept, so that equal fills of different points are equal."""
        scope = point.scope
        try:
            expression = fills.parse_fill(text)
            needs = missing(expression.functions)
            if needs is not None:
                raise ExpressionError(f"`{text}`: {needs}")
        except ExpressionError as error:
            self._collector.add(path, str(error))
            raise Skip from None
        self._collector.known(path, expression, {"i", *scope}, {})
        names = tuple((name, scope[name]) for name in sorted(expression.names - {"i"}))
        return Fill("expression", expression=text, names=names)  # type: ignore[arg-type]

    def _random(self, path: Path_, name: str, fill: RandomFill, dtype: str, point: Point) -> Fill:
        distribution = fill.random
        fits = self._random_keys_fit(path, fill)
        if element_types.kind_of(dtype) not in "fc" and distribution != "integers":
            self._collector.add((*path, "random"), f"a buffer of {dtype} takes `random: integers`")
            fits = False
        if not fits:
            raise Skip
        number = self._collector.integer if distribution == "integers" else self._finite

        def value(key: str, default: Number) -> Any:
            text = getattr(fill, key)
            return default if text is None else number((*path, key), text, point.scope)

        low, high = fills.default_range(distribution, dtype)
        low, high = value("low", low), value("high", high)
        mean, std = value("mean", 0.0), value("std", 1.0)
        if not low < high:
            self._collector.add(path, f"low is {low} and high {high}; low must be below high")
            raise Skip
        if std < 0:
            self._collector.add((*path, "std"), f"is {std}; a deviation is at least 0")
            raise Skip
        seed = fills.default_seed(name) if fill.seed is None else fill.seed
        return Fill("random", distribution=distribution, low=low, high=high, mean=mean, std=std, seed=seed)

    def _finite(self, path: Path_, text: str | int | float, scope: Mapping[str, Value]) -> Number:
        value = self._collector.number(path, text, scope)
        if not math.isfinite(value):
            self._collector.add(path, f"is {value}; expected a finite number")
            raise Skip
        return value

    def _random_keys_fit(self, path: Path_, fill: RandomFill) -> bool:
        wrong: Mapping[str, tuple[str, ...]] = {"normal": ("low", "high")}
        given = [key for key in wrong.get(fill.random, ("mean", "std")) if getattr(fill, key) is not None]
        for key in given:
            self._collector.add((*path, key), f"does not go with `random: {fill.random}`")
        return not given


def _order(model: BufferModel) -> tuple[ElementOrder, str | None]:
    """How an output's elements are compared, and the output that says how many of them are."""
    if isinstance(model.unordered, UnorderedModel):
        return "sorted", model.unordered.count
    return ("set" if model.unordered == "set" else "sorted" if model.unordered else "kept"), None
