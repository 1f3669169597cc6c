"""The addresses that the lanes of one warp touch, where the code tells.

A register is worked out for the 32 lanes at once: ``known`` is the part that is a number per lane, ``scaled`` are
parts that are such numbers times a run-time value (a row pitch, say), and what is the same in all lanes is dropped.
That is enough for the sectors of a global access and the bank conflicts of a shared one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpuprof.isa.constant_bank import BankNames
from gpuprof.isa.machine import WARP_LANES
from gpuprof.isa.opcodes import FLOATING, Access, Computes, opcode
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import access_bits, guarded
from gpuprof.sass.word32 import MASK, lut

_DEEPEST = 40
Lanes = tuple[int, ...]
Sites = tuple[int, ...]
_ZERO: Lanes = (0,) * WARP_LANES


@dataclass(frozen=True)
class Value:
    """``known[lane] + sum(scaled[name][lane] * name) + (something equal in all lanes, when not exact)``."""

    known: Lanes = _ZERO
    scaled: tuple[tuple[str, Lanes], ...] = ()
    exact: bool = True  #: nothing was dropped: ``known`` is the whole value

    @property
    def uniform(self) -> bool:
        return not self.scaled and len(set(self.known)) == 1


_UNIFORM = Value(exact=False)


@dataclass
class LaneEvaluator:
    """Evaluates registers of one function for the first warp of a block of ``block`` threads.

    Answers None where the value depends on data, or on arithmetic that does not split into the parts of ``Value``.
    """

    flow: Dataflow
    block: tuple[int, int, int] | None
    banks: BankNames = field(default_factory=BankNames)
    _known: dict[tuple[Sites, Register], Value | None] = field(default_factory=dict)

    def address(self, index: int) -> Value | None:
        """The byte address of memory instruction ``index``, up to a part that all lanes share."""
        instruction = self.flow.graph.function.instructions[index]
        operand = next((one for one in instruction.operands if one.kind is OperandKind.MEMORY), None)
        if operand is None:
            return None
        if operand.base is None:
            return _UNIFORM
        base = self._operand(index, operand.base, 0)
        return None if base is None else _add(_times(base, operand.scale), _UNIFORM)

    def _operand(self, index: int, operand: Operand, depth: int) -> Value | None:
        value: Value | None
        if operand.kind is OperandKind.IMMEDIATE:
            value = _number(int(operand.value or 0))
        elif operand.kind is OperandKind.CONSTANT:
            value = self._constant(operand)
        elif operand.kind in (OperandKind.UNIFORM, OperandKind.REGISTER):
            if operand.is_zero:
                return _number(0)
            file = "R" if operand.kind is OperandKind.REGISTER else "UR"
            value = self._register(index, (file, operand.index), depth)
        else:
            return None
        if operand.invert or operand.absolute:
            return value if value is not None and value.uniform and not value.exact else None
        return _times(value, -1) if operand.negate and value is not None else value

    def _constant(self, operand: Operand) -> Value:
        if operand.bank == 0 and operand.base is None and self.block is not None:
            name = self.banks.name(0, int(operand.value or 0))
            if name.startswith("blockDim."):
                return _number(self.block["xyz".index(name[-1])])
        return _UNIFORM

    def _register(self, index: int, register: Register, depth: int) -> Value | None:
        if depth > _DEEPEST:
            return None
        found = self.flow.definitions(index, register)
        sites = found.sites
        if sites and self._under_same_guard(index, sites[0]):
            sites = sites[:1]  # a writer under the reader's own guard decides, whatever older writers there are
        elif found.undefined or not sites:
            return None
        key = (sites, register)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._joined(sites, register, depth)
        return self._known[key]

    def _joined(self, sites: Sites, register: Register, depth: int) -> Value | None:
        """The one value of all definitions, or of a loop's start when each iteration adds the same to all lanes."""
        if len(sites) == 1:
            return self._result(sites[0], register, depth + 1)
        inner = [site for site in sites if self._every_iteration(site)]
        outer = [site for site in sites if site not in inner]
        if inner and len(outer) == 1:
            return self._carried(sites, register, outer[0], inner, depth)
        values = {self._result(site, register, depth + 1) for site in sites}
        return values.pop() if len(values) == 1 else None

    def _carried(self, sites: Sites, register: Register, start: int, updates: list[int], depth: int) -> Value | None:
        """A value that a loop carries: assumed to keep the lanes' distances of its start, then checked."""
        value = self._result(start, register, depth + 1)
        if value is None:
            return None
        assumed = Value(value.known, value.scaled, exact=False)
        self._known[sites, register] = assumed
        for site in updates:
            updated = self._result(site, register, depth + 1)
            if updated is None or _shape(updated) != _shape(assumed):
                self._known.clear()  # what was worked out under the assumption does not hold
                return None
        return assumed

    def _under_same_guard(self, reader: int, writer: int) -> bool:
        code = self.flow.graph.function.instructions
        guard = code[reader].predicate
        return guard is not None and code[writer].predicate == guard and writer < reader

    def _every_iteration(self, site: int) -> bool:
        """Whether all lanes that go round its loop execute it each time."""
        graph = self.flow.graph
        block = graph.block_of[site]
        loop = graph.loop_of(block)
        certain = loop is not None and graph.always_runs(block, loop)
        return certain and not guarded(graph.function.instructions[site])

    def _result(self, site: int, register: Register, depth: int) -> Value | None:
        instruction = self.flow.graph.function.instructions[site]
        if self.flow.roles[site].writes[:1] != (register,):
            zero = opcode(instruction.opcode).computes is Computes.READ_SPECIAL and instruction.operands[-1].is_zero
            return _number(0) if zero else self._uniform_inputs(site, depth)
        rule = _rule(instruction.opcode)
        if rule is not None:
            value = rule(self, site, instruction, depth)
            if value is not None:
                return value
        return self._uniform_inputs(site, depth)

    def _uniform_inputs(self, site: int, depth: int) -> Value | None:
        """Any arithmetic on values that all lanes share gives a value that all lanes share."""
        instruction = self.flow.graph.function.instructions[site]
        if not opcode(instruction.opcode).is_pure:
            return None
        for register in self.flow.roles[site].reads:
            if register[0] in ("P", "UP"):
                return None
            value = self._register(site, register, depth + 1)
            if value is None or not value.uniform:
                return None
        return _UNIFORM

    def name_of(self, index: int, operand: Operand) -> str:
        """What to call a run-time value: its constant's name where it was loaded from one, else the register."""
        if operand.kind is OperandKind.CONSTANT:
            return self.banks.name(operand.bank, int(operand.value or 0))
        file = "R" if operand.kind is OperandKind.REGISTER else "UR"
        sites = self.flow.definitions(index, (file, operand.index)).sites
        if len(sites) == 1:
            source = self.flow.graph.function.instructions[sites[0]].operands[-1]
            if source.kind is OperandKind.CONSTANT and source.base is None:
                return self.name_of(sites[0], source)
        return operand.text.removesuffix(".reuse")

    def special(self, name: str) -> Value | None:
        """The lanes' values of a special register."""
        if name == "SR_LANEID":
            return Value(tuple(range(WARP_LANES)))
        if name.startswith("SR_TID."):
            width, height, _ = self.block or (WARP_LANES, 1, 1)
            axis = name[-1]
            if axis == "X":
                return Value(tuple(lane % width for lane in range(WARP_LANES)), exact=self.block is not None)
            rows = tuple(lane // width for lane in range(WARP_LANES))
            steps = tuple(row % height for row in rows) if axis == "Y" else tuple(row // height for row in rows)
            return Value(steps, exact=self.block is not None)
        return _UNIFORM


def _shape(value: Value) -> tuple[Lanes, tuple[tuple[str, Lanes], ...]]:
    """The distances between the lanes, whatever they share."""
    scaled = tuple((name, tuple(lane - lanes[0] for lane in lanes)) for name, lanes in value.scaled)
    return tuple(lane - value.known[0] for lane in value.known), scaled


def _number(value: int) -> Value:
    value &= MASK
    return Value((value - (1 << 32) if value >> 31 else value,) * WARP_LANES)


def _add(first: Value, second: Value) -> Value:
    known = tuple(a + b for a, b in zip(first.known, second.known, strict=True))
    names = dict(first.scaled)
    for name, lanes in second.scaled:
        names[name] = tuple(a + b for a, b in zip(names.get(name, _ZERO), lanes, strict=True))
    scaled = tuple((name, lanes) for name, lanes in sorted(names.items()) if len(set(lanes)) > 1)
    return Value(known, scaled, first.exact and second.exact and len(scaled) == len(names))


def _times(value: Value, factor: int) -> Value:
    if factor == 0:
        return Value()
    scaled = tuple((name, tuple(lane * factor for lane in lanes)) for name, lanes in value.scaled)
    return Value(tuple(lane * factor for lane in value.known), scaled, value.exact)


def _product(first: Value, second: Value, name: str) -> Value | None:
    """One side must be a number for all lanes, or a run-time value that all lanes share (called ``name``)."""
    for one, other in ((first, second), (second, first)):
        if one.uniform and one.exact:
            return _times(other, one.known[0])
    for one, other in ((first, second), (second, first)):
        if one.uniform and not other.scaled:
            lanes = tuple(lane - other.known[0] for lane in other.known)
            return Value(scaled=((name, lanes),), exact=False) if len(set(lanes)) > 1 else _UNIFORM
    return None


def _multiply_add(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operands = [one for one in instruction.operands[1:] if one.kind not in _FLAG_KINDS]
    if len(operands) < 3 or "HI" in instruction.modifiers or "X" in instruction.modifiers:
        return None
    first, second, third = (lanes._operand(site, operand, depth) for operand in operands[:3])
    if first is None or second is None or third is None:
        return None
    shared = operands[0] if first.uniform else operands[1]
    name = lanes.name_of(site, shared)
    product = _product(first, second, name)
    return _add(product, third) if product is not None else None


def _sum(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    if "X" in instruction.modifiers:
        return None
    total = _number(0)
    for operand in instruction.operands[1:]:
        if operand.kind in _FLAG_KINDS:
            continue
        value = lanes._operand(site, operand, depth)
        if value is None:
            return None
        total = _add(total, value)
    return total


def _shift_add(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operands = [one for one in instruction.operands[1:] if one.kind not in _FLAG_KINDS]
    if "HI" in instruction.modifiers:
        return _high_shift_add(lanes, site, instruction, operands, depth)
    if len(operands) < 3 or operands[2].value is None:
        return None
    first, second = lanes._operand(site, operands[0], depth), lanes._operand(site, operands[1], depth)
    if first is None or second is None:
        return None
    return _add(_times(first, 1 << int(operands[2].value)), second)


def _high_shift_add(
    lanes: LaneEvaluator, site: int, instruction: Instruction, operands: list[Operand], depth: int
) -> Value | None:
    """``LEA.HI``: the high word of (c:a) << n, plus b; a division by a power of two. ``.SX32`` extends a's sign."""
    extended = "SX32" in instruction.modifiers
    amount = operands[-1].value
    if "X" in instruction.modifiers or len(operands) != (3 if extended else 4) or amount is None:
        return None
    low, added = lanes._operand(site, operands[0], depth), lanes._operand(site, operands[1], depth)
    high = low if extended else lanes._operand(site, operands[2], depth)
    if low is None or high is None or added is None or low.scaled or high.scaled or not (low.exact and high.exact):
        return None
    wide = [one if extended else (other << 32) | (one & MASK) for one, other in zip(low.known, high.known, strict=True)]
    words = tuple(_number((one << int(amount)) >> 32).known[0] for one in wide)
    return _add(Value(words), added)


def _shift(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    words, operands = instruction.modifiers, instruction.operands
    amount = operands[2].value if len(operands) > 3 else None
    if amount is None:
        return None
    if "L" in words and "HI" not in words:
        value = lanes._operand(site, operands[1], depth)
        return _times(value, 1 << int(amount)) if value is not None else None
    if "R" not in words or "HI" not in words:
        return None
    value = lanes._operand(site, operands[3], depth)
    if value is None or value.scaled or not value.exact or not operands[1].is_zero:
        return None
    signed = "S32" in words
    return Value(tuple((lane if signed else lane & MASK) >> int(amount) for lane in value.known))


def _logic(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    """A three-input table on exact values, bit by bit."""
    offset = 1 if instruction.operands[0].kind in _FLAG_KINDS else 0
    sources = instruction.operands[1 + offset : 4 + offset]
    table = instruction.operands[4 + offset].value if len(instruction.operands) > 4 + offset else None
    values = [lanes._operand(site, operand, depth) for operand in sources]
    if table is None or any(value is None or value.scaled or not value.exact for value in values):
        return None
    columns = zip(*(value.known for value in values if value is not None), strict=True)
    return Value(tuple(_number(lut(int(table), *column)).known[0] for column in columns))


def _copy(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operand = instruction.operands[-1]
    if operand.kind is OperandKind.SPECIAL:
        return lanes.special(operand.name)
    return lanes._operand(site, operand, depth)


def _constant_load(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operand = instruction.operands[-1]
    return lanes._constant(operand) if operand.base is None else None


_FLAG_KINDS = frozenset({OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE})
_Rule = Callable[[LaneEvaluator, int, Instruction, int], Value | None]
_RULES: dict[Computes, _Rule] = {
    Computes.MULTIPLY_ADD: _multiply_add,
    Computes.ADD: _sum,
    Computes.SHIFT_ADD: _shift_add,
    Computes.FUNNEL_SHIFT: _shift,
    Computes.LOGIC: _logic,
    Computes.MOVE: _copy,
    Computes.READ_SPECIAL: _copy,
    Computes.LOAD_CONSTANT: _constant_load,
}


def _rule(name: str) -> _Rule | None:
    """How the result of an integer opcode follows from its operands."""
    row = opcode(name)
    return None if row.computes is None or row.kind in FLOATING else _RULES.get(row.computes)


def sectors(value: Value, bytes_per_lane: int) -> int:
    """32-byte sectors that one request touches when its lowest address is aligned to a line.

    Lanes whose run-time parts differ are taken to be in sectors of their own (a pitch is longer than a sector).
    """
    import numpy as np

    from gpuprof.isa import memory_access

    parts: dict[tuple[int, ...], int] = {}
    first = min(value.known)
    addresses = []
    for lane in range(WARP_LANES):
        part = tuple(lanes[lane] for _, lanes in value.scaled)
        addresses.append((value.known[lane] - first & _PART_MASK) + (parts.setdefault(part, len(parts)) << _PART_SHIFT))
    return memory_access.global_sectors(np.array([addresses]), np.ones((1, WARP_LANES), np.bool_))


def ideal_sectors(bytes_per_lane: int) -> int:
    """Sectors of a fully coalesced request of 32 lanes."""
    from gpuprof.isa import memory_access

    return memory_access.ideal_sectors(WARP_LANES, bytes_per_lane)


def wavefronts(instruction: Instruction, value: Value) -> tuple[int, int] | None:
    """(wavefronts, wavefronts without conflicts) of a shared load, store, LDSM or STSM of a whole warp.

    None where a run-time factor decides, and for atomics, whose conflicts depend on data.
    """
    access = opcode(instruction.opcode).access
    if value.scaled or access not in _SHARED_ACCESSES:
        return None
    import numpy as np

    from gpuprof.isa import memory_access

    first, width = min(value.known), access_bits(instruction) // 8
    addresses = np.array([[lane - first & MASK for lane in value.known]])
    mask = np.ones((1, WARP_LANES), np.bool_)
    taken = int(memory_access.shared_wavefronts(access, addresses, mask, width)[0])
    ideal = int(memory_access.shared_ideal_wavefronts(access, mask, width)[0])
    return taken, min(taken, ideal)


#: Distance put between lanes whose run-time parts differ: more than any known part.
_PART_SHIFT = 40
_PART_MASK = (1 << _PART_SHIFT) - 1
_SHARED_ACCESSES = frozenset((Access.LOAD, Access.STORE, Access.MATRIX_LOAD, Access.MATRIX_STORE))
