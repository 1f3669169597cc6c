"""Which GPUs are there, without creating a CUDA context: through NVML (nvidia-ml-py), or nvidia-smi without it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

_QUERY = "name,uuid,compute_cap,driver_version,memory.total,clocks.sm,clocks.max.sm"
_TIMEOUT_S = 30
_MIB = 1 << 20


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver describes it; a clock is None where the driver does not say."""

    index: int
    name: str
    uuid: str
    compute_capability: str  #: ``9.0``
    driver: str
    memory_bytes: int
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gpus:
    """The GPUs found; ``source`` is ``NVML``, ``nvidia-smi`` or empty, ``why_none`` the reason when there are none."""

    gpus: tuple[Gpu, ...]
    source: str = ""
    why_none: str = ""


def find_gpus() -> Gpus:
    """Ask NVML, then nvidia-smi. Never raises."""
    found = _by_nvml()
    return found if found is not None else _by_nvidia_smi()


def _by_nvml() -> Gpus | None:
    """None where NVML's Python module or the driver's library is missing."""
    try:
        import pynvml
    except ImportError:
        return None
    with _nvml(pynvml) as ready:
        if not ready:
            return None
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        gpus = tuple(_gpu(pynvml, index, driver) for index in range(pynvml.nvmlDeviceGetCount()))
        return Gpus(gpus, "NVML", "" if gpus else "the driver lists no GPU")


@contextmanager
def _nvml(pynvml: Any) -> Iterator[bool]:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _gpu(pynvml: Any, index: int, driver: str) -> Gpu:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    clock = limit = None
    with suppress(pynvml.NVMLError):
        clock = int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
        limit = int(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM))
    return Gpu(
        index=index,
        name=_text(pynvml.nvmlDeviceGetName(handle)),
        uuid=_text(pynvml.nvmlDeviceGetUUID(handle)),
        compute_capability=f"{major}.{minor}",
        driver=driver,
        memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        sm_clock_mhz=clock,
        max_sm_clock_mhz=limit,
        throttle_reasons=_throttle_reasons(pynvml, handle),
    )


#: NVML's names for why a clock is below its maximum, by the end of the constant's name.
_REASONS = (
    "GpuIdle",
    "ApplicationsClocksSetting",
    "SwPowerCap",
    "HwSlowdown",
    "SwThermalSlowdown",
    "HwThermalSlowdown",
)


def _throttle_reasons(pynvml: Any, handle: Any) -> tuple[str, ...]:
    try:
        mask = int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    except pynvml.NVMLError:
        return ()
    bits = {name: getattr(pynvml, f"nvmlClocksThrottleReason{name}", 0) for name in _REASONS}
    return tuple(name for name, bit in bits.items() if mask & bit)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _by_nvidia_smi() -> Gpus:
    program = shutil.which("nvidia-smi")
    if program is None:
        return Gpus((), "", "no NVIDIA driver: neither NVML nor nvidia-smi is there")
    command = [program, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Gpus((), "", f"nvidia-smi: {error}")
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no reason given"]
        return Gpus((), "", f"nvidia-smi: {lines[0]}")
    gpus = tuple(read_nvidia_smi(done.stdout))
    return Gpus(gpus, "nvidia-smi", "" if gpus else "nvidia-smi lists no GPU")


def read_nvidia_smi(text: str) -> Iterator[Gpu]:
    """The lines of ``nvidia-smi --query-gpu`` in csv without head and units; lines of another form are left out."""
    for index, line in enumerate(text.splitlines()):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 7 or not fields[4].isdigit():
            continue
        name, uuid, capability, driver, memory, clock, limit = fields
        yield Gpu(
            index=index,
            name=name,
            uuid=uuid,
            compute_capability=capability,
            driver=driver,
            memory_bytes=int(memory) * _MIB,
            sm_clock_mhz=int(clock) if clock.isdigit() else None,
            max_sm_clock_mhz=int(limit) if limit.isdigit() else None,
        )
