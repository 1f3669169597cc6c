"""From a validated YAML to an Experiment: every variant at every point, every expression evaluated."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gpuprof.errors import GpuprofError, UsageError
from gpuprof.experiment import naming, references
from gpuprof.experiment.buffers import BufferBuilder
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.expect import ValueKinds
from gpuprof.experiment.model import (
    Buffer,
    Experiment,
    Fill,
    FillStep,
    HostStep,
    KernelStep,
    Step,
    Suppression,
    Tolerance,
    Variant,
    Work,
)
from gpuprof.experiment.names_in_source import DefineFilter
from gpuprof.experiment.overrides import check_overrides
from gpuprof.experiment.points import (
    MAX_POINTS,
    Point,
    axes_of,
    check_declarations,
    expand_points,
)
from gpuprof.experiment.schema import BufferModel, ExperimentModel, StepModel, VariantModel, WorkModel
from gpuprof.experiment.steps import StepBuilder, distinct_names
from gpuprof.system.files import MAX_TEXT_BYTES, check_regular, exists, is_dir

MAX_VARIANTS = 5_000


class Expander:
    """Holds what all variants of one file share; ``expand`` gives the Experiment or reports to the collector."""

    def __init__(
        self,
        model: ExperimentModel,
        path: Path,
        collector: Collector,
        overrides: Mapping[str, str],
        arch: str | None = None,
        default_arch: str | None = None,
        values: ValueKinds | None = None,
    ) -> None:
        self._values = values
        self.model = model
        self.path = path
        self.collector = collector
        self.overrides = overrides
        self._yaml_arch = self._arch(model.arch)
        self._limits_arch = next((a for a in (arch, self._yaml_arch, default_arch) if a not in (None, "native")), None)
        self._buffers = BufferBuilder(collector, path)
        self._sources: dict[str, Path | str] = {}
        self._defines = DefineFilter()
        self._include = self._folders(("include",), model.include)

    def expand(self) -> Experiment:
        """Every variant; what could not be built is reported in the collector."""
        check_overrides(self.model, self.overrides)
        check_declarations(self.model, self.collector)
        variants: list[Variant] = []
        labels: list[str] = []  # of those with mistakes too
        dropped = 0
        if self._too_many():
            return self.experiment((), 0)
        for family, variant in self.model.variants.items():
            axes = axes_of(self.model, family, variant, self.overrides)
            for point in expand_points(family, axes, variant.where, self.collector):
                if point is None:
                    dropped += 1
                    continue
                labels.append(point.label)
                with suppress(Skip):
                    variants.append(self.variant_at(family, point))
        self._check_labels(variants, dropped)
        self._check_baseline(labels)
        return self.experiment(tuple(references.resolve(variants, self.collector)), dropped)

    def experiment(self, variants: tuple[Variant, ...], dropped: int) -> Experiment:
        """The file with these variants."""
        model = self.model
        return Experiment(
            name=model.name or self.path.stem,
            description=" ".join(model.description.split()),
            path=self.path,
            variants=variants,
            baseline=model.baseline,
            expect=references.expectations(model, self.collector, variants, self._values),
            dropped=dropped,
            arch=self._yaml_arch,
            iters=model.iters,
            columns=tuple(model.columns),
            values=references.own_values(model, self.collector, variants, self._values),
            known_races=tuple(tuple(sorted(set(lines))) for lines in model.known_races),
            suppressions=tuple(
                Suppression(tuple(sorted(set(each.lines))), each.kernel, each.why) for each in model.suppress
            ),
        )

    def _too_many(self) -> bool:
        total = 0
        for family, variant in self.model.variants.items():
            axes = axes_of(self.model, family, variant, self.overrides)
            points = math.prod(len(axis.values) for axis in axes)
            total += points
            if total > MAX_POINTS:
                lists = ", ".join(f"{axis.name}: {len(axis.values)}" for axis in axes if len(axis.values) > 1)
                message = f"the lists multiply to {points:,} points ({lists}); all variants have at most {MAX_POINTS:,}"
                self.collector.add(("variants", family), message)
                return True
        return False

    def _check_labels(self, variants: list[Variant], dropped: int) -> None:
        if len(variants) > MAX_VARIANTS:
            message = f"expand to {len(variants):,}; the limit is {MAX_VARIANTS:,}: shorten the lists or use `where`"
            self.collector.add(("variants",), message)
        seen: set[str] = set()
        for variant in variants:
            if variant.label in seen:
                message = f"'{variant.label}': duplicate label; the list repeats a value"
                self.collector.add(("variants", variant.family), message, "twice")
            seen.add(variant.label)
        if not variants and dropped:
            points = f"all {dropped} points" if dropped > 1 else "the only point"
            self.collector.add(("variants",), f"`where` dropped {points}; nothing is left to run")

    def _check_baseline(self, labels: list[str]) -> None:
        name = self.model.baseline
        if name is None or name in self.model.variants:
            return
        if not any(naming.matches(name, label.split("/")[0], label) for label in labels):
            known = [*self.model.variants, *labels]
            self.collector.add(("baseline",), references.no_variant(name, known))

    def variant_at(self, family: str, point: Point) -> Variant:
        """One variant, its reference still as the YAML names it. Raises Skip for a mistake, which is reported."""
        self.collector.point = point.label
        try:
            with self.collector.shared_by(point.wrong):
                return self._variant(family, self.model.variants[family], point)
        finally:
            self.collector.point = ""

    def _variant(self, family: str, model: VariantModel, point: Point) -> Variant:
        base: Path_ = ("variants", family)
        buffers, shapes_known = self._all_buffers(base, model, point)
        hints = {name: f"'{name}' is a buffer, not a number" for name in buffers}
        builder = StepBuilder(self.collector, self.path, self._limits_arch, point, buffers, hints, self._sources)
        tried = self.collector.tried
        steps = tried(lambda: self._steps(base, model, builder))
        shared_flags = tried(lambda: self._flags(builder, ("flags",), self.model.flags))
        own_flags = tried(lambda: self._flags(builder, (*base, "flags"), model.flags))
        include = self._include + self._folders((*base, "include"), model.include)
        reference = references.reference(
            self.model, family, model, point, buffers, self.collector, shapes_known, self.path
        )
        tolerance = tried(lambda: (self._tolerance(base, model, point),))
        work = tried(lambda: self._work(base, model, point, hints))
        if steps is None or shared_flags is None or own_flags is None or tolerance is None or work is None:
            raise Skip
        flags = shared_flags + own_flags
        return Variant(
            label=point.label,
            family=family,
            parameters=point.parameters,
            sizes=point.sizes,
            buffers=buffers,
            steps=tuple(self._with_needed_defines(step, flags, include) for step in steps),
            reference=reference,
            tolerance=tolerance[0],
            work=work,
            iters=model.iters or self.model.iters,
            arch=self._yaml_arch,
            flags=flags,
            include=include,
            host_only=any(isinstance(step, HostStep) for step in steps),
        )

    def _all_buffers(self, base: Path_, model: VariantModel, point: Point) -> tuple[dict[str, Buffer], bool]:
        """Every buffer, and whether all are as they should be.

        One with a mistake is there as a stand-in, so that nothing else is reported for it.
        """
        whole = True
        places: dict[str, tuple[Path_, BufferModel]] = {
            name: (("buffers", name), buffer) for name, buffer in self.model.buffers.items()
        }
        places |= {name: ((*base, "buffers", name), buffer) for name, buffer in model.buffers.items()}
        built = {}
        for name, (path, buffer) in places.items():
            try:
                built[name] = self._buffers.build(path, name, buffer, point)
            except Skip:
                whole = False
                built[name] = Buffer(name, buffer.dtype, (1,), Fill("constant"), buffer.output, buffer.scratch)
        symbols = {name: (("symbols", name), symbol) for name, symbol in self.model.symbols.items()}
        own = {name: ((*base, "symbols", name), symbol) for name, symbol in model.symbols.items()}
        for name, (symbol_path, symbol) in {**symbols, **own}.items():
            if name in places or name in point.scope:
                self.collector.add(symbol_path, "name already used for a buffer, size or parameter")
            try:
                built[name] = self._buffers.build_symbol(symbol_path, name, symbol, point)
            except Skip:
                whole = False
                built[name] = Buffer(name, symbol.dtype, (1,), Fill("constant"), symbol=True)
        for name, (path, buffer) in places.items():
            if built[name].fill.kind == "pointers":
                try:
                    built[name] = self._buffers.with_pointers(path, built[name], buffer, point, built)
                except Skip:
                    whole = False
        return built, whole

    def _steps(self, base: Path_, model: VariantModel, builder: StepBuilder) -> tuple[Step, ...]:
        if model.steps is None:
            if self.collector.is_dropped((*base, "steps")):
                raise Skip
            if model.repeat is not None or model.index is not None:
                return self._sequence(base, model, builder)
            only = builder.build(base, model)
            if isinstance(only, FillStep):
                self.collector.add(base, "only fills a buffer; expected `kernel`, `host` or `steps`", "kind")
            elif not only.timed:
                key = "once" if only.once else "timed"
                self.collector.add((*base, key), "a single-step variant must be timed; put untimed steps under `steps`")
            return (only,)
        beside = {"source", "name", "steps", "repeat", "index"}
        for key in sorted(model.model_fields_set & set(StepModel.model_fields) - beside):
            self.collector.add((*base, key), "conflicts with `steps`; move it into a step")
        return self._sequence(base, model, builder)

    def _sequence(self, base: Path_, model: VariantModel, builder: StepBuilder) -> tuple[Step, ...]:
        """The steps of a variant that has several, or repeats one."""
        built = builder.sequence(base, model)
        if not any(step.timed for step in built):
            self.collector.add((*base, "steps"), "no step is timed; at least one must be")
        if not any(isinstance(step, (KernelStep, HostStep)) for step in built):
            self.collector.add((*base, "steps"), "no step launches a kernel or calls a host function")
        return distinct_names(built)

    def _with_needed_defines(self, step: Step, flags: tuple[str, ...], include: tuple[Path, ...]) -> Step:
        if isinstance(step, FillStep):
            return step
        function = step.kernel if isinstance(step, KernelStep) else step.function
        return replace(step, defines=self._defines.needed(step.defines, step.source, function, flags, include))

    def _flags(self, builder: StepBuilder, path: Path_, flags: list[str]) -> tuple[str, ...]:
        with self.collector.at(path):
            return absolute_folders(builder.texts(path, flags), self.path.resolve().parent)
        raise Skip

    def _folders(self, path: Path_, folders: list[str]) -> tuple[Path, ...]:
        """Include folders: beside the YAML, else in the current folder."""
        found = []
        for position, folder in enumerate(folders):
            beside, here = self.path.resolve().parent / folder, Path.cwd() / folder
            if not is_dir(beside) and not is_dir(here):
                searched = ", ".join(dict.fromkeys(str(place.parent) for place in (beside, here)))
                message = f"no folder '{folder}' (searched: {searched})"
                self.collector.add((*path, position), message)
            found.append(beside if is_dir(beside) else here)
        return tuple(found)

    def _tolerance(self, base: Path_, model: VariantModel, point: Point) -> Tolerance | None:
        own = model.tolerance is not None
        tolerance = model.tolerance if own else self.model.tolerance
        path: Path_ = (*base, "tolerance") if own else ("tolerance",)
        if tolerance is None:
            return None
        values = {}
        for key in ("rtol", "atol"):
            values[key] = float(self.collector.number((*path, key), getattr(tolerance, key), point.scope))
            if not 0 <= values[key] < math.inf:
                self.collector.add((*path, key), f"is {values[key]}; a tolerance must be finite and non-negative")
        return Tolerance(values["rtol"], values["atol"])

    def _work(self, base: Path_, model: VariantModel, point: Point, hints: Mapping[str, str]) -> Work:
        own = model.work is not None
        work = (model.work if own else self.model.work) or WorkModel.model_validate({})
        path: Path_ = (*base, "work") if own else ("work",)
        values: dict[str, float | None] = {}
        for key in ("flop", "bytes"):
            text = getattr(work, key)
            values[key] = None
            if text is not None:
                number = self.collector.number((*path, key), text, point.scope, hints)
                if not 0 <= number < math.inf:
                    self.collector.add((*path, key), f"is {number}; work must be finite and non-negative")
                values[key] = float(number)
        return Work(values["flop"], values["bytes"])

    def _arch(self, text: str | None) -> str | None:
        if text is None:
            return None
        from gpuprof.arch.spelling import parse_arch

        try:
            return parse_arch(text)
        except GpuprofError as error:
            self.collector.add(("arch",), str(error))
            return None


_FOLDER_FLAGS = ("-I", "--include-path", "-isystem", "--system-include", "-include", "--pre-include")


#: Flags whose value is a file that nvcc reads.
_FILE_FLAGS = frozenset({"-include", "--pre-include", "-optf", "--options-file"})


def absolute_folders(flags: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Relative folders in include flags, made to count from the YAML's folder; a text of several words is split.

    Raises UsageError for a quotation mark without its partner.
    """
    words = [word for flag in flags for word in (_split(flag) if flag.startswith("-") else [flag])]
    result: list[str] = []
    for word in words:
        if result and result[-1] in _FOLDER_FLAGS:
            result.append(_absolute(word, folder))
        elif match := re.match(r"(-I|--include-path=|--system-include=|-isystem=|-include=|--pre-include=)(.+)", word):
            result.append(match[1] + _absolute(match[2], folder))
        else:
            result.append(word)
    _check_files(result)
    return tuple(result)


def _check_files(flags: Sequence[str]) -> None:
    """Raise UnreadableFileError for a file among flags that is special: nvcc would read ``/dev/zero`` for ever."""
    for before, flag in zip(("", *flags), flags, strict=False):
        name, found, value = flag.partition("=")
        path = Path(value) if found and name in _FILE_FLAGS else Path(flag) if before in _FILE_FLAGS else None
        if path is not None and exists(path):
            check_regular(path, MAX_TEXT_BYTES)


def _split(flag: str) -> list[str]:
    try:
        return shlex.split(flag)
    except ValueError:
        raise UsageError(f"`{flag}`: a quotation mark is not closed") from None


def _absolute(text: str, folder: Path) -> str:
    beside, here = folder / text, Path.cwd() / text
    return str(beside if exists(beside) or not exists(here) else here)
