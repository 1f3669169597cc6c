"""One run of an experiment: build, read, execute, verify, time, and hand back plain data.

``run_experiment`` is the conductor: builds, device lanes and this thread talk through one queue of events; each event
makes at most one row. A row is final when its variant was executed and its machine code read, which happen side by
side. Nothing here prints, and nothing here touches a device.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from gpuprof.device.clocks import sharing_note
from gpuprof.device.gpu_lock import GpuLocks
from gpuprof.device.process import ChildProcess
from gpuprof.errors import ArgumentMismatchError, BuildError
from gpuprof.experiment.model import Experiment, KernelStep, Variant
from gpuprof.experiment.naming import select_all, without_counterpart
from gpuprof.isa.listing import Listing
from gpuprof.profile import result_rows
from gpuprof.profile.background import in_background
from gpuprof.profile.building import BuildsEnded, BuildStage, VariantBuilt
from gpuprof.profile.built_variant import BuiltVariant, fingerprint, same_code_key
from gpuprof.profile.checkpoint import Checkpoint, earlier_results, still_holds
from gpuprof.profile.code_facts import CodeFacts
from gpuprof.profile.code_reading import CodeRead, CodeReader
from gpuprof.profile.device_runner import Lane, Outcome
from gpuprof.profile.interrupts import Interrupts
from gpuprof.profile.kept_code import with_code_and_sources
from gpuprof.profile.observer import Observer
from gpuprof.profile.options import EMULATED_LAUNCH_TIMEOUT, GPU_LAUNCH_TIMEOUT, RunOptions
from gpuprof.profile.peaks import with_percent
from gpuprof.profile.selection import baseline_of, build_order, with_references
from gpuprof.profile.setup import Setup, prepare_run
from gpuprof.profile.shared_arrays import SharedData, shared_bytes
from gpuprof.profile.supervisor import DeviceSupervisor
from gpuprof.profile.variant_queue import Board, Ready
from gpuprof.results.model import ExpectationOutcome, Result, Run, Status
from gpuprof.results.pending import latest_run_path
from gpuprof.results.steps import described
from gpuprof.toolchain.hostlib import is_missing_library


@dataclass(frozen=True)
class Announced:
    """A lane starts with a variant."""

    label: str


@dataclass(frozen=True)
class LaneEnded:
    """A lane has nothing more to do; ``error`` when its device could not be had."""

    error: BaseException | None = None


@dataclass(frozen=True)
class Part:
    """Says that a run is a part of something larger, which keeps its rows: it writes no file of its own.

    ``earlier`` are rows by label that stand where they still hold; ``data`` is shared by all parts.
    """

    data: SharedData
    earlier: Mapping[str, Result] = field(default_factory=dict)


Event = VariantBuilt | BuildsEnded | CodeRead | Announced | Outcome | LaneEnded


def run_experiment(
    experiment: Experiment, options: RunOptions, observer: Observer, worker: ChildProcess | None = None
) -> Run:
    """Run every chosen variant; a failing one is a row. An interrupted run comes back with ``complete`` False.

    ``worker`` is a process of ``WORKER_MODULE`` that was started ahead.

    Raises UsageError, MissingToolError and MissingDeviceError before or while nothing can be run, StoreError for
    ``--resume`` without an earlier run. A file of ``options`` that cannot be written is a note of the run.
    """
    return run_prepared(experiment, options, observer, prepare_run(experiment, options), worker)


def run_prepared(
    experiment: Experiment,
    options: RunOptions,
    observer: Observer,
    setup: Setup,
    worker: ChildProcess | None = None,
    part: Part | None = None,
) -> Run:
    """``run_experiment`` where tools and devices are settled already; ``part`` of a larger run, where given."""
    for note in setup.notes if part is None else ():
        observer.note(note)
    chosen = with_references(experiment, select_all(experiment.variants, options.variants))
    data = part.data if part is not None else shared_data(chosen, options)
    try:
        uuids = [gpu.uuid for gpu in setup.devices.gpus if gpu.uuid] if options.lock else []
        with GpuLocks(uuids, observer.note), Interrupts() as interrupts:
            return _Conductor(experiment, chosen, options, observer, setup, data, interrupts, worker, part).run()
    finally:
        if part is None:
            data.close()


def shared_data(variants: Sequence[Variant], options: RunOptions) -> SharedData:
    """A place for the arrays of these variants; close it."""
    expected = max((shared_bytes(variant) for variant in variants), default=0) * options.seeds
    return SharedData(expected, allow_python=options.allow_python)


class _Conductor:
    """The state of one run. Every method runs in the thread that called ``run_experiment``."""

    def __init__(
        self,
        experiment: Experiment,
        variants: tuple[Variant, ...],
        options: RunOptions,
        observer: Observer,
        setup: Setup,
        data: SharedData,
        interrupts: Interrupts,
        worker: ChildProcess | None,
        part: Part | None,
    ) -> None:
        self._experiment, self._variants, self._options = experiment, variants, options
        self._observer, self._setup, self._data, self._interrupts = observer, setup, data, interrupts
        self._worker = worker
        self._started, self._clock = datetime.now(timezone.utc), time.monotonic()
        self._events: queue.Queue[Event] = queue.Queue()
        self._board = Board()
        self._referenced = frozenset(v.reference.variant for v in variants if v.reference.variant)
        self._to_build = len(variants)
        self._unpaired = without_counterpart(variants, experiment.baseline)
        self._rows: dict[str, Result] = {}
        self._final: set[str] = set()
        self._executed: set[str] = set()
        self._unread: dict[str, BuiltVariant] = {}  #: built, with machine code that is still being read
        self._code_keys: dict[str, str | None] = {}
        self._listings: dict[str, Listing] = {}
        paths = (options.json, latest_run_path(experiment.path)) if part is None else ()
        self._journal_paths = tuple(path for path in paths if path is not None)
        self._checkpoint = Checkpoint(self._journal_paths)
        self._earlier: Mapping[str, Result] = {} if part is None else part.earlier
        if part is None and options.resume:
            self._earlier = earlier_results(self._journal_paths)
        self._unsaved = False
        self._built_count = self._kept = 0
        self._clocks: list[float] = []
        self._throttled: set[str] = set()
        self._builds: BuildStage | None = None
        self._reader = CodeReader(
            setup.tools,
            setup.builder.cache,
            self._events.put,
            expected=sum(isinstance(step, KernelStep) for variant in variants for step in variant.steps),
            jobs=setup.builder.jobs,
        )

    def run(self) -> Run:
        """Everything, from the first build to the last row."""
        self._checkpoint.start(self.snapshot(complete=False))
        try:
            return self._run()
        finally:
            self._checkpoint.close()

    def _run(self) -> Run:
        order = build_order(self._variants, self._experiment.baseline)
        runnable = tuple(variant for variant in order if self._skip_reason(variant) is None)
        self._builds = BuildStage(
            self._setup.builder,
            order,
            self._setup.arch_of,
            self._events.put,
            timeout=self._options.build_timeout,
            ccbin=self._options.ccbin,
            folder=self._experiment.path.parent,
        )
        support = in_background(self._setup.build_support)
        self._builds.start()
        if self._setup.devices.names and runnable:
            in_background(lambda: self._data.prepare(runnable[0], self._options.seeds))
        try:
            self._work(self._start_lanes(len(runnable), support))
        finally:
            self._reader.close()
        self._finish_unread()
        run = self.snapshot(complete=len(self._final) == len(self._variants))
        run = with_code_and_sources(self._with_own_values(self._with_modelled_ratios(run)), self._listings)
        run = replace(run, expectations=self._expectations(run))
        run = self._watched(run)
        self._checkpoint.write(run)
        return run

    def _skip_reason(self, variant: Variant) -> str | None:
        if variant.host_only and self._setup.devices.kind != "gpu":
            return "it calls a host library and needs a GPU"
        return None

    def _start_lanes(self, variants: int, support: Future[Path | None]) -> int:
        names = self._setup.lanes(variants)
        for name in names:
            lane = Lane(
                self._supervisor(name, len(names), support),
                self._board,
                self._data,
                self._options,
                self._events.put,
                timed=name != "emulated",
                share=-(-variants // len(names)),
                announce=lambda label: self._events.put(Announced(label)),
            )
            threading.Thread(target=_run_lane, args=(lane, self._events.put), name=name, daemon=True).start()
        return len(names)

    def _supervisor(self, name: str, lanes: int, support: Future[Path | None]) -> DeviceSupervisor:
        default = EMULATED_LAUNCH_TIMEOUT if name == "emulated" else GPU_LAUNCH_TIMEOUT
        supervisor = DeviceSupervisor(
            self._setup.open_request(name, self._options, lanes),
            self._options.launch_timeout or default,
            self._setup.worker_module,
            support.result,
            self._worker,
        )
        self._worker = None
        self._interrupts.at_once(supervisor.interrupt)
        return supervisor

    def _work(self, lanes: int) -> None:
        """Take events until builds and lanes have ended and all code is read."""
        open_ends = lanes + 1
        handlers: dict[type, Callable[..., None]] = {
            VariantBuilt: self._on_built,
            CodeRead: self._on_read,
            Announced: lambda event: self._observer.checking(event.label),
            Outcome: self._on_outcome,
        }
        while open_ends or (self._unread and not self._interrupts.stopping):
            if self._interrupts.stopping:
                self._stop()
            self._save()
            try:
                event = self._events.get(timeout=0.2)
            except queue.Empty:
                if self._interrupts.stopping and lanes == 0:
                    return
                continue
            if isinstance(event, BuildsEnded | LaneEnded):
                open_ends -= 1
                lanes -= isinstance(event, LaneEnded)
                self._on_end(event)
                if self._interrupts.stopping and lanes == 0:
                    return
            else:
                handlers[type(event)](event)

    def _stop(self) -> None:
        if self._board.stopped:
            return
        if self._interrupts.stopping:
            self._observer.note("Interrupted: the running variant ends first; Ctrl-C again ends it now.")
        self._board.stop()
        if self._builds is not None:
            self._builds.stop()
        self._reader.close()

    def _on_end(self, event: BuildsEnded | LaneEnded) -> None:
        if isinstance(event, BuildsEnded):
            self._board.close()
        if event.error is not None:
            self._stop()
            raise event.error

    def _on_built(self, event: VariantBuilt) -> None:
        self._built_count += 1
        self._observer.built(self._built_count, self._to_build, event.variant.label)
        reason = self._skip_reason(event.variant)
        if reason is not None:
            self._finish_skipped(event, reason)
            return
        if isinstance(event.outcome, BuildError):
            if not self._interrupts.stopping:
                self._board.settle(event.variant.label, False)
                self._finish(result_rows.failed_build(event.variant, event.outcome))
            return
        try:
            event.outcome.calls()
        except ArgumentMismatchError as error:
            self._board.settle(event.variant.label, False)
            row = result_rows.bare_result(event.variant, Status.LAUNCH_FAILED, str(error))
            self._finish(replace(row, missing={"arguments": str(error)}))
            return
        problem = event.outcome.launch_problem(self._setup.native_arch)
        if problem is not None:
            self._board.settle(event.variant.label, False)
            row = replace(result_rows.built_result(event.outcome), status=Status.LAUNCH_FAILED, reason=problem)
            self._finish(replace(row, missing={**row.missing, "timing": problem, "counters": problem}))
            return
        self._dispatch(event.outcome)

    def _finish_skipped(self, event: VariantBuilt, reason: str) -> None:
        """A variant that was only compiled: skipped, or failed where its own code has a mistake."""
        self._board.settle(event.variant.label, False)
        if isinstance(event.outcome, BuildError) and not is_missing_library(event.outcome):
            if not self._interrupts.stopping:
                self._finish(result_rows.failed_build(event.variant, event.outcome))
            return
        self._finish(result_rows.bare_result(event.variant, Status.SKIPPED, reason))

    def _dispatch(self, built: BuiltVariant) -> None:
        """Give the variant to the lanes, unless an earlier row still holds, and its machine code to the reader."""
        label = built.variant.label
        key = fingerprint(built, self._setup.device_key, self._setup.settings(self._options))
        earlier = self._earlier.get(label)
        baseline = baseline_of(built.variant, self._variants, self._experiment.baseline)
        ready = Ready(built, baseline, label in self._referenced)
        self._unread[label] = built
        self._reader.put(built)
        if earlier is not None and still_holds(earlier, key) and not ready.referenced:
            self._board.know(ready)
            self._kept += 1
            self._execute(earlier)
            return
        row = replace(result_rows.built_result(built), fingerprint=key)
        if label in self._unpaired:
            row = replace(row, missing={**row.missing, "baseline": self._unpaired[label]})
        self._rows[label] = row
        if self._setup.devices.names:
            self._board.put(ready)
        else:
            self._execute(self._unexecuted(self._rows[label]))

    def _unexecuted(self, row: Result) -> Result:
        missing = dict.fromkeys(("timing", "counters", "verification"), "--device none: nothing was run")
        return replace(row, status=Status.OK, reason=None, missing={**row.missing, **missing})

    def _on_read(self, event: CodeRead) -> None:
        built = self._unread.pop(event.label)
        codes = {name: found.code_sha256 for name, found in event.facts.items()}
        self._code_keys[event.label] = same_code_key(built, codes)
        self._listings.update({found.code_sha256: found.listing for found in event.facts.values() if found.listing})
        step = built.variant.main_step
        self._rows[event.label] = result_rows.with_steps_code(self._rows[event.label], event.facts)
        symbols = frozenset(name for name, buffer in built.variant.buffers.items() if buffer.symbol)
        self._add_code(event.label, None if step is None else event.facts.get(step.name), symbols)

    def _add_code(self, label: str, facts: CodeFacts | None, symbols: frozenset[str] = frozenset()) -> None:
        self._rows[label] = result_rows.with_code(self._rows[label], facts, symbols)
        if label in self._executed:
            self._finish(self._rows[label])

    def _finish_unread(self) -> None:
        """After an interrupt: rows that lack nothing but facts of their code are kept."""
        for label in self._executed & self._unread.keys():
            self._add_code(label, CodeFacts("", None, "the run was interrupted before its machine code was read"))

    def _on_outcome(self, outcome: Outcome) -> None:
        row = self._rows.get(outcome.label)
        if row is None:
            return
        why_no_time = "" if self._setup.devices.kind == "gpu" else "no GPU: the emulator has no clock"
        if outcome.track is not None:
            self._clocks += outcome.track.clocks_mhz
            self._throttled |= outcome.track.throttle_reasons
        self._execute(result_rows.executed_result(row, outcome, self._options.timing, why_no_time))

    def _execute(self, row: Result) -> None:
        """The row has all that executing it gives."""
        self._rows[row.variant] = row
        self._executed.add(row.variant)
        if row.variant not in self._unread:
            self._finish(row)

    def _finish(self, row: Result) -> None:
        self._rows[row.variant] = row = with_percent(described(row), self._setup.peaks)
        self._final.add(row.variant)
        self._checkpoint.add(row)
        self._observer.finished(len(self._final), len(self._variants), row)
        self._unsaved = True
        self._save()

    def _save(self) -> None:
        """Write the rows that are final to disk, unless that was done a moment ago."""
        if self._unsaved and self._checkpoint.due():
            self._checkpoint.write(self.snapshot(complete=False))
            self._unsaved = False

    def snapshot(self, *, complete: bool) -> Run:
        """The run as it is, final rows only, in the experiment's order."""
        rows = [self._rows[v.label] for v in self._variants if v.label in self._final]
        marked = result_rows.mark_same_code(rows, self._code_keys)
        self._rows.update((row.variant, row) for row in marked)  # so that a marked row is encoded once
        return Run(
            experiment=self._experiment.name,
            description=self._experiment.description,
            config=str(self._experiment.path),
            started=self._started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._clock,
            environment=self._setup.environment,
            results=tuple(marked),
            baseline=self._experiment.baseline,
            dropped=self._experiment.dropped,
            complete=complete,
            notes=(*self._setup.notes, *self._kept_note(), *self._checkpoint.notes),
        )

    def _kept_note(self) -> tuple[str, ...]:
        return (f"{self._kept} rows were kept from the earlier run.",) if self._kept else ()

    def _watched(self, run: Run) -> Run:
        """The run with what NVML said before, during and after."""
        monitor, before = self._setup.monitor, self._setup.before
        if monitor is None:
            return run
        after = monitor.read()
        environment = result_rows.with_clocks(run.environment, before, self._clocks, after, self._throttled)
        shared = sharing_note(before, after)
        return replace(run, environment=environment, notes=(*run.notes, *((shared,) if shared else ())))

    def _with_modelled_ratios(self, run: Run) -> Run:
        """The run with modelled times set against each other, where there are any."""
        if self._options.predict is None:
            return run
        from gpuprof.arch.gpu_constants import gpu_constants
        from gpuprof.profile.modelled_rows import origin, with_ratios

        gpu = gpu_constants(self._options.predict)
        baselines = {v.label: baseline_of(v, self._variants, self._experiment.baseline) for v in self._variants}
        return replace(
            run,
            results=with_ratios(run.results, baselines, gpu),
            environment=replace(run.environment, modelled_gpu=gpu.name),
            notes=(*run.notes, origin(gpu)),
        )

    def _with_own_values(self, run: Run) -> Run:
        run = replace(run, columns=self._experiment.columns)
        if not self._experiment.values:
            return run
        from gpuprof.results.expectations import with_own_values

        return replace(run, results=with_own_values(self._experiment, run.results))

    def _expectations(self, run: Run) -> tuple[ExpectationOutcome, ...]:
        if not self._experiment.expect:
            return ()
        from gpuprof.results.expectations import evaluate_expectations

        return evaluate_expectations(self._experiment, run.results)


def _run_lane(lane: Lane, emit: Callable[[LaneEnded], None]) -> None:
    try:
        lane.open()
        lane.run()
    except BaseException as error:
        emit(LaneEnded(error))
    else:
        emit(LaneEnded())
