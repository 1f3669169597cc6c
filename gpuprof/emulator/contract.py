"""Words that the whole executor shares: the lanes of a warp, and what executes one instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from gpuprof.isa.machine import WARP_LANES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpuprof.emulator.control.barriers import Batch
    from gpuprof.emulator.semantics.base import Decoded

    Bool = NDArray[np.bool_]

WARP = WARP_LANES

#: Executes one instruction for the active lanes of a batch.
Step = Callable[["Batch"], Any]


class Observer(Protocol):
    """Watches a launch from within. Without one (``EmulationOptions.observer`` is None) nothing is asked or kept.

    Masks are broadcastable to (blocks, warps, 32). What an observer raises ends the launch.
    """

    def begin(self, batch: Batch) -> None:
        """A batch of blocks starts; its ``block_ids`` say which."""
        ...

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        """What executes instruction ``index`` in place of ``step``; asked once, when it is first reached.

        It runs with ``batch.mask`` the lanes whose guard is true. Branches, EXIT and barriers are no steps.
        """
        ...

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        """A generation of a block barrier is complete: who arrived, and who of them waited and goes on."""
        ...

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        """Lanes met in the WARPSYNC before program counter ``pc`` and go on."""
        ...

    def end(self, batch: Batch) -> None:
        """All threads of the batch ended."""
        ...
