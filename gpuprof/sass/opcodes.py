"""What an instruction is, by the opcode table of ``isa`` and its modifiers: kind, width, whether it is conditional."""

from __future__ import annotations

from gpuprof.isa.opcodes import OPCODES, Computes, Control, Kind, opcode
from gpuprof.sass.model import Instruction


def kind_of_opcode(name: str) -> Kind:
    """The kind of a base opcode; a uniform-datapath name (``UIADD3``) has the kind of its vector form."""
    return opcode(name).kind


def kind_of(instruction: Instruction) -> Kind:
    """The kind of an instruction; idioms count as what they do (``IMAD.MOV`` is a move)."""
    name = instruction.opcode
    if name == "IMAD" and instruction.modifiers[:1] == ("MOV",):
        return Kind.MOVE
    if name == "HFMA2" and is_half_constant(instruction):
        return Kind.MOVE
    return kind_of_opcode(name) if instruction.understood else Kind.OTHER


def is_half_constant(instruction: Instruction) -> bool:
    """``HFMA2 R5, -RZ, RZ, a, b``: how a constant is put into a register through the half pipe."""
    return all(operand.is_zero for operand in instruction.operands[1:3])


def is_math(instruction: Instruction, name: str) -> bool:
    """Whether it is arithmetic of that opcode (and not the constant idiom of HFMA2)."""
    return instruction.opcode == name and (name != "HFMA2" or not is_half_constant(instruction))


def _math_opcodes() -> tuple[str, ...]:
    """Tensor products first, then multiply-adds, sums and products of floating point, then dot products."""
    order = (Computes.MULTIPLY_ADD, Computes.ADD, Computes.MULTIPLY)
    floats = (Kind.FP32, Kind.FP64, Kind.FP16)
    rows = list(OPCODES.values())
    found = [row.name for row in rows if row.computes is Computes.MATRIX_PRODUCT]
    for computes in order:
        found += [row.name for row in rows if row.computes is computes and row.kind in floats]
    return (*found, *(row.name for row in rows if row.computes is Computes.DOT_PRODUCT))


#: Opcodes that are the arithmetic a kernel is about, in the order in which a loop's main one is chosen on a tie.
MATH_OPCODES = _math_opcodes()

#: Opcode -> memory space. LDGSTS counts as a load of global memory; constant banks are left out.
LOADS = {row.name: row.space.value for row in OPCODES.values() if row.is_load and row.space}
STORES = {row.name: row.space.value for row in OPCODES.values() if row.is_store and row.space}
ATOMICS = {row.name: row.space.value for row in OPCODES.values() if row.is_atomic and row.space}
_MATRICES = {"1": 1, "2": 2, "4": 4}


def access_bits(instruction: Instruction) -> int:
    """Bits per lane that a memory instruction moves: 8, 16, 32, 64, 128 or 256."""
    modifiers = instruction.modifiers
    if is_matrix_access(instruction):
        return 32 * next((_MATRICES[word] for word in reversed(modifiers) if word in _MATRICES), 1)
    for word in modifiers:
        if word in ("64", "128", "256"):
            return int(word)
        if word in ("U8", "S8"):
            return 8
        if word in ("U16", "S16"):
            return 16
    return 32


def is_matrix_access(instruction: Instruction) -> bool:
    """LDSM and STSM: lanes name rows of 8x8 matrices."""
    access = opcode(instruction.opcode).access
    return access is not None and access.value.startswith("matrix")


def is_conditional_branch(instruction: Instruction) -> bool:
    """Whether control may also fall through: guarded, with a condition operand, or with a condition as a modifier.

    ``BRA.DIV`` has a mask as its operand from sm_80 on and the label alone on sm_75.
    """
    if guarded(instruction):
        return True
    row = opcode(instruction.opcode)
    if row.control is not Control.JUMP:
        return False
    return row.is_conditional(instruction.modifiers) or len(instruction.operands) > 1


def guarded(instruction: Instruction) -> bool:
    """Whether it is under a predicate that is not always true."""
    predicate = instruction.predicate
    return predicate is not None and not (predicate.is_zero and not predicate.negate)
