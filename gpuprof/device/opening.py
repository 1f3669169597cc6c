"""A device by its name, in the process that will hold it."""

from __future__ import annotations

from pathlib import Path

from gpuprof.device.base import Device


def open_device(
    name: str,
    *,
    arch: str | None = None,
    budget: int | None = None,
    instruction_limit: int = 5_000_000,
    threads: int | None = None,
    cuda_home: Path | None = None,
) -> Device:
    """Open ``emulated`` or ``gpu:N``. Raises MissingDeviceError when it cannot be had.

    ``arch``, ``budget``, ``instruction_limit``, ``threads`` and ``cuda_home`` are the emulator's.
    """
    if name == "emulated":
        from gpuprof.device.emulated import EmulatedDevice
        from gpuprof.emulator.options import EmulationOptions
        from gpuprof.toolchain import find_tools

        options = EmulationOptions(budget=budget, instruction_limit=instruction_limit, threads=threads)
        return EmulatedDevice(options, find_tools(cuda_home))
    from gpuprof.device.gpu import GpuDevice

    return GpuDevice(int(name.split(":")[1]))
