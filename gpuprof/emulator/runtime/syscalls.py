"""Functions of the device runtime that kernels call: vprintf, __assertfail, malloc and free.

Kernels reach them through LEPC and CALL.ABS, with arguments from R4 on, the return address in R20 and R21, and the
result in R4 (and R5). Their own instructions are not executed and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.runtime.heap import Heap
from gpuprof.emulator.runtime.printf import format_printf
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, SHARED_WINDOW_HIGH
from gpuprof.errors import CodeLocation, DeviceAssertError, EmulationError, MemoryFaultError, UnknownInstructionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, GlobalMemory
    from gpuprof.emulator.contract import Heap as DeviceHeap
    from gpuprof.emulator.options import EmulationOptions

    Array = NDArray[Any]

#: A lane of a batch: block row, warp, lane.
Lane = tuple[int, int, int]

_SYSTEM_BASE = 0x7D80_0000_0000
_RETURN_REGISTER = 20
_FIRST_ARGUMENT = 4
_MAX_STRING_BYTES = 4096


def system_address(name: str) -> int:
    """Where a runtime function lies in the address space."""
    known = tuple(_FUNCTIONS)
    index = known.index(name) if name in known else len(known) + sum(name.encode()) % 4096
    return _SYSTEM_BASE + 16 * index


class Runtime:
    """What the runtime functions of one launch share: printed text and the heap."""

    def __init__(self, arena: GlobalMemory, functions: Mapping[int, str], options: EmulationOptions) -> None:
        self.arena = arena
        self.functions = functions
        self.options = options
        self._printed: list[str] = []
        self._printed_bytes = 0

    @property
    def text(self) -> str:
        """What was printed so far."""
        return "".join(self._printed)

    def call(self, batch: Batch, pc: int, location: CodeLocation) -> int:
        """Run the function at program counter ``pc`` for the active lanes; returns where they go on."""
        name = self.functions.get(batch.code_base + pc)
        if name is None:
            raise EmulationError(f"a jump to 0x{batch.code_base + pc:x}, where there is no code", location)
        function = _FUNCTIONS.get(name)
        if function is None:
            raise UnknownInstructionError(f"the emulator does not know the runtime function {name}", location)
        function(self, batch, location)
        back = batch.full(batch.register_pair(_RETURN_REGISTER))[batch.active()]
        return int(back[0]) - batch.code_base

    def print(self, text: str) -> None:
        """Append to the output; beyond the limit of the printf buffer nothing is kept."""
        if self._printed_bytes >= self.options.printf_bytes:
            return
        self._printed_bytes += len(text)
        self._printed.append(text)
        if self._printed_bytes >= self.options.printf_bytes:
            self._printed.append(f"\n[printf output cut at {self.options.printf_bytes:,} bytes]\n")

    def heap(self) -> DeviceHeap:
        """The heap of the device; what kernels allocate outlives the launch."""
        if self.arena.heap is None:
            self.arena.heap = Heap(self.arena.allocate(self.options.heap_bytes), self.options.heap_bytes)
        return self.arena.heap


def _print(runtime: Runtime, batch: Batch, location: CodeLocation) -> None:
    """vprintf(format, arguments)."""
    for lane in _lanes(batch):
        text = _string(batch, _argument64(batch, lane, 0), lane, location)
        buffer = _argument64(batch, lane, 2)

        def read(offset: int, size: int, lane: Lane = lane, buffer: int = buffer) -> bytes:
            return _read(batch, buffer + offset, size, lane, location)

        def string_at(address: int, lane: Lane = lane) -> str:
            return _string(batch, address, lane, location)

        runtime.print(format_printf(text, read, string_at))
    _return(batch, 0, np.zeros((1, 1, 1), np.uint32))


def _assert_failed(runtime: Runtime, batch: Batch, location: CodeLocation) -> None:
    """__assertfail(expression, file, line, function, character size)."""
    lane = next(_lanes(batch))
    expression, file = (_string(batch, _argument64(batch, lane, number), lane, location) for number in (0, 2))
    line = _argument32(batch, lane, 4)
    function = _string(batch, _argument64(batch, lane, 6), lane, location)
    raise DeviceAssertError(f"{file}:{line}: {function}: assertion `{expression}` failed", location)


def _allocate(runtime: Runtime, batch: Batch, location: CodeLocation) -> None:
    """malloc(bytes)."""
    result = np.zeros((batch.block_count, batch.warp_count, WARP), np.uint64)
    for lane in _lanes(batch):
        result[lane] = runtime.heap().allocate(_argument64(batch, lane, 0))
    _return(batch, 0, result.astype(np.uint32))
    _return(batch, 1, np.right_shift(result, np.uint64(32)).astype(np.uint32))


def _free(runtime: Runtime, batch: Batch, location: CodeLocation) -> None:
    """free(pointer)."""
    for lane in _lanes(batch):
        address = _argument64(batch, lane, 0)
        if address and not runtime.heap().free(address):
            raise MemoryFaultError(f"free of 0x{address:x}, which malloc did not return or which was freed", location)


_FUNCTIONS: dict[str, Callable[[Runtime, Any, CodeLocation], None]] = {
    "vprintf": _print,
    "__assertfail": _assert_failed,
    "malloc": _allocate,
    "free": _free,
}


def _lanes(batch: Batch) -> Iterator[Lane]:
    """The active lanes in the order block, warp, lane."""
    for row, warp, lane in zip(*np.nonzero(batch.active()), strict=True):
        yield int(row), int(warp), int(lane)


def _argument32(batch: Batch, lane: Lane, number: int) -> int:
    return int(batch.full(batch.registers[_FIRST_ARGUMENT + number])[lane])


def _argument64(batch: Batch, lane: Lane, number: int) -> int:
    return _argument32(batch, lane, number) | _argument32(batch, lane, number + 1) << 32


def _return(batch: Batch, number: int, value: Array) -> None:
    index = _FIRST_ARGUMENT + number
    old = batch.registers[index]
    batch.registers[index] = value if batch.write_mask is None else np.where(batch.write_mask, value, old)


def _read(batch: Batch, address: int, size: int, lane: Lane, location: CodeLocation) -> bytes:
    """Bytes at a generic address, as one lane sees them."""
    high, low = address >> 32, address & 0xFFFFFFFF
    if high == LOCAL_WINDOW_HIGH and low + size <= batch.local.limit:
        number = int(batch.full(batch.lane_numbers)[lane])
        first, last = low >> 2, (low + size + 3) >> 2
        words = batch.local.words.reshape(len(batch.local.words), -1)[first:last, number]
        return words.tobytes()[low & 3 : (low & 3) + size]
    if high == SHARED_WINDOW_HIGH and low + size <= batch.shared.limit:
        row = int(batch.full(batch.row_offsets(1))[lane])
        return bytes(batch.shared.rows(1)[row, low : low + size])
    region = batch.launch.arena.region_of(address - GLOBAL_BASE)
    if region is None or address - GLOBAL_BASE + size > region.end:
        raise MemoryFaultError(f"the device runtime was given the bad address 0x{address:x}", location)
    return bytes(batch.launch.arena.view(address, size))


def _string(batch: Batch, address: int, lane: Lane, location: CodeLocation) -> str:
    """The zero-terminated string at a generic address."""
    if not address:
        return "(null)"
    found = bytearray()
    while len(found) < _MAX_STRING_BYTES:
        byte = _read(batch, address + len(found), 1, lane, location)
        if byte == b"\0":
            break
        found += byte
    return found.decode("utf-8", "replace")
