"""Counts a loop by running its counter: where start, rule and bound are constants but the rule is not an addition.

Halving, doubling, multiplying and masking counters (``for (d = 128; d > 0; d >>= 1)``) depend on nothing but constants.
The instructions that the ways out depend on are run, alone, until one of the ways is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpuprof.isa.opcodes import FLOATING, Computes, opcode
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import guarded
from gpuprof.sass.word32 import MASK, lut, signed

_MAX_ITERATIONS = 1 << 16
_MAX_INSTRUCTIONS = 64
_FILES = {
    OperandKind.REGISTER: "R",
    OperandKind.UNIFORM: "UR",
    OperandKind.PREDICATE: "P",
    OperandKind.UNIFORM_PREDICATE: "UP",
}
_FLAGS = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "LT": int.__lt__, "LE": int.__le__, "GT": int.__gt__, "GE": int.__ge__, "EQ": int.__eq__, "NE": int.__ne__,
}  # fmt: skip


class _NotCountedError(Exception):
    """An instruction, operand or value that this room does not run."""


@dataclass(frozen=True)
class Way:
    """A way out: the index of its branch, the flags that decide it, and whether the loop goes on when all hold."""

    branch: int
    flags: tuple[Operand, ...]
    stays: bool


@dataclass
class Replay:
    """``inside``: the loop's instructions; ``once``: those of them that every iteration runs, and once.

    ``constant`` tells the number that a writer before the loop puts into a register, None when it is none.
    """

    flow: Dataflow
    header: int
    inside: frozenset[int]
    once: frozenset[int]
    constant: Callable[[int, Register], int | None]
    _words: dict[Register, int] = field(default_factory=dict)

    def leaves(self, ways: tuple[Way, ...]) -> tuple[int, int] | None:
        """(the iterations done before the loop is left, the branch that leaves it); None when it is not counted."""
        if not ways or min(self.inside) != self.header or any(way.branch not in self.once for way in ways):
            return None
        try:
            needed = self._needed(ways)
            return self._run(sorted({*needed, *(way.branch for way in ways)}), {way.branch: way for way in ways})
        except _NotCountedError:
            return None

    def _needed(self, ways: tuple[Way, ...]) -> set[int]:
        """The instructions of the loop that the ways out depend on; what comes from before it is noted."""
        code = self.flow.graph.function.instructions
        needed: set[int] = set()
        waiting = [(way.branch, _register(flag)) for way in ways for flag in way.flags]
        while waiting:
            reader, register = waiting.pop()
            for site in self._writers(reader, register):
                if site in needed:
                    continue
                if site not in self.once or guarded(code[site]) or len(needed) >= _MAX_INSTRUCTIONS:
                    raise _NotCountedError
                needed.add(site)
                waiting.extend((site, read) for read in self.flow.roles[site].reads)
        return needed

    def _writers(self, reader: int, register: Register) -> list[int]:
        found = self.flow.definitions(reader, register)
        before = [site for site in found.sites if site not in self.inside]
        if found.undefined:
            raise _NotCountedError
        for site in before:
            value = self.constant(site, register)
            if value is None or self._words.setdefault(register, value & MASK) != value & MASK:
                raise _NotCountedError
        return [site for site in found.sites if site in self.inside]

    def _run(self, indices: list[int], ways: Mapping[int, Way]) -> tuple[int, int]:
        code = self.flow.graph.function.instructions
        words = dict(self._words)
        for done in range(_MAX_ITERATIONS):
            for index in indices:
                way = ways.get(index)
                if way is None:
                    _execute(code[index], words)
                elif all(_flag(flag, words) for flag in way.flags) != way.stays:
                    return done, index
        raise _NotCountedError


def _register(operand: Operand) -> Register:
    return _FILES[operand.kind], operand.index


def _flag(operand: Operand, words: Mapping[Register, int]) -> bool:
    if operand.kind not in _FLAGS:
        raise _NotCountedError
    held = True if operand.is_zero else bool(_held(operand, words))
    return held != operand.negate


def _held(operand: Operand, words: Mapping[Register, int]) -> int:
    register = _register(operand)
    if register not in words:
        raise _NotCountedError
    return words[register]


def _word(operand: Operand, words: Mapping[Register, int]) -> int:
    if operand.kind is OperandKind.IMMEDIATE and isinstance(operand.value, int):
        return operand.value & MASK
    if operand.kind not in (OperandKind.REGISTER, OperandKind.UNIFORM) or operand.absolute or operand.suffixes:
        raise _NotCountedError
    value = 0 if operand.is_zero else _held(operand, words)
    value = ~value if operand.invert else value
    return (-value if operand.negate else value) & MASK


def _execute(instruction: Instruction, words: dict[Register, int]) -> None:
    """Runs one instruction on ``words``; predicates are 0 or 1."""
    row = opcode(instruction.opcode)
    run = _RUN.get(row.computes) if row.computes is not None and row.kind not in FLOATING else None
    target = instruction.operands[0] if instruction.operands else None
    if run is None or target is None or target.kind not in _FILES:
        raise _NotCountedError
    value = run(instruction, words)
    if not target.is_zero:
        words[_register(target)] = value & MASK


def _sources(instruction: Instruction, count: int, words: Mapping[Register, int]) -> list[int]:
    """The data sources after the target. Flags must be PT or UPT without a ``!``, or ``!PT`` at the end: no carry."""
    operands = instruction.operands[1:]
    if any(operand.kind in _FLAGS and not operand.is_zero for operand in operands):
        raise _NotCountedError
    data = [operand for operand in operands if operand.kind not in _FLAGS]
    if instruction.operands[0].kind in _FLAGS or len(data) != count:
        raise _NotCountedError
    return [_word(operand, words) for operand in data]


def _only(instruction: Instruction, *words: str) -> None:
    if any(word not in words for word in instruction.modifiers):
        raise _NotCountedError


def _add(instruction: Instruction, words: Mapping[Register, int]) -> int:
    _only(instruction)
    return sum(_sources(instruction, 3, words))


def _multiply_add(instruction: Instruction, words: Mapping[Register, int]) -> int:
    _only(instruction, "MOV", "IADD", "SHL", "U32")
    first, second, third = _sources(instruction, 3, words)
    return first * second + third


def _move(instruction: Instruction, words: Mapping[Register, int]) -> int:
    _only(instruction)
    (value,) = [_word(operand, words) for operand in instruction.operands[1:2]]
    return value


def _shift(instruction: Instruction, words: Mapping[Register, int]) -> int:
    """``SHF.L.U32 d, low, n, RZ`` and ``SHF.R.U32.HI`` or ``SHF.R.S32.HI d, RZ, n, high`` by a constant below 32."""
    low, amount, high = _sources(instruction, 3, words)
    if amount > 31 or instruction.operands[2].kind is not OperandKind.IMMEDIATE:
        raise _NotCountedError
    if instruction.modifiers == ("L", "U32") and instruction.operands[3].is_zero:
        return low << amount
    if not instruction.operands[1].is_zero or instruction.modifiers not in (("R", "U32", "HI"), ("R", "S32", "HI")):
        raise _NotCountedError
    return (signed(high) if "S32" in instruction.modifiers else high) >> amount


def _logic(instruction: Instruction, words: Mapping[Register, int]) -> int:
    _only(instruction, "LUT")
    first, second, third, table = _sources(instruction, 4, words)
    return lut(table, first, second, third)


def _compare(instruction: Instruction, words: Mapping[Register, int]) -> int:
    _only(instruction, "U32", "AND", "OR", *_RELATIONS)
    operands = instruction.operands
    relation = next((_RELATIONS[word] for word in instruction.modifiers if word in _RELATIONS), None)
    if relation is None or len(operands) != 5 or operands[0].kind not in _FLAGS or not operands[1].is_zero:
        raise _NotCountedError
    first, second = (_word(operand, words) for operand in operands[2:4])
    if "U32" not in instruction.modifiers:
        first, second = signed(first), signed(second)
    holds, also = relation(first, second), _flag(operands[4], words)
    return int(holds or also if "OR" in instruction.modifiers else holds and also)


def _predicate_logic(instruction: Instruction, words: Mapping[Register, int]) -> int:
    """``PLOP3.LUT P1, PT, PT, PT, UP0, 0x80, 0x0``: the table's bit at the three sources read as a number."""
    operands = instruction.operands
    if len(operands) < 6 or not operands[1].is_zero or operands[5].kind is not OperandKind.IMMEDIATE:
        raise _NotCountedError
    first, second, third = (_flag(operand, words) for operand in operands[2:5])
    return int(operands[5].value or 0) >> (first << 2 | second << 1 | third) & 1


_RUN: dict[Computes, Callable[[Instruction, Mapping[Register, int]], int]] = {
    Computes.ADD: _add,
    Computes.MULTIPLY_ADD: _multiply_add,
    Computes.MOVE: _move,
    Computes.FUNNEL_SHIFT: _shift,
    Computes.LOGIC: _logic,
    Computes.INTEGER_COMPARE: _compare,
    Computes.PREDICATE_LOGIC: _predicate_logic,
}
