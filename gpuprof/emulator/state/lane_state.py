"""The state of a batch of blocks: registers, predicates, masks; and the reading and writing that semantics ask for.

Every value is an array of the axes (blocks, warps, 32 lanes), each full or of length 1 ("the same along it"), and
is never written in place. A write under a partial mask makes a fresh array; a write by all live lanes just rebinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import WARP
from gpuprof.emulator.state.operands import FALSE, TRUE, ZERO, ZERO64, bound, scalar
from gpuprof.emulator.state.parts import file_of_registers, fresh, own, per_warp, same, table
from gpuprof.emulator.state.special_values import block_registers
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Constants, LaunchContext, LocalMemory, SharedMemory
    from gpuprof.emulator.counting.counters import Counters

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

REGISTERS = 256
UNIFORMS = 256
#: Convergence barriers B0..B15, and two more slots for the masks that a WARPSYNC waits for.
BARRIERS = 18
_HIGH = np.uint64(32)


@dataclass(eq=False, kw_only=True)
class LaneState:
    """The lanes of a batch: ``blocks`` x ``warps`` x 32. Implements ``contract.LaneState``.

    ``mask`` are the lanes that execute the current instruction (fragment and guard). ``write_mask`` is None where a
    write may simply rebind, because no other live lane could lose its value. Each field says how it passes to a part
    of the batch (``state.parts``).
    """

    launch: LaunchContext = same()
    counters: Counters = same()
    shared: SharedMemory = same()
    local: LocalMemory = same()
    constants: Constants = same()
    code_base: int = same()
    lane_stride: int = same()  #: lanes of the whole batch
    block_ids: NDArray[np.int64] = own()
    block_count: int = own()
    warp_count: int = own()
    size: int = own()
    lane_numbers: Array = per_warp()
    thread_values: Mapping[str, Array] = table()
    block_values: Mapping[str, Array] = table()
    registers: list[Array] = file_of_registers()
    uniforms: list[Array] = file_of_registers()
    predicates: list[Array] = file_of_registers()
    uniform_predicates: list[Array] = file_of_registers()
    barriers: list[Array] = file_of_registers()
    restored: list[Bool] = file_of_registers()  #: lanes whose barrier register came back from a BMOV
    mask: Bool = fresh(lambda: TRUE)
    write_mask: Bool | None = fresh(None)
    lanes_on: int = fresh(0)  #: active lanes of the current fragment
    memo: dict[int, Any] = fresh(dict)  #: instruction number -> addresses it used last
    rows: Array | None = own(default=None)  #: in a part: (warps, 1, 1) rows of the whole batch
    warp_numbers: Array | None = own(default=None)  #: in a part: warp of each row
    _pairs: list[tuple[Array, Array, Array] | None] = fresh(lambda: [None] * (REGISTERS + 4))

    def place_of_part(self, rows: Array, warps: Array) -> dict[str, Any]:
        """The fields that say which lanes of this state the warps (rows[i], warps[i]) are."""
        return {
            "block_ids": self.block_ids[rows],
            "block_count": len(rows),
            "warp_count": 1,
            "size": len(rows) * WARP,
            "rows": (rows if self.rows is None else self.rows[rows, 0, 0]).reshape(-1, 1, 1),
            "warp_numbers": warps if self.warp_numbers is None else self.warp_numbers[rows],
        }

    def row_offsets(self, stride: int) -> Array:
        """(blocks, 1, 1): where each block's row of ``stride`` elements begins."""
        rows = np.arange(self.block_count).reshape(-1, 1, 1) if self.rows is None else self.rows
        return rows * stride

    def identify(self, row: int, warp: int) -> tuple[int, int]:
        """(block number in the grid, warp number in the block) of a row and warp of this state."""
        if self.warp_numbers is not None:
            warp = int(self.warp_numbers[row])
        return int(self.block_ids[row]), warp

    # -- the contract -----------------------------------------------------------------------------------------------
    @property
    def blocks(self) -> int:
        return self.block_count

    @property
    def warps(self) -> int:
        return self.warp_count

    def active(self) -> Bool:
        """(blocks, warps, 32): lanes that execute the instruction."""
        return np.broadcast_to(self.mask, (self.block_count, self.warp_count, WARP))

    def full(self, value: Array) -> Array:
        """``value`` broadcast to (blocks, warps, 32)."""
        return np.broadcast_to(value, (self.block_count, self.warp_count, WARP))

    def raw(self, operand: Operand) -> Array:
        return bound(operand).read_raw(self)

    def u32(self, operand: Operand) -> Array:
        return bound(operand).read_u32(self)

    def s32(self, operand: Operand) -> Array:
        return bound(operand).read_u32(self).view(np.int32)

    def u64(self, operand: Operand) -> Array:
        return bound(operand).read_u64(self)

    def s64(self, operand: Operand) -> Array:
        return bound(operand).read_u64(self).view(np.int64)

    def f32(self, operand: Operand) -> Array:
        return bound(operand).read_f32(self)

    def f64(self, operand: Operand) -> Array:
        return bound(operand).read_f64(self)

    def predicate(self, operand: Operand) -> Bool:
        return bound(operand).read_predicate(self)

    def u32_next(self, operand: Operand, step: int) -> Array:
        if operand.is_zero:
            return ZERO
        if operand.kind is OperandKind.REGISTER:
            return self.registers[operand.index + step]
        if operand.kind is OperandKind.UNIFORM:
            return self.uniforms[operand.index + step]
        if operand.kind is OperandKind.CONSTANT and operand.bank is not None and operand.base is None:
            return self.constants[operand.bank, int(operand.value or 0) + 4 * step, 4]
        word = bound(operand).read_u64(self)
        return (word >> _HIGH).astype(np.uint32) if step == 1 else ZERO

    def set_u32(self, operand: Operand, value: Array) -> None:
        if not operand.is_zero:
            self._write(operand, operand.index, _word(value))

    def set_f32(self, operand: Operand, value: Array) -> None:
        if not operand.is_zero:
            value = value if value.dtype == np.float32 else value.astype(np.float32)
            self._write(operand, operand.index, value.view(np.uint32))

    def set_u32_next(self, operand: Operand, step: int, value: Array) -> None:
        if not operand.is_zero:
            self._write(operand, operand.index + step, _word(value))

    def set_u64(self, operand: Operand, value: Array) -> None:
        if operand.is_zero:
            return
        if operand.kind is OperandKind.REGISTER:
            self.write_pair(operand.index, _double_word(value))
        else:
            low, high = halves(_double_word(value))
            self._write(operand, operand.index, low)
            self._write(operand, operand.index + 1, high)

    def set_f64(self, operand: Operand, value: Array) -> None:
        self.set_u64(operand, value.view(np.uint64))

    def set_predicate(self, operand: Operand, value: Array) -> None:
        if operand.is_zero:
            return
        uniform = operand.kind is OperandKind.UNIFORM_PREDICATE
        file = self.uniform_predicates if uniform else self.predicates
        mask = self._uniform_mask() if uniform else self.write_mask
        if value.dtype != np.bool_:
            value = value != 0
        file[operand.index] = value if mask is None else np.where(mask, value, file[operand.index])

    # -- pairs ------------------------------------------------------------------------------------------------------
    def register_pair(self, index: int) -> Array:
        """Registers ``index`` and ``index + 1`` as one 64-bit value; free when they were written as a pair."""
        low, high = self.registers[index], self.registers[index + 1]
        known = self._pairs[index]
        if known is not None and known[0] is low and known[1] is high:
            return known[2]
        value = join(low, high)
        self._pairs[index] = (low, high, value)
        return value

    def uniform_pair(self, index: int) -> Array:
        return join(self.uniforms[index], self.uniforms[index + 1])

    def write_pair(self, index: int, value: Array) -> None:
        """Write a 64-bit value into two registers; the halves are views of it, so that reading it back is free."""
        if self.write_mask is not None:
            value = np.where(self.write_mask, value, self.register_pair(index))
        low, high = halves(value)
        self.registers[index], self.registers[index + 1] = low, high
        self._pairs[index] = (low, high, value)

    # -- constants and masks ----------------------------------------------------------------------------------------
    def gather_constant(self, bank: int, index: Array, offset: int, width: int) -> Array:
        """A constant at a computed offset: one value per distinct index. Lanes that are off may hold any index."""
        if index.size == 1:
            return self.constants[bank, (int(index.flat[0]) + offset) & 0xFFFFFFFF, width]
        here = self.active() if index.shape[2] > 1 else self.active().any(axis=2, keepdims=True)
        shape = np.broadcast_shapes(index.shape, here.shape)
        here, index = np.broadcast_to(here, shape), np.broadcast_to(index, shape)
        values = np.zeros(shape, np.uint64 if width == 8 else np.uint32)
        values[here] = self.constants.gather(bank, index[here], offset, width)
        return values

    def _write(self, operand: Operand, index: int, value: Array) -> None:
        if operand.kind is OperandKind.UNIFORM:
            file, mask = self.uniforms, self._uniform_mask()
        else:
            file, mask = self.registers, self.write_mask
        file[index] = value if mask is None else np.where(mask, value, file[index])

    def _uniform_mask(self) -> Bool | None:
        """Which warps execute: a uniform register is written for a warp when any lane of it is there."""
        if self.write_mask is None:
            return None
        return np.asarray(np.logical_and(self.write_mask, self.mask).any(axis=2, keepdims=True))

    def count_lanes(self, mask: Bool) -> int:
        """Number of true lanes of a broadcast mask."""
        return int(np.count_nonzero(mask)) * (self.size // mask.size)

    def count_warps(self, mask: Bool) -> int:
        """Number of warps with a true lane."""
        if mask.size == 1:
            return self.block_count * self.warp_count if mask.flat[0] else 0
        warps = mask.any(axis=2)
        return int(np.count_nonzero(warps)) * (self.block_count * self.warp_count // warps.size)


def _word(value: Array) -> Array:
    if value.dtype == np.uint32:
        return value
    if value.dtype.itemsize == 4 and value.dtype != np.bool_:
        return value.view(np.uint32)
    return value.astype(np.uint32)


def _double_word(value: Array) -> Array:
    if value.dtype == np.uint64:
        return value
    return value.view(np.uint64) if value.dtype.itemsize == 8 else value.astype(np.uint64)


def halves(value: Array) -> tuple[Array, Array]:
    """Low and high words of a uint64 array, as views."""
    if value.size == 1:
        number = int(value.flat[0])
        return scalar(number & 0xFFFFFFFF), scalar(number >> 32)
    words = np.ascontiguousarray(value).view(np.uint32)
    return words[..., 0::2], words[..., 1::2]


def join(low: Array, high: Array) -> Array:
    """A uint64 array of two words."""
    if low is ZERO and high is ZERO:
        return ZERO64
    result: Array = np.bitwise_or(np.left_shift(high.astype(np.uint64), _HIGH), low)
    return result


def initial_state(launch: LaunchContext, block_ids: NDArray[np.int64]) -> dict[str, Any]:
    """The fields of a state in which nothing has run: the lanes of these blocks, and registers that hold poison."""
    unset = scalar(launch.options.poison)
    size = len(block_ids) * launch.warps * WARP
    return {
        "constants": launch.constants,
        "code_base": launch.code_base,
        "block_ids": block_ids,
        "block_count": len(block_ids),
        "warp_count": launch.warps,
        "size": size,
        "lane_stride": size,
        "lane_numbers": np.arange(size).reshape(len(block_ids), launch.warps, WARP),
        "thread_values": launch.thread_values,
        "block_values": block_registers(block_ids, launch.grid),
        "registers": [unset] * (REGISTERS + 4),
        "uniforms": [unset] * (UNIFORMS + 4),
        "predicates": [FALSE] * 7 + [TRUE],
        "uniform_predicates": [FALSE] * 7 + [TRUE],
        "barriers": [ZERO] * BARRIERS,
        "restored": [FALSE] * BARRIERS,
    }
