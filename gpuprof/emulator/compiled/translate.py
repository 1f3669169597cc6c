"""A kernel's code as C++: one function per block of straight code, one per form of an instruction.

Instructions of one form (FFMA of three registers, say) share a function over the 32 lanes, so that a long unrolled loop
is a row of calls and compiles fast; its numpy semantics, traced with symbols, is its text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import gpuprof.emulator.compiled.functions  # noqa: F401 - registers what symbols can do
from gpuprof.emulator.compiled.control_instructions import CONTROL, ENDS, branch_targets
from gpuprof.emulator.compiled.lanes import SymbolicLanes, function_text
from gpuprof.emulator.compiled.memory_instructions import MEMORY, misread_copy, translate_access
from gpuprof.emulator.compiled.operands import mask_text
from gpuprof.emulator.compiled.warp_instructions import WARP_WIDE
from gpuprof.emulator.semantics.base import TABLE, Decoded, NotCovered
from gpuprof.emulator.semantics.fast_paths import specialise
from gpuprof.emulator.state.launch import CODE_BASE
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuprof.emulator.contract import Site
    from gpuprof.emulator.program import Program

#: What a semantics raises for a form that it, or its translation, does not know.
_UNBOUND = (NotCovered, IndexError, ValueError, TypeError, StopIteration, KeyError, AttributeError)


class Untranslatable(Exception):
    """The kernel has an instruction that only the numpy engine knows; the text says which and why."""


@dataclass(frozen=True)
class Segment:
    """Straight code from ``first`` to ``last`` (not included)."""

    number: int
    first: int
    last: int
    ends: bool  #: a run of the numpy engine ends with it


@dataclass(frozen=True)
class Translation:
    """C++ text of a kernel, and what its counts belong to."""

    forms: str  #: functions of instruction forms
    text: str  #: functions of blocks, which call them
    segments: tuple[Segment, ...]
    places: int  #: instructions of the program
    registers: int
    instructions: int  #: translated ones


@dataclass
class _Text:
    """The text as it grows: functions of forms by their body."""

    forms: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    registers: int = 0

    def form(self, body: str) -> str:
        """The name of the function with this body, whose own name appears as ``NAME``."""
        if body not in self.forms:
            self.forms[body] = f"f{len(self.forms)}"
        return self.forms[body]


def translate(program: Program, banks: Mapping[int, bytes], places: frozenset[int] = frozenset()) -> Translation:
    """The kernel as C++; ``places`` are further instruction numbers that jumps may reach. Raises Untranslatable."""
    text = _Text()
    starts = _leaders(program, banks, places)
    segments: list[Segment] = []
    for first, last, ends in _segments(program, starts):
        segment = Segment(len(segments), first, last, ends)
        segments.append(segment)
        text.functions.append(_segment_text(program, segment, text))
    return Translation(
        forms=_forms_text(text),
        text=_whole(program, segments, text),
        segments=tuple(segments),
        places=len(program.instructions),
        registers=text.registers,
        instructions=sum(segment.last - segment.first for segment in segments),
    )


def _leaders(program: Program, banks: Mapping[int, bytes], places: frozenset[int]) -> list[int]:
    """Instruction numbers at which a jump, a call, a return, or the next run may begin, of all code that is reached."""
    found: set[int] = set()
    waiting = deque([0, *places])
    pointers = _code_pointers(program, banks)
    while waiting:
        start = waiting.popleft()
        if start in found or not 0 <= start < len(program.instructions):
            continue
        found.add(start)
        index = start
        while index < len(program.instructions):
            instruction = program.instructions[index]
            if instruction.opcode == "BAR" and index != start:
                waiting.append(index)
                break
            site = program.bound(index)[1]
            if instruction.opcode not in ENDS:
                waiting.extend(_addresses(site))
                index += 1
                continue
            targets, indirect = branch_targets(site)
            waiting.extend(targets)
            if indirect:
                waiting.extend(pointers)
            break
    return sorted(found)


def _addresses(site: Site) -> Iterator[int]:
    """Places in the code that an instruction takes the address of."""
    for operand in site.instruction.operands:
        if operand.kind is OperandKind.LABEL and operand.relocation in ("lo", ""):
            try:
                yield site.target(operand) // INSTRUCTION_BYTES
            except NotCovered:
                continue


def _code_pointers(program: Program, banks: Mapping[int, bytes]) -> set[int]:
    """Instruction numbers that the constant banks may name: tables of jumps and pointers to functions."""
    found: set[int] = set()
    for bank, data in banks.items():
        if bank == 0:
            continue
        for offset in range(0, len(data) - 3, 4):
            word = int.from_bytes(data[offset : offset + 4], "little")
            wide = int.from_bytes(data[offset : offset + 8], "little") - CODE_BASE
            for value in (word, wide):
                if 0 < value < program.end and value % INSTRUCTION_BYTES == 0:
                    found.add(value // INSTRUCTION_BYTES)
    return found


def _segments(program: Program, starts: list[int]) -> Iterator[tuple[int, int, bool]]:
    known = set(starts)
    for start in starts:
        index = start
        while True:
            ended = program.instructions[index].opcode in ENDS
            index += 1
            if ended:
                yield start, index, True
                break
            if index >= len(program.instructions):
                yield start, index, True
                break
            if index in known:
                yield start, index, program.instructions[index].opcode == "BAR"
                break


def _segment_text(program: Program, segment: Segment, text: _Text) -> str:
    lines: list[str] = []
    for index in range(segment.first, segment.last):
        decoded, site = program.bound(index)
        text.registers = max(text.registers, _highest_register(decoded))
        lines += _instruction_lines(program, decoded, site, text)
    if program.instructions[segment.last - 1].opcode not in ENDS:
        behind = segment.last < len(program.instructions)
        lines.append(
            f"return {segment.last};" if behind else f"return gp_stop(w, REPEAT_IN_NUMPY, {segment.last - 1});"
        )
    body = "\n".join(f"  {line}" for line in lines if line)
    return (
        f"static i32 segment{segment.number}(Warp& w) {{\n  u32* const R = w.R; const u32 m = w.mask, wm = w.wmask; "
        f"u32 none[4 * 32];\n  (void)R; (void)m; (void)wm; (void)none;\n{body}\n}}"
    )


def _highest_register(decoded: Decoded) -> int:
    """One more than the highest register, with those that follow it in a wide operand."""
    highest = 0
    for operand in decoded.operands:
        for each in (operand, operand.base):
            if each is not None and each.kind is OperandKind.REGISTER and not each.is_zero:
                highest = max(highest, each.index + 9)
    return highest


def _instruction_lines(program: Program, decoded: Decoded, site: Site, text: _Text) -> list[str]:
    """C++ of one instruction under its guard. What numpy does not know either stops when it is reached."""
    instruction, index = decoded.instruction, site.index
    if program.why_not(index) is not None:
        return [f"return gp_stop(w, REPEAT_IN_NUMPY, {index});"]
    try:
        if instruction.opcode in ENDS:
            return ENDS[instruction.opcode](decoded, site)
        lines = misread_copy(decoded, index) if instruction.opcode == "LDGSTS" else []
        return lines + _guarded(decoded.instruction.predicate, _step_lines(decoded, site, text), index)
    except _UNBOUND as reason:
        why = str(reason) if isinstance(reason, NotCovered) else f"{type(reason).__name__}: {reason}"
        raise Untranslatable(f"{instruction.mnemonic}: {why}") from reason


def _guarded(guard: Operand | None, body: list[str], index: int) -> list[str]:
    if guard is None:
        if len(body) > 1 or (body and not body[0].endswith(";")) or any("const u32" in line for line in body):
            return ["{", *body, "}"]
        return body
    condition = mask_text(guard)
    return [
        f"{{ const u32 g_ = {condition}, on_ = m & g_; if (on_ != m) count_off(w, {index}, on_, m);",
        "if (on_) { const u32 to_ = on_ == m ? wm : wm & g_; { const u32 m = on_, wm = to_; (void)m; (void)wm;",
        *body,
        "} } }",
    ]


def _step_lines(decoded: Decoded, site: Site, text: _Text) -> list[str]:
    opcode = decoded.instruction.opcode
    if opcode in CONTROL:
        return CONTROL[opcode](decoded, site)
    if opcode in MEMORY:
        return translate_access(decoded, site.index)
    if opcode in WARP_WIDE:
        return WARP_WIDE[opcode](decoded, site.index)
    if opcode not in TABLE:
        raise NotCovered("no translation")
    lanes = SymbolicLanes(CODE_BASE)
    (specialise(decoded) or TABLE[opcode](decoded))(lanes)  # type: ignore[arg-type]
    if not lanes.form.stores:
        return []
    name = text.form(function_text("NAME", lanes))
    return [f"{name}({', '.join((*lanes.form.arguments, 'wm'))});"]


def _head(body: str, name: str) -> str:
    return "void " + body[: body.index(" {")].removeprefix("static void ").replace("NAME", name, 1)


def _forms_text(text: _Text) -> str:
    functions = [f"{_head(body, name)}{body[body.index(' {') :]}" for body, name in text.forms.items()]
    return "\n".join(('#include "lanes.hpp"', *functions, ""))


def _whole(program: Program, segments: list[Segment], text: _Text) -> str:
    declared = [f"{_head(body, name)};" for body, name in text.forms.items()]
    by_first = {segment.first: segment for segment in segments}
    entries = []
    for first, segment in sorted(by_first.items()):
        joins = int(program.instructions[first].opcode == "BSYNC")
        length = segment.last - segment.first
        entries.append(
            f"  table[{first}] = {{segment{segment.number}, {segment.number}, {length}, {int(segment.ends)}, {joins}}};"
        )
    table = [
        "struct Entry { Segment code; i32 number, length, ends, joins; };",
        f'extern "C" const Entry* gp_entries() {{ static Entry table[{len(program.instructions) + 1}];',
        *entries,
        "  return table; }",
    ]
    return "\n".join(('#include "lanes.hpp"', *declared, *text.functions, *table, ""))
