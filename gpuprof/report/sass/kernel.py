"""What ``gpuprof sass`` prints about one kernel: head, loops, stream, predication, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuprof.report.layout import Column
from gpuprof.report.sass.format import KernelHead, accesses_text, address, lines_text, place, plural, trips_text
from gpuprof.report.tables import print_columns
from gpuprof.sass.analysis import Analysis
from gpuprof.sass.findings import Finding
from gpuprof.sass.loops import LoopFacts
from gpuprof.sass.predication import Branch, Guarded
from gpuprof.sass.stream import Stream

if TYPE_CHECKING:
    from rich.console import Console

    from gpuprof.report.sass.listing import ListingOptions

_MAX_GROUPS = 6
_MAX_LOOPS = 12
_HEAD_STYLE = "bold"
_KEEP = "\u00a0"  #: a blank at which no line is folded


def print_analysis(head: KernelHead, analysis: Analysis, console: Console, *, findings: int = 3) -> None:
    """Everything above the listing."""
    print_head(head, analysis, console)
    if analysis.loops:
        _section(console, "Loops (own code per iteration)")
        print_columns(loop_columns(analysis.loops[:_MAX_LOOPS]), console, exports="--json")
        for line in _loop_lines(analysis):
            _line(console, line)
    if analysis.stream is not None:
        hot = analysis.hot_loop
        where = f"loop {hot.number}" if hot is not None and hot.math else "the kernel"
        _section(console, f"{analysis.stream.math} stream of {where}")
        for line in stream_lines(analysis.stream):
            _line(console, line)
    _section(console, "Predication and branches")
    for line in predication_lines(analysis):
        _line(console, line)
    _section(console, "Findings")
    for line in finding_lines(analysis, findings):
        _line(console, line)


def print_head(head: KernelHead, analysis: Analysis, console: Console) -> None:
    """The kernel's name, where it comes from, its resources and occupancy."""
    from rich.text import Text

    console.print(Text(head.name, style=_HEAD_STYLE), soft_wrap=True)
    for line in head_lines(head, analysis):
        _line(console, line)


def head_lines(head: KernelHead, analysis: Analysis) -> Iterator[str]:
    """Origin, then resources and occupancy."""
    yield ", ".join(part for part in (head.arch, head.compiler, head.origin) if part)
    parts = []
    if head.registers is not None:
        parts.append(plural(head.registers, "register"))
    parts.append(_spill_words(head))
    if head.static_shared_bytes is not None:
        dynamic = f" + {head.dynamic_shared_bytes:,} dynamic" if head.dynamic_shared_bytes else ""
        parts.append(f"{head.static_shared_bytes:,}{dynamic} bytes of shared memory")
    parts.append(f"{plural(analysis.instructions, 'instruction')} in {analysis.code_bytes:,} bytes")
    yield ", ".join(part for part in parts if part)
    if head.occupancy:
        yield head.occupancy
    yield "mix: " + ", ".join(f"{name}{_KEEP}{count}" for name, count in list(analysis.kinds.items())[:9])
    if analysis.function.subroutines:
        yield "subroutines: " + ", ".join(sorted(set(analysis.graph.subroutine_of.values())))
    if analysis.not_understood:
        first = address(analysis.not_understood[0])
        yield f"{plural(len(analysis.not_understood), 'line')} not understood, from {first}: shown raw, marked ??"


def _spill_words(head: KernelHead) -> str:
    if head.spill_bytes:
        return f"{head.spill_bytes:,} bytes of spills"
    if head.spill_bytes == 0:
        return "no spills"
    return f"{head.stack_bytes:,} bytes of stack" if head.stack_bytes else ""


def loop_columns(loops: Sequence[LoopFacts]) -> list[Column]:
    """One row per loop, indented by depth."""
    math = [f"{loop.math_count} {loop.math}" if loop.math else "-" for loop in loops]
    ratio = [_ratio(loop) for loop in loops]
    conditional = tuple(str(loop.conditional) if loop.conditional else "-" for loop in loops)
    names = tuple("  " * (loop.depth - 1) + str(loop.number) for loop in loops)
    return [
        Column("loop", names, 100, right=False),
        Column("at", tuple(address(loop.start) for loop in loops), 40),
        Column("lines", tuple(lines_text(loop) for loop in loops), 50),
        Column("trips", tuple(trips_text(loop) for loop in loops), 90, right=False),
        Column("instr.", tuple(str(loop.instructions) for loop in loops), 95),
        Column("cond.", conditional, 30),
        Column("math", tuple(math), 94, right=False),
        Column("share", tuple(f"{100 * loop.math_share:.1f}%" if loop.math else "-" for loop in loops), 80),
        Column("loads", tuple(accesses_text(dict(loop.loads)) for loop in loops), 85, right=False),
        Column("stores", tuple(accesses_text(dict(loop.stores)) for loop in loops), 60, right=False),
        Column("BAR", tuple(str(loop.barriers) if loop.barriers else "-" for loop in loops), 55),
        Column("math/\nLDS", tuple(ratio), 70),
        Column("issue\ncycles", tuple(str(loop.issue_cycles) for loop in loops), 75),
    ]


def _ratio(loop: LoopFacts) -> str:
    return f"{loop.math_count / loop.shared_loads:.1f}" if loop.shared_loads and loop.math_count else "-"


def _loop_lines(analysis: Analysis) -> Iterator[str]:
    if len(analysis.loops) > _MAX_LOOPS:
        yield f"and {len(analysis.loops) - _MAX_LOOPS} more loops (--json lists all)"
    shown = [loop for loop in analysis.loops[:_MAX_LOOPS] if loop.unrolling is not None or loop.trip.text]
    for loop in shown:
        words = [loop.unrolling.text] if loop.unrolling is not None and loop.math_count > 1 else []
        if loop.trip.text and loop.trip.count is None:
            words.append(f"counts {loop.trip.text}" if loop.trip.step is not None else loop.trip.text)
        if loop.calls:
            words.append(f"calls {', '.join(loop.calls)}")
        if words:
            yield f"{loop.number}: {'; '.join(words)}"
    if analysis.graph.irreducible:
        yield "a cycle with several entries is not listed as a loop"


def stream_lines(stream: Stream) -> Iterator[str]:
    """Runs, what breaks them, reuse, banks, accumulators, dependences."""
    lengths = sorted((run.length for run in stream.runs), reverse=True)
    few = ", ".join(str(length) for length in lengths[:8]) + (" ..." if len(lengths) > 8 else "")
    longest = max(stream.runs, key=lambda run: run.length)
    yield (
        f"{stream.count} {stream.math} in {plural(len(stream.runs), 'run')} ({few}); "
        f"the longest, {longest.length}, from {address(longest.address)}"
    )
    if stream.breakers:
        broken = ", ".join(f"{name} {count}x" for name, count in list(stream.breakers.items())[:6])
        yield f"runs broken by: {broken}"
    share = 100 * stream.reused / stream.operands if stream.operands else 0
    yield f"{stream.reused} of {stream.operands} register operands marked .reuse ({share:.0f}%), {_bank_words(stream)}"
    if stream.accumulators:
        yield f"{plural(stream.accumulators, 'accumulator')}, the longest chain {stream.longest_chain}"
    if stream.latency is not None:
        pairs = f"{plural(stream.dependent_pairs, 'result')} read within the latency of {stream.latency} cycles"
        closest = f" (closest: {stream.closest_pair} later)" if stream.closest_pair is not None else ""
        yield pairs + closest


def _bank_words(stream: Stream) -> str:
    if stream.bank_conflict_cycles is None:
        return "register bank conflicts: - (no model for this architecture)"
    return f"{plural(stream.bank_conflict_cycles, 'cycle')} of register bank conflicts (modelled)"


def predication_lines(analysis: Analysis) -> Iterator[str]:
    """Predicated instructions by predicate, branches by what they depend on, selects."""
    predication = analysis.predication
    share = 100 * predication.predicated / analysis.instructions if analysis.instructions else 0
    fillers = f", {predication.fillers} of which no-ops" if predication.fillers else ""
    inside = f", {predication.in_subroutines} of them in subroutines" if predication.in_subroutines else ""
    yield f"{plural(predication.predicated, 'predicated instruction')} ({share:.1f}%){fillers}{inside}"
    gathered = _gather_groups(analysis)
    for line in gathered[:_MAX_GROUPS]:
        yield f"  {line}"
    if len(gathered) > _MAX_GROUPS:
        yield f"  and {len(gathered) - _MAX_GROUPS} more kinds (--json lists every predicate)"
    became = predication.became_predication
    if became:
        places = list(dict.fromkeys(place(group.source) for group in became))
        more = f" and {len(places) - 4} more" if len(places) > 4 else ""
        yield f"conditions that became predication, without a branch: {', '.join(places[:4])}{more}"
    yield from _branch_lines(predication.branches)
    if predication.selects:
        names = ", ".join(f"{name} {count}" for name, count in predication.selects.items())
        yield f"selects, minima and maxima in place of branches: {names}"


def _gather_groups(analysis: Analysis) -> list[str]:
    """Predicated code gathered by loop and by what its predicates depend on; memory accesses of loops first."""
    gathered: dict[tuple[int, str, bool], list[Guarded]] = {}
    for group in analysis.predication.groups:
        words = f"library {group.library}" if group.library else group.origins.words()
        key = (_loop_number(analysis, group.addresses[0]), words, bool(group.memory))
        gathered.setdefault(key, []).append(group)
    ordered = sorted(gathered.items(), key=lambda item: (not item[0][2], not item[0][0], -len(item[1])))
    return [groups_line(loop, groups) for (loop, _, _), groups in ordered]


def _loop_number(analysis: Analysis, at: int) -> int:
    """The innermost loop around an address, 0 outside of loops."""
    inside = [loop for loop in analysis.loops if loop.start <= at < loop.end]
    return max(inside, key=lambda loop: loop.depth).number if inside else 0


def groups_line(loop: int, groups: Sequence[Guarded]) -> str:
    """``loop 1: 2 LDG and 18 others under @!P4, @!P5 (k.cu:50), a bounds check on threadIdx.x, parameter 1``."""
    counts: Counter[str] = Counter()
    total = 0
    for group in groups:
        counts.update(group.memory)
        total += len(group.addresses)
    memory = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    others = total - sum(counts.values())
    if memory and others:
        what = f"{memory} and {plural(others, 'other')}"
    else:
        what = memory or plural(total, "instruction")
    names = list(dict.fromkeys(f"@{group.predicate}" for group in groups))
    under = ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
    places = list(dict.fromkeys(place(group.source) for group in groups if group.source is not None))
    where = f" ({', '.join(places[:3])})" if places else ""
    origins = groups[0].origins
    bounds = bool(origins.thread and origins.parameters and memory) and not origins.loaded
    place_words = f"loop {loop}" if loop else "outside of loops"
    if groups[0].library:
        return f"{place_words}: {what} under {under}{where}, part of library code: {groups[0].library}"
    reason = "a bounds check on" if bounds else "depends on"
    return f"{place_words}: {what} under {under}{where}, {reason} {origins.words()}"


def _branch_lines(branches: Sequence[Branch]) -> Iterator[str]:
    if not branches:
        yield "no conditional branches"
        return
    uniform = [branch for branch in branches if branch.uniform]
    lane = [branch for branch in branches if not branch.uniform]
    yield (
        f"{plural(len(branches), 'conditional branch')}: {len(uniform)} uniform by construction, "
        f"{len(lane)} may differ between lanes"
    )
    reasons = Counter(branch.origins.words() for branch in lane)
    for words, count in reasons.most_common(3):
        first = next(branch for branch in lane if branch.origins.words() == words)
        where = f" ({place(first.source)})" if first.source is not None else ""
        yield f"  {count} on {words}, first at {address(first.address)}{where}"


def finding_lines(analysis: Analysis, most: int) -> Iterator[str]:
    """The weightiest findings, each with its saving and the typical fix."""
    if not analysis.findings:
        yield "nothing notable"
    for number, finding in enumerate(analysis.findings[:most], 1):
        yield f"{number}. {finding_text(finding)}"
    hidden = len(analysis.findings) - most
    if hidden > 0:
        yield f"and {plural(hidden, 'lesser finding')} (--findings {len(analysis.findings)} shows all)"


def finding_text(finding: Finding) -> str:
    """All that the JSON says of a finding, in a line."""
    parts = [f"{finding.sentence}."]
    if finding.executed is not None:
        parts.append(f"Executed {finding.executed:,} times by warps.")
    if finding.saving is not None:
        parts.append(f"Saves {finding.saving.text}.")
    if finding.tried:
        parts.append(f"{finding.tried[0].upper()}{finding.tried[1:]}.")
    parts.append(f"Typical fix: {finding.fix}.")
    return " ".join(parts)


def _section(console: Console, title: str) -> None:
    from rich.text import Text

    console.print()
    console.print(Text(title, style=_HEAD_STYLE))


def _line(console: Console, text: str) -> None:
    """One indented line, folded at words with a deeper indent, no blanks at line ends."""
    import textwrap

    from rich.text import Text

    indent = "  " + " " * (len(text) - len(text.lstrip()))
    folded = textwrap.wrap(
        text.strip(), max(40, console.width), initial_indent=indent, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    for line in folded:
        console.print(Text(line.replace(_KEEP, " ")), soft_wrap=True)


def print_listing(
    title: str, analysis: Analysis, indices: Sequence[int], options: ListingOptions, console: Console
) -> None:
    """The instructions at ``indices``, one line each, never folded."""
    from gpuprof.report.sass.listing import listing

    _section(console, title)
    for line in listing(analysis, indices, options):
        console.print(line, soft_wrap=True)
