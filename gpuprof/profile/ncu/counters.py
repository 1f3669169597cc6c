"""Counters of a GPU by Nsight Compute: each variant once under ncu, its timed launches added up."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuprof.device.jobs import Job, KernelCall
from gpuprof.errors import BuildError, GpuprofError, MissingDeviceError
from gpuprof.experiment.model import Experiment, Variant
from gpuprof.experiment.naming import select_all
from gpuprof.isa.counters import Number
from gpuprof.isa.ncu_metrics import TIME
from gpuprof.profile.building import BuildsEnded, BuildStage, VariantBuilt
from gpuprof.profile.built_variant import BuiltVariant
from gpuprof.profile.ncu.jobs import JobLaunches, NcuOptions, profile_jobs
from gpuprof.profile.options import RunOptions
from gpuprof.profile.setup import Setup, prepare_run
from gpuprof.profile.shared_arrays import SharedData
from gpuprof.results.model import Counters, Run
from gpuprof.results.steps import described
from gpuprof.toolchain.ncu_csv import NcuLaunch

#: Suffixes of metrics that are no counts: over several launches they are weighted by time where they are a share of
#: the peak over the elapsed time, and have no value otherwise.
_SHARES = (".pct_of_peak_sustained_elapsed", ".pct_of_peak_sustained_active", ".pct")
_COUNT = ".sum"
_PLAIN_COUNTS = ("memory_", "inst_executed", "thread_inst_executed")


@dataclass(frozen=True)
class Profiled:
    """A variant's counters, and where its launches are: ``launches`` are ncu's numbers of them in ``report``."""

    counters: Counters
    launches: tuple[str, ...] = ()
    report: Path | None = None
    steps: Mapping[str, Counters] = field(default_factory=dict)  #: of each kernel step; empty where there is one


def count_with_ncu(
    experiment: Experiment, options: RunOptions, wanted: NcuOptions
) -> Iterator[tuple[str, Profiled | str]]:
    """(label, counters or the reason why there are none), every variant once.

    Raises what ``require_ncu`` does, and UsageError for what cannot be asked.
    """
    yield from profile_with_ncu(require_ncu(experiment, options), experiment, options, wanted)


def profile_with_ncu(
    setup: Setup, experiment: Experiment, options: RunOptions, wanted: NcuOptions
) -> Iterator[tuple[str, Profiled | str]]:
    """``count_with_ncu`` where tools and devices are settled already, with the place of each variant's launches."""
    chosen = select_all(experiment.variants, options.variants)
    ordinal = int(setup.devices.names[0].partition(":")[2] or 0)
    data = SharedData(sum(buffer.elements * 8 for buffer in chosen[0].buffers.values()) if chosen else 0)
    jobs: list[Job] = []
    try:
        for variant, built in _builds(setup, chosen, experiment.path.parent):
            try:
                if isinstance(built, BuildError):
                    raise built
                jobs.append(built.job(data.specs(variant)))
            except GpuprofError as error:
                yield variant.label, str(error)
        order = {variant.label: number for number, variant in enumerate(chosen)}
        jobs.sort(key=lambda job: order[job.label])
        for label, found in profile_jobs(setup.tools.require("ncu"), jobs, wanted, ordinal):
            yield label, profiled(found) if isinstance(found, JobLaunches) else str(found)
    finally:
        data.close()


def require_ncu(experiment: Experiment, options: RunOptions) -> Setup:
    """The surroundings in which ncu can count; to be asked before anything else is run.

    Raises:
        MissingDeviceError: there is no GPU, or it is not to be used.
        MissingToolError: there is no ncu.
    """
    setup = prepare_run(experiment, options)
    if setup.devices.kind != "gpu":
        why = " ".join(setup.notes) or f"It is not among --device {','.join(options.devices)}."
        raise MissingDeviceError(f"ncu needs a GPU. {why} Without --ncu, the emulator's counters are used")
    setup.tools.require("ncu")
    return setup


def _builds(
    setup: Setup, variants: Sequence[Variant], folder: Path
) -> Iterator[tuple[Variant, BuiltVariant | BuildError]]:
    events: queue.Queue[VariantBuilt | BuildsEnded] = queue.Queue()
    stage = BuildStage(setup.builder, variants, setup.arch_of, events.put, folder=folder)
    stage.start()
    try:
        while True:
            event = events.get()
            if isinstance(event, BuildsEnded):
                if event.error is not None:
                    raise event.error
                return
            yield event.variant, event.outcome
    finally:
        stage.stop()


def profiled(seen: JobLaunches) -> Profiled:
    """The timed calls' launches added up (all calls' where none is timed)."""
    pairs = list(zip(seen.calls, seen.launches, strict=True))
    chosen = [pair for pair in pairs if pair[0].timed] or pairs
    blocks = sum(call.grid[0] * call.grid[1] * call.grid[2] for call, _ in chosen)
    values, unavailable = _added([launch for _, launch in chosen])
    counters = Counters(values, "ncu", blocks, blocks, {**seen.unavailable, **unavailable})
    return Profiled(counters, tuple(launch.identifier for _, launch in chosen), seen.report, _by_step(pairs))


def _by_step(pairs: Sequence[tuple[KernelCall, NcuLaunch]]) -> dict[str, Counters]:
    """Each step's own counters; empty where there is only one."""
    if len(pairs) < 2:
        return {}
    found = {}
    for call, launch in pairs:
        values, unavailable = _added([launch])
        blocks = call.grid[0] * call.grid[1] * call.grid[2]
        found[call.name] = Counters(values, "ncu", blocks, blocks, unavailable)
    return found


def _added(launches: Sequence[NcuLaunch]) -> tuple[dict[str, Number], dict[str, str]]:
    values: dict[str, Number] = {}
    unavailable: dict[str, str] = {}
    for name in dict.fromkeys(name for launch in launches for name in launch.values):
        if not _is_metric(name):
            continue
        found = [launch.values.get(name) for launch in launches]
        value = found[0] if len(launches) == 1 else _over(name, found, launches)
        if value is None:
            unavailable[name] = f"{len(launches)} launches: cannot be combined"
        else:
            values[name] = value
    return values, unavailable


def _is_metric(name: str) -> bool:
    """Not a property of the device or the launch, which ncu adds to every row."""
    return not name.startswith(("device__", "launch__", "profiler__", "nvlink__", "numa__", "c2clink__", "pcie__"))


def _over(name: str, found: Sequence[Number | None], launches: Sequence[NcuLaunch]) -> Number | None:
    """One value for several launches: a sum of counts, a share weighted by time, else None."""
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return None
    if name.endswith(_COUNT) or name.startswith(_PLAIN_COUNTS):
        return sum(known)
    times = [launch.values.get(TIME) for launch in launches]
    weights = [float(time) for time in times if time]
    if not name.endswith(_SHARES) or len(weights) < len(launches):
        return None
    return sum(value * weight for value, weight in zip(known, weights, strict=True)) / sum(weights)


def with_ncu(run: Run, counts: Iterable[tuple[str, Profiled | str]]) -> Run:
    """The run with ncu's counters in its results; a variant without them says why under ``missing["ncu"]``."""
    found = dict(counts)
    results = []
    for result in run.results:
        outcome = found.get(result.variant, "not profiled")
        if isinstance(outcome, Profiled):
            steps = tuple(replace(step, ncu=outcome.steps.get(step.name)) for step in result.steps)
            results.append(described(replace(result, ncu=outcome.counters, steps=steps)))
        else:
            results.append(replace(result, missing={**result.missing, "ncu": outcome}))
    return replace(run, results=tuple(results))
