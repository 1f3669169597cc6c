"""The list of stored runs, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns
from gpuprof.results.history import HistoryEntry

if TYPE_CHECKING:
    from rich.console import Console


def history_columns(entries: Sequence[HistoryEntry]) -> list[Column]:
    """Run, experiment, when, where, how many variants, the fastest."""

    def column(head: str, priority: int, cells: Sequence[str], *, right: bool = False, shrink: int = 0) -> Column:
        return Column(head, tuple(cells), priority, right, shrink)

    return [
        column("run", ALWAYS, [entry.identifier for entry in entries]),
        column("experiment", ALWAYS, [entry.experiment for entry in entries], shrink=10),
        column("started", 90, [entry.started.replace("T", " ")[:19] for entry in entries]),
        column("took", 40, [units.seconds(entry.seconds) for entry in entries], right=True),
        column("device", 70, [_device(entry) for entry in entries]),
        column("variants", 60, [_variants(entry) for entry in entries], right=True),
        column("fastest", 50, [entry.best or units.NOTHING for entry in entries]),
        column("time", 55, [units.show(entry.best_us, "us") for entry in entries], right=True),
    ]


def _device(entry: HistoryEntry) -> str:
    return entry.gpu or {"emulated": "emulator", "none": "build only"}.get(entry.device, entry.device)


def _variants(entry: HistoryEntry) -> str:
    parts = [str(entry.variants)]
    if entry.failed:
        parts.append(f"{entry.failed} failed")
    if not entry.complete:
        parts.append("interrupted")
    return ", ".join(parts)


def render_history(entries: Sequence[HistoryEntry], console: Console) -> None:
    """Print the list."""
    print_columns(history_columns(entries), console)
