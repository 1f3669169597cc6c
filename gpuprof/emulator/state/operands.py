"""Operands bound once, when a kernel is decoded: each carries the functions that read it from the lanes' state.

Semantics pass operands through untouched, so an operand can carry its own compiled readers; a read is then one call,
with nothing parsed. Every value has the three axes (blocks, warps, lanes) of the contract in ``semantics.base``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import NotCovered
from gpuprof.sass.model import Instruction, Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import LaneState

    Array = NDArray[Any]
    Reader = Callable[[LaneState], Array]

MASK32 = 0xFFFFFFFF
SIGN32 = np.uint32(0x80000000)
ABS32 = np.uint32(0x7FFFFFFF)
SIGN64 = np.uint64(1 << 63)
ABS64 = np.uint64((1 << 63) - 1)


def scalar(value: int, dtype: Any = np.uint32) -> Array:
    """``value`` as a (1, 1, 1) array."""
    return np.full((1, 1, 1), value, dtype)


ZERO = scalar(0)
ZERO64 = scalar(0, np.uint64)
TRUE = scalar(1, np.bool_)
FALSE = scalar(0, np.bool_)


@dataclass(frozen=True, kw_only=True)
class BoundOperand(Operand):
    """An operand with its readers. ``raw`` has no modifier applied, the others those of their type."""

    read_raw: Reader = field(compare=False, repr=False)
    read_u32: Reader = field(compare=False, repr=False)
    read_u64: Reader = field(compare=False, repr=False)
    read_f32: Reader = field(compare=False, repr=False)
    read_f64: Reader = field(compare=False, repr=False)
    read_predicate: Reader = field(compare=False, repr=False)


def bind(operand: Operand, encoding: int) -> BoundOperand:
    """``operand`` of an instruction with this 128-bit encoding, with its readers."""
    raw, raw64 = _raw_readers(operand, encoding)
    return BoundOperand(
        **{entry.name: getattr(operand, entry.name) for entry in fields(Operand)},
        read_raw=raw,
        read_u32=_integer(raw, operand, np.uint32),
        read_u64=_integer(raw64, operand, np.uint64),
        read_f32=_floating(raw, operand, np.float32),
        read_f64=_floating(raw64, operand, np.float64),
        read_predicate=_predicate(operand),
    )


def bound(operand: Operand) -> BoundOperand:
    """The operand with its readers, bound now where it was not yet."""
    return operand if type(operand) is BoundOperand else bind_alone(operand)


@lru_cache(maxsize=4096)
def bind_alone(operand: Operand) -> BoundOperand:
    """An operand made by a semantics itself, outside any encoding."""
    return bind(operand, 0)


def bind_instruction(instruction: Instruction) -> Instruction:
    """The instruction with all its operands bound."""
    operands = tuple(bind(operand, instruction.encoding) for operand in instruction.operands)
    guard = instruction.predicate
    return replace(
        instruction,
        operands=operands,
        predicate=None if guard is None else bind(guard, instruction.encoding),
    )


def _raw_readers(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    """Readers of the 32 and of the 64 bits of an operand, without modifiers."""
    if operand.is_zero:
        return (lambda lanes: ZERO), (lambda lanes: ZERO64)
    maker = _RAW.get(operand.kind)
    if maker is None:
        return _unreadable(operand), _unreadable(operand)
    return maker(operand, encoding)


def _register(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    index = operand.index
    return (lambda lanes: lanes.registers[index]), (lambda lanes: lanes.register_pair(index))


def _uniform(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    index = operand.index
    return (lambda lanes: lanes.uniforms[index]), (lambda lanes: lanes.uniform_pair(index))


def _immediate(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    value = int(operand.value or 0)
    word, double = scalar(value & MASK32), scalar(value & (2**64 - 1), np.uint64)
    return (lambda lanes: word), (lambda lanes: double)


def _float_immediate(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    """The printed number is rounded for reading; the bits are bits 63:32 of the encoding, a double's high word."""
    bits = encoding >> 32 & MASK32
    if not encoding:
        bits = int(np.float32(operand.value or 0).view(np.uint32))
    word, double = scalar(bits), scalar(bits << 32, np.uint64)
    return (lambda lanes: word), (lambda lanes: double)


def _label(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    """A place in the code: ``32@lo(f)`` and ``32@hi(f)`` take a half of its address in the code window."""
    if operand.value is None:
        return _unreadable(operand), _unreadable(operand)
    address, high = int(operand.value), "hi" in operand.relocation

    def word(lanes: LaneState) -> Array:
        absolute = lanes.code_base + address
        return scalar((absolute >> 32 if high else absolute) & MASK32)

    return word, lambda lanes: scalar(lanes.code_base + address, np.uint64)


def _constant(operand: Operand, encoding: int) -> tuple[Reader, Reader]:
    offset = int(operand.value or 0)
    bank_register = operand.descriptor
    if bank_register is not None or operand.bank is None:
        return _unreadable(operand), _unreadable(operand)
    bank, base = operand.bank, operand.base
    if base is None or base.is_zero:
        key, key64 = (bank, offset, 4), (bank, offset, 8)
        return (lambda lanes: lanes.constants[key]), (lambda lanes: lanes.constants[key64])
    index = bind_alone(base)

    def word(lanes: LaneState) -> Array:
        return lanes.gather_constant(bank, index.read_u32(lanes), offset, 4)

    return word, lambda lanes: lanes.gather_constant(bank, index.read_u32(lanes), offset, 8)


_RAW: dict[OperandKind, Callable[[Operand, int], tuple[Reader, Reader]]] = {
    OperandKind.REGISTER: _register,
    OperandKind.UNIFORM: _uniform,
    OperandKind.IMMEDIATE: _immediate,
    OperandKind.FLOAT: _float_immediate,
    OperandKind.LABEL: _label,
    OperandKind.CONSTANT: _constant,
}


def _unreadable(operand: Operand) -> Reader:
    def read(lanes: LaneState) -> Array:
        raise NotCovered(f"operand {operand.text} has no value here")

    return read


def _integer(raw: Reader, operand: Operand, dtype: Any) -> Reader:
    if operand.kind in (OperandKind.IMMEDIATE, OperandKind.FLOAT):
        return raw  # the sign is in the value
    if operand.negate:
        zero = dtype(0)
        return lambda lanes: np.subtract(zero, raw(lanes))
    if operand.invert:
        return lambda lanes: np.invert(raw(lanes))
    return raw


def _floating(raw: Reader, operand: Operand, dtype: Any) -> Reader:
    sign, magnitude = (SIGN32, ABS32) if dtype is np.float32 else (SIGN64, ABS64)
    if operand.kind in (OperandKind.IMMEDIATE, OperandKind.FLOAT) or not (operand.negate or operand.absolute):
        return lambda lanes: raw(lanes).view(dtype)
    if not operand.absolute:
        return lambda lanes: np.bitwise_xor(raw(lanes), sign).view(dtype)
    if not operand.negate:
        return lambda lanes: np.bitwise_and(raw(lanes), magnitude).view(dtype)
    return lambda lanes: np.bitwise_or(raw(lanes), sign).view(dtype)


def _predicate(operand: Operand) -> Reader:
    if operand.kind not in (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE):
        return _unreadable(operand)
    if operand.is_zero:
        value = FALSE if operand.negate else TRUE
        return lambda lanes: value
    index = operand.index
    if operand.kind is OperandKind.PREDICATE:
        if operand.negate:
            return lambda lanes: np.logical_not(lanes.predicates[index])
        return lambda lanes: lanes.predicates[index]
    if operand.negate:
        return lambda lanes: np.logical_not(lanes.uniform_predicates[index])
    return lambda lanes: lanes.uniform_predicates[index]
