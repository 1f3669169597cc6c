"""From a step of the YAML to a launch, a host call or a fill, at one point."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpuprof.errors import UsageError
from gpuprof.experiment import limits
from gpuprof.experiment.arguments import scalar_argument
from gpuprof.experiment.bundled import find_source
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.expressions import nearest
from gpuprof.experiment.model import (
    Argument,
    Buffer,
    BufferArgument,
    Dim3,
    FillStep,
    HostStep,
    KernelStep,
    ScalarArgument,
    Step,
)
from gpuprof.experiment.operators import Value
from gpuprof.experiment.points import Point
from gpuprof.experiment.schema import ArgumentModel, StepModel

_COMMON = {"name", "timed", "once"}
#: kind of step -> keys that it needs, keys that it may have besides
_KINDS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "kernel": (("source", "block", "grid"), {"shared", "args"}),
    "host": (("source",), {"libraries", "args"}),
    "fill": ((), {"byte"}),
}
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass
class StepBuilder:
    """Builds the steps of one variant at one point; mistakes go to the collector."""

    collector: Collector
    config: Path
    arch: str | None
    point: Point
    buffers: Mapping[str, Buffer]
    hints: Mapping[str, str]
    sources: dict[str, Path | str] = field(default_factory=dict)  #: looked up once per file: a path, or the mistake

    def build(self, path: Path_, step: StepModel, default_source: str | None = None) -> Step:
        """The step; raises Skip after reporting every mistake of it."""
        kind = self._kind(path, step, default_source)
        source_text = step.source if step.source is not None else default_source
        if kind == "fill":
            return self._fill(path, step)
        failed = False
        parts: dict[str, Any] = {}
        builders: dict[str, Any] = {"source": lambda: self._source(path, str(source_text)), "name": lambda: None}
        builders["args"] = lambda: self._arguments((*path, "args"), step.args or [])
        if kind == "kernel":
            builders["launch"] = lambda: self._launch(path, step)
        builders["function"] = lambda: self._text((*path, kind), str(getattr(step, kind)))
        for name, builder in builders.items():
            try:
                parts[name] = builder()
            except Skip:
                failed = True
        if failed:
            raise Skip
        timed, once = self._timing(path, step)
        name = step.name or parts["function"]
        common = {"name": name, "source": parts["source"], "args": parts["args"], "timed": timed, "once": once}
        defines = self._defines(str(getattr(step, kind)))
        if kind == "host":
            libraries = tuple(step.libraries or ())
            return HostStep(function=parts["function"], defines=defines, libraries=libraries, **common)
        block, grid, shared = parts["launch"]
        return KernelStep(
            kernel=parts["function"], defines=defines, grid=grid, block=block, shared_bytes=shared, **common
        )

    def _kind(self, path: Path_, step: StepModel, default_source: str | None) -> str:
        given = {key for key in step.model_fields_set if getattr(step, key) is not None}
        kinds = [kind for kind in _KINDS if kind in given]
        if len(kinds) != 1:
            if not any(self.collector.is_dropped((*path, kind)) for kind in _KINDS):
                what = f"got {' and '.join(kinds)}" if kinds else "got none"
                self.collector.add(path, f"expected one of `kernel`, `host`, `fill`; {what}", "kind")
            raise Skip
        kind = kinds[0]
        needed, allowed = _KINDS[kind]
        fits = _COMMON | allowed | set(needed) | {kind}
        for key in sorted(given & set(StepModel.model_fields) - fits):
            self.collector.add((*path, key), f"does not go with `{kind}`")
        missing = [key for key in needed if key not in given and not (key == "source" and default_source)]
        for key in missing:
            if not self.collector.is_dropped((*path, key)):
                description = StepModel.model_fields[key].description
                self.collector.add(path, f"`{key}` is missing: {description}", key)
        if missing:
            raise Skip
        return kind

    def _timing(self, path: Path_, step: StepModel) -> tuple[bool, bool]:
        once = bool(step.once)
        if once and step.timed:
            self.collector.add((*path, "timed"), "a step that runs `once` is not timed")
        return (not once if step.timed is None else step.timed), once

    def _fill(self, path: Path_, step: StepModel) -> FillStep:
        name = str(step.fill)
        if name not in self.buffers:
            self._unknown_buffer((*path, "fill"), name)
        timed, once = bool(step.timed), bool(step.once)
        return FillStep(step.name or f"fill {name}", name, step.byte or 0, timed, once)

    def _unknown_buffer(self, path: Path_, name: str) -> None:
        near = nearest(name, self.buffers)
        hint = f"; did you mean '{near}'?" if near else ""
        if not self.collector.is_dropped(("buffers", name)):
            self.collector.add(path, f"there is no buffer '{name}'{hint} (buffers: {', '.join(self.buffers)})")
        raise Skip

    def _source(self, path: Path_, text: str) -> Path:
        name = self._text((*path, "source"), text)
        if name not in self.sources:
            try:
                self.sources[name] = find_source(name, self.config)
            except UsageError as error:
                self.sources[name] = str(error)
        found = self.sources[name]
        if isinstance(found, str):
            self.collector.add((*path, "source"), found)
            raise Skip
        return found

    def _text(self, path: Path_, text: str) -> str:
        """The text with every ``{expression}`` replaced by its value."""

        def value(match: re.Match[str]) -> str:
            return number_text(self.collector.evaluate(path, match[1], self.point.scope, self.hints))

        return _BRACES.sub(value, text)

    def texts(self, path: Path_, texts: list[str]) -> tuple[str, ...]:
        """Flags and the like, with their ``{NAME}`` replaced."""
        return tuple(self._text((*path, position), text) for position, text in enumerate(texts))

    def _defines(self, function: str) -> dict[str, str]:
        """``-D NAME=value`` for every parameter that is not a template argument of this step.

        The expander then drops those that the source does not use.

        A parameter that stands as ``{NAME}`` in ``kernel`` is usually a template parameter of that very name in the
        source, which a macro would turn into ``template <int 16>``.
        """
        in_template = set(_NAME.findall(" ".join(_BRACES.findall(function))))
        return {name: number_text(value) for name, value in self.point.parameters.items() if name not in in_template}

    def _launch(self, path: Path_, step: StepModel) -> tuple[Dim3, Dim3, int]:
        """Block, grid and shared bytes, each of which may use those before it."""
        scope = self.point.scope
        block = self._dimensions((*path, "block"), step.block, scope)
        self._report((*path, "block"), limits.block_mistakes(block))
        scope = {**_named("block", block), "threads": int(np.prod(block)), **scope}
        grid = self._dimensions((*path, "grid"), step.grid, scope)
        self._report((*path, "grid"), limits.grid_mistakes(grid))
        scope = {**_named("grid", grid), "blocks": grid[0] * grid[1] * grid[2], **scope}
        shared_path = (*path, "shared")
        shared = 0 if step.shared is None else self.collector.integer(shared_path, step.shared, scope, self.hints)
        mistake = limits.shared_mistake(shared, self.arch)
        self._report(shared_path, [mistake] if mistake else [])
        return block, grid, shared

    def _dimensions(self, path: Path_, texts: list[Any], scope: Mapping[str, Value]) -> Dim3:
        values = [1, 1, 1]
        failed = False
        for position, text in enumerate(texts):
            place = (*path, position) if (*path, position) in self.collector.document.lines else path
            try:
                values[position] = self.collector.integer(place, text, scope, self.hints)
            except Skip:
                failed = True
        if failed:
            raise Skip
        return (values[0], values[1], values[2])

    def _report(self, path: Path_, mistakes: list[str]) -> None:
        for position, mistake in enumerate(mistakes):
            self.collector.add(path, mistake, f"limit {position}")
        if mistakes:
            raise Skip

    def _arguments(self, path: Path_, arguments: list[Any]) -> tuple[Argument, ...]:
        built: list[Argument] = []
        failed = False
        for position, argument in enumerate(arguments):
            with self.collector.at((*path, position)):
                built.append(self._argument((*path, position), argument))
                continue
            failed = True
        if failed:
            raise Skip
        return tuple(built)

    def _argument(self, path: Path_, argument: Any) -> Argument:
        if isinstance(argument, ArgumentModel):
            return self._explicit(path, argument)
        if isinstance(argument, str) and argument in self.buffers:
            return BufferArgument(argument)
        if isinstance(argument, (bool, int, float)):
            return scalar_argument(argument)
        if _NAME.fullmatch(argument) and argument not in self.point.scope:
            self._unknown_argument(path, argument)
        return scalar_argument(self.collector.number(path, argument, self.point.scope, self.hints))

    def _unknown_argument(self, path: Path_, name: str) -> None:
        known = [*self.buffers, *self.point.scope]
        near = nearest(name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        if not any(self.collector.is_dropped((section, name)) for section in ("buffers", "sizes")):
            message = f"'{name}' is no buffer, size or parameter{hint} (there are: {', '.join(known)})"
            self.collector.add(path, message)
        raise Skip

    def _explicit(self, path: Path_, argument: ArgumentModel) -> BufferArgument | ScalarArgument:
        scope = self.point.scope
        if argument.buffer is None:
            value = self.collector.number((*path, "value"), argument.value, scope, self.hints)
            return scalar_argument(value, argument.dtype)
        if argument.buffer not in self.buffers:
            self._unknown_buffer((*path, "buffer"), argument.buffer)
        buffer = self.buffers[argument.buffer]
        offset = self.collector.integer((*path, "offset"), argument.offset, scope, self.hints)
        if not 0 <= offset <= buffer.elements:
            message = f"is {offset}; {buffer.name} has {buffer.elements} elements"
            self.collector.add((*path, "offset"), message)
            raise Skip
        return BufferArgument(buffer.name, offset * np.dtype(buffer.dtype).itemsize)


def _named(what: str, extents: Dim3) -> dict[str, Value]:
    return {f"{what}_{axis}": extent for axis, extent in zip("xyz", extents, strict=True)}


def number_text(value: Value) -> str:
    """A value as it reaches nvcc: an integer, a float as Python prints it, or text."""
    return str(int(value)) if isinstance(value, bool) else str(value)
