# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""Tensor instructions: HMMA, IMMA, DMMA on the fragments that a warp holds.

A fragment is a few registers of 32 lanes; lane l has group g = l / 4 and place t = l % 4. Registers become matrices by
reshaping the lane axis to (g, t) and moving axes. Layouts: PTX ISA, "Matrix fragments for mma".

Rounding: products are exact. The sum of a block of products and the accumulator is taken as the hardware does it, with
all terms aligned to the largest one and cut (not rounded) below its last kept place; see ``accumulate``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.accumulate import adder_of, tensor_sum
from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import allow, pick, required_integer
from gpuprof.emulator.semantics.logic import population
from gpuprof.emulator.semantics.narrow import bfloat_to_single, half_to_single, to_half

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import F64, U32, Lanes
    from gpuprof.sass.model import Operand

#: Shape word -> K of the 16 x 8 x K product.
HMMA_SHAPES = {"16816": 16, "1688": 8, "1684": 4}
IMMA_SHAPES = {"16816": 16, "16832": 32, "16864": 64, "8816": 16, "8832": 32}
Grid = Any


def words(lanes: Lanes, operand: Operand, count: int) -> U32:
    """``count`` registers from the operand on, as (blocks, warps, g 8, t 4, register)."""
    registers = [lanes.full(lanes.u32_next(operand, step)) for step in range(count)]
    stacked = np.stack(registers, axis=-1)
    return stacked.reshape(*stacked.shape[:2], 8, 4, count)


def left_matrix(parts: Grid, rows: int) -> Grid:
    """A: (…, g, t, q, e) with register q = row half + 2 * column half -> (…, rows, K); one row half if rows is 8."""
    *lead, g, t, count, elements = parts.shape
    halves = rows // 8
    split = parts.reshape(*lead, g, t, count // halves, halves, elements)
    ordered = np.moveaxis(split, (-2, -5, -3, -4, -1), (-5, -4, -3, -2, -1))
    return ordered.reshape(*lead, rows, -1)


def right_matrix(parts: Grid) -> Grid:
    """B transposed: (…, g, t, q, e) -> (…, column g, K)."""
    ordered = np.moveaxis(parts, -2, -3)
    return ordered.reshape(*parts.shape[:-3], -1)


def result_matrix(values: Grid, rows: int) -> Grid:
    """C: (…, g, t, q) with register q = column + 2 * row half -> (…, rows, 8)."""
    *lead, g, t, _ = values.shape
    split = values.reshape(*lead, g, t, rows // 8, 2)
    return np.moveaxis(split, -2, -4).reshape(*lead, rows, 8)


def result_registers(matrix: Grid) -> Grid:
    """The inverse of ``result_matrix``: (…, rows, 8) -> (…, 32 lanes, registers)."""
    *lead, rows, _ = matrix.shape
    split = matrix.reshape(*lead, rows // 8, 8, 4, 2)
    return np.moveaxis(split, -4, -2).reshape(*lead, 32, rows // 4)


def halves_of(value: U32) -> NDArray[np.uint16]:
    """(…, register) -> (…, register, 2)."""
    return np.ascontiguousarray(value)[..., None].view(np.uint16)


def half_parts(value: U32) -> Any:
    return half_to_single(halves_of(value))


def bfloat_parts(value: U32) -> Any:
    return bfloat_to_single(halves_of(value))


def tf32_parts(value: U32) -> Any:
    """The upper 19 bits count: sign, 8 of exponent, 10 of mantissa."""
    return (value & np.uint32(0xFFFFE000)).view(np.float32)[..., None]


@semantics("HMMA")
def hmma(insn: Decoded) -> Execute:
    """D[16 x 8] = A[16 x K] B[K x 8] + C in FP16, BF16 or TF32, accumulating in FP32 or FP16."""
    if insn.has("SP"):
        return _sparse(insn)
    allow(insn, HMMA_SHAPES, ("F32", "F16", "BF16", "TF32"))
    depth = HMMA_SHAPES.get(insn.modifiers[0])
    if depth is None:
        raise NotCovered(insn.instruction.mnemonic)
    per_register = 1 if insn.has("TF32") else 2
    unpack = tf32_parts if insn.has("TF32") else bfloat_parts if insn.has("BF16") else half_parts
    result, a, b, c = insn.operands[:4].exactly(4)
    a_count, b_count = 16 * depth // 32 // per_register, 8 * depth // 32 // per_register
    narrow = insn.modifiers[1] == "F16"
    smallest = -126 if insn.has("TF32", "BF16") else -14
    adder, wide = adder_of(insn.arch), insn.has("TF32")

    def execute(lanes: Lanes) -> None:
        left = left_matrix(unpack(words(lanes, a, a_count)), 16)
        right = right_matrix(unpack(words(lanes, b, b_count)))
        addend = _half_accumulator(lanes, c) if narrow else _single_accumulator(lanes, c)
        total = tensor_sum(left, right, addend, adder=adder, narrow=narrow, smallest=smallest, wide=wide)
        if narrow:
            _store_halves(lanes, result, total)
        else:
            _store_words(lanes, result, single_bits(total))

    return execute


#: Shape word of HMMA.SP on 16-bit factors -> K of the product, of which A holds half.
SPARSE_SHAPES = {"16832": 32}


def _sparse(insn: Decoded) -> Execute:
    """HMMA.SP: of every four columns of A two are held; E gives their places, two bits each.

    Source: PTX ISA, "Warp-level matrix instructions with sparse matrices"; on an H200 all products of a row are one
    block of the sum (tests/hardware/forms/tensor.cu). For 16 x 8 x 32 the pair of lanes that the selector names holds
    E: of each row the first lane the columns below 16, the second the others, in the low half row g, in the high g + 8.
    """
    allow(insn, SPARSE_SHAPES, ("SP", "F32", "F16", "BF16"))
    result, a, b, c, places = insn.operands[:5].exactly(5)
    pair = required_integer(insn, insn.operands[5])
    depth = SPARSE_SHAPES.get(pick(insn, SPARSE_SHAPES, ""))
    if depth is None or pair > 1:
        raise NotCovered(insn.instruction.text)
    narrow = "F32" not in insn.modifiers
    unpack, smallest = (bfloat_parts, -126) if insn.has("BF16") else (half_parts, -14)
    adder, half = adder_of(insn.arch), depth // 2

    def execute(lanes: Lanes) -> None:
        left = left_matrix(unpack(words(lanes, a, half // 4)), 16)
        right = right_matrix(unpack(words(lanes, b, half // 4)))
        columns = _sparse_columns(words(lanes, places, 1)[..., 2 * pair : 2 * pair + 2, 0])
        chosen = np.take_along_axis(right[..., None, :, :], columns[..., :, None, :], axis=-1)
        addend = _half_accumulator(lanes, c) if narrow else _single_accumulator(lanes, c)
        total = tensor_sum(
            left[..., None, :], chosen, addend[..., None, :], adder=adder, narrow=narrow, smallest=smallest
        )
        if narrow:
            _store_halves(lanes, result, total[..., 0, :])
        else:
            _store_words(lanes, result, single_bits(total[..., 0, :]))

    return execute


def _sparse_columns(metadata: U32) -> NDArray[np.int64]:
    """(…, 8 groups, 2 lanes) words to (…, 16 rows, 16): the column of A that each held value has."""
    halves = halves_of(metadata)  # (…, g, lane, row half)
    nibbles = halves[..., None] >> (4 * np.arange(4, dtype=np.uint16)) & np.uint16(15)
    pairs = np.stack([nibbles & np.uint16(3), nibbles >> np.uint16(2)], axis=-1)  # (…, g, lane, row half, group, 2)
    ordered = np.moveaxis(pairs, -3, -5).astype(np.int64)  # (…, row half, g, lane, group, 2)
    first = 4 * np.arange(8).reshape(2, 4, 1)
    columns: NDArray[np.int64] = (ordered + first).reshape(*ordered.shape[:-5], 16, 16)
    return columns


def single_bits(total: F64) -> U32:
    """Sums as float32 bits; any NaN is 0x7fffffff."""
    return np.where(np.isnan(total), np.uint32(0x7FFFFFFF), total.astype(np.float32).view(np.uint32))


def _single_accumulator(lanes: Lanes, c: Operand) -> Any:
    return result_matrix(words(lanes, c, 4).view(np.float32), 16)


def _half_accumulator(lanes: Lanes, c: Operand) -> Any:
    parts = half_parts(words(lanes, c, 2))  # register q: row half q, columns 2t and 2t + 1
    return result_matrix(parts.reshape(*parts.shape[:-2], 4), 16)


def _store_words(lanes: Lanes, result: Operand, matrix: U32) -> None:
    registers = result_registers(matrix)
    for step in range(registers.shape[-1]):
        lanes.set_u32_next(result, step, np.ascontiguousarray(registers[..., step]))


def _store_halves(lanes: Lanes, result: Operand, matrix: F64) -> None:
    registers = np.ascontiguousarray(result_registers(to_half(matrix))).view(np.uint32)
    for step in range(registers.shape[-1]):
        lanes.set_u32_next(result, step, np.ascontiguousarray(registers[..., step]))


INTEGER_PARTS: dict[str, tuple[int, bool]] = {"S8": (8, True), "U8": (8, False), "S4": (4, True), "U4": (4, False)}


@semantics("IMMA")
def imma(insn: Decoded) -> Execute:
    """D[rows x 8] = A[rows x K] B[K x 8] + C in integers; ``.SAT`` clamps to 32 bits, else the sum wraps."""
    allow(insn, IMMA_SHAPES, INTEGER_PARTS, ("SAT", "ROW", "COL"))
    shape = insn.modifiers[0]
    kinds = [name for name in insn.modifiers if name in INTEGER_PARTS]
    if shape not in IMMA_SHAPES or len(kinds) != 2:
        raise NotCovered(insn.instruction.mnemonic)
    rows = 8 if shape.startswith("88") else 16
    depth = IMMA_SHAPES[shape]
    bits = INTEGER_PARTS[kinds[0]][0]
    first, second = (_integer_parts(*INTEGER_PARTS[kind]) for kind in kinds)
    result, a, b, c = insn.operands[:4].exactly(4)
    a_count, b_count = rows * depth * bits // 1024, 8 * depth * bits // 1024
    saturates = insn.has("SAT")

    def execute(lanes: Lanes) -> None:
        left = left_matrix(first(words(lanes, a, a_count)), rows)
        right = right_matrix(second(words(lanes, b, b_count)))
        product = np.matmul(left, right.swapaxes(-1, -2))  # exact: below 2^24 terms of 2^14 in float64
        addend = result_matrix(words(lanes, c, rows // 4).view(np.int32), rows)
        total = product.astype(np.int64) + addend
        if saturates:
            total = np.clip(total, -(2**31), 2**31 - 1)
        _store_words(lanes, result, total.astype(np.uint32))

    return execute


def _integer_parts(bits: int, signed: bool) -> Callable[[U32], F64]:
    """Registers to their 4 bytes or 8 nibbles along a new last axis, as doubles."""
    if bits == 8:
        kind = np.int8 if signed else np.uint8
        return lambda value: np.ascontiguousarray(value)[..., None].view(kind).astype(np.float64)
    places = np.arange(0, 32, 4, dtype=np.uint32)

    def nibbles(value: U32) -> F64:
        parts = (value[..., None] >> places) & np.uint32(15)
        whole = parts.astype(np.float64)
        return np.where(parts >= 8, whole - 16, whole) if signed else whole

    return nibbles


#: Shape word -> (rows, words of 32 bits along K) of the one-bit products.
BMMA_SHAPES = {"88128": (8, 4), "168128": (16, 4), "168256": (16, 8)}


@semantics("BMMA")
def bmma(insn: Decoded) -> Execute:
    """D = C + the number of bits set in A xor B (or A and B) along K."""
    allow(insn, BMMA_SHAPES, ("XOR", "AND", "POPC", "ROW", "COL"))
    if insn.modifiers[0] not in BMMA_SHAPES:
        raise NotCovered(insn.instruction.mnemonic)
    rows, depth = BMMA_SHAPES[insn.modifiers[0]]
    combine = np.bitwise_xor if insn.has("XOR") else np.bitwise_and
    result, a, b, c = insn.operands[:4].exactly(4)

    def execute(lanes: Lanes) -> None:
        left = left_matrix(words(lanes, a, rows * depth // 32)[..., None], rows)
        right = right_matrix(words(lanes, b, depth // 4)[..., None])
        bits = population(combine(left[..., :, None, :], right[..., None, :, :]))
        addend = result_matrix(words(lanes, c, rows // 4), rows)
        _store_words(lanes, result, bits.sum(axis=-1, dtype=np.uint32) + addend)

    return execute


@semantics("DMMA")
def dmma(insn: Decoded) -> Execute:
    """D[8 x 8] = A[8 x 4] B[4 x 8] + C in double: a chain of fused multiply-adds along K."""
    from gpuprof.emulator.semantics.exact import fused_double

    allow(insn, ("884", "8x8x4"))
    result, a, b, c = insn.operands[:4].exactly(4)

    def execute(lanes: Lanes) -> None:
        left = doubles(lanes, a, 1)[..., 0]  # (…, row g, k t)
        right = doubles(lanes, b, 1)[..., 0]  # (…, column g, k t)
        total = doubles(lanes, c, 2).reshape(lanes.blocks, lanes.warps, 8, 8)
        for k in range(4):
            total = fused_double(left[..., :, None, k], right[..., None, :, k], total)
        bits = np.ascontiguousarray(total).view(np.uint32).reshape(lanes.blocks, lanes.warps, 32, 4)
        for step in range(4):
            lanes.set_u32_next(result, step, np.ascontiguousarray(bits[..., step]))

    return execute


def doubles(lanes: Lanes, operand: Operand, count: int) -> F64:
    """``count`` register pairs as (blocks, warps, g, t, pair) doubles."""
    return np.ascontiguousarray(words(lanes, operand, 2 * count)).view(np.float64)
