"""Two pieces of machine code side by side: what differs once register names and addresses are left out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from gpuprof.isa.constant_bank import BankNames, parameter_base
from gpuprof.sass.analysis import Analysis
from gpuprof.sass.model import Instruction, Operand, OperandKind

#: More instructions than this on either side are compared by their hot loops only.
MAX_INSTRUCTIONS = 6000

_NUMBERED = {
    OperandKind.REGISTER: "R",
    OperandKind.UNIFORM: "UR",
    OperandKind.PREDICATE: "P",
    OperandKind.UNIFORM_PREDICATE: "UP",
    OperandKind.BARRIER: "B",
}


@dataclass(frozen=True)
class Line:
    """One aligned line: an instruction of the first side, of the second, or of both (``sign`` ``-``, ``+``, `` ``)."""

    sign: str
    first: Instruction | None
    second: Instruction | None


@dataclass(frozen=True)
class Row:
    """One compared number; ``name`` in the words of the command's output."""

    section: str
    name: str
    first: object
    second: object

    @property
    def same(self) -> bool:
        return self.first == self.second


@dataclass(frozen=True)
class CodeDifference:
    """``verdict``: ``identical`` (text and control bits), ``registers`` (but for register names), ``different``."""

    verdict: str
    rows: tuple[Row, ...]
    lines: tuple[Line, ...]
    scope: str  #: ``all`` or ``hot loops``


def compare_code(first: Analysis, second: Analysis) -> CodeDifference:
    """The mix, loops and stream of both sides, and the aligned instructions."""
    large = max(first.instructions, second.instructions) > MAX_INSTRUCTIONS
    ours = _code(first, large)
    theirs = _code(second, large)
    lines = _align(ours, theirs, (first.arch, second.arch))
    verdict = "different"
    if not any(line.sign != " " for line in lines):
        verdict = (
            "identical"
            if [_exact(instruction) for instruction in ours] == [_exact(instruction) for instruction in theirs]
            else "registers"
        )
    return CodeDifference(verdict, tuple(_rows(first, second)), lines, "hot loops" if large else "all")


def _code(analysis: Analysis, large: bool) -> Sequence[Instruction]:
    body = analysis.function.body
    if not large:
        return body
    if analysis.hot_loop is None:
        return body[:MAX_INSTRUCTIONS]
    return [body[index] for index in analysis.loop_indices(analysis.hot_loop.number)][:MAX_INSTRUCTIONS]


def _exact(instruction: Instruction) -> tuple[str, int]:
    return instruction.text, instruction.encoding


def _align(ours: Sequence[Instruction], theirs: Sequence[Instruction], archs: tuple[str, str]) -> tuple[Line, ...]:
    matcher = difflib.SequenceMatcher(
        None,
        [shape_of(instruction, archs[0]) for instruction in ours],
        [shape_of(instruction, archs[1]) for instruction in theirs],
        autojunk=False,
    )
    lines: list[Line] = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            pairs = zip(ours[start:end], theirs[other_start:other_end], strict=True)
            lines.extend(Line(" ", one, other) for one, other in pairs)
            continue
        lines.extend(Line("-", instruction, None) for instruction in ours[start:end])
        lines.extend(Line("+", None, other) for other in theirs[other_start:other_end])
    return tuple(lines)


def shape_of(instruction: Instruction, arch: str = "sm_89") -> str:
    """The instruction without register numbers, addresses and ``.reuse``: what two compilers' choices share.

    Parameters and launch dimensions are named by what they are, since each architecture has them elsewhere in bank 0.
    """
    guard = f"@{_shape(instruction.predicate, arch)} " if instruction.predicate is not None else ""
    operands = ", ".join(_shape(operand, arch) for operand in instruction.operands)
    return f"{guard}{instruction.mnemonic} {operands}"


def _shape(operand: Operand, arch: str) -> str:
    name = _NUMBERED.get(operand.kind)
    if name is not None:
        number = "Z" if operand.is_zero and name in ("R", "UR") else "T" if operand.is_zero else ""
        flag = operand.kind in (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)
        sign = ("!" if flag else "-") if operand.negate else "~" if operand.invert else ""
        return sign + name + number + "".join(f".{word}" for word in operand.suffixes)
    if operand.kind is OperandKind.LABEL:
        return "label"
    if operand.kind is OperandKind.MEMORY:
        terms = [_shape(part, arch) for part in (operand.base, operand.uniform) if part is not None]
        return "[" + "+".join([*terms, hex(int(operand.value or 0))]) + "]"
    if operand.kind is OperandKind.CONSTANT and operand.bank == 0 and operand.base is None:
        return _named_constant(operand, arch)
    return operand.text


def _named_constant(operand: Operand, arch: str) -> str:
    offset = int(operand.value or 0)
    names = BankNames(arch)
    name = names.name(0, offset)
    if names.is_parameter(0, offset):
        name = f"parameters+0x{offset - parameter_base(arch):x}"
    sign = "-" if operand.negate else "~" if operand.invert else ""
    return f"{sign}|{name}|" if operand.absolute else sign + name


def _rows(first: Analysis, second: Analysis) -> list[Row]:
    rows = [
        Row("code", "instructions", first.instructions, second.instructions),
        Row("code", "code bytes", first.code_bytes, second.code_bytes),
        Row("code", "predicated", first.predication.predicated, second.predication.predicated),
        Row("code", "conditional branches", len(first.predication.branches), len(second.predication.branches)),
        Row("code", "loops", len(first.loops), len(second.loops)),
    ]
    rows += _loop_rows(first, second)
    rows += _stream_rows(first, second)
    rows += _finding_rows(first, second)
    names = sorted({*first.mix, *second.mix}, key=lambda name: -max(first.mix.get(name, 0), second.mix.get(name, 0)))
    return rows + [Row("mix", name, first.mix.get(name, 0), second.mix.get(name, 0)) for name in names]


def _loop_rows(first: Analysis, second: Analysis) -> list[Row]:
    one, other = first.hot_loop, second.hot_loop
    if one is None or other is None:
        return []
    math = one.math or other.math
    rows = [
        Row("hot loop", "instructions per iteration", one.instructions, other.instructions),
        Row("hot loop", "issue cycles per iteration", one.issue_cycles, other.issue_cycles),
        Row("hot loop", "barriers", one.barriers, other.barriers),
        Row("hot loop", "trips", one.trip.count or one.trip.kind, other.trip.count or other.trip.kind),
    ]
    if math:
        rows.insert(1, Row("hot loop", f"{math} per iteration", one.mix.get(math, 0), other.mix.get(math, 0)))
        rows.insert(2, Row("hot loop", f"{math} share %", _share(one.math_share), _share(other.math_share)))
    accesses = sorted({*one.loads, *other.loads, *one.stores, *other.stores})
    for name in accesses:
        if name in one.loads or name in other.loads:
            rows.append(Row("hot loop", f"{name} loads", one.loads.get(name, 0), other.loads.get(name, 0)))
        if name in one.stores or name in other.stores:
            rows.append(Row("hot loop", f"{name} stores", one.stores.get(name, 0), other.stores.get(name, 0)))
    return rows


def _share(value: float) -> float:
    return round(100 * value, 1)


def _stream_rows(first: Analysis, second: Analysis) -> list[Row]:
    one, other = first.stream, second.stream
    if one is None or other is None:
        return []
    pairs = (
        ("longest run", one.longest, other.longest),
        ("runs", len(one.runs), len(other.runs)),
        ("operands from the reuse cache", one.reused, other.reused),
        ("bank conflict cycles", one.bank_conflict_cycles, other.bank_conflict_cycles),
        ("accumulators", one.accumulators, other.accumulators),
        ("longest chain", one.longest_chain, other.longest_chain),
        ("dependent pairs", one.dependent_pairs, other.dependent_pairs),
    )
    name = f"{one.math} stream" if one.math == other.math else f"{one.math} and {other.math} streams"
    return [Row(name, *pair) for pair in pairs]


def _finding_rows(first: Analysis, second: Analysis) -> list[Row]:
    def totals(analysis: Analysis) -> dict[str, int]:
        counts: dict[str, int] = {}
        for finding in analysis.findings:
            counts[finding.kind] = counts.get(finding.kind, 0) + finding.number
        return counts

    one, other = totals(first), totals(second)
    return [Row("findings", name, one.get(name, 0), other.get(name, 0)) for name in sorted({*one, *other})]
