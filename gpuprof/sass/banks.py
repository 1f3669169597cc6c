"""What the slots of constant bank 0 hold: launch dimensions and parameters, by architecture.

Read off code that nvcc 13.0 made for each target: before sm_100 the launch dimensions stand at the bank's start, since
sm_100 at 0x360; parameters begin at 0x160 (sm_75 to sm_89), 0x210 (sm_90), 0x380 (sm_100 and later).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DIMENSIONS = ("blockDim.x", "blockDim.y", "blockDim.z", "gridDim.x", "gridDim.y", "gridDim.z")
_OLD_OFFSETS = (0x0, 0x4, 0x8, 0xC, 0x10, 0x14)
_NEW_OFFSETS = (0x360, 0x364, 0x368, 0x370, 0x374, 0x378)


def compute_capability(arch: str) -> int:
    """89 for ``sm_89``, 90 for ``sm_90a``; 0 when the text has no number."""
    match = re.search(r"\d+", arch)
    return int(match[0]) if match else 0


def parameter_base(arch: str) -> int:
    """Offset of the first kernel parameter in constant bank 0."""
    capability = compute_capability(arch)
    if capability >= 100:
        return 0x380
    return 0x210 if capability >= 90 else 0x160


@dataclass(frozen=True)
class BankNames:
    """Names slots of the constant banks. ``parameters`` are (offset from the base, size in bytes), in order."""

    arch: str = "sm_89"
    parameters: Sequence[tuple[int, int]] = ()

    def name(self, bank: int | None, offset: int) -> str:
        """``blockDim.x``, ``parameter 2``, ``parameter 2+0x4``; the slot as printed when it has no name."""
        if bank == 0:
            offsets = _NEW_OFFSETS if compute_capability(self.arch) >= 100 else _OLD_OFFSETS
            if offset in offsets:
                return _DIMENSIONS[offsets.index(offset)]
            if self.is_parameter(bank, offset):
                return self._parameter(offset - parameter_base(self.arch), offset)
        return f"c[0x{bank or 0:x}][0x{offset:x}]"

    def is_parameter(self, bank: int | None, offset: int) -> bool:
        """Whether the slot lies among the kernel's parameters."""
        return bank == 0 and offset >= parameter_base(self.arch)

    def size_of_parameter(self, offset: int) -> int | None:
        """Bytes of the parameter that begins at a slot of bank 0; None where none is known to begin there."""
        relative = offset - parameter_base(self.arch)
        return next((size for start, size in self.parameters if start == relative), None)

    def _parameter(self, relative: int, offset: int) -> str:
        for ordinal, (start, size) in enumerate(self.parameters):
            if start <= relative < start + size:
                rest = relative - start
                return f"parameter {ordinal}" + (f"+0x{rest:x}" if rest else "")
        return f"c[0x0][0x{offset:x}]"
