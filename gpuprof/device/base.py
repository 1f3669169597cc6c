"""The seam that executes launches. Two implementations: ``gpu`` (pycuda, in a worker) and ``emulated``.

A device owns memory by handle, loads cubins, and launches kernels. What only some devices can do (a clock, calls of
host libraries) is listed in ``Capabilities``: a device names there the object that does it, and nobody asks for types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpuprof.device.jobs import HostCall, HostScalar
from gpuprof.errors import CodeLocation
from gpuprof.isa.counters import InstructionCounters
from gpuprof.isa.machine import Dim3
from gpuprof.isa.tensor_map import TensorMap

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


@dataclass(frozen=True)
class MappedTensor:
    """A launch argument: a tensor map (CUtensorMap) of the array that begins at ``pointer``."""

    pointer: Pointer
    map: TensorMap


#: A launch argument: an address, the bytes of a scalar in the width that the cubin's layout asks for, or a tensor map.
LaunchArgument = Pointer | bytes | MappedTensor


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
    unset: tuple[Handle, ...] | None = None  #: buffers of which reads before any store are looked for, where possible
    outputs: tuple[Handle, ...] = ()  #: buffers whose coverage by a sample of blocks is of interest
    offsets: tuple[int, ...] = ()  #: of the arguments in the parameter space; empty: each aligned to its size
    cooperative: bool = False  #: all blocks are resident at once and may wait for one another
    cluster: Dim3 | None = None  #: blocks of a cluster
    reorders: bool = False  #: look whether the result depends on the order of warps, where the device can

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


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
    order: str = ""  #: why the result depends on the order of warps; empty where it does not, or nobody looked
    warnings: tuple[str, ...] = ()  #: what the counting cost, or cannot say
    #: Of a sample: by the identifier of an output, how many bytes the whole grid would have stored to (estimated)
    expected_bytes: Mapping[int, float] = field(default_factory=dict)
    engine: str = ""  #: of the emulator: ``compiled`` or ``numpy``
    engine_note: str = ""  #: why it was not the compiled one
    #: By the identifier of a buffer of ``Launch.unset``: where bytes were read first that no store had reached
    unset_reads: Mapping[int, CodeLocation] = field(default_factory=dict)

    @property
    def scaled(self) -> bool:
        return self.blocks_run < self.blocks_total


class Clock(Protocol):
    """Times what is enqueued on the device's stream."""

    def enqueue(self, launch: Launch) -> None: ...

    def enqueue_fill(self, handle: Handle, byte: int) -> None: ...

    def enqueue_copy(self, target: Handle, source: Handle) -> None:
        """Copy all of ``source`` over ``target``, in the order of the stream, without waiting."""
        ...

    def enqueue_host(self, call: HostCall, arguments: tuple[Pointer | HostScalar, ...]) -> None: ...

    def mark(self) -> Any:
        """An event in the stream, for ``elapsed_us``."""
        ...

    def elapsed_us(self, start: Any, end: Any) -> float: ...

    def flush_l2(self) -> None: ...

    def hold(self) -> None:
        """Let the stream wait until ``release``, so that launches queue up."""
        ...

    def release(self) -> None: ...

    def hold_failed(self) -> bool: ...

    def synchronize(self) -> None: ...


class HostCaller(Protocol):
    """Calls functions of host libraries on its stream."""

    def call_host(self, call: HostCall, arguments: tuple[Pointer | HostScalar, ...]) -> None:
        """Call it and wait; raises LaunchError when it returns anything but 0."""
        ...


class GuardedMemory(Protocol):
    """Says whether the bytes around an allocation were written."""

    def overrun(self, handle: Handle) -> int | None:
        """The first byte offset outside ``handle`` that was written (negative: in front), or None."""
        ...


class NamedMemory(Protocol):
    """Names buffers in messages."""

    def name(self, handle: Handle, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """What to call a buffer and its elements."""
        ...


class PiecewiseMemory(Protocol):
    """Shows its memory without a host copy of all of it."""

    def pieces(self, handle: Handle) -> Iterator[NDArray[np.uint8]]:
        """The bytes from first to last in pieces of a multiple of 8; each is valid until the next is asked for."""
        ...


class ComparedMemory(Protocol):
    """Compares its memory itself."""

    def has_room(self, nbytes: int) -> bool:
        """Whether so much memory may be taken for a copy to compare with."""
        ...

    def equal(self, left: Handle, right: Handle) -> bool:
        """Whether both hold the same bytes."""
        ...


class SupportKernels(Protocol):
    """Takes kernels of gpuprof's own (``support.cu``), without which it cannot hold its stream."""

    support: Path | None


@dataclass(frozen=True)
class Capabilities:
    """What a device can do beyond ``Device``, each by the object that does it; None: it cannot."""

    clock: Clock | None = None
    host_calls: HostCaller | None = None
    guards: GuardedMemory | None = None
    names: NamedMemory | None = None
    pieces: PiecewiseMemory | None = None
    comparison: ComparedMemory | None = None
    support: SupportKernels | None = None


class Device(Protocol):
    """What executes a launch. Errors are ``LaunchError`` and its kinds; every one names its reason."""

    @property
    def description(self) -> DeviceDescription: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def lost(self) -> bool:
        """Whether a fault made the device unusable for this process."""
        ...

    def address_of(self, pointer: Pointer) -> int:
        """The address by which kernels reach it."""
        ...

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

    def set_variable(self, cubin: Path, symbol: str, content: Handle) -> None:
        """Copy all of ``content`` to the variable ``symbol`` (mangled) of a cubin, for the launches that follow."""
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
