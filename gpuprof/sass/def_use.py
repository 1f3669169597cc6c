"""Which registers an instruction writes and reads, pairs and quads spelled out.

A register is a small tuple ``(file, index)`` with file ``R``, ``UR``, ``P`` or ``UP``; RZ, URZ, PT and UPT are left
out. Widths follow the suffixes (``.64``, ``.128``, ``.WIDE``), the F64 opcodes and the tensor shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpuprof.isa.opcodes import Access, Destinations, Opcode, Space, Widths, opcode
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import access_bits

Register = tuple[str, int]

_FILE = {
    OperandKind.REGISTER: "R",
    OperandKind.UNIFORM: "UR",
    OperandKind.PREDICATE: "P",
    OperandKind.UNIFORM_PREDICATE: "UP",
}
_DATA = frozenset({OperandKind.REGISTER, OperandKind.UNIFORM})
_FLAGS = frozenset({OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE})
#: (A, B, C and D) registers per lane of a tensor instruction, by shape and, where it matters, accumulator.
_TENSOR_WIDTHS = {
    ("HMMA", "16816", "F16"): (4, 2, 2),
    ("HMMA", "16816", "F32"): (4, 2, 4),
    ("HMMA", "1688", "F16"): (2, 1, 2),
    ("HMMA", "1688", "F32"): (2, 1, 4),
    ("HMMA", "1684", "F32"): (2, 1, 4),
    ("HMMA", "884", "F16"): (2, 2, 4),
    ("HMMA", "884", "F32"): (2, 2, 8),
    ("IMMA", "8816", ""): (1, 1, 2),
    ("IMMA", "8832", ""): (1, 1, 2),
    ("IMMA", "16816", ""): (2, 1, 4),
    ("IMMA", "16832", ""): (4, 2, 4),
    ("IMMA", "16864", ""): (4, 2, 4),
    ("DMMA", "884", ""): (2, 2, 4),
    ("DMMA", "8x8x4", ""): (2, 2, 4),
    ("QMMA", "16832", ""): (4, 2, 4),
    ("QMMA", "16816", ""): (2, 1, 4),
}
_PAIR_WORDS = frozenset({"64", "F64", "U64", "S64"})
#: Memories whose addresses are 32 bits.
_NARROW_SPACES = frozenset({Space.SHARED, Space.LOCAL, Space.CONSTANT, Space.TENSOR})
_TENSOR_FP32_TF32_1688 = (4, 2, 4)


@dataclass(frozen=True, slots=True)
class Roles:
    """``writes`` and ``reads``: registers in operand order, without duplicates."""

    writes: tuple[Register, ...]
    reads: tuple[Register, ...]


def roles(instruction: Instruction) -> Roles:
    """The registers that an instruction writes and reads (its guard included). Not understood: none."""
    count = destination_count(instruction)
    writes: list[Register] = []
    reads: list[Register] = []
    if instruction.predicate is not None:
        reads.extend(_registers(instruction.predicate, 1))
    data_position = 0
    for number, operand in enumerate(instruction.operands):
        if number < count:
            writes.extend(_registers(operand, _width_written(instruction, operand)))
            continue
        reads.extend(_reads_of(instruction, operand, data_position))
        data_position += operand.kind not in _FLAGS
    _special_files(instruction, writes, reads)
    return Roles(tuple(dict.fromkeys(writes)), tuple(dict.fromkeys(reads)))


def roles_of_all(instructions: Iterable[Instruction]) -> list[Roles]:
    """``roles`` of each; texts repeat, so each text is worked out once."""
    known: dict[str, Roles] = {}
    result = []
    for instruction in instructions:
        found = known.get(instruction.text)
        if found is None:
            found = known[instruction.text] = roles(instruction)
        result.append(found)
    return result


def destination_count(instruction: Instruction) -> int:
    """How many leading operands are destinations."""
    return _destinations(opcode(instruction.opcode).destinations, instruction.operands)


def _destinations(rule: Destinations, operands: tuple[Operand, ...]) -> int:
    if rule is Destinations.NONE or not operands:
        return 0
    if rule is Destinations.PREDICATE:
        return 1
    if rule is Destinations.PREDICATES:
        return sum(1 for operand in operands[:2] if operand.kind in _FLAGS)
    count = 0
    if rule in (Destinations.PREDICATE_FIRST, Destinations.VOTE, Destinations.TEXTURE):
        while count < len(operands) - 1 and operands[count].kind in _FLAGS and count < 2:
            count += 1
        if rule is Destinations.VOTE and count:
            return 1
    if count < len(operands) and operands[count].kind in _DATA:
        count += 1
        limit = count + (1 if rule is Destinations.VOTE else 2)
        while count < min(limit, len(operands)) and operands[count].kind in _FLAGS:
            count += 1
        if rule is Destinations.TEXTURE and count < len(operands) and operands[count].kind in _DATA:
            count += 1  # a texture fetch names two destination registers
    return count


def _registers(operand: Operand, width: int) -> Iterator[Register]:
    file = _FILE.get(operand.kind)
    if file is None or operand.is_zero:
        return
    for offset in range(width):
        yield file, operand.index + offset


def _reads_of(shape: Instruction, operand: Operand, position: int) -> Iterator[Register]:
    """Registers read through one source operand; ``position`` counts the data sources."""
    if operand.kind in (OperandKind.MEMORY, OperandKind.CONSTANT, OperandKind.DESCRIPTOR):
        wide = operand.kind is OperandKind.MEMORY and opcode(shape.opcode).space not in _NARROW_SPACES
        for part in (operand.base, operand.uniform):
            if part is not None and part.kind in _FILE:
                pair = wide and (part.wide or "U32" not in part.suffixes) and "E" in shape.modifiers
                yield from _registers(part, 2 if pair or part.wide else 1)
        if operand.descriptor is not None:
            yield from _registers(operand.descriptor, 2)
        return
    if operand.kind in _FLAGS:
        yield from _registers(operand, 1)
    elif operand.kind in _DATA:
        yield from _registers(operand, _width_read(shape, operand, position))


def _width_written(shape: Instruction, operand: Operand) -> int:
    row, words = opcode(shape.opcode), shape.modifiers
    if operand.kind not in _DATA:
        return 1
    if row.widths is Widths.ACCESS:
        return _access_registers(shape)
    if row.widths is Widths.SPECIAL:
        return 1 if "32" in words else 2
    if row.widths is Widths.TENSOR:
        return _tensor_widths(shape)[2]
    if row.widths is Widths.CONVERSION:
        return 2 if _first_type_is_pair(shape.opcode.removeprefix("U"), words) else 1
    return 2 if _names_pairs(row, words) or "WIDE" in words else 1


def _width_read(shape: Instruction, operand: Operand, position: int) -> int:
    row, words = opcode(shape.opcode), shape.modifiers
    if operand.wide:
        return 2
    if "F32" in operand.suffixes:  # packed FP32: one register for both halves
        return 1
    if row.widths is Widths.TENSOR:
        return _tensor_widths(shape)[min(position, 2)]
    if row.widths is Widths.ACCESS and row.access not in (Access.LOAD, Access.MATRIX_LOAD):
        return _access_registers(shape)
    if row.widths is Widths.CONVERSION:
        return 2 if _last_type_is_pair(shape.opcode.removeprefix("U"), words) else 1
    if row.widths is Widths.MULTIPLY_ADD and position == 2 and ("WIDE" in words or "HI" in words):
        return 2
    return 2 if _names_pairs(row, words) else 1


def _access_registers(shape: Instruction) -> int:
    """Registers per lane that a memory instruction moves."""
    return max(1, access_bits(shape) // 32)


def _names_pairs(row: Opcode, words: tuple[str, ...]) -> bool:
    """Whether all data operands are register pairs."""
    if row.widths in (Widths.WORDS, Widths.ACCESS):
        return False
    return row.widths is Widths.PAIRS or any(word in _PAIR_WORDS for word in words)


def _first_type_is_pair(opcode: str, words: tuple[str, ...]) -> bool:
    if opcode == "F2I":
        return any(word in ("S64", "U64") for word in words)
    if opcode == "FRND":
        return "F64" in words
    types = [word for word in words if word[:1] in "FSU" and word[1:].isdigit()]
    return bool(types) and types[0] == "F64"


def _last_type_is_pair(opcode: str, words: tuple[str, ...]) -> bool:
    if opcode == "F2I":
        return "F64" in words
    if opcode == "I2F":
        return any(word in ("S64", "U64") for word in words)
    if opcode == "FRND":
        return "F64" in words
    types = [word for word in words if word[:1] in "FSU" and word[1:].isdigit()]
    return bool(types) and types[-1] == "F64"


def _tensor_widths(shape: Instruction) -> tuple[int, int, int]:
    words = shape.modifiers
    form = words[0] if words else ""
    if shape.opcode == "HMMA" and form == "1688" and "TF32" in words:
        return _TENSOR_FP32_TF32_1688
    accumulator = ("F16" if "F16" in words[1:2] else "F32") if shape.opcode == "HMMA" else ""
    return _TENSOR_WIDTHS.get((shape.opcode, form, accumulator), (4, 2, 4))


def _special_files(shape: Instruction, writes: list[Register], reads: list[Register]) -> None:
    """R2P writes, and P2R reads, the predicates that its mask names."""
    writes_mask = opcode(shape.opcode).destinations is Destinations.PREDICATE_MASK
    if not writes_mask and shape.opcode != "P2R":
        return
    mask = next((operand.value for operand in reversed(shape.operands) if operand.value is not None), 0x7F)
    named = [("P", bit) for bit in range(7) if int(mask) >> bit & 1]
    if writes_mask:
        writes[:] = named
    else:
        reads.extend(named)
