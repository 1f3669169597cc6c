"""Constant bank 0: what the driver fills in before a launch, and where, by architecture.

Read off code that nvcc 13.0 made for each target: before sm_100 the launch dimensions are at the bank's start, since
sm_100 at 0x360; parameters begin at 0x160 (sm_75 to sm_89), 0x210 (sm_90), 0x380 (sm_100 and later).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

_DIMENSIONS = ("blockDim.x", "blockDim.y", "blockDim.z", "gridDim.x", "gridDim.y", "gridDim.z")
_WORD = 4


@dataclass(frozen=True)
class BankLayout:
    """Byte offsets in bank 0; None where code of that architecture does not read it from there."""

    parameters: int  #: the first kernel parameter
    block: int  #: three words, x first
    grid: int
    stack: int
    local_window: int | None
    shared_window: int | None
    multiprocessors: int | None
    dynamic_shared: int | None
    workspace: tuple[int, int]  #: low and high word of the address of a cooperative launch's barrier (cg::this_grid)
    parameter_pointer: int | None  #: the generic address of the first parameter, for ``__grid_constant__``

    @cached_property
    def dimensions(self) -> dict[int, str]:
        """Offset -> name of the launch's dimensions."""
        offsets = (first + axis * _WORD for first in (self.block, self.grid) for axis in range(3))
        return dict(zip(offsets, _DIMENSIONS, strict=True))


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter in the cubin's layout (EIATTR_KPARAM_INFO): offset and size in bytes."""

    ordinal: int
    offset: int
    size: int


_UP_TO_89 = BankLayout(0x160, 0x0, 0xC, 0x28, 0x20, 0x18, 0x2C, 0x10C, (0x90, 0x8C), None)
_90 = replace(_UP_TO_89, parameters=0x210, workspace=(0x48, 0x44), parameter_pointer=0x198)
_FROM_100 = BankLayout(0x380, 0x360, 0x370, 0x37C, 0x2F8, None, None, 0x2D0, (0x1B8, 0x1B4), 0x348)


def compute_capability(arch: str) -> int:
    """89 for ``sm_89``, 90 for ``sm_90a``; 0 when the text has no number."""
    match = re.search(r"\d+", arch)
    return int(match[0]) if match else 0


def bank_layout(capability: int) -> BankLayout:
    """The layout for a compute capability (89, 90, 100 ...)."""
    return _FROM_100 if capability >= 100 else (_90 if capability >= 90 else _UP_TO_89)


def parameter_base(arch: str) -> int:
    """Offset of the first kernel parameter."""
    return bank_layout(compute_capability(arch)).parameters


@dataclass(frozen=True)
class BankNames:
    """Names slots of the constant banks. ``parameters`` are (offset from the base, size in bytes), in order."""

    arch: str = "sm_89"
    parameters: Sequence[tuple[int, int]] = ()

    @cached_property
    def _layout(self) -> BankLayout:
        return bank_layout(compute_capability(self.arch))

    def name(self, bank: int | None, offset: int) -> str:
        """``blockDim.x``, ``parameter 2``, ``parameter 2+0x4``; the slot as printed when it has no name."""
        if bank == 0:
            dimension = self._layout.dimensions.get(offset)
            if dimension is not None:
                return dimension
            if self.is_parameter(bank, offset):
                return self._parameter(offset - self._layout.parameters, offset)
        return f"c[0x{bank or 0:x}][0x{offset:x}]"

    def is_parameter(self, bank: int | None, offset: int) -> bool:
        """Whether the slot lies among the kernel's parameters."""
        return bank == 0 and offset >= self._layout.parameters

    def size_of_parameter(self, offset: int) -> int | None:
        """Bytes of the parameter that begins at a slot of bank 0; None where none is known to begin there."""
        relative = offset - self._layout.parameters
        return next((size for start, size in self.parameters if start == relative), None)

    def _parameter(self, relative: int, offset: int) -> str:
        for ordinal, (start, size) in enumerate(self.parameters):
            if start <= relative < start + size:
                rest = relative - start
                return f"parameter {ordinal}" + (f"+0x{rest:x}" if rest else "")
        return f"c[0x0][0x{offset:x}]"
