"""Reading an instruction's form when it is bound: which operands are results, which modifiers are allowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Parts
from gpuprof.emulator.semantics.base import Decoded, NotCovered
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.semantics.base import U32, Bool, Lanes

PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)
COMPARISONS = ("LT", "EQ", "LE", "GT", "NE", "GE")
BOOLEANS = ("AND", "OR", "XOR")

#: What ``PT`` reads as: read-only, since values are never written in place.
TRUE = np.ones((1, 1, 1), np.bool_)
FALSE = np.zeros((1, 1, 1), np.bool_)
for _constant in (TRUE, FALSE):
    _constant.flags.writeable = False


@dataclass(frozen=True)
class Form:
    """Operands by their role: results first (register, then predicates), sources, predicates read."""

    results: Parts[Operand]
    predicate_results: Parts[Operand]
    sources: Parts[Operand]
    predicates: Parts[Operand]

    @property
    def result(self) -> Operand:
        return self.results[0]


def is_predicate(operand: Operand) -> bool:
    return operand.kind in PREDICATES


def arithmetic_form(insn: Decoded) -> Form:
    """``Rd[, Pu[, Pv]], sources..., predicates read...``: also with ``Pu`` before ``Rd`` (LOP3, SHFL, MATCH.ALL)."""
    before, rest = _leading_predicates(insn.operands)
    if not rest:
        raise NotCovered(f"{insn.instruction.text}: no result register")
    behind, sources = _leading_predicates(rest[1:])
    count = len(sources)
    while count and is_predicate(sources[count - 1]):
        count -= 1
    return Form(rest[:1], Parts(before + behind), sources[:count], sources[count:])


def comparison_form(insn: Decoded, sources: int = 2) -> Form:
    """``Pu, Pv, sources..., predicates read...``."""
    results, rest = _leading_predicates(insn.operands)
    return Form(Parts(), results, rest[:sources], rest[sources:])


def _leading_predicates(operands: Parts[Operand]) -> tuple[Parts[Operand], Parts[Operand]]:
    count = 0
    while count < len(operands) and is_predicate(operands[count]):
        count += 1
    return operands[:count], operands[count:]


def allow(insn: Decoded, *groups: Iterable[str]) -> None:
    """Raise ``NotCovered`` if the instruction has a modifier that is in none of the groups."""
    known = {name for group in groups for name in group}
    unknown = [name for name in insn.modifiers if name not in known]
    if unknown:
        raise NotCovered(f"{insn.instruction.mnemonic}: modifier .{'.'.join(unknown)}")


def pick(insn: Decoded, names: Iterable[str], default: str | None = None) -> str:
    """The first modifier that is one of ``names``, else the default; ``NotCovered`` when there is neither."""
    wanted = tuple(names)
    for name in insn.modifiers:
        if name in wanted:
            return name
    if default is None:
        raise NotCovered(f"{insn.instruction.mnemonic}: none of {', '.join(wanted)}")
    return default


def expect_sources(insn: Decoded, form: Form, *counts: int) -> None:
    """Raise ``NotCovered`` unless the number of sources is one of ``counts``."""
    if len(form.sources) not in counts:
        raise NotCovered(f"{insn.instruction.text}: {len(form.sources)} sources")


def integer(operand: Operand) -> int | None:
    """The value of an integer immediate or of RZ, else None."""
    if operand.kind is OperandKind.IMMEDIATE:
        return int(operand.value or 0)
    return 0 if operand.is_zero and not is_predicate(operand) and not operand.invert else None


def required_integer(insn: Decoded, operand: Operand) -> int:
    """The value of an operand that can only be an immediate (a table, a shift of LEA)."""
    value = integer(operand)
    if value is None:
        raise NotCovered(f"{insn.instruction.text}: {operand.text} is not an immediate")
    return value


def encoded_constant(insn: Decoded) -> int:
    """Bits 63:32 of the encoding: the 32-bit immediate of every form that has one (packed halves, floats)."""
    return insn.instruction.encoding >> 32 & 0xFFFFFFFF


def is_always(operand: Operand, value: bool) -> bool:
    """Whether a predicate operand is the constant ``value`` (PT, or !PT)."""
    return operand.is_zero and operand.negate is not value


def wanted(operands: tuple[Operand, ...]) -> tuple[Operand | None, Operand | None]:
    """The first two predicate results, None where absent or PT (a write to PT is dropped)."""
    found: list[Operand | None] = [None if operand.is_zero else operand for operand in operands[:2]]
    found += [None] * (2 - len(found))
    return found[0], found[1]


def predicate_register(index: int, *, uniform: bool = False) -> Operand:
    """P0..P6 or UP0..UP6, for the instructions that name them by a mask."""
    kind = OperandKind.UNIFORM_PREDICATE if uniform else OperandKind.PREDICATE
    return Operand(text=f"{'UP' if uniform else 'P'}{index}", kind=kind, index=index)


def constant_u32(value: int) -> U32:
    """A broadcast (1, 1, 1) array of 32 bits, read-only."""
    array = np.full((1, 1, 1), value & 0xFFFFFFFF, np.uint32)
    array.flags.writeable = False
    return array


def combine(lanes: Lanes, how: str, result: Bool, other: Operand | None) -> Bool:
    """``result how other`` with how AND, OR, XOR; ``other`` None means the neutral PT of AND."""
    if other is None or (how == "AND" and is_always(other, True)) or (how != "AND" and is_always(other, False)):
        return result
    value = lanes.predicate(other)
    if how == "AND":
        return result & value
    return result | value if how == "OR" else result ^ value


def set_comparison(lanes: Lanes, form: Form, how: str, result: NDArray[Any]) -> None:
    """Pu = result how Pp, Pv = (not result) how Pp; results to PT are not computed."""
    other = form.predicates[0] if form.predicates else None
    first, second = wanted(form.predicate_results)
    if first is not None:
        positive = combine(lanes, how, result, other)
    if second is not None:
        lanes.set_predicate(second, combine(lanes, how, ~result, other))
    if first is not None:
        lanes.set_predicate(first, positive)


def extremum(lanes: Lanes, form: Form, values: list[NDArray[Any]]) -> NDArray[Any]:
    """The minimum where the instruction's predicate is true, else the maximum."""
    choose = form.predicates[0]
    if choose.is_zero:
        return reduce(np.maximum if choose.negate else np.minimum, values)
    smallest: Bool = lanes.predicate(choose)
    return np.where(smallest, reduce(np.minimum, values), reduce(np.maximum, values))
