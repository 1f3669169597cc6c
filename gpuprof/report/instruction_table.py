"""SASS beside CUDA source with counters: one row per instruction, in the code's order or the hottest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpuprof.isa.counters import InstructionCounters
from gpuprof.report import units
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns

if TYPE_CHECKING:
    from rich.console import Console

    from gpuprof.results.model import Counters

TEXT_WIDTH = 38
SOURCE_WIDTH = 30

Order = Literal["address", "hot"]  #: as the code has them, or the highest cost first


def print_instructions(
    counters: Counters, console: Console, *, order: Order = "address", most: int | None = None
) -> None:
    """Print the instructions of a pass, at most ``most`` of them."""
    from rich.text import Text

    entries = counters.per_instruction
    if not entries:
        console.print(Text("no counts by instruction were kept (ncu gives none here; the emulator does)"))
        return
    chosen = sorted(entries, key=lambda entry: -entry.cost) if order == "hot" else list(entries)
    shown = chosen[:most] if most else chosen
    total = sum(entry.executed for entry in entries)
    print_columns(instruction_columns(shown, float(total)), console)
    if len(shown) < len(chosen):
        console.print(Text(f"{len(chosen) - len(shown)} more instructions: --top 0 shows all", style="dim"))


def instruction_columns(entries: Sequence[InstructionCounters], total: float) -> list[Column]:
    """Address, code, what was counted, and the source line; columns without any content are left out."""
    one_file = len({entry.file for entry in entries if entry.file}) <= 1
    optional = [
        Column("lanes\non", tuple(units.show(entry.lanes_on, "ratio") for entry in entries), 90),
        Column("sectors\n/exec.", tuple(units.show(entry.sectors, "ratio") for entry in entries), 88),
        Column("ways", tuple(units.show(entry.ways, "ways") for entry in entries), 89),
        Column("line", tuple(_place(entry, one_file) for entry in entries), 70, right=False),
        Column("source", tuple(source_lines(entries)), 60, right=False),
    ]
    steps = tuple(entry.step for entry in entries)
    return [
        *([Column("step", steps, 65, right=False)] if len(set(steps)) > 1 else []),
        Column("address", tuple(f"{entry.address:04x}" for entry in entries), ALWAYS),
        Column("instruction", tuple(_cut(entry.text, TEXT_WIDTH) for entry in entries), ALWAYS, right=False),
        Column("executed", tuple(units.short_count(entry.executed) for entry in entries), ALWAYS),
        Column("%", tuple(_share(entry.executed, total) for entry in entries), 80),
        *(column for column in optional if any(cell not in ("", units.NOTHING) for cell in column.cells)),
    ]


def _share(executed: float, total: float) -> str:
    return units.percent(100 * executed / total) if total else units.NOTHING


def _place(entry: InstructionCounters, one_file: bool) -> str:
    if not entry.file or entry.line is None:
        return ""
    return str(entry.line) if one_file else f"{Path(entry.file).name}:{entry.line}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def source_lines(entries: Iterable[InstructionCounters], width: int = SOURCE_WIDTH) -> Iterator[str]:
    """The text of each entry's line, empty where it is the one before or the file is not there."""
    files: dict[str, list[str]] = {}
    previous: tuple[str, int | None] | None = None
    for entry in entries:
        place = (entry.file, entry.line)
        if place == previous or not entry.file or entry.line is None:
            yield ""
            previous = place
            continue
        previous = place
        if entry.file not in files:
            try:
                files[entry.file] = Path(entry.file).read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                files[entry.file] = []
        lines = files[entry.file]
        yield _cut(lines[entry.line - 1].strip(), width) if 0 < entry.line <= len(lines) else ""
