"""What ``gpuprof sass`` prints about a file with many kernels: one row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuprof.report.layout import Column
from gpuprof.report.sass.format import plural
from gpuprof.report.tables import print_columns
from gpuprof.sass.analysis import Analysis

if TYPE_CHECKING:
    from rich.console import Console

_MAX_NAME_LENGTH = 60


@dataclass(frozen=True)
class OverviewRow:
    """What one row shows: small, so that a library's thousands fit into memory."""

    name: str
    arch: str
    instructions: int
    registers: int | None
    loops: int
    math: str
    longest_run: int | None
    predicated: int
    finding: str


def row_of(name: str, registers: int | None, analysis: Analysis) -> OverviewRow:
    """The row of one function."""
    stream = analysis.stream
    return OverviewRow(
        name=name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 3] + "...",
        arch=analysis.arch,
        instructions=analysis.instructions,
        registers=registers,
        loops=len(analysis.loops),
        math=analysis.math,
        longest_run=stream.longest if stream is not None else None,
        predicated=analysis.predication.predicated,
        finding=analysis.findings[0].kind if analysis.findings else "",
    )


def print_overview(
    name: str, rows: Sequence[OverviewRow], console: Console, most: int, unreadable: Sequence[str] = ()
) -> None:
    """The largest functions first, ``most`` of them, how to look at one, and what could not be read."""
    from rich.text import Text

    total = sum(row.instructions for row in rows)
    archs = ", ".join(dict.fromkeys(row.arch for row in rows))
    console.print(Text(f"{name}: {plural(len(rows), 'function')}, {total:,} instructions, {archs}", style="bold"))
    shown = sorted(rows, key=lambda row: -row.instructions)[:most]
    print_columns(overview_columns(shown), console, exports="--json")
    hidden = len(rows) - len(shown)
    more = f"{plural(hidden, 'smaller function')} not shown (--json has all); " if hidden else ""
    console.print(Text(f"{more}--kernel NAME shows one", style="dim"))
    if unreadable:
        console.print(Text(f"{plural(len(unreadable), 'cubin')} not read, the first because: {unreadable[0]}"))


def overview_columns(rows: Sequence[OverviewRow]) -> list[Column]:
    """Name, size, registers, loops, the main arithmetic and its longest run, the weightiest finding."""
    return [
        Column("kernel", tuple(row.name for row in rows), 100, right=False, shrink_to=24),
        Column("arch", tuple(row.arch for row in rows), 40, right=False),
        Column("instr.", tuple(f"{row.instructions:,}" for row in rows), 95),
        Column("regs", tuple("-" if row.registers is None else str(row.registers) for row in rows), 80),
        Column("loops", tuple(str(row.loops) for row in rows), 90),
        Column("math", tuple(row.math or "-" for row in rows), 85, right=False),
        Column("longest\nrun", tuple("-" if row.longest_run is None else str(row.longest_run) for row in rows), 84),
        Column("predi-\ncated", tuple(str(row.predicated) for row in rows), 50),
        Column("finding", tuple(row.finding or "-" for row in rows), 70, right=False),
    ]
