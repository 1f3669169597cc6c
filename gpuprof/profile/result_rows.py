"""From what was built, counted, timed and verified to a row: pure functions, no device."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from gpuprof.errors import BuildError, GpuprofError
from gpuprof.experiment.model import Variant, Work
from gpuprof.profile import statistics
from gpuprof.profile.advice import timing_warnings
from gpuprof.profile.built_variant import BuiltVariant
from gpuprof.profile.code_facts import CodeFacts, occupancy_facts
from gpuprof.profile.device_runner import Outcome
from gpuprof.profile.interleaved_timing import Track
from gpuprof.profile.modelled_rows import modelled_values
from gpuprof.profile.options import TimingOptions
from gpuprof.profile.step_rows import build_facts, steps_of
from gpuprof.results.model import BuildFacts, Environment, LaunchFacts, Result, Status, StepFacts, Timing
from gpuprof.results.steps import described
from gpuprof.toolchain.compiler_notes import compiler_notes
from gpuprof.toolchain.refused_flags import environment_flags
from gpuprof.version import __version__

if TYPE_CHECKING:
    from gpuprof.device.base import DeviceDescription
    from gpuprof.device.clocks import GpuState
    from gpuprof.toolchain.tools import Toolchain


def bare_result(variant: Variant, status: Status, reason: str | None = None) -> Result:
    """A row with what the YAML alone says."""
    step = variant.main_step
    return Result(
        variant=variant.label,
        family=variant.family,
        parameters=variant.parameters,
        sizes=variant.sizes,
        status=status,
        reason=reason,
        launch=None if step is None else LaunchFacts(step.grid, step.block),
        work_flop=variant.work.flop,
        work_bytes=variant.work.bytes,
    )


def failed_build(variant: Variant, error: BuildError) -> Result:
    """The row of a variant that nvcc refused: the first error as the reason, the whole log kept."""
    result = bare_result(variant, Status.BUILD_FAILED, str(error))
    facts = BuildFacts((), 0.0, False, "", "", error.log)
    return replace(result, build=facts, missing={"timing": "it was not built", "counters": "it was not built"})


def built_result(built: BuiltVariant) -> Result:
    """The row of a built variant before it runs and before its code is read: resources and occupancy."""
    result = bare_result(built.variant, Status.SKIPPED, "it was built, not run")
    build, step = built.main, built.variant.main_step
    if build is None or step is None:
        return result
    missing: dict[str, str] = {}
    occupancy = None
    try:
        occupancy = occupancy_facts(build, step)
    except GpuprofError as error:
        missing["occupancy"] = str(error)
    facts, notes = build_facts(build, step.shared_bytes), _notes(built)
    row = replace(result, build=facts, occupancy=occupancy, missing=missing, notes=notes)
    return described(replace(row, steps=steps_of(built)))


def _notes(built: BuiltVariant) -> tuple[str, ...]:
    """What the compiler said of any of the variant's kernels."""
    return tuple(dict.fromkeys(note for build in built.builds.values() for note in compiler_notes(build.log)))


def with_steps_code(result: Result, facts: Mapping[str, CodeFacts]) -> Result:
    """The row with the facts of each step's code, in the first step that launches it; ``facts`` is by step."""
    steps: list[StepFacts] = []
    seen: set[str] = set()
    for step in result.steps:
        found = facts.get(step.name)
        if found is None or step.build is None or (found.sass is None and step.sass is not None):
            steps.append(step)
            continue
        first, missing = found.code_sha256 not in seen, dict(step.missing)
        if found.sass is None:
            missing["sass"] = found.why_no_sass
        elif not first:
            missing["sass"] = "the same code as an earlier step"
        build = replace(step.build, code_sha256=found.code_sha256)
        steps.append(replace(step, build=build, sass=found.sass if first else None, missing=missing))
        if found.sass is not None:
            seen.add(found.code_sha256)
    return replace(result, steps=tuple(steps))


def with_code(result: Result, facts: CodeFacts | None, symbols: Collection[str] = ()) -> Result:
    """The row with the facts of its main kernel's code, or why there are none; None without such a kernel.

    ``symbols`` are the variables that the YAML sets. A row kept from an earlier run keeps its facts when they cannot
    be read now.
    """
    if facts is None or (facts.sass is None and result.sass is not None):
        return result
    if facts.code_sha256 and result.build is not None:
        result = replace(result, build=replace(result.build, code_sha256=facts.code_sha256))
    missing = {name: why for name, why in result.missing.items() if name != "sass"}
    if facts.sass is None:
        missing["sass"] = facts.why_no_sass
    unset = [name for name in facts.zero_constants if name not in symbols]
    notes = dict.fromkeys((*result.notes, *(_UNSET.format(name=name) for name in unset)))
    return replace(result, sass=facts.sass, missing=missing, notes=tuple(notes))


_UNSET = "the kernel reads __constant__ {name}, which nothing sets (all zero): give its content under symbols:"


def executed_result(result: Result, outcome: Outcome, options: TimingOptions, why_no_time: str) -> Result:
    """The row with what executing the variant gave."""
    missing = dict(result.missing)
    timing = None
    if outcome.track is not None and outcome.track.samples:
        timing = timing_of(outcome.track, outcome.ratio, Work(result.work_flop, result.work_bytes), options)
        timing = replace(timing, device=outcome.device)
    else:
        missing["timing"] = (
            why_no_time if outcome.status in (Status.OK, Status.DIFFERS, Status.UNCHECKED) else "it did not run"
        )
    if outcome.counters is None:
        missing["counters"] = "counters on a GPU need --ncu" if not why_no_time else "it did not run"
    if outcome.predicted is not None and outcome.predicted.reason:
        missing["modelled"] = outcome.predicted.reason
    return replace(
        result,
        steps=tuple(replace(step, counters=outcome.step_counters.get(step.name)) for step in result.steps),
        status=outcome.status,
        reason=outcome.reason,
        verification=outcome.verification,
        counters=outcome.counters,
        timing=timing,
        modelled={**result.modelled, **modelled_values(outcome.predicted, result)},
        missing=missing,
        notes=(*result.notes, *(outcome.verification.notes if outcome.verification else ())),
    )


def timing_of(track: Track, ratio: statistics.Ratio | None, work: Work, options: TimingOptions) -> Timing:
    """The samples with their statistics, rates and comparison."""
    summary = statistics.summarize(track.samples)
    return Timing(
        samples_us=tuple(track.samples),
        median_us=summary.median,
        interval_us=summary.interval,
        min_us=summary.minimum,
        mean_us=summary.mean,
        protocol=options.protocol,
        noise=summary.noise if len(track.samples) > 1 else 0.0,
        discarded=track.discarded,
        batch=options.batch,
        gflops=None if work.flop is None else work.flop / summary.median / 1e3,
        gbps=None if work.bytes is None else work.bytes / summary.median / 1e3,
        speedup=None if ratio is None else ratio.value,
        speedup_interval=None if ratio is None else ratio.interval,
        comparison=None if ratio is None else ratio.verdict,
        stopped_by=track.rule.finished,
        warnings=timing_warnings(track, options),
    )


def mark_same_code(results: list[Result], keys: Mapping[str, str | None]) -> list[Result]:
    """Rows that execute the same instructions in the same launches as an earlier row name it; times say ``same``."""
    first: dict[str, str] = {}
    marked = []
    for result in results:
        key = keys.get(result.variant)
        other = first.setdefault(key, result.variant) if key else None
        if other is not None and other != result.variant:
            result = replace(result, same_code_as=other)
        marked.append(result)
    return marked


def environment_of(
    tools: Toolchain, kind: str, devices: Sequence[DeviceDescription], command: tuple[str, ...]
) -> Environment:
    """Where a run happens. The GPU's clocks are added by whoever reads them."""
    gpus = [device for device in devices if device.kind == "gpu"]
    gpu = gpus[0] if gpus else None
    versions = {name: tool.version for name in ("nvcc", "nvdisasm", "ncu") if (tool := tools.find(name)) is not None}
    return Environment(
        gpuprof=__version__,
        python=platform.python_version(),
        platform=f"{sys.platform}-{platform.machine()}",
        device=kind,
        gpu=gpu.name if gpu else None,
        gpu_uuid=gpu.uuid if gpu else None,
        gpus=tuple(name.name for name in gpus) if len(gpus) > 1 else (),
        compute_capability=f"{gpu.arch[3:-1]}.{gpu.arch[-1]}" if gpu and gpu.arch else None,
        driver=gpu.driver if gpu else None,
        nvcc=versions.get("nvcc"),
        nvdisasm=versions.get("nvdisasm"),
        ncu=versions.get("ncu"),
        command=command,
        variables=environment_flags(os.environ),
    )


def with_clocks(
    environment: Environment, before: GpuState, during: Sequence[float], after: GpuState, throttled: Collection[str]
) -> Environment:
    """The environment with the GPU's clocks before, during (the median) and after the run, in MHz."""
    clocks = {
        "sm_before": before.sm_clock_mhz,
        "sm_during": median(during) if during else None,
        "sm_after": after.sm_clock_mhz,
        "sm_highest": after.highest_sm_clock_mhz,
        "memory": after.memory_clock_mhz,
    }
    return replace(
        environment,
        clocks_mhz={name: value for name, value in clocks.items() if value is not None},
        temperature_c=after.temperature_c,
        throttle_reasons=tuple(sorted({*throttled, *before.throttle_reasons, *after.throttle_reasons})),
        driver=after.driver or environment.driver,
    )
