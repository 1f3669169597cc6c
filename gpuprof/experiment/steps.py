"""From a step of the YAML to a launch, a host call or a fill, at one point."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

from gpuprof.errors import UnreadableFileError, UsageError
from gpuprof.experiment import limits
from gpuprof.experiment.arguments import scalar_argument
from gpuprof.experiment.bundled import find_source
from gpuprof.experiment.collect import BRACES, Collector, Skip, filled, number_text
from gpuprof.experiment.document import Path_
from gpuprof.experiment.element_types import SCALARS, nbytes_of
from gpuprof.experiment.expressions import nearest
from gpuprof.experiment.model import (
    Argument,
    Buffer,
    BufferArgument,
    FillStep,
    HostStep,
    KernelStep,
    MembersArgument,
    MemberValue,
    NamedMembers,
    NullArgument,
    ScalarArgument,
    Step,
    TensorMapArgument,
    ZeroArgument,
)
from gpuprof.experiment.operators import Value
from gpuprof.experiment.points import Point
from gpuprof.experiment.schema import ArgumentModel, StepModel, TensorMapModel, describe
from gpuprof.isa.machine import Dim3
from gpuprof.isa.tensor_map import TensorMap, mistakes_of

#: What expressions call the number of a repetition, and steps of one variant at most.
DEFAULT_INDEX = "iteration"
MAX_STEPS = 10_000
MAX_MEMBER_DEPTH = 16  #: structs in one another
_COMMON = {"name", "timed", "once", "repeat", "index"}
#: kind of step -> keys that it needs, keys that it may have besides
_KINDS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "kernel": (("source", "block", "grid"), {"shared", "args", "cooperative", "cluster"}),
    "host": (("source",), {"libraries", "args"}),
    "fill": ((), {"byte"}),
}
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

    def sequence(self, path: Path_, step: StepModel, default_source: str | None = None) -> list[Step]:
        """A step, or the steps in it, as often as it is repeated; raises Skip after reporting every mistake."""
        count = 1 if step.repeat is None else self._repetitions((*path, "repeat"), step.repeat)
        if step.index is not None and step.repeat is None:
            self.collector.add((*path, "index"), "counts repetitions, and the step has no `repeat`")
        built: list[Step] = []
        failed = False
        for number in range(count):
            inner = self if step.repeat is None else self._repetition(path, step, number)
            for place, one, source in inner._parts(path, step, default_source):
                try:
                    built += [inner.build(place, one, source)] if one is step else inner.sequence(place, one, source)
                except Skip:
                    failed = True
            if len(built) > MAX_STEPS:
                self.collector.add((*path, "repeat"), f"makes more than {MAX_STEPS:,} steps, which is the limit")
                failed = True
            if failed:
                raise Skip
        return built

    def _parts(
        self, path: Path_, step: StepModel, default_source: str | None
    ) -> list[tuple[Path_, StepModel, str | None]]:
        """The step itself, or the steps in it, with their places and their default source."""
        if step.steps is None:
            return [(path, step, default_source)]
        self._check_group(path, step)
        source = step.source if step.source is not None else default_source
        return [((*path, "steps", position), inner, source) for position, inner in enumerate(step.steps)]

    def _check_group(self, path: Path_, step: StepModel) -> None:
        """A step that holds steps launches nothing itself (what a variant may have is checked with the variant)."""
        if type(step) is StepModel:
            for key in sorted(_given(step) - {"source", "name", "steps", "repeat", "index"}):
                self.collector.add((*path, key), "conflicts with `steps`; move it into a step")

    def _repetitions(self, path: Path_, text: Any) -> int:
        count = self.collector.integer(path, text, self.point.scope, self.hints)
        if count < 0:
            self.collector.add(path, f"is {count}; a step is repeated 0 times or more")
            raise Skip
        if count > MAX_STEPS:
            self.collector.add(path, f"is {count:,}; a variant has at most {MAX_STEPS:,} steps")
            raise Skip
        return count

    def _repetition(self, path: Path_, step: StepModel, number: int) -> StepBuilder:
        """The builder inside a repetition: expressions know its number."""
        name = step.index or DEFAULT_INDEX
        if name in self.point.scope or name in self.buffers:
            message = f"'{name}' is used already; give the repetition another name with `index`"
            self.collector.add((*path, "index" if step.index else "repeat"), message)
            raise Skip
        return replace(self, point=replace(self.point, loops={**self.point.loops, name: number}))

    def build(self, path: Path_, step: StepModel, default_source: str | None = None) -> Step:
        """The step; raises Skip after reporting every mistake of it."""
        kind = self._kind(path, step)
        whole = self._is_whole(path, step, kind, default_source)
        if kind == "fill":
            return self._fill(path, step)
        tried = self.collector.tried
        source = tried(lambda: self._source(path, step.source if step.source is not None else default_source))
        args = tried(lambda: self._arguments((*path, "args"), step.args or []))
        launch = tried(lambda: self._launch(path, step)) if kind == "kernel" else ((1, 1, 1), (1, 1, 1), 0)
        function = tried(lambda: self._text((*path, kind), str(getattr(step, kind))))
        timed, once = self._timing(path, step)
        if not whole or source is None or args is None or launch is None or function is None:
            raise Skip
        loop = "".join(f"[{number}]" for number in self.point.loops.values())
        common: Any = {
            "name": f"{step.name or function}{loop}",
            "source": source,
            "args": args,
            "timed": timed,
            "once": once,
        }
        defines = self._defines(str(getattr(step, kind)))
        if kind == "host":
            return HostStep(function=function, defines=defines, libraries=tuple(step.libraries or ()), **common)
        block, grid, shared = launch
        cluster = tried(lambda: (self._cluster((*path, "cluster"), step.cluster, grid),))
        if cluster is None:
            raise Skip
        common |= {"cooperative": bool(step.cooperative), "cluster": cluster[0]}
        return KernelStep(kernel=function, defines=defines, grid=grid, block=block, shared_bytes=shared, **common)

    def _kind(self, path: Path_, step: StepModel) -> str:
        kinds = [kind for kind in _KINDS if kind in _given(step)]
        if len(kinds) != 1:
            if not any(self.collector.is_dropped((*path, kind)) for kind in _KINDS):
                what = f"got {' and '.join(kinds)}" if kinds else "got none"
                self.collector.add(path, f"expected one of `kernel`, `host`, `fill`; {what}", "kind")
            raise Skip
        return kinds[0]

    def _is_whole(self, path: Path_, step: StepModel, kind: str, default_source: str | None) -> bool:
        """Whether every key is there that the kind needs; those missing, and those out of place, are reported."""
        given = _given(step)
        needed, allowed = _KINDS[kind]
        fits = _COMMON | allowed | set(needed) | {kind}
        for key in sorted(given & set(StepModel.model_fields) - fits):
            self.collector.add((*path, key), f"does not go with `{kind}`")
        missing = [key for key in needed if key not in given and not (key == "source" and default_source)]
        for key in missing:
            if not self.collector.is_dropped((*path, key)):
                description = StepModel.model_fields[key].description
                self.collector.add(path, f"`{key}` is missing: {description}", key)
        return not missing

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

    def _source(self, path: Path_, text: str | None) -> Path:
        if text is None:
            raise Skip
        name = self._text((*path, "source"), text)
        if name not in self.sources:
            try:
                self.sources[name] = find_source(name, self.config)
            except (UsageError, UnreadableFileError) as error:
                self.sources[name] = str(error)
        found = self.sources[name]
        if isinstance(found, str):
            self.collector.add((*path, "source"), found)
            raise Skip
        return found

    def _text(self, path: Path_, text: str) -> str:
        """The text with every ``{expression}`` replaced by its value."""
        return filled(self.collector, path, text, self.point.scope, self.hints)

    def texts(self, path: Path_, texts: list[str]) -> tuple[str, ...]:
        """Flags and the like, with their ``{NAME}`` replaced."""
        return tuple(self._text((*path, position), text) for position, text in enumerate(texts))

    def _defines(self, function: str) -> dict[str, str]:
        """``-D NAME=value`` for every parameter that is not a template argument of this step.

        The expander then drops those that the source does not use.

        A parameter that appears as ``{NAME}`` in ``kernel`` is usually a template parameter of that very name in the
        source, which a macro would turn into ``template <int 16>``.
        """
        in_template = set(_NAME.findall(" ".join(BRACES.findall(function))))
        return {name: number_text(value) for name, value in self.point.parameters.items() if name not in in_template}

    def _launch(self, path: Path_, step: StepModel) -> tuple[Dim3, Dim3, int]:
        """Block, grid and shared bytes, each of which may use those before it."""
        scope, tried = self.point.scope, self.collector.tried
        block = tried(lambda: self._dimensions((*path, "block"), step.block, scope, limits.block_mistakes))
        for_grid = {**_names("block", "threads", block), **scope}
        with self.collector.shared_by(_names("block", "threads", (1, 1, 1))):
            grid = tried(lambda: self._dimensions((*path, "grid"), step.grid, for_grid, limits.grid_mistakes))
            for_shared = {**_names("grid", "blocks", grid), **for_grid}
            with self.collector.shared_by(_names("grid", "blocks", (1, 1, 1))):
                shared = tried(lambda: self._shared((*path, "shared"), step.shared, for_shared))
        if block is None or grid is None or shared is None:
            raise Skip
        return block, grid, shared

    def _cluster(self, path: Path_, texts: list[Any] | None, grid: Dim3) -> Dim3 | None:
        """Blocks per cluster, which divide the grid; None where the YAML does not say."""
        if texts is None:
            return None
        cluster = self._dimensions(path, texts, self.point.scope, limits.cluster_mistakes)
        for axis, blocks, part in zip("xyz", grid, cluster, strict=True):
            if blocks % part:
                self.collector.add(path, f"{axis} is {part}, which does not divide the grid's {blocks}", axis)
                raise Skip
        return cluster

    def _shared(self, path: Path_, text: Any, scope: Mapping[str, Value]) -> int:
        shared = 0 if text is None else self.collector.integer(path, text, scope, self.hints)
        mistake = limits.shared_mistake(shared, self.arch)
        self._report(path, [mistake] if mistake else [])
        return shared

    def _dimensions(
        self, path: Path_, texts: list[Any] | None, scope: Mapping[str, Value], mistakes: Callable[[Dim3], list[str]]
    ) -> Dim3:
        if texts is None:
            raise Skip
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
        extents = (values[0], values[1], values[2])
        self._report(path, mistakes(extents))
        return extents

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
        if isinstance(argument, list):
            return MembersArgument(self._member(path, argument))
        if argument is None:
            return NullArgument()
        if isinstance(argument, str) and argument in self.buffers:
            self._check_no_symbol(path, argument)
            return BufferArgument(argument)
        if isinstance(argument, (bool, int, float)):
            return scalar_argument(argument)
        if _NAME.fullmatch(argument) and argument not in self.point.scope:
            self._unknown_argument(path, argument)
        return scalar_argument(self.collector.number(path, argument, self.point.scope, self.hints))

    def _member(self, path: Path_, value: Any, depth: int = 0) -> MemberValue:
        """A member of a struct, with those in it; raises Skip after reporting a mistake."""
        if depth > MAX_MEMBER_DEPTH:
            self.collector.add(path, f"nests more than {MAX_MEMBER_DEPTH} structs")
            raise Skip
        if isinstance(value, list):
            return tuple(self._member((*path, at), each, depth + 1) for at, each in enumerate(value))
        if isinstance(value, dict) and set(value) in ({"buffer"}, {"buffer", "offset"}, {"value", "dtype"}):
            return self._typed_member(path, value)
        if isinstance(value, dict):
            return NamedMembers(
                tuple((str(key), self._member((*path, key), each, depth + 1)) for key, each in value.items())
            )
        if value is None:
            return None
        if isinstance(value, str) and value in self.buffers:
            self._check_no_symbol(path, value)
            return BufferArgument(value)
        if isinstance(value, (bool, int, float)):
            return value
        if not isinstance(value, str):
            self.collector.add(path, f"expected a number, a buffer, null, a list or a mapping, got {describe(value)}")
            raise Skip
        if _NAME.fullmatch(value) and value not in self.point.scope:
            self._unknown_argument(path, value)
        return self.collector.number(path, value, self.point.scope, self.hints)

    def _typed_member(self, path: Path_, value: dict[str, Any]) -> MemberValue:
        """``{value:, dtype:}`` or ``{buffer:, offset:}`` inside a struct."""
        if "dtype" in value and value["dtype"] not in SCALARS:
            self.collector.add((*path, "dtype"), f"expected one of {', '.join(sorted(SCALARS))}")
            raise Skip
        found = self._explicit(path, ArgumentModel.model_construct(**{"offset": 0, **value}))
        assert isinstance(found, (BufferArgument, ScalarArgument))
        return found

    def _check_no_symbol(self, path: Path_, name: str) -> None:
        if self.buffers[name].symbol:
            message = f"'{name}' is under `symbols`: the kernel reads it by its name; an argument is a buffer"
            self.collector.add(path, message)
            raise Skip

    def _unknown_argument(self, path: Path_, name: str) -> None:
        known = [*self.buffers, *self.point.scope]
        near = nearest(name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        if not self.collector.is_told(name):
            message = f"'{name}' is not a buffer, size or parameter{hint} (there are: {', '.join(known)})"
            self.collector.add(path, message)
        raise Skip

    def _explicit(self, path: Path_, argument: ArgumentModel) -> Argument:
        scope = self.point.scope
        if argument.zeros is not None:
            return ZeroArgument(argument.zeros)
        if argument.members is not None:
            return MembersArgument(self._member((*path, "members"), argument.members))
        if argument.buffer is None:
            value = self.collector.number((*path, "value"), argument.value, scope, self.hints)
            return scalar_argument(value, argument.dtype)
        if argument.buffer not in self.buffers:
            self._unknown_buffer((*path, "buffer"), argument.buffer)
        self._check_no_symbol((*path, "buffer"), argument.buffer)
        buffer = self.buffers[argument.buffer]
        offset = self.collector.integer((*path, "offset"), argument.offset, scope, self.hints)
        if not 0 <= offset <= buffer.elements:
            message = f"is {offset}; {buffer.name} has {buffer.elements} elements"
            self.collector.add((*path, "offset"), message)
            raise Skip
        if argument.tensor_map is not None:
            return self._tensor_map((*path, "tensor_map"), argument.tensor_map, buffer, offset)
        return BufferArgument(buffer.name, nbytes_of(buffer.dtype, offset))

    def _tensor_map(self, path: Path_, wanted: TensorMapModel, buffer: Buffer, offset: int) -> TensorMapArgument:
        """A tensor map of a buffer, or of its part from an element on; raises Skip after reporting a mistake."""
        scope = self.point.scope

        def extents(key: str, values: Any) -> tuple[int, ...]:
            found = [
                self.collector.integer((*path, key, at), each, scope, self.hints) for at, each in enumerate(values)
            ]
            return tuple(reversed(found))

        width = nbytes_of(buffer.dtype, 1)
        strides = [prod(buffer.shape[axis + 1 :]) * width for axis in range(len(buffer.shape) - 1)]
        row = prod(buffer.shape[1:])
        if offset % max(1, row):
            message = f"begins inside a row of {buffer.name}: `offset` must be a multiple of {row:,} elements"
            self.collector.add(path, message)
            raise Skip
        map = TensorMap(
            buffer.dtype,
            (*reversed(buffer.shape[1:]), buffer.shape[0] - offset // max(1, row)),
            tuple(reversed(strides)),
            extents("box", wanted.box),
            extents("steps", wanted.steps) if wanted.steps is not None else (),
            wanted.swizzle,
            wanted.outside == "nan",
        )
        mistakes = mistakes_of(map)
        for mistake in mistakes:
            self.collector.add(path, mistake)
        if mistakes:
            raise Skip
        return TensorMapArgument(buffer.name, map, nbytes_of(buffer.dtype, offset))


def _given(step: StepModel) -> set[str]:
    return {key for key in step.model_fields_set if getattr(step, key) is not None}


def _names(what: str, product: str, extents: Dim3 | None) -> dict[str, Value]:
    """``block_x`` to ``block_z`` and ``threads``, for the expressions after them; none where there are no extents."""
    if extents is None:
        return {}
    return {**{f"{what}_{axis}": extent for axis, extent in zip("xyz", extents, strict=True)}, product: prod(extents)}


def distinct_names(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, a name that occurs more than once as ``name #2``: counters and builds go by the name."""
    seen: dict[str, int] = {}
    named: list[Step] = []
    for step in steps:
        count = seen[step.name] = seen.get(step.name, 0) + 1
        named.append(step if count == 1 else replace(step, name=f"{step.name} #{count}"))
    return tuple(named)
