"""What the lanes of one warp touched in one execution of a memory instruction: the same from emulator to report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AccessSample:
    """``lanes`` are 32 byte offsets, None for a lane that took no part: into shared memory, or into ``buffer``.

    ``cost`` and ``ideal`` are sectors of global memory, or wavefronts of shared memory.
    """

    address: int  #: of the instruction
    text: str
    space: str  #: ``global`` or ``shared``
    verb: str  #: ``read``, ``write``, ``atomic`` ...
    width: int  #: bytes per lane
    lanes: tuple[int | None, ...]
    cost: int
    ideal: int
    block: int = 0
    warp: int = 0
    buffer: str = ""  #: of global memory; empty where the lanes are in several
    file: str = ""
    line: int | None = None
    step: str = ""
