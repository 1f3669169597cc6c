"""The ``.nv.info`` attribute records of a cubin.

A record is a format byte and an attribute byte, then 2 bytes of padding or value (formats 1 to 3), or a 16-bit length
and a payload (format 4). NVIDIA does not document them; the codes were matched against the names and values that
``cuobjdump -elf`` prints for the same cubins (CUDA 13.0 and 13.5, sm_75 to sm_120).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpuprof.isa.constant_bank import Parameter

MAX_THREADS = 0x05
PARAM_CBANK = 0x0A
REQUIRED_THREADS = 0x10
FRAME_SIZE = 0x11
MIN_STACK_SIZE = 0x12
KPARAM_INFO = 0x17
CBANK_PARAM_SIZE = 0x19
MAX_STACK_SIZE = 0x23
COLLECTIVE_OFFSETS = 0x28  #: COOP_GROUP_INSTR_OFFSETS: of every warp collective, also a __syncwarp() that is a NOP
COLLECTIVE_MASKS = 0x29  #: COOP_GROUP_MASK_REGIDS: the register of each one's mask; all ones: none
REGCOUNT = 0x2F
CTA_PER_CLUSTER = 0x3D  #: of __cluster_dims__ (nvcc 13.0, cuobjdump -elf)
NUM_BARRIERS = 0x4C

_VALUE_FORMATS = (1, 2, 3)
_SIZED_FORMAT = 4


@dataclass(frozen=True)
class Attribute:
    """One record; ``payload`` is the value's bytes, little-endian."""

    code: int
    payload: bytes

    def words(self) -> tuple[int, ...]:
        """The payload as 32-bit words; a rest shorter than one is left out."""
        return struct.unpack(f"<{len(self.payload) // 4}I", self.payload[: len(self.payload) // 4 * 4])


def read_attributes(data: bytes) -> Iterator[Attribute]:
    """The records of a ``.nv.info`` section; raises ValueError for one that runs over its end."""
    position = 0
    while position + 4 <= len(data):
        form, code, short = struct.unpack_from("<BBH", data, position)
        position += 4
        if form in _VALUE_FORMATS:
            yield Attribute(code, struct.pack("<H", short))
        elif form == _SIZED_FORMAT:
            if position + short > len(data):
                raise ValueError(f"attribute 0x{code:02x} is {short} bytes long, {len(data) - position} are left")
            yield Attribute(code, data[position : position + short])
            position += short
        else:
            raise ValueError(f"attribute record of format {form}")


def read_parameter(payload: bytes) -> Parameter:
    """A KPARAM_INFO record: ordinal, offset, and the size in bits 31:18 of the last word."""
    if len(payload) < 12:
        raise ValueError("parameter record is too short")
    _, ordinal, offset, flags = struct.unpack_from("<IHHI", payload)
    return Parameter(ordinal=ordinal, offset=offset, size=flags >> 18)


@dataclass(frozen=True)
class PerFunction:
    """Attributes of the file-wide ``.nv.info`` that name a symbol: code -> symbol index -> value."""

    values: dict[int, dict[int, int]]

    def get(self, code: int, symbol: int) -> int | None:
        """The value for a symbol index, or None where the file has none."""
        return self.values.get(code, {}).get(symbol)


def read_per_function(data: bytes) -> PerFunction:
    """REGCOUNT, FRAME_SIZE and stack sizes by symbol index."""
    values: dict[int, dict[int, int]] = {}
    for attribute in read_attributes(data):
        words = attribute.words()
        if len(words) == 2:
            values.setdefault(attribute.code, {})[words[0]] = words[1]
    return PerFunction(values)
