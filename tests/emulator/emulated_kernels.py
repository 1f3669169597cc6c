"""Launching the stored kernels of tests/emulator/data on the emulator, with numpy arrays as arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions

DATA = Path(__file__).parent / "data"


class Kernels:
    """One device with one of the stored cubins. Arrays are copied in before a launch and back after it."""

    def __init__(self, arch: str, **options: Any) -> None:
        self.cubin = DATA / f"engine_{arch}.cubin"
        self.device = EmulatedDevice(EmulationOptions(**options))

    def run(self, symbol: str, grid: Any, block: Any, *values: Any, shared: int = 0) -> LaunchCounters:
        handles = []
        arguments: list[Pointer | bytes] = []
        for value in values:
            if isinstance(value, np.ndarray):
                handle = self.device.allocate(value.nbytes)
                self.device.write(handle, value)
                handles.append((handle, value))
                arguments.append(Pointer(handle))
            else:
                arguments.append(value)
        try:
            counters = self.device.launch(
                Launch(self.cubin, symbol, _three(grid), _three(block), shared, tuple(arguments))
            )
            for handle, value in handles:
                value[...] = self.device.read(handle, value.dtype.str, value.shape)
        finally:
            for handle, _ in handles:
                self.device.free(handle)
        return counters


def _three(size: Any) -> tuple[int, int, int]:
    sizes = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def i32(value: int) -> bytes:
    return int(value).to_bytes(4, "little", signed=True)


def address(value: int) -> bytes:
    return int(value).to_bytes(8, "little")


def ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)
