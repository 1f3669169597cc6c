"""The values and addresses of the lanes of a block's warps, worked out from the code where it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.constant_bank import BankNames
from gpuprof.isa.machine import WARP_LANES, Dim3
from gpuprof.isa.opcodes import FLOATING, Access, Computes, opcode
from gpuprof.sass.control_dependence import Deciders
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.lane_value import (
    POINTER_ALIGNMENT,
    Value,
    add,
    logic,
    number,
    product,
    same,
    same_shape,
    shared,
    shift_right,
    signed_word,
    times,
)
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuprof.sass.lane_value import Lanes

_MAX_DEPTH = 40
Sites = tuple[int, ...]
_FLAG_KINDS = frozenset({OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE})
_THREAD_AXES = ("SR_TID.Y", "SR_TID.Z")


@dataclass
class LaneEvaluator:
    """Evaluates registers of one function for the warps of a block of ``block`` threads.

    Without ``block`` one warp is taken, in which threadIdx.x runs over the lanes. Answers None where the value depends
    on data, or on arithmetic that does not split into the parts of ``Value``.
    """

    flow: Dataflow
    block: Dim3 | None
    banks: BankNames = field(default_factory=BankNames)
    _known: dict[tuple[Sites, Register], Value | None] = field(default_factory=dict)
    _together: dict[tuple[int, Sites], bool] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        if self.block is None:
            return WARP_LANES
        x, y, z = self.block
        return x * y * z

    @cached_property
    def warps(self) -> int:
        return max(1, -(-self.threads // WARP_LANES))

    @cached_property
    def thread(self) -> Lanes:
        """The number of each lane's thread in its block."""
        lanes: Lanes = np.arange(self.warps * WARP_LANES, dtype=np.int64).reshape(self.warps, WARP_LANES)
        return lanes

    @cached_property
    def deciders(self) -> Deciders:
        return Deciders(self.flow.graph)

    def address(self, index: int, place: int = 0) -> Value | None:
        """The byte address of memory instruction ``index``, up to a part that all lanes share.

        ``place`` counts the operands in brackets: LDGSTS has its shared address first, its global one second.
        """
        instruction = self.flow.graph.function.instructions[index]
        operands = [operand for operand in instruction.operands if operand.kind is OperandKind.MEMORY]
        if place >= len(operands):
            return None
        operand = operands[place]
        offset = number(int(operand.value or 0), self.warps)
        parts = [times(base, operand.scale)] if (base := self._base(index, operand)) is not None else []
        if operand.base is not None and not parts:
            return None
        if operand.uniform is not None and not operand.uniform.is_zero:
            parts.append(self._operand(index, operand.uniform, 0) or shared(self.warps))
        for part in parts:
            offset = add(offset, part)
        return offset

    def _base(self, index: int, operand: Operand) -> Value | None:
        return self._operand(index, operand.base, 0) if operand.base is not None else None

    def value(self, index: int, operand: Operand) -> Value | None:
        """What an operand of instruction ``index`` holds."""
        return self._operand(index, operand, 0)

    def _operand(self, index: int, operand: Operand, depth: int) -> Value | None:
        value: Value | None
        if operand.kind is OperandKind.IMMEDIATE:
            value = number(int(operand.value or 0), self.warps)
        elif operand.kind is OperandKind.CONSTANT:
            value = self.constant(operand)
        elif operand.kind in (OperandKind.UNIFORM, OperandKind.REGISTER):
            if operand.is_zero:
                return number(0, self.warps)
            file = "R" if operand.kind is OperandKind.REGISTER else "UR"
            value = self._register(index, (file, operand.index), depth)
        else:
            return None
        if operand.invert or operand.absolute:
            if value is None or not value.uniform:
                return None
            return shared(self.warps)
        return times(value, -1) if operand.negate and value is not None else value

    def constant(self, operand: Operand) -> Value:
        """A slot of a constant bank: a block's extent where it is known, an aligned pointer, or any shared value."""
        if operand.bank != 0 or operand.base is not None:
            return shared(self.warps)
        offset = int(operand.value or 0)
        name = self.banks.name(0, offset)
        if name.startswith("blockDim."):
            if self.block is not None:
                return number(self.block["xyz".index(name[-1])], self.warps)
            return shared(self.warps, WARP_LANES if name[-1] == "x" else 1)
        if self.banks.size_of_parameter(offset) == 8:
            return shared(self.warps, POINTER_ALIGNMENT, pointer=True)
        return shared(self.warps)

    def _register(self, index: int, register: Register, depth: int) -> Value | None:
        if depth > _MAX_DEPTH:
            return None
        found = self.flow.definitions(index, register)
        sites = found.sites
        if sites and self._under_same_guard(index, sites[0]):
            sites = sites[:1]  # a writer under the reader's own guard decides, whatever older writers there are
        elif found.undefined or not sites:
            return None
        key = (sites, register)
        if key not in self._known:
            if len(sites) > 1:  # asked again on the way round a loop; every circle goes by such a join
                self._known[key] = None
            self._known[key] = self._joined(sites, register, depth)
        value = self._known[key]
        if value is None or value.exact:
            return value
        if self._left_divergent(index, sites) or not (len(sites) == 1 or self._arrives_together(index, sites)):
            return None
        return value

    def _left_divergent(self, reader: int, sites: Sites) -> bool:
        """Whether the reader follows a loop of some writer's that lanes may leave in different iterations."""
        graph = self.flow.graph
        here = graph.block_of[reader]
        for site in sites:
            loop = graph.loop_of(graph.block_of[site])
            while loop is not None and here not in loop.blocks:
                if not all(self._ends_uniform(graph.blocks[block].end - 1) for block in loop.exits):
                    return True
                parent = loop.parent
                loop = graph.loops[parent - 1] if parent is not None else None
        return False

    def _ends_uniform(self, branch: int) -> bool:
        """Whether all lanes of a warp take the same way at a block's end."""
        reads = self.flow.roles[branch].reads
        return all(self._flag_uniform(branch, register) for register in reads if register[0] in ("P", "UP"))

    def _flag_uniform(self, index: int, register: Register, depth: int = 0) -> bool:
        """Whether a predicate is the same in all lanes of a warp."""
        if register[0] == "UP":
            return True
        found = self.flow.definitions(index, register)
        if found.undefined or not found.sites or depth > 4 or len(found.sites) > 1:
            return False
        site = found.sites[0]
        instruction = self.flow.graph.function.instructions[site]
        if instruction.opcode in ("VOTE", "VOTEU"):
            return True
        if instruction.opcode not in _COMPARES:
            return False
        for read in self.flow.roles[site].reads:
            if read[0] in ("P", "UP"):
                if not self._flag_uniform(site, read, depth + 1):
                    return False
            else:
                value = self._register(site, read, depth + 20)
                if value is None or not value.uniform:
                    return False
        return True

    def _joined(self, sites: Sites, register: Register, depth: int) -> Value | None:
        """The one value of all definitions, or of a loop's start when each iteration adds the same to all lanes."""
        if len(sites) == 1:
            return self._result(sites[0], register, depth + 1)
        inner = [site for site in sites if self._every_iteration(site)]
        outer = [site for site in sites if site not in inner]
        if inner and len(outer) == 1:
            return self._carried(sites, register, outer[0], inner, depth)
        values = [self._result(site, register, depth + 1) for site in sites]
        first = values[0]
        if first is None or any(value is None for value in values):
            return None
        if all(value is not None and same(first, value) for value in values):
            return first
        alike = all(value is not None and same_shape(first, value) for value in values)
        if not alike:
            return None
        align = min(value.align if not value.exact else 1 for value in values if value is not None)
        return Value(first.known - first.known[:, :1], first.scaled, exact=False, align=align, by_block=first.by_block)

    def _arrives_together(self, reader: int, sites: Sites) -> bool:
        """Whether all lanes of a warp see the same one of several writers."""
        key = (self.flow.graph.block_of[reader], sites)
        if key not in self._together:
            self._together[key] = True  # asked again on the way round a loop: decided by the rest of it
            self._together[key] = self._chosen_together(reader, sites)
        return self._together[key]

    def _chosen_together(self, reader: int, sites: Sites) -> bool:
        graph = self.flow.graph
        inner = [site for site in sites if self._every_iteration(site)]
        outer = [site for site in sites if site not in inner]
        if inner and len(outer) == 1:
            return True  # carried by a loop: each lane inside is in the same iteration
        code = graph.function.instructions
        for site in sites:
            guard = code[site].predicate
            if guard is not None and guarded(code[site]):
                file = "P" if guard.kind is OperandKind.PREDICATE else "UP"
                if not self._flag_uniform(site, (file, guard.index)):
                    return False
        branches = self.deciders.branches(graph.block_of[reader], frozenset(graph.block_of[site] for site in sites))
        return branches is not None and all(self._ends_uniform(branch) for branch in branches)

    def _carried(self, sites: Sites, register: Register, start: int, updates: list[int], depth: int) -> Value | None:
        """A value that a loop carries: assumed to keep the lanes' distances of its start, then checked."""
        value = self._result(start, register, depth + 1)
        if value is None:
            return None
        align = _low_bit(value) if value.exact else value.align
        for _ in range(3):
            assumed = Value(
                value.known - (value.known[:, :1] if value.exact else 0), value.scaled, exact=False, align=align,
                pointer=value.pointer, by_block=value.by_block,
            )  # fmt: skip
            self._known[sites, register] = assumed
            settled = align
            for site in updates:
                updated = self._result(site, register, depth + 1)
                if updated is None or not same_shape(updated, assumed):
                    self._known.clear()  # what was worked out under the assumption does not hold
                    return None
                moved = int((updated.known - assumed.known)[0, 0])
                settled = min(settled, 1 if updated.exact else updated.align, moved & -moved if moved else align)
            if settled >= align:
                return assumed
            self._known.clear()
            align = max(1, settled)
        return replace(assumed, align=1)

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
            return number(0, self.warps) if zero else self._uniform_inputs(site, depth)
        rule = _rule(instruction.opcode)
        if rule is not None:
            value = rule(self, site, instruction, depth)
            if value is not None:
                return value
        return self._uniform_inputs(site, depth)

    def _uniform_inputs(self, site: int, depth: int) -> Value | None:
        """Any arithmetic on values that all lanes share, and a load from one address, give what all lanes share."""
        instruction = self.flow.graph.function.instructions[site]
        row = opcode(instruction.opcode)
        if not (row.is_pure or row.access is Access.LOAD) or guarded(instruction):
            return None
        for register in self.flow.roles[site].reads:
            if register[0] in ("P", "UP"):
                if not self._flag_uniform(site, register):
                    return None
                continue
            value = self._register(site, register, depth + 1)
            if value is None or not value.uniform:
                return None
        return shared(self.warps)

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
            return Value(self.thread % WARP_LANES)
        if name.startswith("SR_TID."):
            if self.block is None:
                if name != "SR_TID.X":
                    return shared(self.warps)
                return Value(self.thread, exact=False, align=WARP_LANES, by_block=True)
            width, height, _ = self.block
            axis = name[-1]
            if axis == "X":
                return Value(self.thread % width)
            rows = self.thread // width
            return Value(rows % height if axis == "Y" else rows // height)
        if name in _LANE_MASKS:
            return None
        return shared(self.warps)


_LANE_MASKS = frozenset(("SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK", "SR_TID"))
_COMPARES = frozenset(
    ("ISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "LOP3", "UISETP", "UFSETP", "UPLOP3", "ULOP3", "R2UR", "PSETP")
)


def _low_bit(value: Value) -> int:
    """The power of two that divides what the lanes share: the first lane's number, of an exact value."""
    first = int(np.bitwise_or.reduce(value.known[:, 0]))
    return first & -first if first else 1 << 31


def _data(instruction: Instruction) -> list[Operand]:
    """The sources after the destination, predicates left out."""
    return [operand for operand in instruction.operands[1:] if operand.kind not in _FLAG_KINDS]


def _multiply_add(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operands = _data(instruction)
    if len(operands) < 3 or "X" in instruction.modifiers:
        return None
    first, second, third = (lanes._operand(site, operand, depth) for operand in operands[:3])
    if first is None or second is None or third is None:
        return None
    if "HI" in instruction.modifiers:
        return _high_product(lanes, site, instruction, (first, second, third), depth)
    shared_one = operands[0] if first.uniform else operands[1]
    found = product(first, second, lanes.name_of(site, shared_one))
    return add(found, third) if found is not None else None


def _high_product(
    lanes: LaneEvaluator, site: int, instruction: Instruction, values: tuple[Value, Value, Value], depth: int
) -> Value | None:
    """The high word of a product and a pair of registers: how a division by a constant begins."""
    first, second, low = values
    added = _data(instruction)[2]
    high: Value | None = number(0, lanes.warps)
    if added.kind is not OperandKind.REGISTER:
        return None
    if not added.is_zero:
        high = lanes._register(site, ("R", added.index + 1), depth)
    if high is None or not all(value.plain for value in (first, second, low, high)):
        return None
    unsigned = "U32" in instruction.modifiers
    columns = (first.known, second.known, low.known, high.known)
    words = [
        signed_word((_as(a, unsigned) * _as(b, unsigned) + (d << 32) + (c & 0xFFFFFFFF)) >> 32)
        for a, b, c, d in zip(*(column.ravel().tolist() for column in columns), strict=True)
    ]
    by_block = any(value.by_block for value in values)
    return Value(np.array(words, np.int64).reshape(first.known.shape), by_block=by_block)


def _as(word: int, unsigned: bool) -> int:
    return word & 0xFFFFFFFF if unsigned else word


def _sum(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    if "X" in instruction.modifiers:
        return None
    total = number(0, lanes.warps)
    for operand in _data(instruction):
        value = lanes._operand(site, operand, depth)
        if value is None:
            return None
        total = add(total, value)
    return total


def _shift_add(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operands = _data(instruction)
    if "HI" in instruction.modifiers:
        return _high_shift_add(lanes, site, instruction, operands, depth)
    if len(operands) < 3 or operands[2].value is None:
        return None
    first, second = lanes._operand(site, operands[0], depth), lanes._operand(site, operands[1], depth)
    if first is None or second is None:
        return None
    return add(times(first, 1 << int(operands[2].value)), second)


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
    if low is None or high is None or added is None:
        return None
    if extended or (high.plain and not high.known.any()):
        moved = shift_right(low, 32 - int(amount), signed=extended)
        return add(moved, added) if moved is not None else None
    if not (low.plain and high.plain):
        return None
    wide = (high.known << 32) | (low.known & 0xFFFFFFFF)
    words = ((wide >> (32 - int(amount))) ^ 0x80000000) - 0x80000000
    return add(Value(words, by_block=low.by_block), added)


def _shift(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    words, operands = instruction.modifiers, instruction.operands
    amount = operands[2].value if len(operands) > 3 else None
    if amount is None or int(amount) > 31:
        return None
    if "L" in words and "HI" not in words:
        value = lanes._operand(site, operands[1], depth)
        return times(value, 1 << int(amount)) if value is not None else None
    if "R" not in words or "HI" not in words or not operands[1].is_zero:
        return None
    value = lanes._operand(site, operands[3], depth)
    return shift_right(value, int(amount), signed="S32" in words) if value is not None else None


def _logic(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    offset = 1 if instruction.operands[0].kind in _FLAG_KINDS else 0
    sources: Sequence[Operand] = instruction.operands[1 + offset : 4 + offset]
    table = instruction.operands[4 + offset].value if len(instruction.operands) > 4 + offset else None
    values = [value for operand in sources if (value := lanes._operand(site, operand, depth)) is not None]
    return logic(int(table), values) if table is not None and len(values) == 3 else None


def _select(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    """SEL of two numbers by a predicate that the lanes share; which of the two is not known."""
    first, second = (lanes._operand(site, operand, depth) for operand in _data(instruction)[:2])
    if first is None or second is None:
        return None
    if same(first, second):
        return first
    flag = instruction.operands[-1]
    file = "P" if flag.kind is OperandKind.PREDICATE else "UP"
    if not same_shape(first, second) or not lanes._flag_uniform(site, (file, flag.index)):
        return None
    return Value(first.known - first.known[:, :1], first.scaled, exact=False, align=1, by_block=first.by_block)


def _copy(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operand = instruction.operands[-1]
    if operand.kind is OperandKind.SPECIAL:
        return lanes.special(operand.name)
    return lanes._operand(site, operand, depth)


def _constant_load(lanes: LaneEvaluator, site: int, instruction: Instruction, depth: int) -> Value | None:
    operand = instruction.operands[-1]
    return lanes.constant(operand) if operand.base is None else None


_Rule = Callable[[LaneEvaluator, int, Instruction, int], Value | None]
_RULES: dict[Computes, _Rule] = {
    Computes.MULTIPLY_ADD: _multiply_add,
    Computes.ADD: _sum,
    Computes.SHIFT_ADD: _shift_add,
    Computes.FUNNEL_SHIFT: _shift,
    Computes.LOGIC: _logic,
    Computes.SELECT: _select,
    Computes.MOVE: _copy,
    Computes.READ_SPECIAL: _copy,
    Computes.LOAD_CONSTANT: _constant_load,
}


def _rule(name: str) -> _Rule | None:
    """How the result of an integer opcode follows from its operands."""
    row = opcode(name)
    return None if row.computes is None or row.kind in FLOATING else _RULES.get(row.computes)
