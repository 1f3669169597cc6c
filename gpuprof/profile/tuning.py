"""A search: a strategy chooses points, runs of a few variants give their rows, and the leaders are timed again.

Every part is a run as ``profile.run`` makes it, so that a trial is built, checked and timed as any variant is. A point
of which no variant can be made, one that does not build and one that differs are rows with reasons, and failed points
to the strategy. On a GPU first times are short; then the leaders are timed longer, fewer each time, and the winner is
compared with the runner-up in turn, as a variant is with a baseline.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from gpuprof.device.process import ChildProcess
from gpuprof.experiment.model import Experiment, Variant
from gpuprof.experiment.tunable import FailedPoint, Tunable
from gpuprof.profile.checkpoint import Checkpoint, earlier_results
from gpuprof.profile.observer import Observer
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import Part, run_prepared, shared_data
from gpuprof.profile.setup import Setup, prepare_run
from gpuprof.profile.shared_arrays import SharedData
from gpuprof.results.model import Result, Run, SearchFacts, Status
from gpuprof.results.objective import Objective, parse_objective
from gpuprof.results.pending import latest_run_path
from gpuprof.search.families import FamilyPoints
from gpuprof.search.importance import importance
from gpuprof.search.strategy import DEFAULT, make_strategy

#: Trials where neither trials nor minutes are given.
TRIALS = 100
#: A first timing: so many samples. Enough to tell a tenth apart, not a hundredth.
FIRST_SAMPLES = 7
#: Leaders that are timed again, and in what share of the full time; the last ones to the noise limit.
ROUNDS = ((8, 0.25), (4, 1.0))
#: Variants of one part on a GPU: enough to keep the builds busy, few enough that the strategy learns between them.
PART_ON_GPU = 8


@dataclass(frozen=True)
class TuneOptions:
    """The budget and the choice of points; None: the YAML's ``search:``, else the default."""

    strategy: str | None = None
    trials: int | None = None
    minutes: float | None = None
    objective: str | None = None
    seed: int | None = None
    resume: bool = False


@dataclass
class _Search:
    """What a search knows so far."""

    rows: dict[str, Result] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    indices: dict[str, int] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)

    def leaders(self, count: int) -> list[str]:
        """The labels of the least costs, best first."""
        return sorted(self.costs, key=lambda label: self.costs[label])[:count]


def search_path(config: Path) -> Path:
    """Where the latest search of a YAML file is kept for ``--resume``."""
    usual = latest_run_path(config)
    return usual.with_name(f"tune-{usual.name}")


def tune(
    tunable: Tunable,
    options: RunOptions,
    wanted: TuneOptions,
    observer: Observer,
    worker: ChildProcess | None = None,
) -> Run:
    """Search ``tunable`` and give all trials as the rows of a run, with ``Run.search``.

    Raises UsageError, MissingToolError and MissingDeviceError before anything is built, StoreError for ``resume``
    without an earlier search.
    """
    setup = prepare_run(tunable.experiment, options)
    return Tuner(tunable, options, wanted, observer, setup, worker).run()


class Tuner:
    """One search. ``options.json`` and the search's own file are written after each part."""

    def __init__(
        self,
        tunable: Tunable,
        options: RunOptions,
        wanted: TuneOptions,
        observer: Observer,
        setup: Setup,
        worker: ChildProcess | None,
    ) -> None:
        given = tunable.search
        self._tunable, self._options, self._setup, self._worker = tunable, options, setup, worker
        self._on_gpu = setup.devices.kind == "gpu"
        objective = wanted.objective or given.objective
        self._objective: Objective = parse_objective(objective, tunable.experiment, has_gpu=self._on_gpu)
        self._name = wanted.strategy or given.strategy or DEFAULT
        self._seed = wanted.seed if wanted.seed is not None else given.seed
        self._minutes = wanted.minutes or given.minutes
        trials = wanted.trials or given.trials or (None if self._minutes else TRIALS)
        self._points = FamilyPoints(tunable.families)
        count = len(self._points.points)
        self._trials = count if trials is None else min(trials, count)
        self._strategy = make_strategy(self._name, self._points.points, seed=self._seed, trials=self._trials)
        self._observer = _Progress(observer, self._trials)
        self._found = _Search()
        paths = tuple(path for path in (options.json, search_path(tunable.experiment.path)) if path is not None)
        self._earlier: Mapping[str, Result] = earlier_results(paths) if wanted.resume else {}
        self._checkpoint = Checkpoint(paths)
        self._started, self._clock = datetime.now(timezone.utc), time.monotonic()
        self._stopped_by = ""
        self._last: Run | None = None

    def run(self) -> Run:
        """All trials, then the leaders again."""
        for note in self._setup.notes:
            self._observer.note(note)
        self._observer.note(
            f"{len(self._points.points):,} points, {self._name}, {self._trials:,} trials at most; minimised: "
            f"{self._objective.expression} ({self._objective.basis})"
        )
        self._checkpoint.start(self._snapshot(complete=False))
        data: SharedData | None = None
        try:
            while not self._ended():
                data = self._part(data) or data
            if data is not None and self._on_gpu and self._stopped_by != "interrupted":
                self._measure_leaders(data)
            run = self._snapshot(complete=self._stopped_by != "interrupted")
            self._checkpoint.write(run)
            return run
        finally:
            self._checkpoint.close()
            if data is not None:
                data.close()

    def _ended(self) -> bool:
        if self._stopped_by:
            return True
        if len(self._found.order) >= self._trials:
            self._stopped_by = "trials" if self._trials < len(self._points.points) else "points"
        elif self._minutes is not None and time.monotonic() - self._clock >= 60 * self._minutes:
            self._stopped_by = "minutes"
        return bool(self._stopped_by)

    def _part(self, data: SharedData | None) -> SharedData | None:
        """One round of the strategy: its points as one run."""
        asked = self._strategy.ask(min(self._part_size(), self._trials - len(self._found.order)))
        if not asked:
            self._stopped_by = "points"
            return data
        batch: list[Variant] = []
        for index in asked:
            made = self._tunable.variant(*_of(self._points, index))
            self._found.indices[made.label] = index
            self._found.order.append(made.label)
            if isinstance(made, Variant):
                batch.append(made)
                self._found.variants[made.label] = made
            else:
                self._keep(_failed_row(made))
        if batch:
            data = data or shared_data(batch, self._options)
            self._run(batch, self._first_options(), data)
        for index, label in zip(asked, self._found.order[-len(asked) :], strict=True):
            self._strategy.tell(index, self._found.costs.get(label))
        self._checkpoint.write(self._snapshot(complete=False))
        return data

    def _part_size(self) -> int:
        if self._on_gpu:
            return max(PART_ON_GPU, self._setup.builder.jobs)
        return max(2, len(self._setup.lanes(1 << 10)))

    def _first_options(self) -> RunOptions:
        timing = self._options.timing
        if not self._on_gpu or timing.iters:
            return self._options
        short = replace(timing, iters=FIRST_SAMPLES, timeout=min(timing.timeout, 2.0))
        return replace(self._options, timing=short)

    def _run(
        self, batch: Sequence[Variant], options: RunOptions, data: SharedData, baseline: str | None = None
    ) -> Mapping[str, Result]:
        """The rows of some trials; ``baseline`` in place of the YAML's."""
        own = {variant.label for variant in batch}
        fixed = [variant for variant in self._tunable.experiment.variants if variant.label not in own]
        if baseline is not None:
            named = {variant.reference.variant for variant in batch}
            fixed = [variant for variant in fixed if variant.label in named]
        experiment: Experiment = replace(
            self._objective.in_rows(self._tunable.experiment),
            variants=(*fixed, *batch),
            baseline=baseline or self._tunable.experiment.baseline,
        )
        run = run_prepared(
            experiment,
            replace(options, variants=(), json=None, resume=False),
            self._observer,
            self._setup,
            self._worker,
            Part(data, self._earlier),
        )
        self._worker = None
        self._last = run
        if not run.complete:
            self._stopped_by = "interrupted"
        rows = {row.variant: row for row in run.results}
        for label, row in rows.items():
            if label in own or label not in self._found.rows:
                self._keep(row)
        return rows

    def _keep(self, row: Result) -> None:
        self._found.rows[row.variant] = row
        self._checkpoint.add(row)
        cost = self._objective.cost(row) if row.variant in self._found.indices else None
        if cost is None:
            self._found.costs.pop(row.variant, None)
        else:
            self._found.costs[row.variant] = cost

    def _measure_leaders(self, data: SharedData) -> None:
        """Successive halving: fewer and fewer variants, timed longer; then the first two in turn."""
        timing = self._options.timing
        for count, share in ROUNDS:
            leaders = self._found.leaders(count)
            if len(leaders) < 2 or self._stopped_by == "interrupted":
                return
            longer = replace(timing, min_time=timing.min_time * share, timeout=timing.timeout * share)
            self._run([self._found.variants[label] for label in leaders], replace(self._options, timing=longer), data)
        first_two = self._found.leaders(2)
        if len(first_two) == 2 and self._stopped_by != "interrupted":
            pair = [self._found.variants[label] for label in reversed(first_two)]
            self._run(pair, self._options, data, baseline=first_two[1])

    def _snapshot(self, *, complete: bool) -> Run:
        found = self._found
        fixed = [row for label, row in found.rows.items() if label not in found.indices]
        tried = [found.rows[label] for label in found.order if label in found.rows]
        return Run(
            experiment=self._tunable.experiment.name,
            description=self._tunable.experiment.description,
            config=str(self._tunable.experiment.path),
            started=self._started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._clock,
            environment=self._setup.environment if self._last is None else self._last.environment,
            results=(*fixed, *tried),
            baseline=self._tunable.experiment.baseline,
            complete=complete,
            notes=(*self._setup.notes, *self._checkpoint.notes),
            columns=self._tunable.experiment.columns,
            search=self._facts(explained=complete),
        )

    def _facts(self, *, explained: bool) -> SearchFacts:
        found = self._found
        leaders = [*found.leaders(2), None, None]
        facts = SearchFacts(
            strategy=self._name,
            objective=self._objective.expression,
            basis=self._objective.basis,
            points=len(self._points.points),
            trials=len(found.order),
            seed=self._seed,
            order=tuple(found.order),
            costs=dict(found.costs),
            best=leaders[0],
            runner_up=leaders[1],
            stopped_by=self._stopped_by,
        )
        if not explained:
            return facts
        labels = [label for label in found.order if label in found.costs]
        indices, costs = [found.indices[label] for label in labels], [found.costs[label] for label in labels]
        facts = replace(facts, importance=importance(self._points.points, indices, costs))
        timing = found.rows[leaders[0]].timing if self._on_gpu and leaders[0] else None
        if timing is None or timing.comparison is None:
            return facts
        return replace(
            facts, comparison=timing.comparison, speedup=timing.speedup, speedup_interval=timing.speedup_interval
        )


def _of(points: FamilyPoints, index: int) -> tuple[int, tuple[int, ...]]:
    place = points.place(index)
    return place.family, place.row


def _failed_row(point: FailedPoint) -> Result:
    return Result(
        variant=point.label,
        family=point.family,
        parameters=point.parameters,
        sizes=point.sizes,
        status=Status.SKIPPED,
        reason=point.reason,
        missing=dict.fromkeys(("timing", "counters"), "no variant can be made of this point"),
    )


class _Progress:
    """The observer of all parts as one: trials done of all."""

    def __init__(self, observer: Observer, total: int) -> None:
        self._observer = observer
        self._total = total
        self._done: dict[str, None] = {}
        self._built: dict[str, None] = {}

    def note(self, text: str) -> None:
        self._observer.note(text)

    def built(self, done: int, total: int, label: str) -> None:
        self._built[label] = None
        self._observer.built(len(self._built), max(self._total, len(self._built)), label)

    def checking(self, label: str) -> None:
        self._observer.checking(label)

    def finished(self, done: int, total: int, result: Result) -> None:
        self._done[result.variant] = None
        self._observer.finished(len(self._done), max(self._total, len(self._done)), result)
