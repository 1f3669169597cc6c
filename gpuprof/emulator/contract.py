"""Words that the whole executor shares: the lanes of a warp, and what executes one instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpuprof.isa.machine import WARP_LANES

if TYPE_CHECKING:
    from gpuprof.emulator.control.barriers import Batch

WARP = WARP_LANES

#: Executes one instruction for the active lanes of a batch.
Step = Callable[["Batch"], Any]
