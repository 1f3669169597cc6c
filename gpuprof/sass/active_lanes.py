"""Which lanes execute an instruction: the block's shape, guards, and the branches and exits on the way to it.

A condition is worked out per lane as no, yes, open (all lanes may pass: a bound known at run time, a choice that the
warp shares) or doubtful (loaded data decides, or at most some lanes can pass). Open lanes count as active; where a
doubtful one is left, nothing is said of the lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import WARP_LANES
from gpuprof.sass.backward_slice import Tracer
from gpuprof.sass.cfg import is_jump, target_address
from gpuprof.sass.lane_value import Value, add, times
from gpuprof.sass.lane_values import LaneEvaluator
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import guarded, is_conditional_branch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpuprof.sass.def_use import Register

    Bool = NDArray[np.bool_]
    Truth = NDArray[np.int8]

NO, YES, OPEN, DOUBTFUL = 0, 1, 2, 3
_FLAG_FILE = {OperandKind.PREDICATE: "P", OperandKind.UNIFORM_PREDICATE: "UP"}
_ORDERINGS = ("LT", "LE", "GT", "GE")
_COMPARES: dict[str, Callable[[NDArray[np.int64], NDArray[np.int64]], Bool]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip
_LOGIC_WORDS = ("AND", "OR", "XOR")
_MAX_DEPTH = 12


@dataclass(frozen=True, eq=False)
class Active:
    """The lanes that execute an instruction, (warps, 32); ``assumed``: some condition was open and taken as met."""

    mask: Bool
    assumed: bool

    @property
    def most(self) -> int:
        """The most lanes of one warp."""
        return int(self.mask.sum(axis=1).max())


@dataclass
class ActiveLanes:
    """The active lanes of one function's instructions. Answers are remembered by block."""

    lanes: LaneEvaluator
    tracer: Tracer
    _blocks: dict[int, Truth] = field(default_factory=dict)

    def at(self, index: int) -> Active | None:
        """The lanes that execute instruction ``index``; None where that depends on data."""
        graph = self.lanes.flow.graph
        instruction = graph.function.instructions[index]
        truth = self._block(graph.block_of[index])
        if guarded(instruction) and instruction.predicate is not None:
            truth = _both(truth, self._flag(index, instruction.predicate, 0))
        if (truth == DOUBTFUL).any():
            return None
        return Active(truth != NO, bool((truth == OPEN).any()))

    def _block(self, block: int) -> Truth:
        if block not in self._blocks:
            graph = self.lanes.flow.graph
            above = graph.dominators.get(block, block)
            if above == block:
                inside = self.lanes.thread < self.lanes.threads
                self._blocks[block] = inside.astype(np.int8)
            else:
                truth = self._block_or_entry(above)
                condition = self._edge(above, block)
                self._blocks[block] = truth if condition is None else _both(truth, condition)
        return self._blocks[block]

    def _block_or_entry(self, block: int) -> Truth:
        """As ``_block``, without recursion through a long chain of dominators."""
        graph = self.lanes.flow.graph
        chain = []
        while block not in self._blocks and graph.dominators.get(block, block) != block:
            chain.append(block)
            block = graph.dominators[block]
        truth = self._block(block)
        for below in reversed(chain):
            condition = self._edge(graph.dominators[below], below)
            truth = truth if condition is None else _both(truth, condition)
            self._blocks[below] = truth
        return truth

    def _edge(self, above: int, below: int) -> Truth | None:
        """The condition under which control goes from a block straight into one that only it leads to."""
        graph = self.lanes.flow.graph
        if graph.blocks[below].predecessors != (above,):
            return None
        last = graph.blocks[above].end - 1
        branch = graph.function.instructions[last]
        if not is_conditional_branch(branch) or branch.opcode in ("CALL", "BRX", "BRXU"):
            return None
        flags = [branch.predicate] if guarded(branch) and branch.predicate is not None else []
        flags += [operand for operand in branch.operands if operand.kind in _FLAG_FILE and not operand.is_zero]
        if not flags:  # BRA.DIV: by whether the warp has diverged
            return None
        truth = self._flag(last, flags[0], 0)
        for flag in flags[1:]:
            truth = _both(truth, self._flag(last, flag, 0))
        start = graph.function.instructions[graph.blocks[below].start].address
        taken = is_jump(branch) and target_address(branch) == start
        return truth if taken else _not(truth)

    def _flag(self, index: int, flag: Operand, depth: int) -> Truth:
        if flag.is_zero:
            truth = self._all(YES)
        else:
            truth = self._register(index, (_FLAG_FILE[flag.kind], flag.index), depth)
        return _not(truth) if flag.negate else truth

    def _register(self, index: int, register: Register, depth: int) -> Truth:
        flow = self.lanes.flow
        found = flow.definitions(index, register)
        code = flow.graph.function.instructions
        if depth > _MAX_DEPTH or found.undefined or len(found.sites) != 1 or guarded(code[found.sites[0]]):
            return self._by_origins(index, register)
        site = found.sites[0]
        instruction = code[site]
        if instruction.opcode in ("ISETP", "UISETP") and "EX" not in instruction.modifiers:
            truth = self._compare(site, instruction, register, depth)
        elif instruction.opcode in ("PLOP3", "UPLOP3"):
            truth = self._table(site, instruction, register, depth)
        elif instruction.opcode in ("LOP3", "ULOP3"):
            truth = self._nonzero(site, instruction)
        else:
            truth = None
        return truth if truth is not None else self._by_origins(index, register)

    def _by_origins(self, index: int, register: Register) -> Truth:
        """Without the comparison: open where nothing but the launch decides and the comparison is not an equality."""
        origins = self.tracer.of_register(index, register)
        if self.lanes._flag_uniform(index, register) or not origins.lane_dependent:
            return self._all(OPEN)
        if origins.loaded or origins.exchanged or origins.unknown:
            return self._all(DOUBTFUL)
        sites = self.lanes.flow.definitions(index, register).sites
        words = [set(self.lanes.flow.graph.function.instructions[site].modifiers) for site in sites]
        ordered = all(found & set(_ORDERINGS) for found in words)
        return self._all(OPEN if ordered and len(words) == 1 else DOUBTFUL)

    def _compare(self, site: int, instruction: Instruction, register: Register, depth: int) -> Truth | None:
        operands = instruction.operands
        sources = [operand for operand in operands[2:] if operand.kind not in _FLAG_FILE]
        if len(sources) != 2 or len(operands) < 5:
            return None
        word = next((name for name in instruction.modifiers if name in _COMPARES), "")
        joint = next((name for name in instruction.modifiers if name in _LOGIC_WORDS), "AND")
        if not word:
            return None
        truth = self._order(site, sources, word, unsigned="U32" in instruction.modifiers)
        if truth is None:
            return None
        second = operands[1].kind in _FLAG_FILE and not operands[1].is_zero and operands[1].index == register[1]
        if second and operands[0].index != register[1]:
            truth = _not(truth)
        with_flag = self._flag(site, operands[4], depth + 1)
        return _JOINTS[joint](truth, with_flag)

    def _order(self, site: int, sources: list[Operand], word: str, *, unsigned: bool) -> Truth | None:
        first, second = (self.lanes.value(site, operand) for operand in sources)
        if first is None or second is None:
            return None
        if first.plain and second.plain:
            sides = [value.known & 0xFFFFFFFF if unsigned else value.known for value in (first, second)]
            truth: Truth = np.where(_COMPARES[word](sides[0], sides[1]), YES, NO).astype(np.int8)
            return truth
        distance = add(first, times(second, -1))
        if distance.uniform:
            return self._all(OPEN)
        if word in ("EQ", "NE"):
            return self._equality(distance, word)
        return self._all(OPEN)

    def _equality(self, distance: Value, word: str) -> Truth | None:
        """Lanes at different distances from what they are compared with: those that no multiple of ``align`` brings
        there are out."""
        if distance.scaled or distance.pointer:
            return None
        possible = distance.known % distance.align == 0 if not distance.exact else distance.known == 0
        if word == "EQ":
            certain = np.where(possible, OPEN, NO).astype(np.int8)
            one_place = all(len(set(row[on].tolist())) < 2 for row, on in zip(distance.known, possible, strict=True))
            return certain if one_place else None
        return np.where(possible, OPEN, YES).astype(np.int8)

    def _table(self, site: int, instruction: Instruction, register: Register, depth: int) -> Truth | None:
        """PLOP3: the result by a table over three predicates, open where an open one decides."""
        operands = instruction.operands
        flags = [operand for operand in operands[2:] if operand.kind in _FLAG_FILE]
        tables = [operand for operand in operands[2:] if operand.kind is OperandKind.IMMEDIATE]
        if len(flags) != 3 or len(tables) != 2 or operands[0].index != register[1]:
            return None
        table = int(tables[0].value or 0)
        inputs = [self._flag(site, flag, depth + 1) for flag in flags]
        result = np.zeros_like(inputs[0])
        can_be = [np.zeros(result.shape, bool), np.zeros(result.shape, bool)]
        for row in range(8):
            bits = (row >> 2 & 1, row >> 1 & 1, row & 1)
            fits = np.ones(result.shape, bool)
            for truth, bit in zip(inputs, bits, strict=True):
                fits &= (truth == bit) | (truth >= OPEN)
            can_be[table >> row & 1] |= fits
        doubtful = np.logical_or.reduce([truth == DOUBTFUL for truth in inputs])
        either = np.where(doubtful, DOUBTFUL, OPEN)
        return np.where(can_be[0] & can_be[1], either, np.where(can_be[1], YES, NO)).astype(np.int8)

    def _nonzero(self, site: int, instruction: Instruction) -> Truth | None:
        """``LOP3.LUT P0, RZ, a, b, c, table, !PT``: whether the result has a bit."""
        from gpuprof.sass.lane_values import _logic

        if instruction.operands[0].kind not in _FLAG_FILE or not instruction.operands[-1].is_zero:
            return None
        value = _logic(self.lanes, site, instruction, 0)
        if value is None:
            return None
        if value.plain:
            truth: Truth = np.where(value.known != 0, YES, NO).astype(np.int8)
            return truth
        return self._all(OPEN) if value.uniform else None

    def _all(self, truth: int) -> Truth:
        return np.full((self.lanes.warps, WARP_LANES), truth, np.int8)


def _both(first: Truth, second: Truth) -> Truth:
    """And: no wins, then doubtful, then open."""
    no = (first == NO) | (second == NO)
    worst = np.maximum(first, second)
    return np.where(no, NO, worst).astype(np.int8)


def _either(first: Truth, second: Truth) -> Truth:
    return _not(_both(_not(first), _not(second)))


def _not(truth: Truth) -> Truth:
    return np.where(truth < OPEN, 1 - truth, truth).astype(np.int8)


def _differ(first: Truth, second: Truth) -> Truth:
    known = (first < OPEN) & (second < OPEN)
    return np.where(known, first ^ second, np.maximum(first, second)).astype(np.int8)


_JOINTS: dict[str, Callable[[Truth, Truth], Truth]] = {"AND": _both, "OR": _either, "XOR": _differ}
