"""What ``gpuprof doctor`` finds out: each tool and device, where it comes from, and what supplies a missing one."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpuprof.arch import DEFAULT_ARCH
from gpuprof.device.base import DeviceDescription
from gpuprof.device.clocks import GpuMonitor, GpuState
from gpuprof.device.drivers import DRIVER_REPAIR, choose_driver, is_installed
from gpuprof.device.gpus import Gpus, find_gpus, visibility
from gpuprof.errors import GpuprofError
from gpuprof.system.cleanup import temporary_folder
from gpuprof.toolchain.cache import open_cache
from gpuprof.toolchain.tools import SUPPLY, Tool, Toolchain

PROBE_SOURCE = Path(__file__).with_name("probe.cu")
OK, MISSING, WARNING = "ok", "missing", "warning"


@dataclass(frozen=True)
class Finding:
    """One line of the table. ``essential``: without it nothing can be built and emulated."""

    name: str
    state: str  #: ``ok``, ``missing``, ``warning``
    version: str = ""
    origin: str = ""
    repair: str = ""
    essential: bool = False


def check_up(tools: Toolchain, ccbin: str | None = None) -> tuple[Finding, ...]:
    """Everything, in the order in which it is shown. Builds a small kernel, and on a GPU launches it."""
    gpus = find_gpus()
    return (
        *_programs(tools),
        _host_compiler(ccbin),
        _trial_build(tools, ccbin),
        *_python_modules(),
        *_graphics(gpus),
        *_drivers(gpus),
        *_profiler(tools, gpus),
        _cache(),
    )


def can_emulate(findings: tuple[Finding, ...]) -> bool:
    """Whether kernels can be built, executed on the emulator and counted here."""
    return all(finding.state == OK for finding in findings if finding.essential)


def _programs(tools: Toolchain) -> Iterator[Finding]:
    for name, essential in (("nvcc", True), ("nvdisasm", True), ("cuobjdump", False)):
        tool = tools.find(name)
        if tool is None:
            notes = [note for note in tools.notes if f"/{name}" in note]
            yield Finding(name, MISSING, repair="; ".join([SUPPLY[name], *notes]), essential=essential)
        else:
            yield Finding(name, OK, tool.version, f"{tool.origin}: {tool.path}", essential=essential)


def _host_compiler(ccbin: str | None) -> Finding:
    chosen = ccbin or os.environ.get("NVCC_CCBIN")
    path = shutil.which(chosen or "g++")
    if path is None:
        return Finding("host compiler", MISSING, repair="install g++ (apt install g++), or set NVCC_CCBIN to one")
    origin = " (--ccbin)" if ccbin else " (NVCC_CCBIN)" if chosen else ""
    return Finding("host compiler", OK, origin=path + origin)


def _trial_build(tools: Toolchain, ccbin: str | None) -> Finding:
    """A kernel with a toolkit header, through the same way as every build."""
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    if tools.nvcc is None:
        return Finding("trial build", MISSING, repair="needs nvcc", essential=True)
    with temporary_folder("gpuprof-doctor-") as folder:  # not from the cache: the host compiler may have changed since
        try:
            build = Builder(tools, cache_dir=folder, ccbin=ccbin).build(
                BuildRequest(PROBE_SOURCE, "gpuprof_probe", DEFAULT_ARCH)
            )
        except GpuprofError as error:
            return Finding("trial build", MISSING, repair=str(error), essential=True)
    return Finding("trial build", OK, DEFAULT_ARCH, f"{build.seconds:.1f} s", essential=True)


def _python_modules() -> Iterator[Finding]:
    yield Finding("Python", OK, sys.version.split()[0], sys.executable)
    for name in ("numpy", "pyelftools"):
        yield _distribution(name, "pip install . in gpuprof's checkout", essential=True)
    yield _distribution("nvidia-ml-py", "pip install nvidia-ml-py (NVML: clocks, temperature, throttling)")


def _distribution(name: str, repair: str, *, essential: bool = False) -> Finding:
    try:
        return Finding(name, OK, importlib.metadata.version(name), "Python package", essential=essential)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, MISSING, repair=repair, essential=essential)


def _graphics(gpus: Gpus) -> Iterator[Finding]:
    """Each GPU as ``--device gpu:N`` counts them, and its clocks by NVML."""
    if not gpus.devices:
        yield Finding("GPU", MISSING, repair=f"{gpus.why_none}; kernels run on the emulator")
    for ordinal, gpu in enumerate(gpus.devices):
        state = GpuMonitor(gpu.uuid).read()
        memory = f"{(gpu.memory_bytes or 0) / (1 << 30):.0f} GiB"
        driver = f"driver {state.driver} ({gpu.driver})" if state.driver else f"driver for {gpu.driver}"
        origin = f"gpu:{ordinal}: {gpu.name}, {memory}, {driver}{visibility()}"
        yield Finding("GPU", OK, compute_capability(gpu), origin)
        yield _clocks(state)


def compute_capability(gpu: DeviceDescription) -> str:
    """``9.0`` for a GPU of sm_90."""
    number = (gpu.arch or "").removeprefix("sm_")
    return f"{number[:-1]}.{number[-1:]}"


def _clocks(state: GpuState) -> Finding:
    """NVML has no question for locked clocks; a clock that a setting limits is reported as a reason."""
    if state.sm_clock_mhz is None:
        return Finding("clocks", WARNING, origin="NVML does not say (pip install nvidia-ml-py)")
    held = "held by a setting" if state.held_by_setting else "not locked"
    text = f"SM {state.sm_clock_mhz} MHz of {state.highest_sm_clock_mhz or '?'} MHz, {held}"
    if state.throttle_reasons:
        return Finding("clocks", WARNING, origin=f"{text}; throttled: {', '.join(state.throttle_reasons)}")
    return Finding("clocks", OK, origin=text)


def _drivers(gpus: Gpus) -> Iterator[Finding]:
    """The packages that call the GPU's driver: one is enough."""
    choice = choose_driver()
    for name, distribution in (("pycuda", "pycuda"), ("cuda", "cuda-bindings")):
        if is_installed(name):
            found = _distribution(distribution, "")
            used = (
                f"Python package; used for GPUs ({choice.why})" if choice.name == name else "Python package; not used"
            )
            yield replace(found, origin=used)
    if choice.name is None:
        yield Finding("GPU driver package", MISSING, repair=DRIVER_REPAIR if gpus.devices else "only needed with a GPU")


def _profiler(tools: Toolchain, gpus: Gpus) -> Iterator[Finding]:
    tool = tools.ncu
    if tool is None:
        repair = SUPPLY["ncu"] if gpus.devices else "only needed with a GPU; the emulator counts without it"
        yield Finding("ncu", MISSING, repair=repair)
        return
    yield Finding("ncu", OK, tool.version, f"{tool.origin}: {tool.path}")
    if gpus.devices:
        yield _guarded("counters", lambda: _permission(tool, tools, gpus))


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except GpuprofError as error:
        return Finding(name, WARNING, repair=str(error))


def _permission(tool: Tool, tools: Toolchain, gpus: Gpus) -> Finding:
    """A real launch under ncu: whether this ncu fits the driver, and whether this user may read the counters."""
    from gpuprof.toolchain.hostlib import build_shared_library
    from gpuprof.toolchain.ncu import NcuRequest, profile

    arch = gpus.devices[0].arch or DEFAULT_ARCH
    library = build_shared_library(tools, PROBE_SOURCE, arch=arch)
    program = f"import ctypes, sys; sys.exit(ctypes.CDLL({str(library)!r}).gpuprof_probe_launch())"
    metric = "smsp__inst_executed.sum"
    report = profile(tool, NcuRequest((sys.executable, "-c", program), (metric,), timeout=120.0))
    launches = len(report.launches)
    origin = f"ncu {report.version} fits driver {gpus.devices[0].driver} and may read them ({launches} launch profiled)"
    return Finding("counters", OK, origin=origin)


def _cache() -> Finding:
    try:
        cache = open_cache()
    except GpuprofError as error:
        return Finding("build cache", MISSING, repair=str(error), essential=True)
    size = sum(kind.bytes for kind in cache.usage())
    text = f"{cache.root} ({size / (1 << 20):.1f} MiB)"
    return Finding("build cache", WARNING if cache.note else OK, origin=text, repair=cache.note)
