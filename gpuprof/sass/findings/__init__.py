"""Findings: facts about the code that a person would want pointed out, each one sentence with number and place.

A finding says what is in the machine code, where, what it could save at most, and the typical fix. A rule that is
in doubt says nothing. Rules by subject: ``memory`` (global and shared accesses of the lanes), ``narrow`` (scalar
loads where wide ones fit), ``local`` (spills and arrays), ``arithmetic`` (division, conversions, FP64), ``structure``
(barriers and code size) and ``library`` (sequences of CUDA's own libraries, each one finding).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpuprof.sass.active_lanes import ActiveLanes
from gpuprof.sass.backward_slice import Tracer
from gpuprof.sass.cfg import Graph
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.findings import arithmetic, library, local, memory, narrow, structure
from gpuprof.sass.findings.model import Case, Finding, Found, Saving, finding_of
from gpuprof.sass.lane_values import LaneEvaluator
from gpuprof.sass.library_code import LibraryCode
from gpuprof.sass.loops import LoopFacts

__all__ = ["Finding", "Saving", "find_all"]

_RULES: tuple[Callable[[Case], Iterator[Found]], ...] = (
    local.local_memory,
    memory.global_accesses,
    memory.shared_accesses,
    memory.contended_atomics,
    narrow.narrow_loads,
    arithmetic.integer_division,
    arithmetic.conversions,
    arithmetic.double_literals,
    structure.barriers,
    structure.large_loop,
    library.library_uses,
)


def find_all(
    graph: Graph,
    flow: Dataflow,
    lanes: LaneEvaluator,
    tracer: Tracer,
    loops: Sequence[LoopFacts],
    library_code: LibraryCode,
    arch: str,
    spill_bytes: int | None = None,
    executed: Mapping[int, int] | None = None,
) -> tuple[Finding, ...]:
    """All findings, weightiest first.

    ``spill_bytes`` is what ptxas reported, None when its log is not there; ``executed`` how many times warps executed
    each instruction (by index) in a launch, where that was counted: then what could be saved decides the order.
    """
    case = Case(graph, flow, lanes, ActiveLanes(lanes, tracer), loops, library_code, arch, spill_bytes, executed)
    found = [finding_of(case, one) for rule in _RULES for one in rule(case)]
    return tuple(sorted(found, key=lambda finding: (-finding.weight, finding.address)))
