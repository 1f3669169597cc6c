"""Words that the whole executor shares: the lanes of a warp, and what executes one instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuprof.emulator.control.barriers import Batch

WARP = 32

#: Executes one instruction for the active lanes of a batch.
Step = Callable[["Batch"], Any]
