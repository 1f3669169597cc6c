"""A worker whose device is a tiny machine: memory in numpy, kernels by name, a clock that is arithmetic.

It stands where a GPU would, so that timing, isolation and replacement are tested with real processes that really crash
and hang. The kernels are those of torture/torture.cu.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpuprof.device.base import Capabilities, DeviceDescription, Handle, Launch, Pointer
from gpuprof.errors import DeviceMemoryError, LaunchError
from gpuprof.profile import worker

MEMORY_BYTES = 1 << 26
PASS_US = 100.0


class TinyDevice:
    """Executes ``y = x`` with the misbehaviour that the kernel's name says. A pass takes 100 us over the factor."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(clock=self, support=self)

    def __init__(self) -> None:
        self.support: Path | None = None
        self.description = DeviceDescription("gpu", "Tiny", "sm_89", uuid="GPU-tiny")
        self.lost = False
        self._memory: dict[int, Any] = {}
        self._next = 1
        self._now = 0.0
        self._launches: dict[str, int] = {}

    def allocate(self, nbytes: int) -> Handle:
        used = sum(array.nbytes for array in self._memory.values())
        if used + nbytes > MEMORY_BYTES:
            raise DeviceMemoryError(f"out of device memory: {nbytes:,} bytes asked, {MEMORY_BYTES - used:,} free")
        handle = Handle(self._next, nbytes)
        self._next += 1
        self._memory[handle.identifier] = np.zeros(nbytes, np.uint8)
        return handle

    def free(self, handle: Handle) -> None:
        del self._memory[handle.identifier]

    def write(self, handle: Handle, data: Any) -> None:
        self._memory[handle.identifier][: data.nbytes] = data.reshape(-1).view(np.uint8)

    def read(self, handle: Handle, dtype: str, shape: tuple[int, ...]) -> Any:
        return self._memory[handle.identifier].view(dtype).reshape(shape).copy()

    def poison(self, handle: Handle, byte: int) -> None:
        self.fill(handle, byte)

    def written_bytes(self, handle: Handle) -> int | None:
        return None

    def fill(self, handle: Handle, byte: int) -> None:
        self._memory[handle.identifier][:] = byte

    def written(self, handle: Handle) -> None:
        return None

    def launch(self, launch: Launch) -> None:
        self.enqueue(launch)

    def enqueue(self, launch: Launch) -> None:
        name = launch.symbol
        self._launches[name] = self._launches.get(name, 0) + 1
        pointers = [argument for argument in launch.arguments if isinstance(argument, Pointer)]
        x, y = (self._memory[pointer.handle.identifier].view(np.float32) for pointer in pointers[:2])
        factor = 1.0
        if name == "scale":
            (value,) = (argument for argument in launch.arguments[1:2] if isinstance(argument, bytes))
            factor = float(np.frombuffer(value, np.float32)[0])
        self._misbehave(name, x, y)
        self._now += PASS_US / factor

    def _misbehave(self, name: str, x: Any, y: Any) -> None:
        if name == "out_of_bounds":
            self.lost = True
            raise LaunchError("the launch failed: an illegal memory access was encountered")
        if name == "endless":
            time.sleep(60)
        if name == "just_past_the_end" and self._launches[name] > 5:
            os.abort()  # the process dies in the midst of timing
        y[: -7 if name == "leaves_some" else None] = x[: -7 if name == "leaves_some" else None]
        if name == "gives_nan":
            y[100] = np.nan
        if name == "changes_its_input":
            x[3] = 0.5

    # the clock

    def enqueue_copy(self, target: Handle, source: Handle) -> None:
        self.write(target, self.read(source, "uint8", (source.nbytes,)))

    def enqueue_fill(self, handle: Handle, byte: int) -> None:
        self.fill(handle, byte)

    def mark(self) -> float:
        return self._now

    def elapsed_us(self, start: float, end: float) -> float:
        return end - start

    def flush_l2(self) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def hold_failed(self) -> bool:
        return False

    def synchronize(self) -> None: ...

    def close(self) -> None: ...


if __name__ == "__main__":
    worker.open_device = lambda name, **settings: TinyDevice()  # type: ignore[assignment, return-value]
    worker.main()
