"""What blocks of a launch executed, in order, as the compiled engine records it for the time model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A run of straight code by one warp; ``warp`` counts over all traced blocks, ``lanes`` were active.
RUN = np.dtype([("warp", np.uint32), ("segment", np.uint32), ("lanes", np.uint32)])
#: An access to memory during the run ``run``. ``passes``: wavefronts of shared memory. ``base``: byte offset of the
#: first active lane in global memory, ``shape`` a hash of the other lanes' distances from it. Sectors are 32 bytes.
ACCESS = np.dtype(
    [
        (name, np.uint32)
        for name in ("warp", "run", "site", "space", "lanes", "passes", "base", "shape", "sectors", "first_sector")
    ]
)
#: Values of ``space``. A COPY is the shared side of an asynchronous copy; its other side is a GLOBAL access before it.
GLOBAL, SHARED, LOCAL, COPY = range(4)
#: Runs, and accesses, that are recorded of one call at most: some 400 MB.
MAX_RUNS = 8_000_000


@dataclass(frozen=True, eq=False)
class Trace:
    """Runs and accesses in the order of execution; those of one warp are in its program order."""

    blocks: NDArray[np.int64]  #: numbers in the grid
    warps: int  #: per block
    segments: NDArray[np.int32]  #: (segments, 2): first instruction and the one past the last
    runs: NDArray[np.void]  #: of ``RUN``
    accesses: NDArray[np.void]  #: of ``ACCESS``
    sectors: NDArray[np.uint32]  #: of all accesses, ascending within each

    @property
    def instructions(self) -> int:
        """Warp instructions that were executed."""
        lengths = self.segments[:, 1] - self.segments[:, 0]
        return int(lengths[self.runs["segment"]].sum())
