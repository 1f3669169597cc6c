"""Which registers an instruction writes and reads, pairs and quads spelled out.

A register is a small tuple ``(file, index)`` with file ``R``, ``UR``, ``P`` or ``UP``; RZ, URZ, PT and UPT are left
out. Widths follow the suffixes (``.64``, ``.128``, ``.WIDE``), the F64 opcodes and the tensor shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import (
    ATOMICS,
    LOADS,
    NO_DESTINATION,
    PREDICATE_FIRST,
    SET_PREDICATES,
    Kind,
    access_bits,
    kind_of_opcode,
)

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
_SHARED_LIKE = frozenset({"LDS", "STS", "LDL", "STL", "ATOMS", "LDSM", "STSM", "LDC", "LDT", "STT"})
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
    return _destinations(instruction.opcode, instruction.operands)


def _destinations(opcode: str, operands: tuple[Operand, ...]) -> int:
    if opcode in NO_DESTINATION or not operands:
        return 0
    if opcode in SET_PREDICATES:
        return sum(1 for operand in operands[:2] if operand.kind in _FLAGS)
    if opcode == "FCHK":
        return 1
    count = 0
    if opcode in PREDICATE_FIRST:
        while count < len(operands) - 1 and operands[count].kind in _FLAGS and count < 2:
            count += 1
        if opcode in ("VOTE", "VOTEU") and count:
            return 1
    if count < len(operands) and operands[count].kind in _DATA:
        count += 1
        limit = count + (1 if opcode in ("VOTE", "VOTEU") else 2)
        while count < min(limit, len(operands)) and operands[count].kind in _FLAGS:
            count += 1
        if kind_of_opcode(opcode) is Kind.TEXTURE and count < len(operands) and operands[count].kind in _DATA:
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
        wide = operand.kind is OperandKind.MEMORY and shape.opcode not in _SHARED_LIKE
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
    opcode, words = shape.opcode, shape.modifiers
    if operand.kind not in _DATA:
        return 1
    if opcode in LOADS or opcode in ATOMICS or opcode in ("LDC", "ULDC", "LDCU"):
        return max(1, access_bits(shape) // 32)
    if opcode in ("CS2R", "CS2UR"):
        return 1 if "32" in words else 2
    if kind_of_opcode(opcode) is Kind.TENSOR:
        return _tensor_widths(shape)[2]
    if opcode in ("F2F", "F2I", "I2F", "FRND"):
        return 2 if _first_type_is_pair(opcode, words) else 1
    return 2 if _pair_opcode(opcode, words) or "WIDE" in words else 1


def _width_read(shape: Instruction, operand: Operand, position: int) -> int:
    opcode, words = shape.opcode, shape.modifiers
    if operand.wide:
        return 2
    if kind_of_opcode(opcode) is Kind.TENSOR:
        return _tensor_widths(shape)[min(position, 2)]
    if opcode in ("STG", "STS", "STL", "ST", "STSM") or opcode in ATOMICS:
        return max(1, access_bits(shape) // 32)
    if opcode in ("F2F", "F2I", "I2F", "FRND"):
        return 2 if _last_type_is_pair(opcode, words) else 1
    if opcode in ("IMAD", "UIMAD") and position == 2 and ("WIDE" in words or "HI" in words):
        return 2
    return 2 if _pair_opcode(opcode, words) else 1


def _pair_opcode(opcode: str, words: tuple[str, ...]) -> bool:
    """Opcodes all of whose data operands are register pairs."""
    if opcode in ("DADD", "DMUL", "DFMA", "DMNMX", "DSETP", "FFMA2", "FADD2", "FMUL2"):
        return True
    if opcode in ("SHF", "USHF", "LD", "ST", "MUFU", "LEA", "ULEA"):
        return False
    return any(word in _PAIR_WORDS for word in words) and opcode not in ("MATCH",)


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
    if shape.opcode not in ("R2P", "P2R"):
        return
    mask = next((operand.value for operand in reversed(shape.operands) if operand.value is not None), 0x7F)
    named = [("P", bit) for bit in range(7) if int(mask) >> bit & 1]
    if shape.opcode == "R2P":
        writes[:] = named
    else:
        reads.extend(named)
