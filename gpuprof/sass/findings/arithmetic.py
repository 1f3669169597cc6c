"""Slow arithmetic in loops: integer division, conversions, and double literals in single-precision code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuprof.isa.opcodes import Access, Computes, Kind, opcode
from gpuprof.sass.findings.model import Case, Found
from gpuprof.sass.library_code import WIDE_DIVISION
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import kind_of

_MAX_DEPTH = 6
_MOVES = frozenset(("MOV", "UMOV", "IMAD", "R2UR", "HFMA2", "CS2R"))
_WIDER = ("F2F", "I2F")


def integer_division(case: Case) -> Iterator[Found]:
    """32-bit divisions by a variable: each begins with ``I2F.U32.RP``."""
    for loop in case.loops:
        wide = any(use.name == WIDE_DIVISION and case.loop_number(use.at) == loop.number for use in case.library.uses)
        reciprocals = [index for index in case.own(loop.number) if _starts_integer_division(case.code(index))]
        if reciprocals and not wide:  # a 64-bit division has a short way through 32 bits
            yield Found(
                "integer division", 65 + 10 * loop.depth, reciprocals, "integer divisions or remainders",
                "make the divisor a power of two or a constant, or count instead of dividing",
                single="integer division or remainder",
            )  # fmt: skip


def _starts_integer_division(instruction: Instruction) -> bool:
    return opcode(instruction.opcode).computes is Computes.CONVERT and "RP" in instruction.modifiers


def conversions(case: Case) -> Iterator[Found]:
    """Conversions in loops that are part of no division, library routine or double literal."""
    for loop in case.loops:
        indices = case.own(loop.number)
        if any(_starts_integer_division(case.code(index)) for index in indices):
            continue
        literal = set(_double_chains(case, indices))
        hits = [index for index in indices if opcode(case.code(index).opcode).computes is Computes.CONVERT
                and not _widens(case.code(index)) and _of_a_value(case, index)]  # fmt: skip
        if len(hits) >= 2 and not literal:
            yield Found(
                "conversion", 32 + 10 * loop.depth, hits, "conversions (a quarter or less of the FP32 rate)",
                "keep the loop in one type",
            )  # fmt: skip


def _widens(instruction: Instruction) -> bool:
    """To double: what a sum that is meant to be double costs."""
    return instruction.modifiers[:1] == ("F64",)


def _of_a_value(case: Case, index: int) -> bool:
    """Of a value of the program: rounded from double, or converted as it was loaded. Between arithmetic on integers and
    floats the math functions convert, and their exponents are none of the source's matter."""
    if case.code(index).opcode == "F2F":
        return True
    sites = [site for register in case.flow.roles[index].reads for site in case.flow.definitions(index, register).sites]
    return bool(sites) and all(opcode(case.code(site).opcode).access is Access.LOAD for site in sites)


def double_literals(case: Case) -> Iterator[Found]:
    """Values that become double only to meet a constant, and are then rounded back: ``s += a[i] * 0.1``."""
    groups: dict[int, list[int]] = {}
    chains = _double_chains(case, case.own_body)
    for index in chains:
        if kind_of(case.code(index)) is Kind.FP64:
            groups.setdefault(case.loop_number(index), []).append(index)
    for number, hits in groups.items():
        yield Found(
            "fp64", 72 if number else 26, hits, "FP64 instructions on single-precision values, by a double literal",
            "write constants as 0.1f, and call the float functions (sqrtf, expf)",
            single="FP64 instruction on single-precision values, by a double literal",
        )  # fmt: skip


def _double_chains(case: Case, indices: Sequence[int]) -> list[int]:
    """Conversions to double, FP64 arithmetic with a literal, and the rounding back to single, all in one iteration."""
    found: set[int] = set()
    for index in indices:
        instruction = case.code(index)
        if instruction.opcode != "F2F" or instruction.modifiers[:2] != ("F32", "F64"):
            continue
        chain: set[int] = set()
        literal, widened = _follow(case, index, chain, 0)
        if literal and widened:
            found |= {index, *chain}
    return sorted(found)


def _follow(case: Case, index: int, chain: set[int], depth: int) -> tuple[bool, bool]:
    """(a literal is met, a narrower value is widened) on the way back from an instruction, inside its loop."""
    literal = widened = False
    loop = case.loop_number(index)
    for register in case.flow.roles[index].reads:
        if register[0] != "R":
            continue
        for site in case.flow.definitions(index, register).sites:
            instruction = case.code(site)
            if site in chain or case.library.holds(site) or depth > _MAX_DEPTH:
                continue
            if instruction.opcode in _WIDER and "F64" in instruction.modifiers[:1] and case.loop_number(site) == loop:
                chain.add(site)
                widened = True
            elif kind_of(instruction) is Kind.FP64 and case.loop_number(site) == loop:
                chain.add(site)
                literal |= any(_is_literal(case, site, operand) for operand in instruction.operands[1:])
                more = _follow(case, site, chain, depth + 1)
                literal, widened = literal or more[0], widened or more[1]
    return literal, widened


def _is_literal(case: Case, index: int, operand: Operand) -> bool:
    """A number of the source: printed, in the constant bank of literals, or moved into registers from either."""
    if operand.kind in (OperandKind.FLOAT, OperandKind.IMMEDIATE):
        return True
    if operand.kind is OperandKind.CONSTANT:
        return operand.bank in (2, 4)
    if operand.kind not in (OperandKind.REGISTER, OperandKind.UNIFORM) or operand.is_zero:
        return False
    file = "R" if operand.kind is OperandKind.REGISTER else "UR"
    sites = case.flow.definitions(index, (file, operand.index)).sites
    return len(sites) == 1 and case.code(sites[0]).opcode in _MOVES and _moves_number(case.code(sites[0]))


def _moves_number(instruction: Instruction) -> bool:
    sources = instruction.operands[1:]
    if any(source.kind is OperandKind.CONSTANT and source.bank in (2, 4) for source in sources):
        return True
    registers = [source for source in sources if source.kind in (OperandKind.REGISTER, OperandKind.UNIFORM)]
    return all(source.is_zero for source in registers) and any(
        source.kind in (OperandKind.IMMEDIATE, OperandKind.FLOAT) for source in sources
    )
