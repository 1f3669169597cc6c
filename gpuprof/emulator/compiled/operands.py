"""Operands of memory, control and warp-wide instructions as C++ text."""

from __future__ import annotations

from gpuprof.emulator.compiled.lanes import constant_text
from gpuprof.emulator.semantics.base import NotCovered
from gpuprof.sass.model import Operand, OperandKind

PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)
REGISTERS = (OperandKind.REGISTER, OperandKind.UNIFORM)
MASK64 = 2**64 - 1


def mask_text(operand: Operand) -> str:
    """A predicate as a mask of lanes."""
    if operand.kind not in PREDICATES:
        raise NotCovered(f"operand {operand.text}")
    if operand.is_zero:
        return "0u" if operand.negate else "~0u"
    if operand.kind is OperandKind.PREDICATE:
        text = f"w.P[{operand.index}]"
        return f"~{text}" if operand.negate else text
    yes, no = ("0u", "~0u") if operand.negate else ("~0u", "0u")
    return f"(w.UP[{operand.index}] ? {yes} : {no})"


def register_text(operand: Operand) -> str:
    """The lanes of a plain register from which on data are read or written; RZ reads as zeros."""
    if operand.is_zero:
        return "gp_zeros"
    if operand.kind is not OperandKind.REGISTER or operand.negate or operand.invert or operand.absolute:
        raise NotCovered(f"operand {operand.text}")
    return f"R + {32 * operand.index}"


def target_text(operand: Operand | None) -> str:
    """Where results go: a register's lanes, or nowhere that is looked at."""
    if operand is None or operand.is_zero:
        return "none"
    if operand.kind is not OperandKind.REGISTER:
        raise NotCovered(f"result {operand.text}")
    return f"R + {32 * operand.index}"


def word_text(operand: Operand) -> str:
    """A word that is the same in all lanes."""
    if operand.is_zero:
        return "0u"
    if operand.kind is OperandKind.UNIFORM and not (operand.negate or operand.invert):
        return f"w.U[{operand.index}]"
    if operand.kind is OperandKind.CONSTANT and not (operand.negate or operand.invert):
        return constant_text(operand)
    if operand.kind is OperandKind.IMMEDIATE:
        return f"0x{int(operand.value or 0) & 0xFFFFFFFF:x}u"
    raise NotCovered(f"operand {operand.text}")


def is_lanes(operand: Operand) -> bool:
    """Whether an operand has a value per lane."""
    return operand.kind is OperandKind.REGISTER and not operand.is_zero


def lanes_text(operand: Operand, name: str, lines: list[str]) -> str:
    """The lanes of a register, or of an array ``name`` that ``lines`` fill with a word."""
    if is_lanes(operand):
        return register_text(operand)
    lines.append(f"u32 {name}[32]; {{ const u32 word_ = {word_text(operand)}; LANES {{ {name}[l] = word_; }} }}")
    return name


def wide_text(operand: Operand) -> str:
    """A 64-bit address: ``memory.addresses.wide_address``."""
    low, high, more = "gp_zeros", "gp_zeros", [f"0x{int(operand.value or 0) & MASK64:x}ull"]
    for register in (operand.base, operand.uniform):
        if register is None or register.is_zero:
            continue
        if register.negate or register.invert or register.kind not in REGISTERS:
            raise NotCovered(f"operand {operand.text}")
        short = "U32" in register.suffixes
        if register.kind is OperandKind.UNIFORM:
            upper = "" if short else f" | (u64)w.U[{register.index + 1}] << 32"
            more.append(f"((u64)w.U[{register.index}]{upper})")
        elif low != "gp_zeros":
            raise NotCovered(f"operand {operand.text}")
        else:
            low = f"R + {32 * register.index}"
            high = "gp_zeros" if short else f"R + {32 * (register.index + 1)}"
    return f"Wide{{{low}, {high}, {' + '.join(more)}}}"


def narrow_text(operand: Operand) -> str:
    """A 32-bit address: ``memory.addresses.narrow_address``."""
    base, scale, more = "gp_zeros", 1, [f"0x{int(operand.value or 0) & 0xFFFFFFFF:x}u"]
    for register, factor in ((operand.base, operand.scale), (operand.uniform, 1)):
        if register is None or register.is_zero:
            continue
        if register.negate or register.invert or register.kind not in REGISTERS:
            raise NotCovered(f"operand {operand.text}")
        if register.kind is OperandKind.UNIFORM:
            more.append(f"w.U[{register.index}] * {factor}u")
        elif base != "gp_zeros":
            raise NotCovered(f"operand {operand.text}")
        else:
            base, scale = f"R + {32 * register.index}", factor
    return f"Narrow{{{base}, {scale}u, {' + '.join(more)}}}"
