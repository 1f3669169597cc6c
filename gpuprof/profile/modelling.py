"""The variants of an experiment traced on the emulator for the time model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.jobs import HostCall, Job, KernelCall
from gpuprof.device.session import POISON_BYTES, Session
from gpuprof.errors import BuildError, GpuprofError, ModelError
from gpuprof.experiment.model import Experiment, KernelStep, Variant
from gpuprof.profile.built_variant import BuiltVariant, build_request, layouts_for
from gpuprof.profile.shared_arrays import SharedData, shared_bytes
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build

if TYPE_CHECKING:
    from gpuprof.arch.gpu_constants import GpuConstants
    from gpuprof.model.launch_time import TracedLaunch

#: The timed launches of a variant, or why there are none.
Traced = tuple["TracedLaunch", ...] | GpuprofError


def trace_job(session: Session, job: Job, gpu: GpuConstants) -> tuple[TracedLaunch, ...]:
    """Trace the timed launches of a job whose buffers are prepared; the other steps run as usual.

    Outputs hold what traced blocks left there, or the whole launches where another step follows. Raises ModelError.
    """
    from gpuprof.model.launch_time import trace_launch

    device = session.device
    if not isinstance(device, EmulatedDevice):
        raise ModelError("a time is modelled from a launch on the emulator")
    calls = job.calls
    found = []
    for number, call in enumerate(calls):
        if isinstance(call, HostCall):
            raise ModelError(f"step {call.name} calls a host library")
        if isinstance(call, KernelCall) and call.timed:
            found.append(trace_launch(device.traceable(session.launch_of(job, call)), gpu))
        if number < len(calls) - 1:
            session.run_calls(job, [call])
    if not found:
        raise ModelError("no kernel of it is timed")
    return tuple(found)


def trace_variants(
    experiment: Experiment,
    variants: Sequence[Variant],
    gpu: GpuConstants,
    *,
    cuda_home: Path | None = None,
    started: Callable[[str], None] = lambda label: None,
) -> Iterator[tuple[Variant, Traced, dict[str, Build]]]:
    """Build the variants for the GPU's architecture and trace each; raises MissingToolError."""
    tools = find_tools(cuda_home)
    requests = [
        (variant, step, build_request(variant, step, gpu.arch, experiment.path.parent))
        for variant in variants
        for step in variant.steps
        if isinstance(step, KernelStep)
    ]
    builder = Builder(tools)
    outcomes = builder.build_all([request for _, _, request in requests])
    builds: dict[str, dict[str, Build | BuildError]] = {}
    for (variant, step, _), outcome in zip(requests, outcomes, strict=True):
        builds.setdefault(variant.label, {})[step.name] = outcome
    data = SharedData(max((shared_bytes(variant) for variant in variants), default=0))
    session = Session(EmulatedDevice(tools=tools))
    try:
        for variant in variants:
            started(variant.label)
            own = builds.get(variant.label, {})
            ready = {name: build for name, build in own.items() if isinstance(build, Build)}
            yield variant, _trace(variant, own, session, data, gpu, builder), ready
    finally:
        session.close()
        data.close()


def _trace(
    variant: Variant,
    builds: dict[str, Build | BuildError],
    session: Session,
    data: SharedData,
    gpu: GpuConstants,
    builder: Builder,
) -> Traced:
    failed = next((build for build in builds.values() if isinstance(build, BuildError)), None)
    if failed is not None:
        return failed
    if variant.host_only:
        return ModelError("it calls a host library")
    ready = {name: build for name, build in builds.items() if isinstance(build, Build)}
    try:
        steps = (step for step in variant.steps if isinstance(step, KernelStep))
        layouts = {step.name: found for step in steps if (found := layouts_for(builder, step, ready[step.name]))}
        job = BuiltVariant(variant, ready, {}, layouts).job(data.specs(variant))
        session.keep_only([job])
        session.prepare(job, POISON_BYTES[0])
        return trace_job(session, job, gpu)
    except (GpuprofError, MemoryError) as error:
        return error if isinstance(error, GpuprofError) else ModelError("the host ran out of memory")
