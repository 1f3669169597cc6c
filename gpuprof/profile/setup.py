"""What is settled before the first build: tools, devices, architecture, and one line for each surprise."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuprof.device.choice import DeviceChoice, choose_arch, choose_devices, resolve_arch
from gpuprof.device.clocks import GpuMonitor, GpuState
from gpuprof.device.drivers import why_no_driver
from gpuprof.device.gpus import Gpus, find_gpus
from gpuprof.errors import UsageError
from gpuprof.experiment.limits import launch_mistakes
from gpuprof.experiment.model import Experiment, Variant
from gpuprof.experiment.naming import select_all, unpaired_note
from gpuprof.profile.messages import Open
from gpuprof.profile.options import RunOptions, row_settings
from gpuprof.profile.peaks import Peaks, peaks_of
from gpuprof.profile.result_rows import environment_of
from gpuprof.profile.selection import with_references
from gpuprof.profile.supervisor import WORKER_MODULE
from gpuprof.results.model import Environment
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.refused_flags import environment_flags
from gpuprof.toolchain.tools import Toolchain

#: Of a sweep with many wrong points, this number is named.
SHOWN_MISTAKES = 8
#: Emulators at once: each holds its own copy of the buffers.
MAX_EMULATORS = 4


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Setup:
    """The surroundings of one run."""

    tools: Toolchain
    builder: Builder
    devices: DeviceChoice
    default_arch: str
    explicit_arch: str | None
    environment: Environment
    notes: tuple[str, ...]
    monitor: GpuMonitor | None = None
    before: GpuState = field(default_factory=GpuState)
    peaks: Peaks | None = None
    worker_module: str = WORKER_MODULE
    support_arch: str | None = None  #: of the GPU that times and compares with kernels of its own

    def arch_of(self, variant: Variant) -> str:
        """What a variant is built for: ``--arch``, its own ``arch:``, or the run's."""
        if self.explicit_arch is None and variant.arch is not None:
            return resolve_arch(variant.arch, self.devices.gpus)
        return self.default_arch

    @property
    def native_arch(self) -> str | None:
        """The GPU's own architecture, whose limits its launches have; None: each is judged by what it was built for."""
        return self.support_arch

    @property
    def device_key(self) -> str:
        """Names the device for ``--resume``: results of another one do not stand for its own."""
        return "|".join((self.devices.kind, *(gpu.uuid or gpu.name for gpu in self.devices.gpus)))

    def settings(self, options: RunOptions) -> tuple[object, ...]:
        """The options that change what a row says."""
        emulation = (
            (options.emulate_budget, options.compiled_budget, options.emulate_limit)
            if self.devices.kind == "emulated"
            else ()
        )
        timing = (options.timing,) if self.devices.kind == "gpu" else ()
        return (*row_settings(options), *emulation, *timing)

    def lanes(self, variants: int) -> tuple[str, ...]:
        """A device name for each lane. The emulator runs variants side by side: its Python holds one core per process.

        Measured with gemm_tiles and coalescing on two cores: two processes of one thread take 0.65 to 0.9 of the wall
        time of one process with two threads.
        """
        if self.devices.kind != "emulated":
            return self.devices.names if variants else ()
        return self.devices.names * min(variants, cores(), MAX_EMULATORS)

    def build_support(self) -> Path | None:
        """The cubin of ``support.cu`` where a GPU needs it; raises BuildError."""
        return build_support(self.builder, self.support_arch) if self.support_arch else None

    def open_request(self, name: str, options: RunOptions, lanes: int = 1) -> Open:
        """What a worker is asked to open, one of ``lanes``."""
        return Open(
            device=name,
            arch=self.default_arch,
            budget=options.emulate_budget,
            compiled_budget=options.compiled_budget,
            engine=options.engine,
            instruction_limit=options.emulate_limit,
            threads=max(1, cores() // lanes),
            cuda_home=options.cuda_home,
        )


def prepare_run(experiment: Experiment, options: RunOptions) -> Setup:
    """Find tools and devices and settle the architecture.

    Raises MissingDeviceError for a GPU that is asked for and not there, UsageError for an arch that it cannot load and
    for launches that the architecture does not allow.
    """
    needs_gpu = not options.devices or options.devices[0].startswith("gpu")
    gpus = find_gpus() if needs_gpu else Gpus((), "not asked for")
    devices = choose_devices(options.devices, gpus, why_no_driver() if gpus.devices else None)
    explicit = options.arch or experiment.arch
    arch = choose_arch(None if explicit is None else resolve_arch(explicit, devices.gpus), devices.gpus)
    own = {variant.arch for variant in experiment.variants if options.arch is None and variant.arch is not None}
    archs: dict[str | None, str] = {
        name: choose_arch(resolve_arch(name, devices.gpus), devices.gpus).arch for name in sorted(own)
    }
    chosen = with_references(experiment, select_all(experiment.variants, options.variants))
    check_python(chosen, options.allow_python)
    check_launches((variant, archs.get(variant.arch, arch.arch)) for variant in chosen)
    tools = find_tools(options.cuda_home)
    builder = Builder(tools, jobs=options.jobs, timeout=options.build_timeout, ccbin=options.ccbin)
    gpu = devices.gpus[0] if devices.gpus else None
    monitor = GpuMonitor(gpu.uuid) if gpu else None
    peaks = peaks_of(gpu) if gpu else None
    compared = chosen if devices.kind == "gpu" else experiment.variants
    notes = (
        *devices.notes,
        *((arch.note,) if arch.note else ()),
        *(f"{name} is set: nvcc adds {text} to every build" for name, text in environment_flags(os.environ).items()),
        *_peak_note(peaks),
        *unpaired_note(compared, experiment.baseline),
    )
    return Setup(
        tools=tools,
        builder=builder,
        devices=devices,
        default_arch=arch.arch,
        explicit_arch=options.arch,
        environment=replace(
            environment_of(tools, devices.kind, devices.gpus, options.command), peaks=peaks.facts if peaks else None
        ),
        notes=notes,
        support_arch=gpu.arch if gpu else None,
        monitor=monitor,
        before=monitor.read() if monitor else GpuState(),
        peaks=peaks,
    )


def check_python(variants: Iterable[Variant], allowed: bool) -> None:
    """Raise UsageError for references that are Python functions, unless they are allowed."""
    from gpuprof.profile.python_reference import refusal

    for variant in variants:
        for output, function in variant.reference.python.items():
            if not allowed:
                raise UsageError(refusal(function, output))


def check_launches(variants: Iterable[tuple[Variant, str]]) -> None:
    """Raise UsageError for variants whose launches their architecture does not allow, before anything is built."""
    mistakes = [f"{variant.label}: {text}" for variant, arch in variants for text in launch_mistakes(variant, arch)]
    if not mistakes:
        return
    more = len(mistakes) - SHOWN_MISTAKES
    lines = mistakes[:SHOWN_MISTAKES] + ([f"... and {more} more"] if more > 0 else [])
    repair = "drop these points with where:, leave them out with --variant, or choose another --arch"
    raise UsageError("\n".join((*lines, repair)))


def _peak_note(peaks: Peaks | None) -> tuple[str, ...]:
    if peaks is None or peaks.source == "measured":
        return ()
    return ("% of peak uses datasheet values; run `gpuprof peaks` to measure this GPU.",)


def build_support(builder: Builder, arch: str) -> Path:
    """The cubin of ``support.cu`` for a GPU; raises BuildError when nvcc refuses it."""
    from gpuprof import device
    from gpuprof.toolchain.model import BuildRequest

    source = Path(str(device.__file__)).parent / "support.cu"
    return builder.build(BuildRequest(source=source, kernel="gpuprof_hold", arch=arch)).cubin
