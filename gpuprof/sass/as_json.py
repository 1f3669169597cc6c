"""The analysis as plain JSON data, as ``gpuprof sass --json`` and every run's JSON give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from gpuprof.sass.analysis import Analysis
from gpuprof.sass.findings import Finding, Saving
from gpuprof.sass.loops import LoopFacts
from gpuprof.sass.model import Instruction, SourceLine
from gpuprof.sass.predication import Branch, Guarded
from gpuprof.sass.stream import Stream

Json = dict[str, object]


def analysis_data(analysis: Analysis, *, listing: bool = False) -> Json:
    """Everything but the graph; ``listing`` adds each instruction with control bits and source line."""
    predication = analysis.predication
    data: Json = {
        "symbol": analysis.function.symbol,
        "arch": analysis.arch,
        "instructions": analysis.instructions,
        "code_bytes": analysis.code_bytes,
        "mix": dict(analysis.mix),
        "kinds": dict(analysis.kinds),
        "loops": [loop_data(loop) for loop in analysis.loops],
        "hot_loop": analysis.hot_loop.number if analysis.hot_loop is not None else None,
        "stream": stream_data(analysis.stream) if analysis.stream is not None else None,
        "predication": {
            "predicated": predication.predicated,
            "fillers": predication.fillers,
            "groups": [_group(group) for group in predication.groups],
            "branches": [_branch(branch) for branch in predication.branches],
            "selects": dict(predication.selects),
        },
        "findings": [_finding(finding) for finding in analysis.findings],
        "subroutines": dict(analysis.function.subroutines),
        "irreducible": analysis.graph.irreducible,
        "not_understood": list(analysis.not_understood),
    }
    if analysis.live is not None:
        data["live"] = {"peak": analysis.live.peak, "counts": list(analysis.live.counts[: analysis.instructions])}
    if listing:
        data["listing"] = [_instruction(instruction) for instruction in analysis.function.body]
    return data


def loop_data(loop: LoopFacts) -> Json:
    """One loop; ``mix`` and counts are per iteration, of its own code."""
    shared = loop.shared_loads
    return {
        "number": loop.number,
        "parent": loop.parent,
        "depth": loop.depth,
        "start": loop.start,
        "end": loop.end,
        "trip": {
            "kind": loop.trip.kind,
            "count": loop.trip.count,
            "at_most": loop.trip.at_most,
            "step": loop.trip.step,
            "text": loop.trip.text,
        },
        "instructions": loop.instructions,
        "conditional": loop.conditional,
        "predicated": loop.predicated,
        "mix": dict(loop.mix),
        "math": loop.math or None,
        "math_count": loop.math_count,
        "math_share": round(loop.math_share, 4),
        "loads": dict(loop.loads),
        "stores": dict(loop.stores),
        "barriers": loop.barriers,
        "math_per_shared_load": round(loop.math_count / shared, 3) if shared and loop.math_count else None,
        "issue_cycles": loop.issue_cycles,
        "unrolling": asdict(loop.unrolling) if loop.unrolling is not None else None,
        "exits": loop.exits,
        "calls": list(loop.calls),
        "subroutine": loop.subroutine or None,
        "source": _lines(loop),
        "children": list(loop.children),
    }


def _lines(loop: LoopFacts) -> Json | None:
    if loop.source is None:
        return None
    first, last = loop.source
    return {"file": first.file, "first": first.line, "last": last.line}


def stream_data(stream: Stream) -> Json:
    """The stream of the main arithmetic opcode."""
    return {
        "math": stream.math,
        "count": stream.count,
        "longest": stream.longest,
        "runs": [asdict(run) for run in stream.runs],
        "breakers": dict(stream.breakers),
        "operands": stream.operands,
        "reused": stream.reused,
        "modelled": {"register_bank_conflict_cycles": stream.bank_conflict_cycles, "source": stream.bank_model or None},
        "accumulators": stream.accumulators,
        "longest_chain": stream.longest_chain,
        "dependent_pairs": stream.dependent_pairs,
        "closest_pair": stream.closest_pair,
        "latency": stream.latency,
        "latency_source": stream.latency_source or None,
    }


def _group(group: Guarded) -> Json:
    return {
        "predicate": group.predicate,
        "defined_at": group.defined_at,
        "definition": group.definition,
        "source": source_data(group.source),
        "addresses": list(group.addresses),
        "mix": dict(group.mix),
        "origins": group.origins.words(),
        "lane_dependent": group.origins.lane_dependent,
        "replaces_branch": group.replaces_branch,
        "library": group.library or None,
    }


def _branch(branch: Branch) -> Json:
    return {
        "address": branch.address,
        "text": branch.text,
        "target": branch.target,
        "backward": branch.backward,
        "uniform": branch.uniform,
        "origins": branch.origins.words(),
        "source": source_data(branch.source),
        "loop": branch.loop,
    }


def _finding(finding: Finding) -> Json:
    return {
        "kind": finding.kind,
        "number": finding.number,
        "address": finding.address,
        "source": source_data(finding.source),
        "sentence": finding.sentence,
        "fix": finding.fix,
        "tried": finding.tried or None,
        "loop": finding.loop,
        "executed": finding.executed,
        "saves_at_most": _saving(finding.saving),
    }


def _saving(saving: Saving | None) -> Json | None:
    if saving is None:
        return None
    return {"amount": round(saving.amount, 3), "unit": saving.unit, "per": saving.per}


def _instruction(instruction: Instruction) -> Json:
    control = instruction.control
    return {
        "address": instruction.address,
        "text": instruction.text,
        "encoding": f"0x{instruction.encoding:032x}",
        "labels": list(instruction.labels),
        "source": source_data(instruction.source),
        "understood": instruction.understood,
        "control": {
            "stall": control.stall,
            "yield": control.yields,
            "write_barrier": control.write_barrier,
            "read_barrier": control.read_barrier,
            "wait_mask": control.wait_mask,
            "reuse": control.reuse,
        },
    }


def source_data(source: SourceLine | None) -> Mapping[str, object] | None:
    """File, line and, for inlined code, the call sites from the innermost out."""
    if source is None:
        return None
    data: Json = {"file": source.file, "line": source.line}
    if source.inlined_at:
        data["inlined_at"] = [{"file": caller.file, "line": caller.line} for caller in source.inlined_at]
    return data
