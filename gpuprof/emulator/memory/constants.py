"""Constant banks: their layout in bank 0 per architecture, LDC and its uniform forms, and LEPC."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered, Step
from gpuprof.emulator.memory.addresses import access_width
from gpuprof.emulator.state.operands import ZERO, bind_alone, scalar
from gpuprof.emulator.state.special import first_active
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, PARAMETER_WINDOW_HIGH, SHARED_WINDOW_HIGH
from gpuprof.errors import MemoryFaultError
from gpuprof.isa.constant_bank import BankLayout
from gpuprof.isa.machine import CONSTANT_BANK_BYTES, INSTRUCTION_BYTES
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]

_SIGNED: dict[str, Any] = {"S8": np.int8, "S16": np.int16}
_DTYPES: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def fill_bank(bank: bytearray, layout: BankLayout, block: Any, grid: Any, stack: int, shared: int) -> None:
    """Write the driver's values into bank 0."""
    _put(bank, layout.block, "<III", *block)
    _put(bank, layout.grid, "<III", *grid)
    _put(bank, layout.stack, "<I", stack)
    _put(bank, layout.local_window, "<Q", LOCAL_WINDOW_HIGH << 32)
    _put(bank, layout.shared_window, "<Q", SHARED_WINDOW_HIGH << 32)
    _put(bank, layout.multiprocessors, "<I", 1)
    _put(bank, layout.parameter_pointer, "<Q", PARAMETER_WINDOW_HIGH << 32)
    _put(bank, layout.dynamic_shared, "<I", shared)


def _put(bank: bytearray, offset: int | None, layout: str, *values: int) -> None:
    if offset is not None:
        struct.pack_into(layout, bank, offset, *values)


class ConstantTable(dict[tuple[int, int, int], "NDArray[Any]"]):
    """(bank, byte offset, width) -> the constant as a (1, 1, 1) array, made when first read."""

    def __init__(self, banks: Mapping[int, bytes]) -> None:
        super().__init__()
        self.banks = banks

    def __missing__(self, key: tuple[int, int, int]) -> Array:
        bank, offset, width = key
        value = scalar(self.number(bank, offset, width), np.uint64 if width == 8 else np.uint32)
        self[key] = value
        return value

    def number(self, bank: int, offset: int, width: int) -> int:
        """A constant as an unsigned number; bytes past the end of a bank are 0, as the driver pads it."""
        if offset < 0 or offset + width > CONSTANT_BANK_BYTES:
            raise MemoryFaultError(
                f"constant c[0x{bank:x}][0x{offset:x}] lies outside its bank of {CONSTANT_BANK_BYTES:,} bytes"
            )
        return int.from_bytes(self.banks.get(bank, b"")[offset : offset + width], "little")

    def gather(self, bank: int, index: Array, offset: int, width: int) -> Array:
        """Constants at ``index + offset``, one per element."""
        distinct, inverse = np.unique(index, return_inverse=True)
        numbers = [self.number(bank, (int(value) + offset) & 0xFFFFFFFF, width) for value in distinct]
        values = np.array(numbers, np.uint64).astype(np.uint64 if width == 8 else np.uint32)
        return values[inverse].reshape(index.shape)


def load(decoded: Decoded, index: int) -> Step:
    """LDC, ULDC and LDCU in every width."""
    target, source = decoded.operands[0], decoded.operands[-1]
    if source.kind is not OperandKind.CONSTANT or source.bank is None:
        raise NotCovered(f"operand {source.text}")
    width, _ = access_width(decoded.instruction)
    signed = next((_SIGNED[word] for word in decoded.modifiers if word in _SIGNED), None)
    if any(word in ("IL", "IS", "ISL") for word in decoded.modifiers):
        raise NotCovered("LDC addressing modes IL, IS and ISL")
    uniform = target.kind is OperandKind.UNIFORM
    parts = [(step, min(width, 4)) for step in range(0, width, 4)]

    def execute(lanes: LaneState) -> None:
        values = [_read(lanes, source, step, size) for step, size in parts]  # the index may be a target too
        for number, value in enumerate(values):
            if signed is not None:
                value = value.astype(signed).astype(np.int32).view(np.uint32)
            if uniform and value.shape[2] > 1:
                value = first_active(lanes, value)
            lanes.set_u32_next(target, number, value)

    return execute


def _read(lanes: LaneState, source: Operand, step: int, width: int) -> Array:
    bank, offset = source.bank or 0, int(source.value or 0) + step
    if source.base is None or source.base.is_zero:
        return lanes.constants[bank, offset, width]
    return lanes.gather_constant(bank, bind_alone(source.base).read_u32(lanes), offset, width)


def load_program_counter(decoded: Decoded, index: int) -> Step:
    """LEPC Rd: its own address; LEPC Rd, label: the label's (sm_90 and later)."""
    target = decoded.operands[0]
    label = decoded.operands[1] if len(decoded.operands) > 1 else None
    own = index * INSTRUCTION_BYTES

    def execute(lanes: LaneState) -> None:
        if label is None:
            place = own
        else:
            place = own - decoded.instruction.address + int(label.value or 0)
        lanes.set_u64(target, scalar(lanes.code_base + place, np.uint64))

    return execute


__all__ = ["ZERO", "ConstantTable", "fill_bank", "load", "load_program_counter"]
