"""What the lanes of one warp touched in one execution of a memory instruction: the same from emulator to report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AccessSample:
    """``lanes`` are 32 byte offsets, None for a lane that took no part: into shared memory, or into ``buffer``.

    ``cost`` and ``ideal`` are sectors of global memory, or wavefronts of shared memory.
    """

    address: int  #: of the instruction
    text: str  #: the instruction
    space: str  #: ``global`` or ``shared``
    verb: str  #: ``read``, ``write``, ``atomic`` ...
    width: int  #: bytes per lane
    lanes: tuple[int | None, ...]  #: byte offset of each lane, null where it takes no part
    cost: int  #: sectors, or wavefronts
    ideal: int  #: the least for as many lanes
    block: int = 0  #: number in the grid
    warp: int = 0  #: number in the block
    buffer: str = ""  #: of global memory; empty where the lanes are in several
    file: str = ""  #: source file, empty where the compiler gave no line
    line: int | None = None  #: source line
    step: str = ""  #: of a variant with several: which one
