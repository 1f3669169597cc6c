"""Loads from buffers that hold nothing yet: which instruction of a launch first reads what nobody stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.state.faults import first_lane, lane_location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState
    from gpuprof.errors import CodeLocation
    from gpuprof.sass.model import Instruction


class UnsetReads:
    """Per watched buffer, (address, bytes), the place of the first load of bytes that no store reached before."""

    def __init__(self, watched: Sequence[tuple[int, int]]) -> None:
        self._ranges = [(address - GLOBAL_BASE, address - GLOBAL_BASE + nbytes) for address, nbytes in watched]
        self.found: dict[int, CodeLocation] = {}  #: by position in ``watched``

    def look(self, lanes: LaneState, instruction: Instruction, offsets: NDArray[np.int64], width: int) -> None:
        """Before a load of ``width`` bytes at these arena offsets, of the enabled lanes."""
        for position, (start, end) in enumerate(self._ranges):
            if position not in self.found:
                inside = np.logical_and(offsets >= start, offsets < end)
                if inside.any():
                    bad = np.logical_and(np.logical_and(inside, lanes.mask), self._unset(lanes, offsets, inside, width))
                    if bad.any():
                        self.found[position] = lane_location(lanes, instruction, first_lane(lanes, bad))

    @staticmethod
    def _unset(
        lanes: LaneState, offsets: NDArray[np.int64], inside: NDArray[np.bool_], width: int
    ) -> NDArray[np.bool_]:
        """Per lane: whether one of its bytes was never stored to; accesses are aligned to their width."""
        words = np.where(inside, offsets >> 2, 0)
        written = lanes.launch.arena.written
        if width < 4:
            wanted = ((1 << width) - 1) << (offsets & 3)
            return np.asarray((written[words] & wanted) != wanted)
        unset = written[words] != 15
        for further in range(1, width // 4):
            unset = np.logical_or(unset, written[words + further] != 15)
        return np.asarray(unset)
