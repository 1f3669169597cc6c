"""Instructions back to nvdisasm's text, rebuilt from their parts: the proof that parsing lost nothing."""

from __future__ import annotations

from gpuprof.sass.model import Instruction, Operand, OperandKind

_FILE_NAMES = {
    OperandKind.REGISTER: ("R", "RZ"),
    OperandKind.UNIFORM: ("UR", "URZ"),
    OperandKind.PREDICATE: ("P", "PT"),
    OperandKind.UNIFORM_PREDICATE: ("UP", "UPT"),
    OperandKind.BARRIER: ("B", "BZ"),
    OperandKind.SCOREBOARD: ("SB", "SBZ"),
}
_PREDICATES = frozenset({OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE})


def render(instruction: Instruction) -> str:
    """The instruction as nvdisasm prints it, without address, encoding, annotation and semicolon."""
    if not instruction.understood:
        return instruction.text
    text = instruction.mnemonic
    if instruction.predicate is not None:
        text = f"@{render_operand(instruction.predicate)} {text}"
    for number, operand in enumerate(instruction.operands):
        separator = ", " if number and not operand.glued else " "
        text += separator + render_operand(operand)
    return text


def render_operand(operand: Operand) -> str:
    """One operand from its parts; labels, floats and words have no parts beyond their text."""
    if operand.kind in _FILE_NAMES:
        return _register(operand)
    if operand.kind is OperandKind.IMMEDIATE:
        return _offset(operand)
    if operand.name and operand.kind is not OperandKind.DESCRIPTOR:
        return operand.text
    if operand.kind is OperandKind.CONSTANT:
        return _constant(operand)
    if operand.kind is OperandKind.MEMORY:
        descriptor = f"desc[{_register(operand.descriptor)}]" if operand.descriptor is not None else ""
        return f"{descriptor}[{_sum(operand)}]{_dotted(operand)}"
    if operand.kind is OperandKind.DESCRIPTOR:
        return f"{operand.name}[{_sum(operand)}]{_dotted(operand)}"
    return operand.text


def _register(operand: Operand) -> str:
    prefix, zero = _FILE_NAMES[operand.kind]
    name = zero if operand.is_zero else f"{prefix}{operand.index}"
    if operand.absolute:
        name = f"|{name}|"
    sign = "~" if operand.invert else ""
    if operand.negate:
        sign = "!" if operand.kind in _PREDICATES else "-"
    reuse = ".reuse" if operand.reuse else ""
    return f"{sign}{name}{reuse}{_dotted(operand)}"


def _constant(operand: Operand) -> str:
    if operand.descriptor is not None:
        space = f"cx[{_register(operand.descriptor)}]"
    else:
        space = f"c[0x{operand.bank or 0:x}]"
    base = render_operand(operand.base) if operand.base is not None else ""
    if not base:
        inner = f"0x{operand.value or 0:x}"
    elif operand.value:
        inner = f"{base}+{_offset(operand)}"
    else:
        inner = base
    text = f"{space}[{inner}]"
    if operand.absolute:
        text = f"|{text}|"
    sign = "-" if operand.negate else "~" if operand.invert else ""
    return f"{sign}{text}{_dotted(operand)}"


def _sum(operand: Operand) -> str:
    terms = [_register(part) for part in (operand.base, operand.uniform) if part is not None]
    if operand.value or not terms:
        terms.append(_offset(operand))
    return "+".join(terms)


def _offset(operand: Operand) -> str:
    value = int(operand.value or 0)
    return f"-0x{-value:x}" if value < 0 else f"0x{value:x}"


def _dotted(operand: Operand) -> str:
    return "".join(f".{word}" for word in operand.suffixes)
