"""Addresses of memory operands, and the checks that every access passes: owned, and aligned to its width."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import NotCovered
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.state.faults import memory_fault
from gpuprof.emulator.state.operands import bind_alone, scalar
from gpuprof.sass.model import Instruction, Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Int64 = NDArray[np.int64]
    AddressReader = Callable[[LaneState], Array]

#: modifier -> (bytes, signed) of one lane's access; 4 bytes when none is there.
WIDTHS = {
    "U8": (1, False),
    "S8": (1, True),
    "U16": (2, False),
    "S16": (2, True),
    "32": (4, False),
    "64": (8, False),
    "128": (16, False),
}
_BASE = np.uint64(GLOBAL_BASE)
#: R1 holds the stack pointer in all code that nvcc makes; the stack grows down.
STACK_POINTER = 1
#: Typed loosely, because numpy's stubs know no ``reduce`` of it.
_OR: Any = np.bitwise_or


def access_width(instruction: Instruction) -> tuple[int, bool]:
    """(bytes, signed) of a load or store."""
    for modifier in instruction.modifiers:
        if modifier in WIDTHS:
            return WIDTHS[modifier]
    return 4, False


def memory_operand(instruction: Instruction) -> Operand:
    """The bracketed operand."""
    for operand in instruction.operands:
        if operand.kind is OperandKind.MEMORY:
            return operand
    raise NotCovered("no memory operand")


def wide_address(operand: Operand) -> AddressReader:
    """64-bit address of a global or generic access, as a uint64 array.

    ``desc[UR]`` is a memory descriptor and no part of the address; a uniform register within the brackets is a
    64-bit addend.
    """
    offset = np.uint64(int(operand.value or 0) & (2**64 - 1))
    terms = _wide_terms(operand)
    if not terms:
        fixed = scalar(int(offset), np.uint64)
        return lambda lanes: fixed
    first = terms[0]
    if len(terms) == 1:
        return first if not offset else lambda lanes: np.add(first(lanes), offset)
    second = terms[1]
    return lambda lanes: np.add(np.add(first(lanes), second(lanes)), offset)


def _wide_terms(operand: Operand) -> list[AddressReader]:
    terms: list[AddressReader] = []
    for register in (operand.base, operand.uniform):
        if register is None or register.is_zero:
            continue
        readers = bind_alone(register)
        if "U32" in register.suffixes:
            terms.append(lambda lanes, read=readers.read_raw: read(lanes).astype(np.uint64))  # type: ignore[misc]
        else:
            terms.append(readers.read_u64)
    return terms


def narrow_address(operand: Operand) -> AddressReader:
    """32-bit address of a shared or local access, as an int64 array: register * scale + uniform + offset."""
    offset = np.uint32(int(operand.value or 0) & 0xFFFFFFFF)
    scale = np.uint32(operand.scale)
    base, uniform = operand.base, operand.uniform
    read_base = None if base is None or base.is_zero else bind_alone(base).read_u32
    read_uniform = None if uniform is None or uniform.is_zero else bind_alone(uniform).read_u32

    def address(lanes: LaneState) -> Array:
        total: Array = scalar(0) if read_base is None else read_base(lanes)
        if scale != 1:
            total = np.multiply(total, scale)
        if read_uniform is not None:
            total = np.add(total, read_uniform(lanes))
        result: Array = np.add(total, offset).astype(np.int64)
        return result

    return address


def address_sources(operand: Operand) -> Callable[[LaneState], tuple[Array | None, Array | None]]:
    """The register arrays that an address is made of; the same objects mean the same addresses."""
    base, uniform = operand.base, operand.uniform
    base_index = None if base is None or base.is_zero or base.kind is not OperandKind.REGISTER else base.index
    uniform_index = None if uniform is None or uniform.is_zero else uniform.index

    def sources(lanes: LaneState) -> tuple[Array | None, Array | None]:
        return (
            None if base_index is None else lanes.registers[base_index],
            None if uniform_index is None else lanes.uniforms[uniform_index],
        )

    return sources


class GlobalPlace:
    """Checks the addresses of one global instruction, and remembers the buffer it was in last."""

    __slots__ = ("_last", "instruction", "verb", "width")

    def __init__(self, instruction: Instruction, width: int, verb: str) -> None:
        self.instruction = instruction
        self.width = width
        self.verb = verb
        self._last = (1, 0)  #: start and last end offset of the buffer; one tuple, since threads share it

    def offsets(self, lanes: LaneState, addresses: Array) -> Int64:
        """Arena offsets of the enabled lanes (others may hold anything); raises MemoryFaultError."""
        offsets: Int64 = np.subtract(addresses, _BASE).view(np.int64)
        if offsets.size == 1:
            low = high = bits = int(offsets.flat[0])
        else:
            low, high = int(np.min(offsets)), int(np.max(offsets))
            bits = int(_OR.reduce(offsets.reshape(-1)))
        start, end = self._last
        if low < start or high + self.width > end or bits & (self.width - 1):
            offsets = self._check(lanes, addresses, offsets)
        unset = lanes.launch.unset_reads
        if unset is not None and self.verb != "write":
            unset.look(lanes, self.instruction, offsets, self.width)
        return offsets

    def holds(self, low: int, high: int) -> bool:
        """Whether accesses from ``low`` to ``high`` lie in the buffer that was used last."""
        start, end = self._last
        return low >= start and high + self.width <= end

    def _check(self, lanes: LaneState, addresses: Array, offsets: Int64) -> Int64:
        spread, mask = np.broadcast_arrays(offsets, lanes.mask)
        enabled = spread[mask]
        if not enabled.size:
            return offsets
        if int(_OR.reduce(enabled.reshape(-1))) & (self.width - 1):
            bad = np.logical_and(mask, (spread & (self.width - 1)) != 0)
            message = f"{self.verb} of {self.width} bytes at the misaligned address {{address}}"
            raise memory_fault(lanes, self.instruction, bad, addresses, message)
        arena = lanes.launch.arena
        region = arena.region_of(int(enabled.min()))
        if region is not None and int(enabled.max()) + self.width <= region.end:
            self._last = (region.start, region.end)
            return offsets
        owned = arena.owned(spread, self.width)
        bad = np.logical_and(mask, ~owned)
        if bad.any():
            message = f"{self.verb} of {self.width} bytes out of bounds at {{address}} ({{nearest}})"
            raise memory_fault(lanes, self.instruction, bad, addresses, message)
        return offsets


class WindowPlace:
    """Checks addresses of shared or local memory against the bytes that the block or thread has."""

    __slots__ = ("instruction", "name", "verb", "width")

    def __init__(self, instruction: Instruction, width: int, verb: str, name: str) -> None:
        self.instruction = instruction
        self.width = width
        self.verb = verb
        self.name = name

    def check_shared(self, lanes: LaneState, addresses: Int64) -> None:
        """As ``check``, of shared memory. What the driver keeps at its start is not the kernel's.

        nvcc reads an array of three words with one load of four: what it reads behind the end, up to a multiple of 16
        bytes, it never uses.
        """
        limit = lanes.shared.limit
        if self.width > 4 and self.verb == "read":
            limit = -(-limit // 16) * 16
        self.check(lanes, addresses, limit, lanes.shared.start)

    def check_local(self, lanes: LaneState, addresses: Int64) -> None:
        """As ``check``, of local memory: below the stack pointer nothing is the thread's (R1, by the CUDA ABI)."""
        stack = lanes.registers[STACK_POINTER]
        low = int(stack.flat[0]) if stack.size == 1 else int(np.min(stack))
        self.check(lanes, addresses, lanes.local.limit, low if low <= lanes.local.limit else 0)

    def check(self, lanes: LaneState, addresses: Int64, limit: int, start: int = 0) -> None:
        """Raises MemoryFaultError when an enabled lane is outside of ``start`` to ``limit``, or misaligned."""
        if addresses.size == 1:
            low = high = bits = int(addresses.flat[0])
        else:
            low, high = int(np.min(addresses)), int(np.max(addresses))
            bits = int(_OR.reduce(addresses.reshape(-1)))
        if low >= start and high + self.width <= limit and not bits & (self.width - 1):
            return
        spread, mask = np.broadcast_arrays(addresses, lanes.mask)
        misaligned = np.logical_and(mask, (spread & (self.width - 1)) != 0)
        if misaligned.any():
            message = f"{self.verb} of {self.width} bytes at the misaligned {self.name} address {{address}}"
            raise memory_fault(lanes, self.instruction, misaligned, addresses, message)
        outside = np.logical_and(mask, np.logical_or(spread < start, spread + self.width > limit))
        if outside.any():
            message = (
                f"{self.verb} of {self.width} bytes out of bounds at {self.name} address {{address}}: "
                f"{'the block' if self.name == 'shared' else 'the stack of the thread'} has {limit - start:,} bytes"
                + (f" from 0x{start:x} on" if start else "")
            )
            raise memory_fault(lanes, self.instruction, outside, addresses, message)
