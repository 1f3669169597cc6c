"""All that is known of one function's machine code, gathered once: what the command prints and the JSON holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from gpuprof.isa.constant_bank import BankNames
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.sass.backward_slice import Tracer
from gpuprof.sass.cfg import Graph, build_graph
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.findings import Finding, find_all
from gpuprof.sass.lane_values import LaneEvaluator
from gpuprof.sass.library_code import LibraryCode, library_code
from gpuprof.sass.liveness import Liveness, liveness
from gpuprof.sass.loops import LoopFacts, hottest, loop_facts, main_math, own_indices
from gpuprof.sass.model import Function
from gpuprof.sass.opcodes import kind_of
from gpuprof.sass.predication import Predication, predication_of
from gpuprof.sass.stream import Stream, stream_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True)
class Analysis:
    """The facts of one function. Counts leave out the padding after its last instruction."""

    function: Function
    arch: str
    graph: Graph
    flow: Dataflow
    mix: Mapping[str, int]  #: base opcode -> count
    kinds: Mapping[str, int]
    loops: tuple[LoopFacts, ...]
    hot_loop: LoopFacts | None
    math: str  #: the opcode that the function is about
    stream: Stream | None  #: of the hot loop, or of the whole body when there is no loop
    predication: Predication
    findings: tuple[Finding, ...]
    library: LibraryCode
    live: Liveness | None
    not_understood: tuple[int, ...]  #: addresses of lines that did not parse

    @property
    def instructions(self) -> int:
        return self.function.body_length

    @property
    def code_bytes(self) -> int:
        return INSTRUCTION_BYTES * len(self.function.instructions)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What ``gpuprof sass`` prints; the room above that shows values is looked up when one is shown."""
        yield from import_module("gpuprof.report.display").show_analysis(self, console, options)

    def loop_indices(self, number: int) -> list[int]:
        """Indices of all instructions of a loop, inner loops included, by address."""
        loop = self.graph.loops[number - 1]
        return self.graph.indices(self.graph.blocks[index] for index in sorted(loop.blocks))


def analyse(
    function: Function,
    arch: str,
    *,
    block: tuple[int, int, int] | None = None,
    parameters: Sequence[tuple[int, int]] = (),
    spill_bytes: int | None = None,
    with_live: bool = False,
    executed: Mapping[int, int] | None = None,
) -> Analysis:
    """Everything about a function.

    ``block`` (threads in x, y, z) makes lane addresses derivable where they depend on it; without it threadIdx.x is
    taken to run over the lanes of a warp. ``parameters`` are (offset, size) of the kernel's parameters, for names.
    ``executed`` weighs the findings: executions by warps in one launch, by instruction index.
    """
    graph = build_graph(function)
    flow = Dataflow(graph)
    banks = BankNames(arch, tuple(parameters))
    tracer = Tracer(flow, banks)
    loops = loop_facts(graph, flow, tracer)
    library = library_code(graph, flow)
    hot = hottest(
        [loop for loop in loops if not library.holds(graph.blocks[graph.loops[loop.number - 1].header].start)]
    )
    body = function.body
    indices = own_indices(graph, hot.number) if hot is not None else list(range(len(body)))
    math = hot.math if hot is not None and hot.math else main_math(body)[0]
    if math and hot is not None and not hot.math:
        indices = list(range(len(body)))
    return Analysis(
        function=function,
        arch=arch,
        graph=graph,
        flow=flow,
        mix=dict(Counter(instruction.opcode for instruction in body).most_common()),
        kinds=dict(Counter(kind_of(instruction).value for instruction in body).most_common()),
        loops=loops,
        hot_loop=hot,
        math=math,
        stream=stream_of(flow, indices, math, arch) if math else None,
        predication=predication_of(graph, flow, tracer, library),
        findings=find_all(
            graph, flow, LaneEvaluator(flow, block, banks), tracer, loops, library, arch, spill_bytes, executed
        ),
        library=library,
        live=liveness(graph, flow) if with_live else None,
        not_understood=tuple(
            instruction.address for instruction in function.instructions if not instruction.understood
        ),
    )
