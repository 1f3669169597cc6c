"""Where a value comes from: the backward slice of a register, summed up as thread index, block index, loaded data,
parameters and constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpuprof.sass.banks import BankNames
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import ATOMICS, LOADS, Kind, is_conditional_branch, kind_of_opcode
from gpuprof.sass.roles import Register

#: Special registers that differ between the lanes of a warp.
_LANE_REGISTERS = {
    "SR_TID.X": "threadIdx.x",
    "SR_TID.Y": "threadIdx.y",
    "SR_TID.Z": "threadIdx.z",
    "SR_TID": "threadIdx",
    "SR_LANEID": "lane",
    "SR_LTMASK": "lane",
    "SR_EQMASK": "lane",
    "SR_LEMASK": "lane",
    "SR_GTMASK": "lane",
    "SR_GEMASK": "lane",
}
_BLOCK_REGISTERS = {"SR_CTAID.X": "blockIdx.x", "SR_CTAID.Y": "blockIdx.y", "SR_CTAID.Z": "blockIdx.z"}
_EXCHANGES = frozenset(("SHFL", "VOTE", "MATCH", "REDUX", "CREDUX"))
_MOST_STEPS = 2000
#: After this many steps in one function each further slice is cut early: its origins then say "not traced".
_MOST_STEPS_IN_ALL = 30_000
_FEW_STEPS = 50
_MOST_ABOVE = 500


@dataclass(frozen=True)
class Origins:
    """``thread``, ``block``, ``parameters``: names; ``loaded``: memory spaces that data was loaded from."""

    thread: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    exchanged: bool = False  #: a shuffle, vote or match is among them
    unknown: bool = False  #: the slice was cut, or ends in something written nowhere

    @property
    def lane_dependent(self) -> bool:
        """Whether lanes of one warp may see different values."""
        return bool(self.thread or self.loaded or self.exchanged or self.unknown)

    def words(self) -> str:
        """``threadIdx.x, blockIdx.x, parameter 2``; ``constants`` when nothing else is in it."""
        names = [*self.thread, *self.block, *self.parameters]
        names += [f"data loaded from {space}" for space in self.loaded]
        if self.exchanged:
            names.append("a warp exchange")
        if self.unknown:
            names.append("a value that is not traced")
        return ", ".join(names) or "constants"


@dataclass
class Tracer:
    """Backward slices over one function."""

    flow: Dataflow
    banks: BankNames = field(default_factory=BankNames)
    _steps: int = 0
    _known: dict[tuple[tuple[int, ...], int | None], Origins] = field(default_factory=dict)
    _deciders: dict[tuple[int, frozenset[int]], tuple[int, ...]] = field(default_factory=dict)

    def of_register(self, index: int, register: Register) -> Origins:
        """The origins of a register as instruction ``index`` reads it."""
        sites = self.flow.definitions(index, register).sites
        key = (sites, self.flow.graph.block_of[index] if len(sites) != 1 else None)
        if key not in self._known:
            self._known[key] = self._slice([(index, register)])
        return self._known[key]

    def of_result(self, index: int) -> Origins:
        """The origins of what instruction ``index`` writes."""
        return self._slice([], start=index)

    def _slice(self, waiting: list[tuple[int, Register]], start: int | None = None) -> Origins:
        gathered = _Gathered()
        seen_sites: set[int] = set()
        asked: set[tuple[int, Register]] = set()
        if start is not None:
            seen_sites.add(start)
            waiting = [*waiting, *self._visit(start, gathered)]
        while waiting:
            question = waiting.pop()
            if question in asked:
                continue
            asked.add(question)
            if len(asked) > (_MOST_STEPS if self._steps < _MOST_STEPS_IN_ALL else _FEW_STEPS):
                gathered.unknown = True
                break
            self._steps += 1
            found = self.flow.definitions(*question)
            if not found.sites or not found.complete:
                gathered.unknown = True
            if len(found.sites) > 1:
                waiting.extend(self._deciding_flags(question[0], found.sites))
            for site in found.sites:
                if site not in seen_sites:
                    seen_sites.add(site)
                    waiting.extend(self._visit(site, gathered))
        return gathered.frozen()

    def _deciding_flags(self, index: int, sites: tuple[int, ...]) -> list[tuple[int, Register]]:
        """Predicates of the branches that decide which of several writers reaches ``index``, and the writers' guards.

        A branch between the writers' common dominator and the reader decides when both its sides lead to the reader.
        """
        graph = self.flow.graph
        key = (graph.block_of[index], frozenset(graph.block_of[site] for site in sites))
        if key not in self._deciders:
            self._deciders[key] = tuple(self._deciding_branches(*key))
        return [question for branch in self._deciders[key] for question in self._flags_read(branch)]

    def _deciding_branches(self, reader: int, writers: frozenset[int]) -> Iterable[int]:
        graph = self.flow.graph
        lowest = graph.common_dominator(sorted(writers))
        candidates = {block for start in (reader, *writers) for block in self._up_to(start, lowest)}
        for block in sorted(candidates):
            last = graph.blocks[block].end - 1
            if is_conditional_branch(graph.function.instructions[last]) and self._both_lead(block, reader):
                yield last

    def _up_to(self, block: int, top: int | None) -> list[int]:
        """A block and its dominators up to ``top``; nothing when ``top`` is not among the nearest ones."""
        chain = [block]
        above = self.flow.graph.dominators
        while chain[-1] != top:
            up = above.get(chain[-1], chain[-1])
            if up == chain[-1] or len(chain) > _MOST_ABOVE:
                return []
            chain.append(up)
        return chain

    def _both_lead(self, block: int, reader: int) -> bool:
        return all(self._leads(successor, block, reader) for successor in self.flow.graph.blocks[block].successors)

    def _leads(self, start: int, avoiding: int, reader: int) -> bool:
        """Whether ``reader`` can be reached from ``start`` without passing ``avoiding``."""
        seen = {avoiding}
        waiting = [start]
        while waiting and len(seen) < _MOST_STEPS:
            block = waiting.pop()
            if block == reader and block != avoiding:
                return True
            if block not in seen:
                seen.add(block)
                waiting.extend(self.flow.graph.blocks[block].successors)
        return bool(waiting)

    def _flags_read(self, index: int) -> list[tuple[int, Register]]:
        return [(index, register) for register in self.flow.roles[index].reads if register[0] in ("P", "UP")]

    def _visit(self, site: int, gathered: _Gathered) -> Iterable[tuple[int, Register]]:
        instruction = self.flow.graph.function.instructions[site]
        opcode = instruction.opcode
        space = LOADS.get(opcode) or ATOMICS.get(opcode)
        if space is None and kind_of_opcode(opcode) is Kind.TEXTURE:
            space = "texture"
        if space is not None:
            gathered.loaded[space] = None
            return ()
        if opcode in _EXCHANGES:
            gathered.exchanged = True
        self._leaves(instruction, gathered)
        return [(site, register) for register in self.flow.roles[site].reads]

    def _leaves(self, instruction: Instruction, gathered: _Gathered) -> None:
        for operand in instruction.operands:
            if operand.kind is OperandKind.SPECIAL:
                self._special(operand, gathered)
            elif operand.kind is OperandKind.CONSTANT and operand.bank is not None:
                gathered.parameters[self.banks.name(operand.bank, int(operand.value or 0))] = None

    def _special(self, operand: Operand, gathered: _Gathered) -> None:
        if operand.name in _LANE_REGISTERS:
            gathered.thread[_LANE_REGISTERS[operand.name]] = None
        elif operand.name in _BLOCK_REGISTERS:
            gathered.block[_BLOCK_REGISTERS[operand.name]] = None


@dataclass
class _Gathered:
    """Names in the order found (dicts as ordered sets)."""

    thread: dict[str, None] = field(default_factory=dict)
    block: dict[str, None] = field(default_factory=dict)
    parameters: dict[str, None] = field(default_factory=dict)
    loaded: dict[str, None] = field(default_factory=dict)
    exchanged: bool = False
    unknown: bool = False

    def frozen(self) -> Origins:
        return Origins(
            tuple(sorted(self.thread)),
            tuple(sorted(self.block)),
            tuple(sorted(self.parameters)),
            tuple(sorted(self.loaded)),
            self.exchanged,
            self.unknown,
        )
