"""Drawing fitted columns: the one place that makes a rich table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpuprof.report.layout import Column, Layout, fit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Per column head: style by cell text; ``*`` is any other text.
Styles = Mapping[str, Mapping[str, str]]


def print_columns(
    columns: Sequence[Column],
    console: Console,
    styles: Styles | None = None,
    bold: Sequence[int] = (),
    exports: str = "--csv, --json",
) -> None:
    """Print ``columns`` fitted to the console's width, rows ``bold`` emphasised, and what was left out.

    ``exports`` are the command's options that write all of them.
    """
    from rich.text import Text

    layout = fit(columns, console.width)
    console.print(make_table(layout, styles or {}, bold))
    if layout.dropped:
        names = ", ".join(layout.dropped)
        console.print(Text(f"not shown at {console.width} columns: {names} (see {exports})", style="dim"))


def make_table(layout: Layout, styles: Styles, bold: Sequence[int] = ()) -> Table:
    """The table of a layout."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, layout.gap - 1, 0, 0), show_edge=False)
    for column, width in zip(layout.columns, layout.widths, strict=True):
        justify = "right" if column.right else "left"
        table.add_column(column.head, justify=justify, width=width, overflow="fold", vertical="bottom")  # type: ignore[arg-type]
    rows = len(layout.columns[0].cells) if layout.columns else 0
    for n in range(rows):
        cells = [Text(column.cells[n]) for column in layout.columns]
        for column, cell in zip(layout.columns, cells, strict=True):
            style = styles.get(column.head, {})
            cell.stylize(style.get(cell.plain, style.get("*", "")))
        table.add_row(*cells, style="bold" if n in bold else "")
    return table
