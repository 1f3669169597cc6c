"""The accesses of a run's kernels, lane by lane: one block of each launch once more, on the emulator."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.jobs import FillCall, HostCall, Job, KernelCall
from gpuprof.device.session import POISON_BYTES, Session
from gpuprof.emulator.options import EmulationOptions
from gpuprof.errors import GpuprofError
from gpuprof.experiment.model import Experiment, KernelStep, Variant
from gpuprof.isa.access_sample import AccessSample
from gpuprof.profile.built_variant import BuiltVariant, build_request
from gpuprof.profile.options import RunOptions
from gpuprof.profile.shared_arrays import SharedData, shared_bytes
from gpuprof.results.model import Result, Run, Status
from gpuprof.sanitizer.lane_sampler import LaneSampler, SamplingEnded, Seen
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder

if TYPE_CHECKING:
    from gpuprof.toolchain.model import Build
    from gpuprof.toolchain.tools import Toolchain

#: Seconds of one launch, and of all of them: a block that takes longer is looked at in part.
LAUNCH_SECONDS = 3.0
TOTAL_SECONDS = 30.0
_RAN = (Status.OK, Status.DIFFERS, Status.UNCHECKED)


def with_accesses(run: Run, experiment: Experiment, options: RunOptions) -> Run:
    """The run with the accesses of every variant that ran; a variant whose block cannot be run alone has none."""
    variants = {variant.label: variant for variant in experiment.variants if not variant.host_only}
    wanted = [result for result in run.results if result.status in _RAN and result.variant in variants]
    if not wanted:
        return run
    tools = find_tools(options.cuda_home)
    builder = Builder(tools, jobs=options.jobs, timeout=options.build_timeout, ccbin=options.ccbin)
    data = SharedData(max(shared_bytes(variants[result.variant]) for result in wanted))
    found: dict[str, tuple[AccessSample, ...]] = {}
    until = time.monotonic() + TOTAL_SECONDS
    try:
        for result in wanted:
            if time.monotonic() > until:
                break
            variant = variants[result.variant]
            try:
                builds = _builds(builder, experiment, variant, result)
                found[result.variant] = tuple(_samples(variant, builds, data, tools))
            except (GpuprofError, MemoryError):
                continue
    finally:
        data.close()
    return replace(
        run,
        results=tuple(replace(result, accesses=found.get(result.variant, ())) for result in run.results),
    )


def _builds(builder: Builder, experiment: Experiment, variant: Variant, result: Result) -> Mapping[str, Build]:
    """What the run built, from the cache."""
    assert result.build is not None
    arch, folder = result.build.arch, experiment.path.parent
    steps = [step for step in variant.steps if isinstance(step, KernelStep)]
    return {step.name: builder.build(build_request(variant, step, arch, folder)) for step in steps}


def _samples(
    variant: Variant, builds: Mapping[str, Build], data: SharedData, tools: Toolchain
) -> Iterator[AccessSample]:
    device = EmulatedDevice(tools=tools)
    session = Session(device)
    try:
        job = BuiltVariant(variant, builds, {}).job(data.specs(variant))
        session.prepare(job, POISON_BYTES[0])
        for call in job.calls:
            if isinstance(call, HostCall):
                return
            if isinstance(call, FillCall):
                device.fill(session.address(job, call.buffer), call.byte)
            else:
                yield from _of_launch(session, device, job, call, last=call is job.calls[-1])
    finally:
        session.close()


def _of_launch(
    session: Session, device: EmulatedDevice, job: Job, call: KernelCall, *, last: bool
) -> Iterator[AccessSample]:
    """The first block's accesses; a launch that others follow then runs whole, so that they read what it wrote."""
    from gpuprof.sanitizer.launch import LaunchRequest

    launch = session.launch_of(job, call)
    image, arena, parameters = device.prepared(launch)
    sampler = LaneSampler(LAUNCH_SECONDS)
    request = LaunchRequest(image, arena, call.grid, call.block, parameters, call.shared_bytes)
    with suppress(SamplingEnded):
        request.run(EmulationOptions(observer=sampler), np.zeros(1, np.int64))
    regions = {
        spec.name: region
        for spec in job.buffers
        if (region := arena.region_at(device.place(session.address(job, spec.name)))) is not None
    }
    spans = {name: (region.start, region.end) for name, region in regions.items()}
    for _, seen in sorted(sampler.seen.items()):
        yield _sample(seen, call.name, spans)
    if not last:
        device.launch(launch)


def _sample(seen: Seen, step: str, spans: Mapping[str, tuple[int, int]]) -> AccessSample:
    """The access with offsets into the buffer that all lanes are in."""
    start, buffer = 0, ""
    if seen.space == "global":
        touched = seen.addresses[seen.mask]
        for name, (first, end) in spans.items():
            if (touched >= first).all() and (touched < end).all():
                start, buffer = first, name
    source = seen.instruction.source.of_user if seen.instruction.source is not None else None
    return AccessSample(
        address=seen.instruction.address,
        text=seen.instruction.text,
        space=seen.space,
        verb=seen.verb,
        width=seen.width,
        lanes=tuple(int(place) - start if on else None for place, on in zip(seen.addresses, seen.mask, strict=True)),
        cost=seen.cost,
        ideal=seen.ideal,
        block=seen.block,
        warp=seen.warp,
        buffer=buffer,
        file=source.file if source is not None else "",
        line=source.line if source is not None else None,
        step=step,
    )
