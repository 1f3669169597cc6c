"""Variants under Nsight Compute, as many as possible in one process: starting ncu and CUDA takes seconds, a variant a
fraction of one.

ncu's rows are the launches in order, so that they belong to variants by counting. Where one variant ends the process,
those before it keep their rows (or are profiled again without it), it is profiled alone for a reason of its own, and
those after it in another process. Where the rows do not fit the launches, every variant gets a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuprof.device.jobs import Job, KernelCall
from gpuprof.device.launcher import jobs_ended, launcher_command, write_spec
from gpuprof.errors import ProfilerError, ProfilerUnavailableError
from gpuprof.isa.ncu_metrics import TIME
from gpuprof.system.cleanup import temporary_folder
from gpuprof.toolchain import ncu
from gpuprof.toolchain.ncu_csv import NcuLaunch
from gpuprof.toolchain.tools import Tool

#: Variants in one process at most: what is lost when ncu hangs, and the size of its output, stay bounded.
TOGETHER = 32


@dataclass(frozen=True)
class NcuOptions:
    """What to collect: metrics by name, sections, and a report to keep. ``timeout``: seconds for one start of ncu."""

    metrics: tuple[str, ...]
    sections: tuple[str, ...] = ()
    report: Path | None = None
    clock_control: str = "none"
    cache_control: str = "all"
    timeout: float = ncu.DEFAULT_TIMEOUT


@dataclass(frozen=True)
class JobLaunches:
    """A job's launches as ncu saw them, one per kernel call; ``report`` is the file that has them, if one was kept."""

    calls: tuple[KernelCall, ...]
    launches: tuple[NcuLaunch, ...]
    unavailable: Mapping[str, str]
    report: Path | None = None


Outcome = JobLaunches | ProfilerError


def profile_jobs(
    tool: Tool, jobs: Sequence[Job], wanted: NcuOptions, ordinal: int = 0
) -> Iterator[tuple[str, Outcome]]:
    """(label, launches or the error), every job once, in groups as they are profiled."""
    own = [job for job in jobs if not kernel_calls(job)]
    for job in own:
        yield job.label, ProfilerError("a library baseline has no kernel of its own to profile")
    profiled = [job for job in jobs if kernel_calls(job)]
    groups = [list(group) for group in _batched(profiled)][::-1]
    whole = len(profiled)
    while groups:
        group = groups.pop()
        done = _profile_group(tool, group, replace(wanted, report=_report_for(wanted.report, group, whole)), ordinal)
        yield from done.found.items()
        groups += _again([job for job in group if job.label not in done.found], done.culprit)


def _batched(jobs: Sequence[Job]) -> Iterator[Sequence[Job]]:
    return (jobs[first : first + TOGETHER] for first in range(0, len(jobs), TOGETHER))


def kernel_calls(job: Job) -> tuple[KernelCall, ...]:
    """The job's launches, in order."""
    return tuple(call for call in job.calls if isinstance(call, KernelCall))


def report_of(report: Path | None, label: str) -> Path | None:
    """``a.ncu-rep`` and ``tiled/TILE=16``: ``a.tiled_TILE=16.ncu-rep``."""
    if report is None:
        return None
    return report.with_name(f"{report.stem}.{label.replace('/', '_')}{report.suffix or '.ncu-rep'}")


def _report_for(report: Path | None, group: Sequence[Job], whole: int) -> Path | None:
    """The name that was asked for where one process has all; else named after the (first) variant in it."""
    if len(group) == whole:
        return report
    return report_of(report, group[0].label if len(group) == 1 else f"{group[0].label}_to_{group[-1].label}")


def _again(left: Sequence[Job], culprit: str | None) -> list[list[Job]]:
    """What is still to be profiled, the last group first: all but the culprit together, or one by one."""
    if culprit is None:
        return [[job] for job in left][::-1]
    at = next(number for number, job in enumerate(left) if job.label == culprit)
    parts = (list(left[:at]), [left[at]], list(left[at + 1 :]))
    return [part for part in parts if part][::-1]


@dataclass(frozen=True)
class _Group:
    """What one start of ncu came to; ``culprit`` is the variant that ended it early."""

    found: Mapping[str, Outcome] = field(default_factory=dict)
    culprit: str | None = None


def _profile_group(tool: Tool, jobs: Sequence[Job], wanted: NcuOptions, ordinal: int) -> _Group:
    with temporary_folder("gpuprof-job-") as folder:
        spec, progress = folder / "job.json", folder / "progress"
        write_spec(jobs, spec, progress=progress)
        request = _request(launcher_command(spec, ordinal), jobs, wanted)
        try:
            report = ncu.profile(tool, request)
        except ProfilerUnavailableError as error:
            return _Group({job.label: error for job in jobs})
        except ProfilerError as error:
            if not progress.exists():  # not even the device was opened: not a variant's fault
                return _Group({job.label: error for job in jobs})
            return _failed(jobs, error, jobs_ended(progress))
        return _told_apart(jobs, report, request, jobs_ended(progress))


def _request(command: tuple[str, ...], jobs: Sequence[Job], wanted: NcuOptions) -> ncu.NcuRequest:
    return ncu.NcuRequest(
        command=command,
        metrics=tuple(dict.fromkeys((*wanted.metrics, TIME))),
        symbols=tuple(dict.fromkeys(call.symbol for job in jobs for call in kernel_calls(job))),
        sections=wanted.sections,
        report=wanted.report,
        clock_control=wanted.clock_control,
        cache_control=wanted.cache_control,
        timeout=wanted.timeout,
    )


def _failed(jobs: Sequence[Job], error: ProfilerError, ended: int) -> _Group:
    if len(jobs) == 1:
        return _Group({jobs[0].label: error})
    return _Group(culprit=jobs[ended].label if ended < len(jobs) else None)


def _told_apart(jobs: Sequence[Job], report: ncu.NcuReport, request: ncu.NcuRequest, ended: int) -> _Group:
    """The launches of the jobs that reached their end, if they are those that ncu saw."""
    complete = jobs[:ended] if report.failure else jobs
    calls = [call for job in complete for call in kernel_calls(job)]
    seen = report.launches if len(complete) == len(jobs) else report.launches[: len(calls)]
    if len(seen) != len(calls) or not all(map(_fits, calls, seen)):
        error = ProfilerError(report.failure or _other_launches(calls, report.launches))
        return _failed(jobs, error, ended if report.failure else len(jobs))
    found: dict[str, Outcome] = {}
    rows = iter(seen)
    for job in complete:
        mine = tuple(next(rows) for _ in kernel_calls(job))
        missing = {**_without_value(mine, request.metrics), **report.unavailable}
        found[job.label] = JobLaunches(kernel_calls(job), mine, missing, request.report)
    if len(complete) == len(jobs):
        return _Group(found)
    if len(jobs) == 1:
        return _Group({jobs[0].label: ProfilerError(report.failure)})
    return _Group(found, jobs[len(complete)].label)


def _other_launches(calls: Sequence[KernelCall], seen: Sequence[NcuLaunch]) -> str:
    if len(seen) != len(calls):
        return f"ncu saw {len(seen)} launches where the variant makes {len(calls)}"
    return "ncu saw launches of other grids or blocks than the variant makes"


def _fits(call: KernelCall, launch: NcuLaunch) -> bool:
    """Whether the launch may be that call's: its grid and block, where this ncu prints them."""
    return launch.grid in (None, call.grid) and launch.block in (None, call.block)


def _without_value(launches: Sequence[NcuLaunch], metrics: Sequence[str]) -> Mapping[str, str]:
    """Metrics that other launches of the process have a value for, and this job's do not."""
    return {
        name: f"{name}: ncu gave no value for this launch"
        for name in metrics
        if not any(ncu.has_metric(launch, name) for launch in launches)
    }
