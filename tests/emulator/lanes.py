"""A small machine for tests of semantics: registers and predicates of one fragment, all lanes active by default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded
from gpuprof.emulator.semantics.catalog import bind
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.operands import parse_operand

NUMBERED = (OperandKind.REGISTER, OperandKind.UNIFORM)


class SmallLanes:
    """The Lanes protocol over dictionaries: ``registers["R4"]`` is uint32, ``predicates["P0"]`` bool."""

    def __init__(self, blocks: int = 1, warps: int = 1) -> None:
        self.blocks, self.warps = blocks, warps
        self.registers: dict[str, np.ndarray] = {}
        self.predicates: dict[str, np.ndarray] = {}
        self.mask = np.ones((blocks, warps, 32), np.bool_)
        self.constants: dict[tuple[int, int], int] = {}
        self.encoded: int | None = None

    def active(self) -> np.ndarray:
        return self.mask

    def full(self, value: np.ndarray) -> np.ndarray:
        return np.broadcast_to(value, (self.blocks, self.warps, 32))

    def raw(self, operand: Operand) -> np.ndarray:
        return self._word(operand, 0)

    def _word(self, operand: Operand, step: int) -> np.ndarray:
        if operand.is_zero:
            return np.zeros((1, 1, 1), np.uint32)
        if operand.kind in NUMBERED:
            return self.registers[self._name(operand, step)]
        if operand.kind is OperandKind.IMMEDIATE:
            value = int(operand.value or 0)
            return np.full((1, 1, 1), (value >> 32 * step if step else value) & 0xFFFFFFFF, np.uint32)
        if operand.kind is OperandKind.FLOAT:
            return np.full((1, 1, 1), operand.value, np.float32).view(np.uint32)
        return np.full((1, 1, 1), self.constants[operand.bank or 0, int(operand.value or 0) + 4 * step], np.uint32)

    @staticmethod
    def _name(operand: Operand, step: int) -> str:
        return f"{'R' if operand.kind is OperandKind.REGISTER else 'UR'}{operand.index + step}"

    def u32(self, operand: Operand) -> np.ndarray:
        value = self.raw(operand)
        if operand.invert:
            return ~value
        return np.negative(value) if operand.negate else value

    def s32(self, operand: Operand) -> np.ndarray:
        return self.u32(operand).view(np.int32)

    def u32_next(self, operand: Operand, step: int) -> np.ndarray:
        return self._word(operand, step)

    def u64(self, operand: Operand) -> np.ndarray:
        value = self._raw64(operand)
        if operand.invert:
            return ~value
        return np.negative(value) if operand.negate else value

    def _raw64(self, operand: Operand) -> np.ndarray:
        return self._word(operand, 0) | self._word(operand, 1).astype(np.uint64) << np.uint64(32)

    def s64(self, operand: Operand) -> np.ndarray:
        return self.u64(operand).view(np.int64)

    def f32(self, operand: Operand) -> np.ndarray:
        return self._signs(operand, self.raw(operand), np.uint32(0x80000000)).view(np.float32)

    def f64(self, operand: Operand) -> np.ndarray:
        if operand.kind is OperandKind.FLOAT:
            return np.full((1, 1, 1), operand.value, np.float64)
        return self._signs(operand, self._raw64(operand), np.uint64(1 << 63)).view(np.float64)

    @staticmethod
    def _signs(operand: Operand, bits: np.ndarray, sign: Any) -> np.ndarray:
        if operand.absolute:
            bits = bits & ~sign
        return bits ^ sign if operand.negate else bits

    def predicate(self, operand: Operand) -> np.ndarray:
        if operand.is_zero:
            return np.full((1, 1, 1), not operand.negate)
        value = self.predicates[("UP" if operand.kind is OperandKind.UNIFORM_PREDICATE else "P") + str(operand.index)]
        return ~value if operand.negate else value

    def set_u32(self, operand: Operand, value: np.ndarray) -> None:
        self.set_u32_next(operand, 0, value)

    def set_u32_next(self, operand: Operand, step: int, value: np.ndarray) -> None:
        assert value.dtype == np.uint32, value.dtype
        if operand.is_zero:
            return
        name = self._name(operand, step)
        self.registers[name] = self._merged(self.registers.get(name), value)

    def _merged(self, old: np.ndarray | None, value: np.ndarray) -> np.ndarray:
        if old is None or self.mask.all():
            return value
        return np.where(self.mask, value, old)

    def set_u64(self, operand: Operand, value: np.ndarray) -> None:
        assert value.dtype == np.uint64, value.dtype
        self.set_u32_next(operand, 0, value.astype(np.uint32))
        self.set_u32_next(operand, 1, (value >> np.uint64(32)).astype(np.uint32))

    def set_f32(self, operand: Operand, value: np.ndarray) -> None:
        assert value.dtype == np.float32, value.dtype
        self.set_u32(operand, value.view(np.uint32))

    def set_f64(self, operand: Operand, value: np.ndarray) -> None:
        assert value.dtype == np.float64, value.dtype
        self.set_u64(operand, value.view(np.uint64))

    def set_predicate(self, operand: Operand, value: np.ndarray) -> None:
        assert value.dtype == np.bool_, value.dtype
        if operand.is_zero:
            return
        name = ("UP" if operand.kind is OperandKind.UNIFORM_PREDICATE else "P") + str(operand.index)
        self.predicates[name] = self._merged(self.predicates.get(name), value)


def decoded(text: str, *, encoded_constant: int = 0, arch: int = 89) -> Decoded:
    """An instruction from its text; ``encoded_constant`` are bits 63:32 of the encoding."""
    name, _, tail = text.partition(" ")
    opcode, *modifiers = name.split(".")
    operands = tuple(parse_operand(piece.strip()) for piece in tail.split(",")) if tail else ()
    instruction = Instruction(
        address=0,
        text=text,
        predicate=None,
        opcode=opcode,
        modifiers=tuple(modifiers),
        operands=operands,
        encoding=encoded_constant << 32,
    )
    return Decoded(replace(instruction), arch)


def execute(text: str, lanes: SmallLanes, *, encoded_constant: int = 0, arch: int = 89) -> SmallLanes:
    """Bind and run one instruction on the lanes, with numpy's warnings off as the executor has them."""
    run = bind(decoded(text, encoded_constant=encoded_constant, arch=arch))
    with np.errstate(all="ignore"):
        run(lanes)
    return lanes


def warp(values: Any, dtype: Any = np.uint32) -> np.ndarray:
    """Values as a register of one block: (1, warps, 32), padded with zeros."""
    flat = np.asarray(values, dtype).ravel()
    warps = -(-flat.size // 32)
    padded = np.zeros(warps * 32, dtype)
    padded[: flat.size] = flat
    array = padded.reshape(1, warps, 32)
    return array if dtype == np.bool_ else array.view(np.uint32) if array.itemsize == 4 else array


def run(text: str, *, result: str = "R0", predicates: dict[str, Any] | None = None, **registers: Any) -> np.ndarray:
    """Run one instruction with the given registers (32-bit values; 64-bit ones fill a pair); the result's words."""
    lanes = lanes_with(predicates=predicates, **registers)
    execute(text, lanes)
    found = lanes.predicates if result.lstrip("U").startswith("P") else lanes.registers
    return lanes.full(found[result]).ravel()


def lanes_with(predicates: dict[str, Any] | None = None, **registers: Any) -> SmallLanes:
    """A machine with these registers, as many warps as they need."""
    arrays = {name: np.asarray(value) for name, value in registers.items()}
    count = max((array.size for array in arrays.values()), default=32)
    lanes = SmallLanes(1, -(-count // 32))
    for name, array in arrays.items():
        if array.itemsize == 8:
            words = np.ascontiguousarray(array).view(np.uint32).reshape(-1, 2)
            prefix, index = name.rstrip("0123456789"), int(name.lstrip("UR"))
            lanes.registers[name] = warp(words[:, 0])
            lanes.registers[f"{prefix}{index + 1}"] = warp(words[:, 1])
        else:
            lanes.registers[name] = warp(array, array.dtype)
    for name, value in (predicates or {}).items():
        lanes.predicates[name] = warp(value, np.bool_)
    return lanes
