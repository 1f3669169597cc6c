"""Counters of a GPU by Nsight Compute: each variant once under ncu, its timed launches added up.

Every variant is its own process under ncu, so that what goes wrong costs its row only: it has a reason instead.
"""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpuprof.device.jobs import Job, KernelCall
from gpuprof.device.launcher import launcher_command, write_spec
from gpuprof.errors import BuildError, GpuprofError, MissingDeviceError, ProfilerError
from gpuprof.experiment.model import Experiment, Variant
from gpuprof.profile.building import BuildsEnded, BuildStage, VariantBuilt
from gpuprof.profile.data import SharedData
from gpuprof.profile.options import RunOptions
from gpuprof.profile.prepare import BuiltVariant
from gpuprof.profile.selection import select
from gpuprof.profile.setup import Setup, prepare_run
from gpuprof.results.metrics import TIME
from gpuprof.results.model import Counters, Number, Run
from gpuprof.toolchain import ncu
from gpuprof.toolchain.ncu_csv import NcuLaunch
from gpuprof.toolchain.tools import Tool

#: Suffixes of metrics that are no counts: over several launches they are weighted by time where they are a share of
#: the peak over the elapsed time, and have no value otherwise.
_SHARES = (".pct_of_peak_sustained_elapsed", ".pct_of_peak_sustained_active", ".pct")
_COUNT = ".sum"
_PLAIN_COUNTS = ("memory_", "inst_executed", "thread_inst_executed")


@dataclass(frozen=True)
class NcuOptions:
    """What to collect: metrics by name, sections, and a report to keep (one per variant, named after it)."""

    metrics: tuple[str, ...]
    sections: tuple[str, ...] = ()
    report: Path | None = None
    clock_control: str = "none"
    cache_control: str = "all"
    timeout: float = ncu.DEFAULT_TIMEOUT


def count_with_ncu(
    experiment: Experiment, options: RunOptions, wanted: NcuOptions
) -> Iterator[tuple[str, Counters | str]]:
    """(label, counters or the reason why there are none), a variant at a time.

    Raises what ``require_ncu`` does, and UsageError for what cannot be asked.
    """
    setup = require_ncu(experiment, options)
    tool = setup.tools.require("ncu")
    chosen = select(experiment.variants, options.variants)
    ordinal = int(setup.devices.names[0].partition(":")[2] or 0)
    data = SharedData(sum(buffer.elements * 8 for buffer in chosen[0].buffers.values()) if chosen else 0)
    try:
        for variant, built in _builds(setup, chosen, experiment.path.parent):
            try:
                if isinstance(built, BuildError):
                    raise built
                one = wanted if len(chosen) == 1 else replace(wanted, report=report_of(wanted.report, variant.label))
                yield variant.label, profile_job(tool, built.job(data.specs(variant)), one, ordinal)
            except GpuprofError as error:
                yield variant.label, str(error)
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
        raise MissingDeviceError(f"ncu needs a GPU. {why} Without --ncu the emulator counts")
    setup.tools.require("ncu")
    return setup


def report_of(report: Path | None, label: str) -> Path | None:
    """``a.ncu-rep`` and ``tiled/TILE=16``: ``a.tiled_TILE=16.ncu-rep``."""
    if report is None:
        return None
    return report.with_name(f"{report.stem}.{label.replace('/', '_')}{report.suffix or '.ncu-rep'}")


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


def profile_job(tool: Tool, job: Job, wanted: NcuOptions, ordinal: int = 0) -> Counters:
    """The counters of a job's timed launches.

    Raises:
        ProfilerError: ncu or the job failed, or ncu saw other launches than the job makes.
    """
    calls = [call for call in job.calls if isinstance(call, KernelCall)]
    if not calls:
        raise ProfilerError("a library baseline has no kernel of its own to profile")
    with tempfile.TemporaryDirectory(prefix="gpuprof-job-") as folder:
        spec = Path(folder) / "job.json"
        write_spec(job, spec)
        request = ncu.NcuRequest(
            command=launcher_command(spec, ordinal),
            metrics=tuple(dict.fromkeys((*wanted.metrics, TIME))),
            symbols=tuple(call.symbol for call in calls),
            sections=wanted.sections,
            report=wanted.report,
            clock_control=wanted.clock_control,
            cache_control=wanted.cache_control,
            timeout=wanted.timeout,
        )
        report = ncu.profile(tool, request)
    return counters_of_launches(calls, report)


def counters_of_launches(calls: Sequence[KernelCall], report: ncu.NcuReport) -> Counters:
    """The timed calls' launches added up (all calls' where none is timed).

    Raises:
        ProfilerError: the launches are not those calls.
    """
    if len(report.launches) != len(calls):
        raise ProfilerError(f"ncu saw {len(report.launches)} launches where the variant makes {len(calls)}")
    pairs = list(zip(calls, report.launches, strict=True))
    chosen = [pair for pair in pairs if pair[0].timed] or pairs
    blocks = sum(call.grid[0] * call.grid[1] * call.grid[2] for call, _ in chosen)
    values, unavailable = _added([launch for _, launch in chosen])
    return Counters(values, "ncu", blocks, blocks, {**report.unavailable, **unavailable})


def _added(launches: Sequence[NcuLaunch]) -> tuple[dict[str, Number], dict[str, str]]:
    values: dict[str, Number] = {}
    unavailable: dict[str, str] = {}
    for name in dict.fromkeys(name for launch in launches for name in launch.values):
        if not _is_metric(name):
            continue
        found = [launch.values.get(name) for launch in launches]
        value = found[0] if len(launches) == 1 else _over(name, found, launches)
        if value is None:
            unavailable[name] = f"{len(launches)} launches: no value of them all"
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


def with_ncu(run: Run, counts: Iterable[tuple[str, Counters | str]]) -> Run:
    """The run with ncu's counters in its results; a variant without them says why under ``missing["ncu"]``."""
    found = dict(counts)
    results = []
    for result in run.results:
        outcome = found.get(result.variant, "not profiled")
        if isinstance(outcome, Counters):
            results.append(replace(result, ncu=outcome))
        else:
            results.append(replace(result, missing={**result.missing, "ncu": outcome}))
    return replace(run, results=tuple(results))
