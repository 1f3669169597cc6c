"""How often a loop runs, where the code says it: an induction register, its start, its step and its bound.

The exit's compare is followed back to ``phi(register) + offset``, where phi is the register's value at the loop's
header; the register must be written once in the loop, by adding a constant to its own value (or shifting it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gpuprof.isa.opcodes import FLOATING, Computes, names_where, opcode
from gpuprof.sass.backward_slice import Origins, Tracer
from gpuprof.sass.cfg import Loop, target_address
from gpuprof.sass.counter_replay import Replay, Way
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import guarded, is_conditional_branch
from gpuprof.sass.word32 import MASK, signed

_COMPARES = names_where(lambda row: row.computes is Computes.INTEGER_COMPARE)
_INVERSE = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_SIGNS = {"LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "NE": "!=", "EQ": "=="}
_MAX_DEPTH = 24
_WORD = MASK + 1
_DATA = {OperandKind.REGISTER: "R", OperandKind.UNIFORM: "UR"}
_FLAG = {OperandKind.PREDICATE: "P", OperandKind.UNIFORM_PREDICATE: "UP"}


@dataclass(frozen=True)
class Trip:
    """``kind``: ``constant`` (``count`` iterations, at most that many when other exits exist), ``run time`` (the bound
    is a value of the launch), ``data`` (an exit depends on loaded data), ``unknown``.

    ``count`` tells how often most of the loop's code runs: the last, unfinished iteration counts where the way out
    is after most of it, and does not where it is before. ``text`` reads as in ``for``: start, step, bound.
    """

    kind: str
    count: int | None = None
    text: str = ""
    at_most: bool = False
    step: int | None = None


@dataclass(frozen=True)
class _Value:
    """``phi(register) + offset`` within one iteration."""

    register: Register
    offset: int


@dataclass(frozen=True)
class _Exit:
    """One conditional way out: the compare that decides it, and whether the loop goes on when it holds."""

    block: int
    compare: int
    stay: str  #: the relation between induction value and bound that stays in the loop
    induction: _Value
    bound: Operand
    unsigned: bool
    alone: bool  #: no other condition is mixed in


def trip_of(loop: Loop, flow: Dataflow, tracer: Tracer) -> Trip:
    """The trip count of a loop, as far as its code tells."""
    analysis = _Analysis(loop, flow, tracer)
    found = [way_out for block in loop.exits for way_out in analysis.exits_of(block)]
    trips = [trip for trip in (analysis.trip(way_out) for way_out in found) if trip is not None]
    several = len(loop.exits) > 1 or any(len(analysis.flags_of(block)) > 1 for block in loop.exits)
    for kind in ("constant", "run time"):
        of_kind = [trip for trip in trips if trip.kind == kind]
        if of_kind:
            best = min(of_kind, key=lambda trip: trip.count if trip.count is not None else 0)
            return replace(best, at_most=several)
    return analysis.from_origins()


class _Analysis:
    """The questions about one loop."""

    def __init__(self, loop: Loop, flow: Dataflow, tracer: Tracer) -> None:
        self.loop, self.flow, self.tracer = loop, flow, tracer
        self.graph = flow.graph
        self.code = flow.graph.function.instructions
        self.inside = {index for block in loop.blocks for index in self._range(block)}

    def _range(self, block: int) -> range:
        return range(self.graph.blocks[block].start, self.graph.blocks[block].end)

    def exits_of(self, block: int) -> list[_Exit]:
        """The compares after the branch that ends ``block``, each of which leaves the loop by itself."""
        last = self.graph.blocks[block].end - 1
        flags = self.flags_of(block)
        taken_stays = self._stays(self.code[last])
        if len(flags) > 1 and not taken_stays:  # the branch leaves when all of its flags hold, and not for one alone
            return []
        found = (self._from_flag(block, last, flag, taken_stays != flag.negate) for flag in flags)
        return [way_out for way_out in found if way_out is not None]

    def flags_of(self, block: int) -> list[Operand]:
        """The predicates that decide the branch at the end of ``block``."""
        branch = self.code[self.graph.blocks[block].end - 1]
        return _branch_flags(branch) if is_conditional_branch(branch) else []

    def _stays(self, branch: Instruction) -> bool:
        """Whether the branch, when taken, remains in the loop."""
        target = target_address(branch)
        if branch.opcode == "EXIT" or target is None:
            return False
        return any(self.code[self.graph.blocks[block].start].address == target for block in self.loop.blocks)

    def _from_flag(self, block: int, index: int, flag: Operand, stay_when: bool) -> _Exit | None:
        """The compare that set ``flag``; the loop goes on when the flag equals ``stay_when``."""
        register = (_FLAG[flag.kind], flag.index)
        sites = [site for site in self.flow.definitions(index, register).sites if site in self.inside]
        if len(sites) == 1 and self.code[sites[0]].opcode in _COMPARES:
            return self._from_compare(block, sites[0], register, stay_when)
        if len(sites) > 1 and all(_constant_flag(self.code[site]) is not None for site in sites):
            return self._from_branches(block, sites, stay_when)
        return None

    def _from_branches(self, block: int, sites: list[int], stay_when: bool) -> _Exit | None:
        """``PLOP3`` sets the flag to true on one side of an earlier branch and false on the other: take that branch."""
        for site in sites:
            if _constant_flag(self.code[site]) is stay_when:
                continue
            last = self.graph.blocks[self.graph.block_of[site]].end - 1
            branch = self.code[last]
            flags = _branch_flags(branch)
            if len(flags) != 1 or not is_conditional_branch(branch):
                continue
            flag = flags[0]
            # The block that clears the flag goes on to the join when the branch is taken: taking it leaves the loop.
            register = (_FLAG[flag.kind], flag.index)
            inner = [site for site in self.flow.definitions(last, register).sites if site in self.inside]
            if len(inner) == 1 and self.code[inner[0]].opcode in _COMPARES:
                return self._from_compare(block, inner[0], register, flag.negate)
        return None

    def _from_compare(self, block: int, index: int, flag: Register, stay_when: bool) -> _Exit | None:
        instruction = self.code[index]
        if len(instruction.operands) < 5 or "EX" in instruction.modifiers:
            return None
        relation = next((word for word in instruction.modifiers if word in _INVERSE), None)
        first, second, also = instruction.operands[2], instruction.operands[3], instruction.operands[4]
        if relation is None or (instruction.operands[0].index != flag[1]):
            return None
        value, bound = self._value(index, first), second
        if value is None or self._step(value.register) is None:
            value, bound = self._value(index, second), first
            relation = _SWAPPED[relation]
        if value is None or self._step(value.register) is None or not self._is_invariant(index, bound):
            return None
        stay = relation if stay_when else _INVERSE[relation]
        alone = also.is_zero and not also.negate
        return _Exit(block, index, stay, value, bound, "U32" in instruction.modifiers, alone)

    def _value(self, index: int, operand: Operand, depth: int = 0) -> _Value | None:
        file = _DATA.get(operand.kind)
        if file is None or operand.is_zero or operand.negate or depth > _MAX_DEPTH:
            return None
        register = (file, operand.index)
        found = self.flow.definitions(index, register)
        inner = [site for site in found.sites if site in self.inside]
        if not inner:
            return None
        if len(inner) < len(found.sites) or found.undefined:
            return _Value(register, 0) if len(inner) == 1 else None
        return self._computed(inner[0], depth) if len(inner) == 1 else None

    def _computed(self, site: int, depth: int) -> _Value | None:
        """The value that instruction ``site`` writes, when it adds a constant or copies."""
        added = _added(self.code[site])
        if added is None or guarded(self.code[site]):
            return None
        source, amount = added
        value = self._value(site, source, depth + 1)
        return _Value(value.register, value.offset + amount) if value is not None else None

    def _step(self, register: Register) -> int | None:
        """What one iteration adds to phi(register)."""
        sites = self._phi_sites(register)
        inner = [site for site in sites if site in self.inside]
        if len(inner) != 1 or not self._runs_once(self.graph.block_of[inner[0]]):
            return None
        value = self._computed(inner[0], 0)
        return value.offset if value is not None and value.register == register else None

    def _runs_once(self, block: int) -> bool:
        """Whether each iteration runs ``block``, and once: it is in no inner loop."""
        inner = self.graph.loop_of(block)
        return inner is not None and inner.number == self.loop.number and self.graph.always_runs(block, self.loop)

    def _phi_sites(self, register: Register) -> tuple[int, ...]:
        return self.flow.definitions(self.graph.blocks[self.loop.header].start, register).sites

    def _is_invariant(self, index: int, operand: Operand) -> bool:
        file = _DATA.get(operand.kind)
        if file is None or operand.is_zero:
            return True
        sites = self.flow.definitions(index, (file, operand.index)).sites
        return all(site not in self.inside or self._is_copy_of_invariant(site) for site in sites)

    def _is_copy_of_invariant(self, site: int) -> bool:
        """A constant load or move inside the loop writes the same each time."""
        reads = self.flow.roles[site].reads
        return not reads and self.code[site].opcode not in ("S2R", "CS2R")

    def trip(self, found: _Exit) -> Trip | None:
        """The count where start, step and bound are constants, otherwise what they are."""
        step = self._step(found.induction.register)
        if step is None or step == 0:
            return None
        start = self._start(found.induction.register)
        bound = self._constant(found.compare, found.bound)
        late = self._is_late(found.block)
        # A test at the end sees the value of the iteration to come: step is added to what this iteration began with.
        ahead = found.induction.offset - (step if late else 0)
        if start is not None and bound is not None and found.alone:
            count = iterations(start + found.induction.offset, step, found.stay, bound, unsigned=found.unsigned)
            if count is not None:
                text = f"{start} by {step:+d} while {_SIGNS[found.stay]} {_as_read(bound, found) - ahead}"
                return Trip("constant", count + 1 if late else count, text, step=step)
        origins = self._bound_origins(found)
        if origins.loaded or origins.exchanged:
            return Trip("data", None, f"bound comes from {origins.words()}", step=step)
        where = str(_as_read(bound, found) - ahead) if bound is not None else self._bound_words(found, origins, ahead)
        first = str(start) if start is not None else "a run-time start"
        return Trip("run time", None, f"{first} by {step:+d} while {_SIGNS[found.stay]} {where}", step=step)

    def _is_late(self, block: int) -> bool:
        """Whether the way out at the end of ``block`` has most of an iteration's code before it."""
        rest = [other for other in self.loop.blocks if other != block and self.graph.dominates(block, other)]
        behind = sum(self.graph.blocks[other].length for other in rest)
        return 2 * behind < sum(self.graph.blocks[other].length for other in self.loop.blocks)

    def _bound_origins(self, found: _Exit) -> Origins:
        file = _DATA.get(found.bound.kind)
        if file is None or found.bound.is_zero:
            return Origins()
        return self.tracer.of_register(found.compare, (file, found.bound.index))

    def _bound_words(self, found: _Exit, origins: Origins, ahead: int) -> str:
        more = f" {-ahead:+d}".replace("+", "+ ").replace("-", "- ") if ahead else ""
        if found.bound.kind is OperandKind.CONSTANT:
            return self.tracer.banks.name(found.bound.bank, int(found.bound.value or 0)) + more
        return f"{found.bound.text}{more} (from {origins.words()})"

    def _start(self, register: Register) -> int | None:
        outer = [site for site in self._phi_sites(register) if site not in self.inside]
        values = {self._written_constant(site, register, 0) for site in outer}
        return values.pop() if len(values) == 1 else None

    def _constant(self, index: int, operand: Operand, depth: int = 0) -> int | None:
        if operand.kind is OperandKind.IMMEDIATE:
            return signed(int(operand.value or 0))
        if operand.is_zero and operand.kind in _DATA:
            return 0
        file = _DATA.get(operand.kind)
        if file is None or depth > _MAX_DEPTH or operand.invert:
            return None
        register = (file, operand.index)
        found = self.flow.definitions(index, register)
        values = {self._written_constant(site, register, depth + 1) for site in found.sites}
        if found.undefined or len(values) != 1:
            return None
        value = values.pop()
        return -value if value is not None and operand.negate else value

    def _written_constant(self, site: int, register: Register, depth: int) -> int | None:
        """The number that instruction ``site`` puts into ``register``, when it always puts the same one."""
        instruction = self.code[site]
        if guarded(instruction) or depth > _MAX_DEPTH:
            return None
        if instruction.opcode in ("CS2R", "CS2UR"):
            return 0 if instruction.operands[-1].is_zero else None
        if instruction.opcode == "HFMA2":
            return _half_constant(instruction)
        added = _added(instruction)
        if added is None:
            return None
        source, amount = added
        base = self._constant(site, source, depth + 1)
        return signed(base + amount) if base is not None else None

    def from_origins(self) -> Trip:
        """No counter was found: say at least what the way out depends on."""
        if (replayed := self._replayed()) is not None:
            return replayed
        origins = [self.tracer.of_register(index, flag) for index, flag in self._exit_flags()]
        loaded = sorted({space for origin in origins for space in origin.loaded})
        if loaded or any(origin.exchanged for origin in origins):
            words = " and ".join(loaded) or "a warp exchange"
            return Trip("data", None, f"exit depends on data loaded from {words}")
        if not origins or any(origin.unknown for origin in origins):
            return Trip("unknown", None, "exit condition not recognized")
        if all(origin == Origins() for origin in origins):
            return Trip("unknown", None, "exit depends on constants only; the trip count was not derived")
        return Trip("run time", None, f"exit depends on {origins[0].words()}")

    def _replayed(self) -> Trip | None:
        """The count of a loop whose ways out depend on constants, by running what they depend on."""
        once = [block for block in self.loop.blocks if self._runs_once(block)]
        ways = [self._way(block) for block in self.loop.exits]
        replay = Replay(
            self.flow,
            self.graph.blocks[self.loop.header].start,
            frozenset(self.inside),
            frozenset(index for block in once for index in self._range(block)),
            lambda site, register: self._written_constant(site, register, 0),
        )
        left = replay.leaves(tuple(ways))
        if left is None:
            return None
        done, branch = left
        late = self._is_late(self.graph.block_of[branch])
        return Trip("constant", done + 1 if late else done, "its counter depends on constants alone")

    def _way(self, block: int) -> Way:
        last = self.graph.blocks[block].end - 1
        return Way(last, tuple(self.flags_of(block)), self._stays(self.code[last]))

    def _exit_flags(self) -> list[tuple[int, Register]]:
        flags: list[tuple[int, Register]] = []
        for block in self.loop.exits:
            last = self.graph.blocks[block].end - 1
            flags.extend((last, (_FLAG[flag.kind], flag.index)) for flag in self.flags_of(block))
        return flags


def iterations(start: int, step: int, stay: str, bound: int, *, unsigned: bool = False) -> int | None:
    """How many successive values start, start+step, ... satisfy ``value stay bound``; None for no end.

    The values are 32-bit words; None too where they would run over their end before the relation fails.
    """
    lowest, highest = (0, _WORD - 1) if unsigned else (-_WORD // 2, _WORD // 2 - 1)
    if unsigned:
        start, bound = start % _WORD, bound % _WORD
    if stay == "EQ":
        return 1 if start == bound else 0
    if stay == "NE":
        distance = bound - start
        return distance // step if distance % step == 0 and distance // step >= 0 else None
    count = _steps_below(start, step, bound, stay) if stay in ("LT", "LE") else _steps_above(start, step, bound, stay)
    return count if count is not None and lowest <= start + count * step <= highest else None


def _steps_above(start: int, step: int, bound: int, stay: str) -> int | None:
    return _steps_below(-start, -step, -bound, {"GT": "LT", "GE": "LE"}[stay])


def _steps_below(start: int, step: int, bound: int, stay: str) -> int | None:
    end = bound + 1 if stay == "LE" else bound
    if start >= end:
        return 0
    return -((start - end) // step) if step > 0 else None


def _as_read(bound: int, found: _Exit) -> int:
    """The bound as its compare reads it: a word without a sign for ``.U32``."""
    return bound % _WORD if found.unsigned and found.stay not in ("EQ", "NE") else bound


def _branch_flags(branch: Instruction) -> list[Operand]:
    """The predicates that decide a conditional branch: its guard, and the one that BRA may have as an operand."""
    flags = [branch.predicate] if guarded(branch) and branch.predicate is not None else []
    operand = branch.operands[0] if branch.opcode == "BRA" and len(branch.operands) > 1 else None
    if operand is not None and operand.kind in _FLAG and not operand.is_zero:
        flags.append(operand)
    return flags


def _constant_flag(instruction: Instruction) -> bool | None:
    """What ``PLOP3.LUT P, PT, PT, PT, PT, 0x80, 0x0`` sets: true when the table's entry for (1, 1, 1) is 1."""
    operands = instruction.operands
    if instruction.opcode not in ("PLOP3", "UPLOP3") or len(operands) < 6 or guarded(instruction):
        return None
    if not all(operand.is_zero and not operand.negate for operand in operands[2:5]):
        return None
    return bool(int(operands[5].value or 0) >> 7 & 1)


def _added(instruction: Instruction) -> tuple[Operand, int] | None:
    """(source, constant) of an instruction that writes source + constant; a move adds 0."""
    operands = [operand for operand in instruction.operands if operand.kind not in _FLAG]
    row = opcode(instruction.opcode)
    reader = _ADDED.get(row.computes) if row.computes is not None and row.kind not in FLOATING else None
    return reader(instruction, operands) if reader is not None and len(operands) > 1 else None


def _sum_of_sources(instruction: Instruction, operands: list[Operand]) -> tuple[Operand, int] | None:
    if "X" in instruction.modifiers or "64" in instruction.modifiers:
        return None
    sources = [operand for operand in operands[1:] if not operand.is_zero]
    constants = [operand for operand in sources if operand.kind is OperandKind.IMMEDIATE]
    others = [operand for operand in sources if operand.kind is not OperandKind.IMMEDIATE]
    if not others and operands[1:]:
        return (
            (operands[-1], 0)
            if not constants
            else (constants[0], sum(signed(int(o.value or 0)) for o in constants[1:]))
        )
    if len(others) != 1 or others[0].negate or others[0].invert:
        return None
    return others[0], sum(signed(int(operand.value or 0)) for operand in constants)


def _move(instruction: Instruction, operands: list[Operand]) -> tuple[Operand, int] | None:
    return operands[1], 0


def _multiply_add(instruction: Instruction, operands: list[Operand]) -> tuple[Operand, int] | None:
    """``IMAD.MOV RZ, RZ, x``, ``IMAD.IADD a, 0x1, c`` and their like."""
    if len(operands) < 4 or "WIDE" in instruction.modifiers or "HI" in instruction.modifiers:
        return None
    first, second, third = operands[1:4]
    if first.is_zero or second.is_zero:
        return third, 0
    if second.kind is OperandKind.IMMEDIATE and second.value == 1:
        return _sum_of_sources(instruction, [operands[0], first, third])
    return None


#: What an integer instruction computes -> the operand that it copies and the constant that it adds.
_ADDED: dict[Computes, Callable[[Instruction, list[Operand]], tuple[Operand, int] | None]] = {
    Computes.ADD: _sum_of_sources,
    Computes.MOVE: _move,
    Computes.READ_SPECIAL: _move,
    Computes.MULTIPLY_ADD: _multiply_add,
}


def _half_constant(instruction: Instruction) -> int | None:
    """``HFMA2 R, -RZ, RZ, 0, 5.96e-08``: the constant that it puts into R is the encoding's bits 63:32."""
    operands = instruction.operands
    if len(operands) < 4 or not all(operand.is_zero for operand in operands[1:3]):
        return None
    return signed(instruction.encoding >> 32 & 0xFFFFFFFF)
