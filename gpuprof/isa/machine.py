"""Sizes that every compute capability shares, and the shape of a launch.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (the same from 5.0 on); the
encoding's length: one instruction is 128 bits since Volta.
"""

from __future__ import annotations

#: Extents of a block or grid, x first.
Dim3 = tuple[int, int, int]

SUBPARTITIONS = 4  #: schedulers of an SM since Volta
WARP_LANES = 32
INSTRUCTION_BYTES = 16
#: A sector is the unit of a request to L2, a line (a tag) the unit of the L1 cache.
SECTOR_BYTES = 32
LINE_BYTES = 128
#: Shared memory: banks, and bytes per bank and wavefront.
SHARED_BANKS = 32
BANK_BYTES = 4
CONSTANT_BANK_BYTES = 64 << 10

MAX_BLOCK_THREADS = 1024
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)


#: Shared memory of each block that the driver keeps for itself, since sm_80 (``arch/data``: shared_bytes_reserved).
RESERVED_SHARED_BYTES = 1024
_FIRST_WITH_RESERVE_IN_SECTION = 90


def reserved_bytes_in_section(capability: int) -> int:
    """How much of a cubin's ``.nv.shared`` section is the driver's reserve: since sm_90 ptxas counts it in."""
    return RESERVED_SHARED_BYTES if capability >= _FIRST_WITH_RESERVE_IN_SECTION else 0
