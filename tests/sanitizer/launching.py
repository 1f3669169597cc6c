"""Kernels of tests/sanitizer/kernels, built in the suite, and launched on the emulator with numpy arrays."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest

KERNELS = Path(__file__).parent / "kernels"


@functools.cache
def build_file(file: str, kernels: tuple[str, ...], arch: str) -> dict[str, Build]:
    """The named kernels of one file, by name."""
    requests = [BuildRequest(KERNELS / file, kernel, arch) for kernel in kernels]
    outcomes = Builder(find_tools()).build_all(requests)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return dict(zip(kernels, outcomes, strict=True))  # type: ignore[arg-type]


def launch(build: Build, grid: int, block: int, *values: np.ndarray | bytes, poison: int = 0xFF) -> LaunchCounters:
    """One launch on a device of its own; arrays are copied in before and back after it."""
    device = EmulatedDevice(EmulationOptions())
    arguments: list[Pointer | bytes] = []
    arrays = []
    for value in values:
        if isinstance(value, bytes):
            arguments.append(value)
            continue
        handle = device.allocate(value.nbytes)
        device.write(handle, value)
        arguments.append(Pointer(handle))
        arrays.append((handle, value))
    counters = device.launch(
        Launch(build.cubin, build.symbol, (grid, 1, 1), (block, 1, 1), 0, tuple(arguments), poison=poison)
    )
    for handle, value in arrays:
        value[...] = device.read(handle, value.dtype.str, value.shape)
    return counters


def i32(value: int) -> bytes:
    return int(value).to_bytes(4, "little", signed=True)
