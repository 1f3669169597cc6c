"""The seam that executes launches. Two implementations: ``gpu`` (pycuda, in a worker) and ``emulated``.

A device owns memory by handle, loads cubins, and launches kernels. What differs (a clock on the GPU, counters on the
emulator) is asked for by capability, never by type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gpuprof.isa.machine import Dim3

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DeviceDescription:
    """What a device is. ``kind`` is ``gpu`` or ``emulated``; ``arch`` the one that it runs natively, None: any."""

    kind: str
    name: str
    arch: str | None = None
    driver: str | None = None
    uuid: str | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None


@dataclass(frozen=True)
class Handle:
    """Device memory: ``identifier`` is the device's own, ``nbytes`` the length asked for."""

    identifier: int
    nbytes: int


@dataclass(frozen=True)
class Pointer:
    """A launch argument: the address of ``handle`` plus ``offset_bytes``."""

    handle: Handle
    offset_bytes: int = 0


#: A launch argument: an address, or the bytes of a scalar in the width that the cubin's layout asks for.
LaunchArgument = Pointer | bytes


@dataclass(frozen=True)
class Launch:
    """One kernel launch. ``symbol`` is the mangled entry of ``cubin``.

    ``whole``: never a sample of the grid, since a later step reads what this one writes. ``poison``: the byte that
    shared and local memory begin with on an emulator; a GPU has leftovers there.
    """

    cubin: Path
    symbol: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: tuple[LaunchArgument, ...]
    whole: bool = False
    poison: int = 0xFF
    outputs: tuple[Handle, ...] = ()  #: buffers whose coverage by a sample of blocks is of interest

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True)
class InstructionCounters:
    """What one instruction of a launch counted; ``counters`` by Nsight Compute's metric names."""

    address: int
    text: str
    file: str
    line: int | None
    counters: Mapping[str, int]


@dataclass(frozen=True)
class LaunchCounters:
    """Exact event counts of one launch, under Nsight Compute's metric names.

    With ``blocks_run < blocks_total`` a sample ran and ``counters`` are scaled to the whole grid (``scaled``).
    """

    counters: Mapping[str, int]
    source: str  #: ``emulator`` or ``ncu``
    blocks_run: int
    blocks_total: int
    per_instruction: tuple[InstructionCounters, ...] = ()
    printed: str = ""  #: what the kernel's printf wrote
    unavailable: Mapping[str, str] = field(default_factory=dict)  #: metric -> why it has no value
    warnings: tuple[str, ...] = ()  #: what the counting cost, or cannot say
    #: Of a sample: by the identifier of an output, how many bytes the whole grid would have stored to (estimated)
    expected_bytes: Mapping[int, float] = field(default_factory=dict)
    engine: str = ""  #: of the emulator: ``compiled`` or ``numpy``
    engine_note: str = ""  #: why it was not the compiled one

    @property
    def scaled(self) -> bool:
        return self.blocks_run < self.blocks_total


class Device(Protocol):
    """What executes a launch. Errors are ``LaunchError`` and its kinds; every one names its reason."""

    @property
    def description(self) -> DeviceDescription: ...

    def allocate(self, nbytes: int) -> Handle:
        """Device memory of ``nbytes``; raises DeviceMemoryError with what was asked for and what is free."""
        ...

    def free(self, handle: Handle) -> None: ...

    def write(self, handle: Handle, data: NDArray[np.generic]) -> None:
        """Copy a host array (any dtype, C order) to the start of ``handle``."""
        ...

    def read(self, handle: Handle, dtype: str, shape: tuple[int, ...]) -> NDArray[np.generic]:
        """A fresh host array with the first bytes of ``handle``."""
        ...

    def fill(self, handle: Handle, byte: int) -> None:
        """Set every byte; on a device that knows what was stored, all of it then is."""
        ...

    def poison(self, handle: Handle, byte: int) -> None:
        """Set every byte of a buffer that holds nothing: on a device that knows what was stored, none of it is."""
        ...

    def launch(self, launch: Launch) -> LaunchCounters | None:
        """Run it to its end. Counters on a device that counts, else None."""
        ...

    def written(self, handle: Handle) -> NDArray[np.bool_] | None:
        """Per byte: did a launch store there since ``poison`` or ``write``? None where nobody knows (a GPU)."""
        ...

    def written_bytes(self, handle: Handle) -> int | None:
        """How many bytes are true in ``written``, without making it; None where nobody knows."""
        ...

    def close(self) -> None: ...
