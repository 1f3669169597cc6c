"""A device by its name, in the process that will hold it."""

from __future__ import annotations

from pathlib import Path

from gpuprof.device.base import Device


def open_device(
    name: str,
    *,
    arch: str | None = None,
    budget: int | None = None,
    compiled_budget: int | None = None,
    engine: str | None = None,
    instruction_limit: int = 5_000_000,
    threads: int | None = None,
    cuda_home: Path | None = None,
) -> Device:
    """Open ``emulated`` or ``gpu:N``. Raises MissingDeviceError when it cannot be had.

    The other arguments are the emulator's.
    """
    if name == "emulated":
        from gpuprof.device.emulated import EmulatedDevice
        from gpuprof.emulator.options import EmulationOptions, default_engine
        from gpuprof.toolchain import find_tools

        options = EmulationOptions(
            budget=budget,
            compiled_budget=compiled_budget,
            engine=engine or default_engine(),
            instruction_limit=instruction_limit,
            threads=threads,
        )
        return EmulatedDevice(options, find_tools(cuda_home))
    from gpuprof.device.gpu import GpuDevice

    return GpuDevice(int(name.split(":")[1]))
