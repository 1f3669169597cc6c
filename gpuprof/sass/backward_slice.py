"""Where a value comes from: the backward slice of a register, summed up as thread index, block index, loaded data,
parameters and constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpuprof.isa.constant_bank import BankNames
from gpuprof.isa.opcodes import Computes, Kind, names_where
from gpuprof.sass.control_dependence import Deciders
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.def_use import Register
from gpuprof.sass.model import Instruction, Operand, OperandKind
from gpuprof.sass.opcodes import ATOMICS, LOADS, kind_of_opcode

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
_EXCHANGES = names_where(lambda row: row.computes is Computes.EXCHANGE)
#: Bits of a set of origins that stand for no name; the names' bits follow.
_EXCHANGED, _UNKNOWN = 1, 2
#: What is asked about: the result of an instruction (its index); the value that several writers may have left, as a
#: block reads it; or the branches that decide which of the writers in some blocks a block sees. ``-1``: no writer.
_Node = int | tuple[tuple[int, ...], int] | tuple[int, frozenset[int]]
_NO_WRITER = -1


@dataclass(frozen=True)
class Origins:
    """``thread``, ``block``, ``parameters``: names; ``loaded``: memory spaces that data was loaded from."""

    thread: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    exchanged: bool = False  #: a shuffle, vote or match is among them
    unknown: bool = False  #: the slice ends in something written nowhere, or its branches are too many to follow

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
    """Backward slices over one function.

    Values depend on one another in circles, wherever there is a loop. All that are in one circle have the same
    origins, so the circles are found (Tarjan's strongly connected components) and each is answered once.
    """

    flow: Dataflow
    banks: BankNames = field(default_factory=BankNames)
    _known: dict[_Node, int] = field(default_factory=dict)  #: sets of origins, as bits
    _names: dict[tuple[str, str], int] = field(default_factory=dict)  #: kind and name of an origin -> its bit
    _origins: dict[int, Origins] = field(default_factory=dict)
    _deciders: Deciders = field(init=False)

    def __post_init__(self) -> None:
        self._deciders = Deciders(self.flow.graph)

    def of_register(self, index: int, register: Register) -> Origins:
        """The origins of a register as instruction ``index`` reads it."""
        return self._answer(self._question(index, register))

    def _answer(self, node: _Node) -> Origins:
        if node not in self._known:
            self._solve(node)
        bits = self._known[node]
        if bits not in self._origins:
            named: dict[str, list[str]] = {"thread": [], "block": [], "parameters": [], "loaded": []}
            for (kind, name), bit in self._names.items():
                if bits & bit:
                    named[kind].append(name)
            sets = {kind: tuple(sorted(names)) for kind, names in named.items()}
            self._origins[bits] = Origins(**sets, exchanged=bool(bits & _EXCHANGED), unknown=bool(bits & _UNKNOWN))
        return self._origins[bits]

    def _solve(self, root: _Node) -> None:
        """Find the origins of a node and of all that it depends on: Tarjan's algorithm, without recursion."""
        circles = _Circles()
        circles.enter(root, *self._expand(root))
        while circles.path:
            node = circles.path[-1]
            child = next(circles.children[node], None)
            if child is None:
                self._known.update(circles.leave())
            elif child in self._known:
                circles.bits[node] |= self._known[child]
            elif child in circles.number:
                circles.lowest[node] = min(circles.lowest[node], circles.number[child])
            else:
                circles.enter(child, *self._expand(child))

    def _question(self, index: int, register: Register) -> _Node:
        sites = self.flow.definitions(index, register).sites
        if len(sites) == 1:
            return sites[0]
        return (sites, self.flow.graph.block_of[index]) if sites else _NO_WRITER

    def _expand(self, node: _Node) -> tuple[int, Iterable[_Node]]:
        """A node's own origins, and the nodes whose origins are its origins too."""
        if node == _NO_WRITER:
            return _UNKNOWN, ()
        if isinstance(node, int):
            return self._visit(node)
        first, second = node
        if isinstance(second, int):
            assert isinstance(first, tuple)
            block_of = self.flow.graph.block_of
            return 0, (*first, (second, frozenset(block_of[site] for site in first)))
        assert isinstance(first, int)
        branches = self._deciders.branches(first, second)
        if branches is None:
            return _UNKNOWN, ()
        return 0, [question for branch in branches for question in self._flags_read(branch)]

    def _flags_read(self, index: int) -> list[_Node]:
        reads = self.flow.roles[index].reads
        return [self._question(index, register) for register in reads if register[0] in ("P", "UP")]

    def _visit(self, site: int) -> tuple[int, list[_Node]]:
        instruction = self.flow.graph.function.instructions[site]
        opcode = instruction.opcode
        space = LOADS.get(opcode) or ATOMICS.get(opcode)
        if space is None and kind_of_opcode(opcode) is Kind.TEXTURE:
            space = "texture"
        if space is not None:
            return self._bit("loaded", space), []
        bits = self._leaves(instruction) | (_EXCHANGED if opcode in _EXCHANGES else 0)
        return bits, [self._question(site, register) for register in self.flow.roles[site].reads]

    def _leaves(self, instruction: Instruction) -> int:
        bits = 0
        for operand in instruction.operands:
            if operand.kind is OperandKind.SPECIAL:
                bits |= self._special(operand)
            elif operand.kind is OperandKind.CONSTANT and operand.bank is not None:
                bits |= self._bit("parameters", self.banks.name(operand.bank, int(operand.value or 0)))
        return bits

    def _special(self, operand: Operand) -> int:
        if operand.name in _LANE_REGISTERS:
            return self._bit("thread", _LANE_REGISTERS[operand.name])
        return self._bit("block", _BLOCK_REGISTERS[operand.name]) if operand.name in _BLOCK_REGISTERS else 0

    def _bit(self, kind: str, name: str) -> int:
        return self._names.setdefault((kind, name), (_UNKNOWN << 1) << len(self._names))


@dataclass
class _Circles:
    """The state of Tarjan's algorithm. ``path``: from the root to the node at work; ``open``: nodes without a circle
    yet, in the order in which they were entered."""

    path: list[_Node] = field(default_factory=list)
    open: list[_Node] = field(default_factory=list)
    number: dict[_Node, int] = field(default_factory=dict)
    lowest: dict[_Node, int] = field(default_factory=dict)
    bits: dict[_Node, int] = field(default_factory=dict)
    children: dict[_Node, Iterator[_Node]] = field(default_factory=dict)

    def enter(self, node: _Node, bits: int, children: Iterable[_Node]) -> None:
        self.number[node] = self.lowest[node] = len(self.number)
        self.bits[node] = bits
        self.children[node] = iter(children)
        self.path.append(node)
        self.open.append(node)

    def leave(self) -> dict[_Node, int]:
        """Go back from the last node of the path; the bits of a whole circle when it was the first of it."""
        node = self.path.pop()
        if self.path:
            above = self.path[-1]
            self.bits[above] |= self.bits[node]
            self.lowest[above] = min(self.lowest[above], self.lowest[node])
        if self.lowest[node] < self.number[node]:
            return {}
        start = len(self.open) - 1
        while self.open[start] != node:
            start -= 1
        circle = self.open[start:]
        del self.open[start:]
        return dict.fromkeys(circle, self.bits[node])
