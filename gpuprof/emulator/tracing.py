"""Tracing blocks of a launch on the compiled engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.compiled.build import CannotCompile
from gpuprof.emulator.compiled.engine import Stopped, prepare
from gpuprof.emulator.compiled.library import TRACE_FULL
from gpuprof.emulator.compiled.translate import Untranslatable
from gpuprof.emulator.engines import why_numpy
from gpuprof.emulator.launching import open_launch
from gpuprof.emulator.trace import MAX_RUNS, Trace
from gpuprof.errors import EmulationError, ModelError
from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions


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
        try:
            return self._engine.trace(np.asarray(blocks, np.int64), limit)
        except Stopped as stopped:
            if stopped.fault == TRACE_FULL:
                raise ModelError(f"a block executes more than {limit:,} runs of code or accesses") from None
            raise ModelError(f"the compiled code stopped at instruction {stopped.site}") from None
        except EmulationError as error:
            raise ModelError(str(error)) from None
