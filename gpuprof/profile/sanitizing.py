"""``gpuprof sanitize``: every variant of an experiment on the emulator, checked launch by launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.jobs import FillCall, HostCall, Job, KernelCall
from gpuprof.device.session import POISON_BYTES, Session
from gpuprof.errors import BuildError, GpuprofError
from gpuprof.experiment.model import Experiment, KernelStep, Variant
from gpuprof.profile.built_variant import BuiltVariant, build_request, layouts_for
from gpuprof.profile.shared_arrays import SharedData, shared_bytes
from gpuprof.sanitizer.findings import Finding, Severity, Tool
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build
from gpuprof.toolchain.names import demangle, signature_free

if TYPE_CHECKING:
    from gpuprof.emulator.memory.arena import Region
    from gpuprof.sanitizer.launch import LaunchRequest, SanitizerSettings


@dataclass(frozen=True)
class SanitizedVariant:
    """One variant's findings. ``error``: why it could not be checked."""

    variant: str
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()  #: known by the YAML: suppressed, or expected
    missing: tuple[tuple[int, ...], ...] = ()  #: races that the YAML expects and that were not found
    blocks_run: int = 0
    blocks_total: int = 0
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def worst(self) -> Severity | None:
        """Of all findings; None when there is none."""
        return max((finding.severity for finding in self.findings), key=lambda each: each.rank, default=None)


@dataclass(frozen=True)
class SanitizedRun:
    """What was found in an experiment."""

    experiment: str
    config: str
    arch: str
    variants: tuple[SanitizedVariant, ...]

    def fails(self, at: Severity | None) -> bool:
        """Whether a finding is at least as bad as ``at`` (None: findings never fail), or something is amiss."""
        amiss = any(variant.error or variant.missing for variant in self.variants)
        worst = [variant.worst.rank for variant in self.variants if variant.worst is not None]
        return amiss or (at is not None and any(rank >= at.rank for rank in worst))


def sanitize_experiment(
    experiment: Experiment,
    variants: Sequence[Variant],
    settings: SanitizerSettings,
    arch_of: Callable[[Variant], str],
    *,
    cuda_home: Path | None = None,
    started: Callable[[str], None] = lambda label: None,
) -> SanitizedRun:
    """Build and check the variants; one that fails is a result with ``error``. Raises MissingToolError."""
    tools = find_tools(cuda_home)
    builder = Builder(tools)
    requests = [
        (variant, step, build_request(variant, step, arch_of(variant), experiment.path.parent))
        for variant in variants
        for step in variant.steps
        if isinstance(step, KernelStep)
    ]
    outcomes = builder.build_all([request for _, _, request in requests])
    built: dict[str, dict[str, Build | BuildError]] = {}
    for (variant, step, _), outcome in zip(requests, outcomes, strict=True):
        built.setdefault(variant.label, {})[step.name] = outcome
    data = SharedData(max((shared_bytes(variant) for variant in variants), default=0))
    found = []
    try:
        for variant in variants:
            started(variant.label)
            found.append(_sanitize_variant(variant, built.get(variant.label, {}), settings, data, builder))
    finally:
        data.close()
    arch = arch_of(variants[0]) if variants else ""
    return SanitizedRun(experiment.name, str(experiment.path), arch, known_apart(experiment, found))


def known_apart(experiment: Experiment, found: Sequence[SanitizedVariant]) -> tuple[SanitizedVariant, ...]:
    """Findings that the YAML suppresses or expects are apart; an expected race that no variant has is missing."""
    races = [finding for variant in found for finding in variant.findings if finding.tool is Tool.RACECHECK]
    missing = tuple(lines for lines in experiment.known_races if not any(race.lines == lines for race in races))

    def is_known(finding: Finding) -> bool:
        expected = finding.tool is Tool.RACECHECK and finding.lines in experiment.known_races
        return expected or any(
            finding.lines == suppression.lines and suppression.kernel in (None, finding.kernel)
            for suppression in experiment.suppressions
        )

    parted = [
        replace(
            variant,
            findings=tuple(finding for finding in variant.findings if not is_known(finding)),
            suppressed=tuple(finding for finding in variant.findings if is_known(finding)),
        )
        for variant in found
    ]
    if parted and missing:
        parted[0] = replace(parted[0], missing=missing)
    return tuple(parted)


def _sanitize_variant(
    variant: Variant,
    builds: dict[str, Build | BuildError],
    settings: SanitizerSettings,
    data: SharedData,
    builder: Builder,
) -> SanitizedVariant:
    failed = next((build for build in builds.values() if isinstance(build, BuildError)), None)
    if failed is not None:
        return SanitizedVariant(variant.label, error=str(failed))
    if variant.host_only:
        return SanitizedVariant(variant.label, notes=("it calls a host library and needs a GPU: not checked",))
    session = Session(EmulatedDevice(tools=builder.tools))
    try:
        ready = {name: build for name, build in builds.items() if isinstance(build, Build)}
        steps = (step for step in variant.steps if isinstance(step, KernelStep) and step.name in ready)
        layouts = {step.name: found for step in steps if (found := layouts_for(builder, step, ready[step.name]))}
        job = BuiltVariant(variant, ready, {}, layouts).job(data.specs(variant))
        session.prepare(job, POISON_BYTES[0])
        return _sanitize_job(variant, job, session, settings)
    except (GpuprofError, MemoryError) as error:
        return SanitizedVariant(variant.label, error=str(error))
    finally:
        session.close()


def _sanitize_job(variant: Variant, job: Job, session: Session, settings: SanitizerSettings) -> SanitizedVariant:
    from gpuprof.sanitizer.launch import sanitize_launch

    findings: list[Finding] = []
    notes: list[str] = []
    run = total = 0
    for number, call in enumerate(job.calls):
        if isinstance(call, FillCall):
            session.device.fill(session.address(job, call.buffer), call.byte)
        elif isinstance(call, HostCall):
            notes.append(f"step {call.name} calls a host library: not run, so that what follows is not judged")
            break
        else:
            later = number < len(job.calls) - 1
            found = sanitize_launch(_request(session, job, call), replace(settings, budget=None) if later else settings)
            findings += [_named(finding, session, job) for finding in found.findings]
            notes += found.notes
            run, total = run + found.blocks_run, total + found.blocks_total
            if any(finding.tool.value in ("memcheck",) or finding.kind in _ENDS for finding in found.findings):
                break
    if run < total:
        notes.append(f"a sample of {run:,} of {total:,} blocks ran; --all-blocks runs all")
    return SanitizedVariant(variant.label, tuple(findings), (), (), run, total, tuple(notes))


_ENDS = ("divergent barrier", "barrier that never completes", "endless")


def _request(session: Session, job: Job, call: KernelCall) -> LaunchRequest:
    from gpuprof.sanitizer.launch import LaunchRequest

    device = session.device
    assert isinstance(device, EmulatedDevice)
    launch = session.launch_of(job, call)
    image, arena, parameters = device.prepared(launch)
    regions: dict[str, Region] = {}
    for spec in job.buffers:
        place = device.place(session.address(job, spec.name))
        found = arena.region_at(place)
        if found is not None:
            regions[spec.name] = found
    unset = tuple(regions[spec.name] for spec in job.buffers if not spec.holds_something and spec.name in regions)
    floats = tuple(regions[spec.name] for spec in job.buffers if spec.dtype == "float32" and spec.name in regions)
    return LaunchRequest(image, arena, call.grid, call.block, parameters, call.shared_bytes, unset=unset, floats=floats)


def _named(finding: Finding, session: Session, job: Job) -> Finding:
    """The finding with the element of a buffer in place of an address, and the kernel's name as it was written."""
    kernel = signature_free(demangle(finding.kernel))
    example = finding.example
    if example is None or example.space != "global" or example.address is None:
        return replace(finding, kernel=kernel)
    device = session.device
    assert isinstance(device, EmulatedDevice)
    for spec in job.buffers:
        offset = example.address - device.place(session.address(job, spec.name))
        if 0 <= offset < spec.nbytes:
            index = np.unravel_index(offset // np.dtype(spec.dtype).itemsize, spec.shape)
            element = spec.name + "".join(f"[{int(i)}]" for i in index)
            return replace(finding, kernel=kernel, example=replace(example, element=element))
    return replace(finding, kernel=kernel)
