"""A run as text for other programs: JSON, CSV, Markdown (a GitHub step summary too) and one HTML page."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from gpuprof.report.columns import draw, rows_of
from gpuprof.report.run_table import below, specs_for
from gpuprof.report.sentences import head_lines
from gpuprof.results.derived import TABLE, counters_of
from gpuprof.results.history import PastResult
from gpuprof.results.json import encode, to_json, write_whole
from gpuprof.results.model import Result, Run

#: Standard output, as people write it on the command line.
STDOUT = "-"
#: The variable that names the file of a GitHub step's summary, which several commands add to.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def run_csv(run: Run) -> str:
    """``run_table`` as RFC 4180 text."""
    return write_csv(run_table(run))


def run_table(run: Run) -> list[Sequence[object]]:
    """Column names, then a row per variant: sizes, parameters, every derived value and every counter, unrounded."""
    rows = rows_of(run.results)
    known = [entry.name for entry in TABLE if any(entry.name in row.values for row in rows)]
    parameters = _names(result.parameters for result in run.results)
    sizes = _names(result.sizes for result in run.results)
    counters = _names(part.values for result in run.results if (part := counters_of(result)) is not None)
    head = [
        *("variant", "family", "status", "verdict", "reason"),
        *(f"size:{name}" for name in sizes),
        *(f"param:{name}" for name in parameters),
        *known,
        *("limiter", "blocks_run", "blocks_total", "cubin_sha256"),
        *counters,
    ]
    table: list[Sequence[object]] = [head]
    for row in rows:
        result, counted = row.result, counters_of(row.result)
        table.append(
            [
                *_identity(result),
                *(result.sizes.get(name) for name in sizes),
                *(result.parameters.get(name) for name in parameters),
                *(row.values.get(name) for name in known),
                *_provenance(result),
                *((counted.values.get(name) if counted else None) for name in counters),
            ]
        )
    return table


def _identity(result: Result) -> tuple[object, ...]:
    verdict = result.verification.verdict if result.verification else None
    return result.variant, result.family, result.status.value, verdict, result.reason


def _provenance(result: Result) -> tuple[object, ...]:
    counted = counters_of(result)
    return (
        result.occupancy.limiter if result.occupancy else None,
        counted.blocks_run if counted else None,
        counted.blocks_total if counted else None,
        result.build.cubin_sha256 if result.build else None,
    )


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    """Every key, in the order of first appearance."""
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def write_csv(table: Iterable[Sequence[object]]) -> str:
    """RFC 4180 text; None is an empty field, a number that is not finite its JSON word."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in table:
        writer.writerow(["" if value is None else encode(value) for value in row])
    return out.getvalue()


def run_markdown(run: Run) -> str:
    """A heading, where the numbers come from, the table, and what went wrong."""
    columns = draw(specs_for(run), rows_of(run.results))
    head = [column.head.replace("\n", " ") for column in columns]
    body = [[column.cells[n] for column in columns] for n in range(len(run.results))]
    lines = [f"### {escape_markdown(run.experiment)}", ""]
    if run.description:
        lines += [escape_markdown(run.description), ""]
    lines += [f"{escape_markdown(line)}  " for line in head_lines(run)]
    lines += ["", *markdown_table(head, body, right=[column.right for column in columns]), ""]
    lines += [f"- {escape_markdown(line)}" for _, line in below(run) if line and not line.startswith("    ")]
    return "\n".join(lines).rstrip("\n") + "\n"


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]], *, right: Sequence[bool]) -> list[str]:
    """The lines of a GitHub table."""
    rule = ["---:" if flag else ":---" for flag in right]
    rows = [[escape_markdown(cell) for cell in row] for row in (head, *body)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], f"| {' | '.join(rule)} |", *lines[1:]]


def escape_markdown(text: str) -> str:
    """Text that stays text: one line, no cell borders, no HTML, no emphasis."""
    text = " ".join(text.split())
    for character in "\\`*_|<>[]#":
        text = text.replace(character, f"\\{character}" if character not in "<>" else f"&{_ENTITIES[character]};")
    return text


_ENTITIES = {"<": "lt", ">": "gt"}


def run_html(run: Run, columns: Sequence[str] = (), past: Sequence[PastResult] = ()) -> str:
    """One page that loads nothing; raises MissingToolError without the extra ``report``."""
    return runs_html([run], columns, {run.experiment: past})


def runs_html(
    runs: Sequence[Run], columns: Sequence[str] = (), past: Mapping[str, Sequence[PastResult]] | None = None
) -> str:
    """Several runs in one page; ``past`` is earlier results by experiment. Raises as ``run_html``."""
    from gpuprof.report.page.render import require_report_extra

    require_report_extra()
    from gpuprof.report.page.document import runs_page

    return runs_page(runs, columns, past)


#: What ``--json``, ``--csv``, ``--markdown`` and ``--html`` write.
EXPORTERS: Mapping[str, Callable[[Run], str]] = {
    "json": lambda run: to_json(run) + "\n",
    "csv": run_csv,
    "markdown": run_markdown,
    "html": run_html,
}


def write_exports(
    run: Run, targets: Mapping[str, str | None], *, columns: Sequence[str] = (), past: Sequence[PastResult] = ()
) -> None:
    """Write every kind of ``EXPORTERS`` that has a target: a file's name, or ``-`` for standard output.

    The page shows ``columns`` (of ``--columns``) and, over time, the ``past`` results of the experiment.

    Raises:
        StoreError: a file cannot be written.
    """
    for kind, target in targets.items():
        if target is not None:
            write_text(run_html(run, columns, past) if kind == "html" else EXPORTERS[kind](run), target)


def write_text(text: str, target: str) -> None:
    """``text`` to a file, whole or not at all, or to standard output; GitHub's step summary is added to.

    Raises:
        StoreError: the file cannot be written.
    """
    if target == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    elif target == os.environ.get(STEP_SUMMARY):
        write_whole(_present(Path(target)) + text, Path(target))
    else:
        write_whole(text, Path(target))


def _present(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
