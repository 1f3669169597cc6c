"""The facts of one kernel's machine code that a run's result carries."""

from __future__ import annotations

from gpuprof.results.model import SassFacts
from gpuprof.sass.analysis import Analysis, analyse
from gpuprof.sass.as_json import loop_data
from gpuprof.sass.model import Function
from gpuprof.sass.opcodes import LOADS
from gpuprof.sass.stream import longest_run


def sass_facts(function: Function, arch: str = "sm_89") -> SassFacts:
    """Counted facts of a kernel. The FFMA figures are of the hot loop, or of the whole body when there is no loop."""
    return facts_of(analyse(function, arch))


def facts_of(analysis: Analysis) -> SassFacts:
    """The same from an analysis that exists already."""
    hot, body = analysis.hot_loop, analysis.function.body
    ffma = hot.mix.get("FFMA", 0) if hot is not None else analysis.mix.get("FFMA", 0)
    total = hot.instructions if hot is not None else analysis.instructions
    shared = hot.shared_loads if hot is not None else sum(LOADS.get(one.opcode) == "shared" for one in body)
    return SassFacts(
        instructions=analysis.instructions,
        mix=dict(analysis.mix),
        ffma_longest_run=longest_run(body, "FFMA"),
        predicated=analysis.predication.predicated,
        ffma_share_hot_loop=round(ffma / total, 4) if hot is not None and total else None,
        shared_loads_per_ffma=round(shared / ffma, 4) if ffma else None,
        loops=tuple(loop_data(loop) for loop in analysis.loops),
    )
