"""Packed bytes and halfwords, and the video instructions: PRMT, IDP, VABSDIFF, packed VIADD and VIMNMX."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import Decoded, Execute, NotCovered, semantics
from gpuprof.emulator.semantics.forms import Form, allow, arithmetic_form, expect_sources, extremum, integer, pick
from gpuprof.emulator.semantics.primitives import contiguous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, Lanes
    from gpuprof.sass.model import Operand

#: Packed integer types: how the word is split.
PACKED: dict[str, type[np.integer[Any]]] = {
    "8x4": np.uint8,
    "16x2": np.uint16,
    "U8x4": np.uint8,
    "S8x4": np.int8,
    "U16x2": np.uint16,
    "S16x2": np.int16,
}


def parts(value: U32, kind: type[np.integer[Any]]) -> NDArray[Any]:
    """The word's bytes or halves, low first, along a new last axis."""
    return contiguous(value)[..., None].view(kind)


def word(values: NDArray[Any]) -> U32:
    """The inverse of ``parts``."""
    return contiguous(values).view(np.uint32)[..., 0]


def packed_minimum(insn: Decoded) -> Execute:
    """VIMNMX on each byte or half."""
    allow(insn, PACKED, ("RELU",))
    form = arithmetic_form(insn)
    kind = PACKED[pick(insn, PACKED)]
    relu = insn.has("RELU")

    def execute(lanes: Lanes) -> None:
        values = [parts(lanes.u32(source), kind) for source in form.sources]
        result = _packed_extremum(lanes, form, values)
        lanes.set_u32(form.result, word(np.maximum(result, 0) if relu else result))

    return execute


def packed_add_minimum(insn: Decoded) -> Execute:
    """VIADDMNMX on each byte or half; the sum wraps."""
    allow(insn, PACKED, ("RELU",))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    kind = PACKED[pick(insn, PACKED)]
    relu = insn.has("RELU")

    def execute(lanes: Lanes) -> None:
        a, b, c = (parts(_negated_parts(lanes, source, kind), kind) for source in form.sources)
        result = _packed_extremum(lanes, form, [a + b, c])
        lanes.set_u32(form.result, word(np.maximum(result, 0) if relu else result))

    return execute


def packed_add(insn: Decoded) -> Execute:
    """VIADD on each byte or half, wrapping; ``-b`` negates each part."""
    allow(insn, PACKED)
    form = arithmetic_form(insn)
    kind = PACKED[pick(insn, PACKED)]

    def execute(lanes: Lanes) -> None:
        terms = [parts(_negated_parts(lanes, source, kind), kind) for source in form.sources]
        lanes.set_u32(form.result, word(reduce(np.add, terms)))

    return execute


def _negated_parts(lanes: Lanes, operand: Operand, kind: type[np.integer[Any]]) -> U32:
    if not operand.negate:
        return lanes.u32(operand)
    return word(np.negative(parts(lanes.raw(operand), kind)))


def _packed_extremum(lanes: Lanes, form: Form, values: list[NDArray[Any]]) -> NDArray[Any]:
    choose = form.predicates[0]
    if choose.is_zero:
        return extremum(lanes, form, values)
    smallest = lanes.predicate(choose)[..., None]
    return np.where(smallest, reduce(np.minimum, values), reduce(np.maximum, values))


#: The selector nibbles (byte k of the result from the low nibble up) of PRMT's modes, by selector & 3 (PTX ISA, prmt).
PERMUTE_MODES: dict[str, tuple[int, int, int, int]] = {
    "F4E": (0x3210, 0x4321, 0x5432, 0x6543),
    "B4E": (0x5670, 0x6701, 0x7012, 0x0123),
    "RC8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ECL": (0x3210, 0x3211, 0x3222, 0x3333),
    "ECR": (0x0000, 0x1110, 0x2210, 0x3210),
    "RC16": (0x1010, 0x3232, 0x1010, 0x3232),
}


@semantics("PRMT", "UPRMT")
def prmt(insn: Decoded) -> Execute:
    """Each result byte is a byte of c:a, chosen by a nibble of the selector; its bit 3 replicates the byte's sign."""
    allow(insn, PERMUTE_MODES, ("IDX",))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, selector, c = form.sources
    mode = next((PERMUTE_MODES[name] for name in insn.modifiers if name in PERMUTE_MODES), None)
    constant = integer(selector)
    if constant is not None:
        nibbles = mode[constant & 3] if mode else constant & 0xFFFF
        return _constant_permute(form, nibbles)
    table = np.array(mode, np.uint32) if mode else None

    def execute(lanes: Lanes) -> None:
        chosen = lanes.u32(selector)
        if table is not None:
            chosen = table[chosen & np.uint32(3)]
        lanes.set_u32(form.result, permute(lanes.u32(a), chosen, lanes.u32(c)))

    return execute


def permute(a: U32, selector: U32, c: U32) -> U32:
    """PRMT with a selector that differs by lane."""
    pair = a | (c.astype(np.uint64) << np.uint64(32))
    result = np.zeros((1, 1, 1), np.uint32)
    for place in range(4):
        nibble = (selector >> np.uint32(4 * place)) & np.uint32(15)
        byte = (pair >> ((nibble & np.uint32(7)) << np.uint32(3)).astype(np.uint64)).astype(np.uint32) & np.uint32(0xFF)
        sign = (np.uint32(0) - (byte >> np.uint32(7))) & np.uint32(0xFF)
        result = result | (np.where(nibble & np.uint32(8), sign, byte) << np.uint32(8 * place))
    return result


def _constant_permute(form: Form, nibbles: int) -> Execute:
    """A known selector: bytes that move by the same distance move together."""
    a, _, c = form.sources
    moves: dict[tuple[int, int], int] = {}
    signs: list[tuple[int, int, int]] = []
    for place in range(4):
        nibble = nibbles >> 4 * place & 15
        source, byte = divmod(nibble & 7, 4)
        if nibble & 8:
            signs.append((source, byte, place))
        else:
            key = (source, place - byte)
            moves[key] = moves.get(key, 0) | 0xFF << 8 * byte
    pieces = [_mover(mask, distance, source) for (source, distance), mask in moves.items()]
    pieces += [_sign_spreader(byte, place, source) for source, byte, place in signs]
    used = {source for source, _ in moves} | {source for source, _, _ in signs}

    def execute(lanes: Lanes) -> None:
        values = [lanes.u32(operand) if index in used else None for index, operand in enumerate((a, c))]
        lanes.set_u32(form.result, reduce(np.bitwise_or, [piece(values) for piece in pieces]))

    return execute


Piece = Callable[[list[Any]], Any]


def _mover(mask: int, distance: int, source: int) -> Piece:
    if mask == 0xFFFFFFFF:
        return lambda values: values[source]
    kept, count = np.uint32(mask), np.uint32(8 * abs(distance))
    if distance > 0:
        return lambda values: (values[source] & kept) << count
    if distance < 0:
        return lambda values: (values[source] & kept) >> count
    return lambda values: values[source] & kept


def _sign_spreader(byte: int, place: int, source: int) -> Piece:
    up, mask = np.uint32(24 - 8 * byte), np.uint32(0xFF << 8 * place)
    return lambda values: ((values[source] << up).view(np.int32) >> np.int32(31)).view(np.uint32) & mask


@semantics("IDP", "UIDP")
def idp(insn: Decoded) -> Execute:
    """c plus the dot product of four bytes (4A), or of a's halves with b's low or high byte pair (2A.LO, 2A.HI)."""
    allow(insn, ("4A", "2A", "LO", "HI", "U8", "S8", "U16", "S16"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    types = [name for name in insn.modifiers if name in ("U8", "S8", "U16", "S16")]
    if len(types) != 2:
        raise NotCovered(f"{insn.instruction.mnemonic}: needs the types of both sources")
    by_halves = insn.has("2A")
    first = _part_type(types[0], 16 if by_halves else 8)
    second = _part_type(types[1], 8)
    chosen = slice(2, 4) if insn.has("HI") else slice(0, 2 if by_halves else 4)

    def execute(lanes: Lanes) -> None:
        x = parts(lanes.u32(a), first).astype(np.int64)
        y = parts(lanes.u32(b), second)[..., chosen].astype(np.int64)
        lanes.set_u32(form.result, (x * y).sum(axis=-1).astype(np.uint32) + lanes.u32(c))

    return execute


def _part_type(name: str, bits: int) -> type[np.integer[Any]]:
    signed = name.startswith("S")
    if bits == 16:
        return np.int16 if signed else np.uint16
    return np.int8 if signed else np.uint8


@semantics("VABSDIFF")
def vabsdiff(insn: Decoded) -> Execute:
    """|a - b| + c, signed unless ``.U32``."""
    allow(insn, ("U32", "S32"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources

    def execute(lanes: Lanes) -> None:
        x, y = (lanes.u32(a), lanes.u32(b)) if insn.has("U32") else (lanes.s32(a), lanes.s32(b))
        difference = (np.maximum(x, y).view(np.uint32)) - np.minimum(x, y).view(np.uint32)
        lanes.set_u32(form.result, difference + lanes.u32(c))

    return execute


@semantics("VABSDIFF4")
def vabsdiff4(insn: Decoded) -> Execute:
    """|a - b| of each byte, signed unless ``.U8``; ``.ACC``: their sum plus c, which is ignored otherwise (an H200)."""
    allow(insn, ("U8", "S8", "ACC"))
    form = arithmetic_form(insn)
    expect_sources(insn, form, 3)
    a, b, c = form.sources
    kind = np.uint8 if insn.has("U8") else np.int8
    accumulates = insn.has("ACC")

    def execute(lanes: Lanes) -> None:
        x, y = (parts(lanes.u32(source), kind).astype(np.int32) for source in (a, b))
        difference = np.abs(x - y)
        if accumulates:
            lanes.set_u32(form.result, difference.sum(axis=-1).astype(np.uint32) + lanes.u32(c))
        else:
            lanes.set_u32(form.result, word(difference.astype(np.uint8)))

    return execute
