"""What ``gpuprof sass`` prints about a file with many kernels: one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuprof.report.layout import Column
from gpuprof.report.sass_words import plural
from gpuprof.report.tables import print_columns
from gpuprof.sass.analysis import Analysis

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST_NAME = 60


def print_overview(
    name: str,
    rows: Sequence[tuple[str, Analysis]],
    registers: Sequence[int | None],
    console: Console,
    most: int,
) -> None:
    """The largest functions first, ``most`` of them, and how to look at one."""
    from rich.text import Text

    total = sum(analysis.instructions for _, analysis in rows)
    archs = ", ".join(dict.fromkeys(analysis.arch for _, analysis in rows))
    console.print(Text(f"{name}: {plural(len(rows), 'function')}, {total:,} instructions, {archs}", style="bold"))
    order = sorted(range(len(rows)), key=lambda number: -rows[number][1].instructions)[:most]
    print_columns(overview_columns([rows[n] for n in order], [registers[n] for n in order]), console)
    hidden = len(rows) - len(order)
    more = f"{plural(hidden, 'smaller function')} not shown (--json has all); " if hidden else ""
    console.print(Text(f"{more}--kernel NAME shows one", style="dim"))


def overview_columns(rows: Sequence[tuple[str, Analysis]], registers: Sequence[int | None]) -> list[Column]:
    """Name, size, registers, loops, the main arithmetic and its longest run, the weightiest finding."""
    analyses = [analysis for _, analysis in rows]
    streams = [analysis.stream for analysis in analyses]
    return [
        Column("kernel", tuple(_shortened(name) for name, _ in rows), 100, right=False, shrink_to=24),
        Column("arch", tuple(one.arch for one in analyses), 40, right=False),
        Column("instr.", tuple(f"{one.instructions:,}" for one in analyses), 95),
        Column("regs", tuple("-" if count is None else str(count) for count in registers), 80),
        Column("loops", tuple(str(len(one.loops)) for one in analyses), 90),
        Column("math", tuple(one.math or "-" for one in analyses), 85, right=False),
        Column("longest\nrun", tuple(str(one.longest) if one is not None else "-" for one in streams), 84),
        Column("predi-\ncated", tuple(str(one.predication.predicated) for one in analyses), 50),
        Column("finding", tuple(one.findings[0].kind if one.findings else "-" for one in analyses), 70, right=False),
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
