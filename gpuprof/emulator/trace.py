"""What blocks of a launch executed, in order, as the compiled engine records it for the time model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.errors import EmulationError, ModelError
from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions

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


class BlockTracer:
    """Traces blocks of one launch. Global memory is changed as by the launch itself."""

    def __init__(
        self,
        image: KernelImage,
        arena: Arena,
        grid: Dim3,
        block: Dim3,
        parameters: bytes,
        dynamic_shared_bytes: int,
        options: EmulationOptions,
    ) -> None:
        """Translate and compile the kernel; raises ModelError where the compiled engine cannot execute it."""
        from gpuprof.emulator.compiled.build import CannotCompile
        from gpuprof.emulator.compiled.engine import prepare
        from gpuprof.emulator.compiled.translate import Untranslatable
        from gpuprof.emulator.engines import why_numpy
        from gpuprof.emulator.launching import open_launch

        context = open_launch(image, arena, grid, block, parameters, dynamic_shared_bytes, options)
        reason = why_numpy(context, image)
        if reason and reason != "asked for":
            raise ModelError(reason)
        try:
            self._engine = prepare(image, context, 1)
        except (Untranslatable, CannotCompile) as error:
            raise ModelError(str(error)) from None

    def trace(self, blocks: Sequence[int], limit: int = MAX_RUNS) -> Trace:
        """Execute these blocks; raises ModelError where the compiled code stops or the trace is too long."""
        from gpuprof.emulator.compiled.engine import Stopped
        from gpuprof.emulator.compiled.library import TRACE_FULL

        try:
            return self._engine.trace(np.asarray(blocks, np.int64), limit)
        except Stopped as stopped:
            if stopped.fault == TRACE_FULL:
                raise ModelError(f"a block executes more than {limit:,} runs of code or accesses") from None
            raise ModelError(f"the compiled code stopped at instruction {stopped.site}") from None
        except EmulationError as error:
            raise ModelError(str(error)) from None
