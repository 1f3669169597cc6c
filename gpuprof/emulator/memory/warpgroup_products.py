"""wgmma: HGMMA, QGMMA and IGMMA, a product of a warpgroup whose factors lie in shared memory.

Four warps issue the instruction together; each computes 16 of the 64 rows, on registers that have HMMA's layout. A
descriptor (PTX ISA, "Matrix descriptor") says where a factor lies: bits 0 to 13 the address / 16, 16 to 29 and 32 to 45
the leading and the stride offset / 16, bits 62 and 63 the swizzle. Rows of 8, or columns of 8 where the operand is
transposed, are atoms of 16 bytes times 8, or of the swizzle's bytes times 8, in which address bits 4 to 6 are those of
bits 7 to 9 exclusive-or-ed. Layouts and sums were recorded on an H200 (tests/hardware/hopper).

The product is made when it is issued, which code that waits for it (WARPGROUP.DEPBAR) cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered, Step
from gpuprof.emulator.modifiers import refuse
from gpuprof.emulator.semantics.accumulate import WARPGROUP_ADDERS, tensor_sum
from gpuprof.emulator.semantics.narrow import E4M3, E5M2, decode_small, to_half
from gpuprof.emulator.semantics.tensor import (
    bfloat_parts,
    half_parts,
    left_matrix,
    result_matrix,
    result_registers,
    single_bits,
    tf32_parts,
    words,
)
from gpuprof.emulator.state.faults import first_lane, lane_location, memory_fault
from gpuprof.errors import EmulationError
from gpuprof.isa.memory_access import swizzled
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch

    Array = NDArray[Any]

ROWS, WARP_ROWS, WARPS, GROUP_COLUMNS = 64, 16, 4, 8
WAVEFRONT_BYTES = 128
#: Swizzle field of a descriptor -> bytes of an atom's row; 16: not swizzled.
_ROW_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}
_SHAPE = re.compile(r"64x(\d+)x(\d+)")
_OPTIONS = frozenset(("tnspA", "tnspB", "negA", "negB"))


@dataclass(frozen=True)
class _Type:
    """A factor's type: bytes of an element, how 32-bit words become numbers, the least normal exponent."""

    width: int
    unpack: Callable[[Array], Any]
    smallest: int = 0


def _small(kind: Any) -> Callable[[Array], Any]:
    return lambda value: decode_small(np.ascontiguousarray(value)[..., None].view(np.uint8), kind)


def _integers(dtype: type) -> Callable[[Array], Any]:
    return lambda value: np.ascontiguousarray(value)[..., None].view(dtype).astype(np.float64)


_TYPES = {
    "F16": _Type(2, half_parts, -14),
    "BF16": _Type(2, bfloat_parts, -126),
    "TF32": _Type(4, tf32_parts, -126),
    "E4M3": _Type(1, _small(E4M3), -6),
    "E5M2": _Type(1, _small(E5M2), -14),
    "S8": _Type(1, _integers(np.int8)),
    "U8": _Type(1, _integers(np.uint8)),
}


@dataclass(frozen=True)
class _Product:
    """An instruction's form."""

    decoded: Decoded
    columns: int
    depth: int
    left: _Type
    right: _Type
    narrow: bool  #: sums in FP16
    result: Operand
    sums: Operand
    held: Operand | None  #: the registers of A, where it is not in shared memory
    descriptors: Operand
    keeps: Operand | None  #: the predicate that says whether the sums count

    def has(self, option: str) -> bool:
        return option in self.descriptors.suffixes


def bind(decoded: Decoded, index: int) -> Step:
    """HGMMA, QGMMA, IGMMA; raises NotCovered."""
    form = _form(decoded)
    integers = decoded.instruction.opcode == "IGMMA"

    def execute(lanes: Batch) -> None:
        active = lanes.active()
        if (active.any(axis=2) & ~active.all(axis=2)).any():
            place = lane_location(lanes, decoded.instruction, first_lane(lanes, active))
            raise EmulationError(f"{decoded.instruction.mnemonic} by a part of a warp", place)
        if not active.any():
            return
        _count(form, lanes, index)
        left = _left(form, lanes)
        right = _tiles(form, lanes, 2, form.columns, form.right, form.has("tnspB"))
        # (blocks, warps, groups of eight columns, 8, K)
        right = right.reshape(*right.shape[:2], -1, GROUP_COLUMNS, form.depth)
        if form.has("negA"):
            left = -left
        if form.has("negB"):
            right = -right
        sums = _sums(form, lanes, integers)
        if form.keeps is not None:
            sums = np.where(lanes.predicate(form.keeps)[..., None, None], sums, np.zeros_like(sums))
        if integers:
            _store(form, lanes, _integer_product(left, right, sums, saturates=decoded.has("SAT")))
            return
        total = tensor_sum(
            np.broadcast_to(left[:, :, None], (*right.shape[:3], WARP_ROWS, form.depth)),
            right,
            sums,
            adder=WARPGROUP_ADDERS[decoded.instruction.opcode],
            narrow=form.narrow,
            smallest=min(form.left.smallest, form.right.smallest),
            wide=form.left.width == 4,
        )
        _store(form, lanes, np.ascontiguousarray(to_half(total)) if form.narrow else single_bits(total))

    return execute


def _form(decoded: Decoded) -> _Product:
    opcode, modifiers = decoded.instruction.opcode, decoded.modifiers
    shape = _SHAPE.fullmatch(modifiers[0]) if modifiers else None
    if shape is None:
        raise NotCovered(decoded.instruction.mnemonic)
    types = [word for word in modifiers if word in _TYPES and word != "F16"]
    if opcode == "HGMMA":
        types = (types or ["F16"]) * 2
    refuse(decoded, (word for word in modifiers[1:] if word not in {"F32", "F16", "SAT", *types}))
    descriptors = [operand for operand in decoded.operands if operand.kind is OperandKind.DESCRIPTOR]
    registers = [operand for operand in decoded.operands if operand.kind is OperandKind.REGISTER]
    keeps = [operand for operand in decoded.operands if operand.kind is OperandKind.UNIFORM_PREDICATE]
    if len(descriptors) != 1 or descriptors[0].uniform is None or len(registers) not in (2, 3) or len(types) != 2:
        raise NotCovered(decoded.instruction.text)
    refuse(decoded, (word for word in descriptors[0].suffixes if word not in _OPTIONS))
    return _Product(
        decoded,
        columns=int(shape[1]),
        depth=int(shape[2]),
        left=_TYPES[types[0]],
        right=_TYPES[types[1]],
        narrow="F16" in modifiers[1:2],
        result=registers[0],
        sums=registers[-1],
        held=registers[1] if len(registers) == 3 else None,
        descriptors=descriptors[0],
        keeps=keeps[0] if keeps else None,
    )


def _left(form: _Product, lanes: Batch) -> Any:
    """A: (blocks, warps, 16, K)."""
    if form.held is not None:
        return left_matrix(form.left.unpack(words(lanes, form.held, 4)), WARP_ROWS)
    return _tiles(form, lanes, 0, ROWS, form.left, form.has("tnspA"))


def _tiles(form: _Product, lanes: Batch, step: int, rows: int, kind: _Type, transposed: bool) -> Any:
    """A factor of every warp, (blocks, warps, rows, K): of A the warp's own 16 rows, of B all columns."""
    register = form.descriptors.uniform
    assert register is not None
    shape = (lanes.block_count, lanes.warp_count)
    on: NDArray[np.bool_] = np.asarray(lanes.active().any(axis=2))
    low, high = (_descriptor_words(lanes, register, step + part, on) for part in (0, 1))
    first = np.zeros(shape, np.int64)
    if rows == ROWS and step == 0:
        first, rows = _warp_numbers(lanes) % WARPS * WARP_ROWS, WARP_ROWS
    places = _places(low, high, first, rows, form.depth, kind.width, transposed=transposed)
    memory = lanes.shared.rows(1)
    last = places + kind.width
    outside: NDArray[np.bool_] = np.logical_or(places < lanes.shared.start, last > lanes.shared.limit)
    beyond: NDArray[np.bool_] = np.asarray(outside.any(axis=(2, 3)))
    if beyond.any():
        at = np.where(beyond, np.where(outside, places, 0).max(axis=(2, 3)), 0)
        message = "a matrix descriptor reaches shared address {address}, outside the block's memory"
        chosen = np.broadcast_to(beyond[..., None], lanes.active().shape)
        raise memory_fault(lanes, form.decoded.instruction, chosen, at[..., None].astype(np.uint64), message)
    flat = lanes.row_offsets(memory.shape[1]).reshape(-1, 1, 1, 1) + places
    elements = memory.reshape(-1)[flat[..., None] + np.arange(kind.width)]
    packed = np.ascontiguousarray(elements).reshape(*elements.shape[:3], -1).view(np.uint32)
    values = kind.unpack(packed)
    return values.reshape(*values.shape[:3], -1)


def _descriptor_words(lanes: Batch, register: Operand, step: int, on: NDArray[np.bool_]) -> Array:
    """(blocks, warps): a word of the descriptors; warps that do not take part have that of one which does."""
    values = np.broadcast_to(lanes.u32_next(register, step)[..., 0], on.shape).astype(np.int64)
    return np.where(on, values, values[on][0])


def _warp_numbers(lanes: Batch) -> NDArray[np.int64]:
    """(blocks, warps): the number of each warp in its block."""
    return np.array(
        [[lanes.identify(row, warp)[1] for warp in range(lanes.warp_count)] for row in range(lanes.block_count)],
        np.int64,
    )


def _places(
    low: Array, high: Array, first: Array, rows: int, depth: int, width: int, *, transposed: bool
) -> NDArray[np.int64]:
    """(blocks, warps, rows, K): the shared address of each element of the tiles that two words describe."""
    start, leading = ((low >> at & 0x3FFF) << 4 for at in (0, 16))
    stride = (high & 0x3FFF) << 4
    result = np.empty((*low.shape, rows, depth), np.int64)
    for mode in np.unique(high >> 30 & 3).tolist():
        line = _ROW_BYTES[mode]
        chosen = (high >> 30 & 3) == mode
        row = (first[chosen][:, None] + np.arange(rows))[..., None]
        k = np.arange(depth)
        far, near = leading[chosen][:, None, None], stride[chosen][:, None, None]
        if not transposed:
            inside = k * width
            place = row // 8 * near + row % 8 * line
            place = place + (inside // 16 * far + inside % 16 if line == 16 else inside)
        elif line == 16:
            place = row // 8 * near + k // 8 * far + k % 8 * 16 + row % 8 * width
        else:
            held = line // width
            place = row // held * far + k // 8 * near + k % 8 * line + row % held * width
        place = place + start[chosen][:, None, None]
        result[chosen] = swizzled(place, line)
    return result


def _sums(form: _Product, lanes: Batch, integers: bool) -> Any:
    """The accumulator: (blocks, warps, groups of eight columns, 16, 8)."""
    groups = form.columns // GROUP_COLUMNS
    if form.narrow:
        parts = half_parts(words(lanes, form.sums, 2 * groups))  # (…, g, t, 2 a group, 2)
        values = parts.reshape(*parts.shape[:4], groups, 4)
    else:
        raw = words(lanes, form.sums, 4 * groups)
        typed = raw.view(np.int32).astype(np.int64) if integers else raw.view(np.float32)
        values = typed.reshape(*typed.shape[:4], groups, 4)
    return result_matrix(np.moveaxis(values, 4, 2), WARP_ROWS)


def _count(form: _Product, lanes: Batch, index: int) -> None:
    """Shared wavefronts: 128 bytes each, of a warp's rows of A, and of B once for the warpgroup (H200)."""
    warps = lanes.active().any(axis=2)
    row_bytes = form.depth * form.left.width
    own = 0 if form.held is not None else WARP_ROWS * row_bytes // WAVEFRONT_BYTES
    leaders = int((warps & (_warp_numbers(lanes) % WARPS == 0)).sum())
    count = int(warps.sum()) * own + leaders * (form.columns * row_bytes // WAVEFRONT_BYTES)
    lanes.counters.wavefronts[index] += count
    lanes.counters.ideal_wavefronts[index] += count


def _integer_product(left: Any, right: Any, sums: Any, *, saturates: bool) -> Any:
    product = np.matmul(left[:, :, None], right.swapaxes(-1, -2))  # exact: 32 terms below 2^16
    total = product.astype(np.int64) + sums
    if saturates:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total.astype(np.uint32)


def _store(form: _Product, lanes: Batch, matrix: Any) -> None:
    """(blocks, warps, groups, 16, 8) to the registers from the result's on."""
    registers = np.ascontiguousarray(result_registers(matrix)).view(np.uint32)  # (…, groups, 32, 4 or 2)
    for group in range(registers.shape[2]):
        for step in range(registers.shape[-1]):
            word = np.ascontiguousarray(registers[:, :, group, :, step])
            lanes.set_u32_next(form.result, group * registers.shape[-1] + step, word)
