"""What a finding is, and what the rules read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuprof.sass.active_lanes import ActiveLanes
from gpuprof.sass.cfg import Graph
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.lane_values import LaneEvaluator
from gpuprof.sass.library_code import LibraryCode
from gpuprof.sass.loops import LoopFacts, own_line
from gpuprof.sass.model import Instruction, SourceLine


@dataclass(frozen=True)
class Saving:
    """The most that a repair could save: ``amount`` of ``unit`` each time a warp executes the code that the finding
    names (``per`` is that time in words), or over a whole launch where its executions were counted."""

    amount: float
    unit: str  #: ``sectors``, ``wavefronts``, ``issue cycles``
    per: str

    @property
    def text(self) -> str:
        """``at most 28 wavefronts per warp and iteration``."""
        amount = f"{self.amount:,.0f}" if self.amount >= 10 or self.amount == int(self.amount) else f"{self.amount:.1f}"
        unit = self.unit.removesuffix("s") if amount == "1" else self.unit
        return f"at most {amount} {unit} {self.per}"


@dataclass(frozen=True)
class Finding:
    """``weight`` orders findings; ``address`` is the first place, ``source`` its line. ``executed`` is how many times
    warps executed it in one launch, None where nothing was counted."""

    kind: str
    weight: float
    number: int
    address: int
    source: SourceLine | None
    sentence: str
    fix: str
    saving: Saving | None = None
    loop: int | None = None
    executed: int | None = None
    tried: str = ""  #: a repair that was tried on the addresses, with what it came to


@dataclass(frozen=True)
class Found:
    """What a rule hands over: the sentence's parts. ``each`` is what one execution of each instruction could save."""

    kind: str
    weight: float
    indices: Sequence[int]
    what: str
    fix: str
    each: float = 0.0
    unit: str = "issue cycles"
    tried: str = ""
    loop: int | None = None  #: where it is not that of the first instruction
    counted: bool = True  #: whether the sentence names how many instructions there are
    single: str = ""  #: ``what`` of one instruction, where that reads otherwise


@dataclass(frozen=True)
class Case:
    """What the rules read."""

    graph: Graph
    flow: Dataflow
    lanes: LaneEvaluator
    active: ActiveLanes
    loops: Sequence[LoopFacts]
    library: LibraryCode
    arch: str
    spill_bytes: int | None
    executed: Mapping[int, int] | None = None  #: instruction index -> executions by warps in one launch
    notes: dict[str, object] = field(default_factory=dict)

    def code(self, index: int) -> Instruction:
        return self.graph.function.instructions[index]

    def loop_at(self, index: int) -> LoopFacts | None:
        loop = self.graph.loop_of(self.graph.block_of[index])
        return self.loops[loop.number - 1] if loop is not None else None

    def loop_number(self, index: int) -> int:
        loop = self.loop_at(index)
        return loop.number if loop is not None else 0

    def depth(self, index: int) -> int:
        loop = self.loop_at(index)
        return loop.depth if loop is not None else 0

    def may_be_skipped(self, index: int) -> bool:
        """Whether some iterations of the loop around an instruction do not come by it."""
        loop = self.graph.loop_of(self.graph.block_of[index])
        return loop is not None and not self.graph.always_runs(self.graph.block_of[index], loop)

    def own(self, number: int) -> list[int]:
        """A loop's own instructions without those of libraries."""
        blocks = self.graph.own_blocks(self.graph.loops[number - 1])
        return [index for index in self.graph.indices(blocks) if not self.library.holds(index)]

    @property
    def own_body(self) -> list[int]:
        """All instructions without those of libraries and without padding."""
        return [index for index in range(self.graph.function.body_length) if not self.library.holds(index)]


def place_of(case: Case, indices: Sequence[int]) -> str:
    """``in loop 2, in code that iterations may skip``."""
    loop = case.loop_at(indices[0])
    if loop is None:
        return "outside of loops"
    skipped = ", in code that iterations may skip" if all(case.may_be_skipped(index) for index in indices) else ""
    return f"in loop {loop.number}{skipped}"


def finding_of(case: Case, found: Found) -> Finding:
    """The finding in words, with its saving, and weighed by executions where they were counted."""
    first = case.code(found.indices[0])
    source = own_line(first.source) if first.source is not None else None
    where = f", from 0x{first.address:04x}"
    if source is not None:
        where += f" ({source.file.rsplit('/', 1)[-1]}:{source.line})"
    loop = found.loop if found.loop is not None else case.loop_number(found.indices[0])
    if found.loop is not None:
        place = f"in loop {loop}" if loop else "outside of loops"
    else:
        place = place_of(case, found.indices)
    number = len(found.indices)
    sentence = f"{found.single if found.single and number == 1 else found.what} {place}{where}"
    if found.counted:
        sentence = f"{number} {sentence}"
    return Finding(
        kind=found.kind,
        weight=_weight(case, found),
        number=number,
        address=first.address,
        source=source,
        sentence=sentence[0].upper() + sentence[1:],
        fix=found.fix,
        saving=_saving(case, found, loop),
        loop=loop or None,
        executed=sum(case.executed.get(index, 0) for index in found.indices) if case.executed is not None else None,
        tried=found.tried,
    )


def _saving(case: Case, found: Found, loop: int) -> Saving | None:
    if not found.each:
        return None
    if case.executed is not None:
        total = sum(case.executed.get(index, 0) for index in found.indices) * found.each
        return Saving(total, found.unit, "in the launch") if total else None
    return Saving(len(found.indices) * found.each, found.unit, "per warp and iteration" if loop else "per warp")


def _weight(case: Case, found: Found) -> float:
    """The rule's own weight; where executions were counted, first what it could save, then that weight."""
    if case.executed is None:
        return found.weight
    executed = sum(case.executed.get(index, 0) for index in found.indices)
    return executed * max(found.each, 0.1) + found.weight / 1000 if executed else found.weight / 1e6
