"""Builds as the JSON has them: of one launch, and of every step of a variant that has several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuprof.errors import GpuprofError
from gpuprof.experiment.model import FillStep, HostStep, KernelStep
from gpuprof.profile.code_facts import occupancy_facts
from gpuprof.results.model import BuildFacts, LaunchFacts, OccupancyFacts, StepFacts

if TYPE_CHECKING:
    from gpuprof.profile.built_variant import BuiltVariant
    from gpuprof.toolchain.model import Build


def steps_of(built: BuiltVariant) -> tuple[StepFacts, ...]:
    """Every step with its resources and occupancy, before anything runs; empty where there is only one step."""
    steps = built.variant.steps
    return tuple(_step(built, step) for step in steps) if len(steps) > 1 else ()


def _step(built: BuiltVariant, step: KernelStep | HostStep | FillStep) -> StepFacts:
    if not isinstance(step, KernelStep):
        kind = "host" if isinstance(step, HostStep) else "fill"
        return StepFacts(step.name, kind, step.timed, step.once)
    build = built.builds[step.name]
    occupancy: OccupancyFacts | None = None
    missing: dict[str, str] = {}
    try:
        occupancy = occupancy_facts(build, step)
    except GpuprofError as error:
        missing["occupancy"] = str(error)
    return StepFacts(
        name=step.name,
        kind="kernel",
        timed=step.timed,
        once=step.once,
        build=build_facts(build, step.shared_bytes),
        launch=LaunchFacts(step.grid, step.block),
        occupancy=occupancy,
        missing=missing,
    )


def build_facts(build: Build, dynamic_shared_bytes: int) -> BuildFacts:
    """A build as the JSON has it."""
    resources = build.resources
    return BuildFacts(
        command=build.command,
        seconds=build.seconds,
        cached=build.cached,
        source_sha256=build.source_sha256,
        cubin_sha256=build.cubin_sha256,
        log=build.log,
        registers=resources.registers,
        spill_store_bytes=resources.spill_store_bytes,
        spill_load_bytes=resources.spill_load_bytes,
        stack_bytes=resources.stack_bytes,
        static_shared_bytes=resources.static_shared_bytes,
        dynamic_shared_bytes=dynamic_shared_bytes,
        arch=build.request.arch,
        kernel=build.demangled,
    )
