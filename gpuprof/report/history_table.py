"""The list of stored runs, newest first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.exports import markdown_table, write_csv
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns
from gpuprof.results.history import HistoryEntry
from gpuprof.results.json import encode

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


def history_json(entries: Sequence[HistoryEntry]) -> str:
    return json.dumps([encode(entry) for entry in entries], indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def history_csv(entries: Sequence[HistoryEntry]) -> str:
    head = [field.name for field in fields(HistoryEntry)]
    return write_csv([head, *([asdict(entry)[name] for name in head] for entry in entries)])


def history_markdown(entries: Sequence[HistoryEntry]) -> str:
    columns = history_columns(entries)
    body = [[column.cells[n] for column in columns] for n in range(len(entries))]
    heads = [column.head for column in columns]
    return "\n".join(markdown_table(heads, body, right=[column.right for column in columns])) + "\n"


def history_html(entries: Sequence[HistoryEntry], where: str) -> str:
    """One page that loads nothing; raises MissingToolError without the extra ``report``."""
    from gpuprof.report.page.render import require_report_extra

    require_report_extra()
    from gpuprof.report.page.document import history_page

    return history_page(entries, where)


HISTORY_EXPORTERS: Mapping[str, Callable[[Sequence[HistoryEntry]], str]] = {
    "json": history_json,
    "csv": history_csv,
    "markdown": history_markdown,
}
