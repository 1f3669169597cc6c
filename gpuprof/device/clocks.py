"""Clocks, temperature and throttle reasons of a GPU through NVML, where nvidia-ml-py is installed. Reads only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: NVML's bits for reasons that lower the clocks below what was asked for (nvml.h, nvmlClocksEventReasons); idle,
#: application clocks and display settings are not throttling.
THROTTLE_BITS = {
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x020: "software thermal slowdown",
    0x040: "hardware thermal slowdown",
    0x080: "power brake",
}
_APPLICATION_CLOCKS = 0x002
#: A GPU that ran kernels for this share of the moments before a run is in use.
BUSY_PERCENT = 5


@dataclass(frozen=True)
class GpuState:
    """One reading; None where this GPU does not say."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    highest_sm_clock_mhz: int | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    driver: str | None = None
    held_by_setting: bool = False  #: application clocks hold the SM clock
    processes: int | None = None  #: that have a context on the GPU, as far as this process may see them
    utilisation_percent: int | None = None  #: share of the last moments in which a kernel ran


def sharing_note(before: GpuState, after: GpuState, own_processes: int = 1) -> str | None:
    """A sentence where others used the GPU beside a timed run; None where nothing says so.

    ``before`` was read before the run opened the GPU, ``after`` while at most ``own_processes`` of its own had it open.
    """
    others = max(before.processes or 0, (after.processes or 0) - own_processes)
    if others > 0:
        subject = "another process" if others == 1 else f"{others} other processes"
        return f"{subject} had a context on the GPU during the run: times may be disturbed"
    if (before.utilisation_percent or 0) >= BUSY_PERCENT:
        return f"the GPU was {before.utilisation_percent}% busy when the run began: times may be disturbed"
    return None


class GpuMonitor:
    """Readings of one GPU, by the uuid that the driver gives (``GPU-...``). Without NVML every reading is empty."""

    def __init__(self, uuid: str | None) -> None:
        self._nvml: Any = None
        self._handle: Any = None
        if uuid is None:
            return
        try:
            import pynvml

            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            self._nvml = pynvml
        except Exception:  # no package, no driver, a MIG slice without rights: timing goes on without readings
            self._handle = None

    def read(self) -> GpuState:
        """Everything."""
        if self._nvml is None:
            return GpuState()
        nvml, handle = self._nvml, self._handle
        return GpuState(
            sm_clock_mhz=self.sm_clock_mhz(),
            memory_clock_mhz=_try(lambda: int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))),
            highest_sm_clock_mhz=_try(lambda: int(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))),
            temperature_c=_try(lambda: int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
            throttle_reasons=self.throttle_reasons(),
            driver=_try(lambda: _text(nvml.nvmlSystemGetDriverVersion())),
            held_by_setting=bool(self._reasons() & _APPLICATION_CLOCKS),
            processes=_try(lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses(handle))),
            utilisation_percent=_try(lambda: int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)),
        )

    def sm_clock_mhz(self) -> int | None:
        """The SM clock now."""
        if self._nvml is None:
            return None
        nvml = self._nvml
        clock: int | None = _try(lambda: int(nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_SM)))
        return clock

    def throttle_reasons(self) -> tuple[str, ...]:
        """Why the clocks are lower than asked for, now."""
        if self._nvml is None:
            return ()
        bits = self._reasons()
        return tuple(name for bit, name in THROTTLE_BITS.items() if bits & bit)

    def _reasons(self) -> int:
        nvml = self._nvml
        return int(_try(lambda: int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))) or 0)


def _try(read: Callable[[], Any]) -> Any:
    """What ``read`` gives; None where this GPU or driver does not support it."""
    try:
        return read()
    except Exception:
        return None


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
