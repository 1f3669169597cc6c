"""One self-contained HTML page of a run: the table, a bar chart, and what went wrong. It loads nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from string import Template

from gpuprof.report import units
from gpuprof.report.columns import Row, draw, rows_of, status_word
from gpuprof.report.run_table import below, heads_for
from gpuprof.report.sentences import head_lines
from gpuprof.results.derived import describe
from gpuprof.results.lookup import is_baseline
from gpuprof.results.model import Run, Status

#: What the chart shows: the first of these that any variant has.
CHARTED = ("time_us", "warp_instructions", "code_instructions")

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1b1f24; }
h1 { font-size: 1.4rem; margin-bottom: .3rem; }
h2 { font-size: 1.05rem; margin-top: 2rem; }
p.origin { color: #57606a; margin: .1rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 1rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #d0d7de; text-align: right; white-space: nowrap; }
th.left, td.left { text-align: left; }
td.bad { color: #b3261e; } td.good { color: #1a7f37; }
tr.baseline td { font-weight: 600; }
.bar { background: #3b6ea5; height: .9rem; min-width: 1px; border-radius: 2px; }
table.chart td { border: 0; padding: .15rem .6rem; } table.chart td.track { width: 32rem; }
li { white-space: pre-wrap; }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3; } th, td { border-color: #30363d; } p.origin { color: #8b949e; }
  td.bad { color: #ff7b72; } td.good { color: #56d364; } .bar { background: #6ea8e0; }
}
</style>
</head>
<body>
<h1>$title</h1>
$intro
<div class="wide">
$table
</div>
$chart
$below
</body>
</html>
""")


def run_html(run: Run) -> str:
    """The page as text; every word of the run is escaped."""
    rows = rows_of(run.results)
    origin = "\n".join(f'<p class="origin">{escape(line)}</p>' for line in head_lines(run))
    intro = (f"<p>{escape(run.description)}</p>\n" if run.description else "") + origin
    return _PAGE.substitute(
        title=escape(run.experiment),
        intro=intro,
        table="\n".join(_table(run, rows)),
        chart="\n".join(_chart(rows)),
        below="\n".join(_below(run)),
    )


def _table(run: Run, rows: tuple[Row, ...]) -> Iterator[str]:
    columns = draw(heads_for(run), rows)
    yield "<table>"
    heads = (f"<th{_left(column.right)}>{escape(column.head)}</th>" for column in columns)
    yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    yield "<tbody>"
    for n, row in enumerate(rows):
        word = status_word(row.result)
        mark = {"ok": "good", "built": "", "ran": "", "reference": "", "unchecked": "", "skipped": ""}.get(word, "bad")
        cells = (
            f"<td{_left(column.right, mark if column.head == 'status' else '')}>{escape(column.cells[n])}</td>"
            for column in columns
        )
        baseline = is_baseline(run, row.result)
        start = '<tr class="baseline">' if baseline else "<tr>"
        yield f"{start}{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _left(right: bool, extra: str = "") -> str:
    names = " ".join(part for part in ("" if right else "left", extra) if part)
    return f' class="{names}"' if names else ""


def _chart(rows: tuple[Row, ...]) -> Iterator[str]:
    """Bars of the variants that ran and did not differ: a wrong result is never ranked."""
    rows = tuple(row for row in rows if row.result.status is Status.OK)
    name = next((name for name in CHARTED if any(name in row.values for row in rows)), None)
    entry = describe(name) if name else None
    if name is None or entry is None:
        return
    largest = max((row.values[name] for row in rows if math.isfinite(row.values.get(name, math.nan))), default=0.0)
    yield f"<h2>{escape(entry.meaning)}</h2>"
    yield '<table class="chart"><tbody>'
    for row in rows:
        value = row.values.get(name)
        drawn = value is not None and math.isfinite(value) and largest > 0
        bar = f'<div class="bar" style="width:{100 * (value or 0.0) / largest:.2f}%"></div>' if drawn else ""
        text = escape(units.show(value, entry.unit))
        yield f'<tr><td class="left">{escape(row.result.variant)}</td><td class="track">{bar}</td><td>{text}</td></tr>'
    yield "</tbody></table>"


def _below(run: Run) -> Iterator[str]:
    lines = [line for _, line in below(run) if line]
    if lines:
        yield "<h2>Notes</h2>"
        yield "<ul>"
        for line in lines:
            yield f"<li>{escape(line)}</li>"
        yield "</ul>"
