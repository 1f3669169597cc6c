"""The list of stored runs as JSON, CSV, Markdown and one HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields

from gpuprof.report.exports import markdown_table, write_csv
from gpuprof.report.history_table import history_columns
from gpuprof.results.history import HistoryEntry
from gpuprof.results.json import encode


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
