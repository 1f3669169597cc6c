"""An experiment to be searched: its fixed variants, and points of which a variant is made when it is asked for.

A family is searched when its parameters multiply to several points. The others, and those that ``reference`` and
``baseline`` name, are fixed: they are there from the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.errors import UsageError
from gpuprof.experiment import naming, references
from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.expand import Expander
from gpuprof.experiment.model import Experiment, SearchDefaults, Variant
from gpuprof.experiment.overrides import check_overrides
from gpuprof.experiment.points import Axis, Point, axes_of, check_declarations
from gpuprof.experiment.space import PointSpace

if TYPE_CHECKING:
    from gpuprof.experiment.schema import ExperimentModel

#: Points of a family that another one is compared with: its partner is looked for among all of them.
MAX_FIXED = 100
#: Points tried before a file is called wrong: a mistake of some points only is theirs.
_TRIED = 32


@dataclass(frozen=True)
class FailedPoint:
    """A point of which no variant can be made: a block of too many threads, an extent of 0."""

    label: str
    family: str
    parameters: Mapping[str, int | float | str]
    sizes: Mapping[str, int | float]
    reason: str


class Tunable:
    """What ``load_tunable`` gives. ``experiment`` has the fixed variants only; ``families`` are searched."""

    def __init__(
        self,
        expander: Expander,
        experiment: Experiment,
        families: Sequence[PointSpace],
        search: SearchDefaults,
    ) -> None:
        self._expander = expander
        self.experiment = experiment
        self.families = tuple(families)
        self.search = search

    def variant(self, family: int, row: Sequence[int]) -> Variant | FailedPoint:
        """The variant of a point, or why there is none."""
        space = self.families[family]
        collector = self._expander.collector
        collector.begin_again()
        try:
            point = space.point(row)
        except Skip:
            return FailedPoint(space.family, space.family, {}, {}, _reason(collector))
        found: list[Variant] = []
        with suppress(Skip):
            found.append(self._expander.variant_at(space.family, point))
        if found and collector.is_clean:
            found = references.resolve([*found, *self.experiment.variants], collector)[:1]
        reason = _reason(collector)
        if found and not reason:
            return found[0]
        parameters = {name: value for name, value in point.parameters.items() if isinstance(value, (int, float, str))}
        return FailedPoint(point.label, space.family, parameters, point.sizes, reason or "it has a mistake")


def _reason(collector: Collector) -> str:
    """The mistakes, without the point, which the row names."""
    problems = collector.take_problems()
    told = (f"{problem.key}: {problem.message}" for problem in problems)
    return "; ".join(dict.fromkeys(text.rsplit(" (at ", 1)[0] if text.endswith(")") else text for text in told))


def tunable(
    expander: Expander, model: ExperimentModel, path: Path, overrides: Mapping[str, str], chosen: Sequence[str] = ()
) -> Tunable:
    """The searched and the fixed variants; raises ConfigError and UsageError.

    ``chosen`` are families (``--variant``): of those with several points, only these are searched.
    """
    collector = expander.collector
    check_overrides(model, overrides)
    check_declarations(model, collector)
    collector.raise_if_any()
    axes = {family: axes_of(model, family, variant, overrides) for family, variant in model.variants.items()}
    _check_sizes(axes)
    named = _named(model)
    families: list[PointSpace] = []
    fixed: list[Variant] = []
    for family, variant in model.variants.items():
        space = PointSpace(family, axes[family], variant.where, collector)
        if space.size > 1 and family not in named:
            if not chosen or family in chosen:
                families.append(space)
            continue
        if space.size > MAX_FIXED:
            raise UsageError(
                f"{family}: others are compared with it, and it has {space.size:,} points; at most {MAX_FIXED} are "
                "looked at: name one of them in a variant of its own"
            )
        for point in _points(space):
            with suppress(Skip), collector.shared_by(point.wrong):
                fixed.append(expander.variant_at(family, point))
    unknown = [name for name in chosen if name not in model.variants]
    if unknown:
        raise UsageError(f"--variant {unknown[0]!r} names no family; there are {', '.join(model.variants)}")
    if not families:
        raise UsageError("nothing to search: no variant has a parameter with several values (lists under `params:`)")
    collector.raise_if_any()
    _try_points(expander, families)
    fixed = references.resolve(fixed, collector)
    experiment = expander.experiment(tuple(fixed), 0)
    collector.raise_if_any()
    return Tunable(expander, replace(experiment, expect=()), families, search_defaults(model))


def search_defaults(model: ExperimentModel) -> SearchDefaults:
    """``search:`` of the YAML."""
    given = model.search
    if given is None:
        return SearchDefaults()
    return SearchDefaults(given.strategy, given.trials, given.minutes, given.objective, given.seed)


def _points(space: PointSpace) -> list[Point]:
    return [space.point(row) for rows in space.blocks() for row in rows.tolist()]


def _named(model: ExperimentModel) -> frozenset[str]:
    """The families that ``reference`` and ``baseline`` name."""
    given = [model.baseline, model.reference, *(variant.reference for variant in model.variants.values())]
    names = [each["variant"] if isinstance(each, dict) and set(each) == {"variant"} else each for each in given]
    return frozenset(
        family
        for family in model.variants
        for name in names
        if isinstance(name, str) and (name.split("/")[0] == family or naming.matches(name, family, family))
    )


def _check_sizes(axes: Mapping[str, Sequence[Axis]]) -> None:
    for family in axes.values():
        for axis in family:
            if axis.is_size and len(axis.values) > 1:
                values = ", ".join(str(value) for value in axis.values[:4])
                raise UsageError(
                    f"{axis.name} has {len(axis.values)} values ({values}): times of different sizes do not compare; "
                    f"choose one with --set {axis.name}={axis.values[0]}"
                )
            if len(set(map(str, axis.values))) < len(axis.values):
                raise UsageError(f"{axis.name}: the list repeats a value")


def _try_points(expander: Expander, families: Sequence[PointSpace]) -> None:
    """Raise ConfigError for a family of which none of the first points can be made."""
    for space in families:
        rows = next(space.blocks(), None)
        if rows is None:
            expander.collector.raise_if_any()
            raise UsageError(f"{space.family}: `where` drops every point; nothing is left to search")
        step = max(1, len(rows) // _TRIED)
        for number, row in enumerate(islice(rows.tolist(), 0, None, step)):
            with suppress(Skip):
                point = space.point(row)
                expander.variant_at(space.family, point)
            if expander.collector.is_clean:
                break
            if number + 1 < min(_TRIED, len(rows)):
                expander.collector.begin_again()
        expander.collector.raise_if_any()
