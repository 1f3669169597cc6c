"""Counters as text for other programs: one column per variant, or the emulator's beside ncu's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpuprof.report import units
from gpuprof.report.counter_table import agreement_line
from gpuprof.report.exports import escape_markdown, markdown_table, run_csv, write_csv
from gpuprof.report.sentences import head_lines
from gpuprof.report.verdict import verdict
from gpuprof.results.agreement import Agreement, agreement
from gpuprof.results.derived import counters_of
from gpuprof.results.json import to_json
from gpuprof.results.model import Run


def counters_markdown(run: Run) -> str:
    """One table: a row per counter, a column per variant; then the verdicts."""
    counted = [(result, counters) for result in run.results if (counters := counters_of(result)) is not None]
    names = sorted({name for _, counters in counted for name in counters.values})
    head = ["counter", *(result.variant for result, _ in counted)]
    body = [[name, *(units.show(counters.values.get(name), "count") for _, counters in counted)] for name in names]
    lines = [*_heading(run), *markdown_table(head, body, right=[False, *(True for _ in counted)]), ""]
    verdicts = [(result.variant, verdict(result)) for result in run.results]
    lines += [f"- {escape_markdown(f'{variant}: {found.text}')}" for variant, found in verdicts if found is not None]
    return "\n".join(lines).rstrip("\n") + "\n"


def _heading(run: Run) -> list[str]:
    return [
        f"### {escape_markdown(run.experiment)}: counters",
        "",
        *(f"{escape_markdown(line)}  " for line in head_lines(run)),
        "",
    ]


def agreements(run: Run) -> list[Agreement]:
    """Those of the variants that both counted."""
    return [found for result in run.results if (found := agreement(result)) is not None]


def agreement_markdown(run: Run) -> str:
    """A table per variant, and how many counters were equal."""
    lines = _heading(run)
    for found in agreements(run):
        body = [
            [pair.name, pair.kind, units.show(pair.emulated, "count"), units.show(pair.ncu, "count"), pair.word]
            for pair in found.pairs
        ]
        lines += [f"#### {escape_markdown(found.variant)}: {agreement_line(found)}", ""]
        lines += markdown_table(
            ["counter", "kind", "emulated", "ncu", ""], body, right=[False, False, True, True, False]
        )
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def agreement_csv(run: Run) -> str:
    """One row per variant and counter."""
    table: list[Sequence[object]] = [["variant", "counter", "emulated", "ncu", "equal", "why", "sampled", "kind"]]
    for found in agreements(run):
        table += [
            [found.variant, pair.name, pair.emulated, pair.ncu, pair.word, pair.why, found.scaled, pair.kind]
            for pair in found.pairs
        ]
    return write_csv(table)


COUNTER_EXPORTERS: Mapping[str, Callable[[Run], str]] = {
    "json": lambda run: to_json(run) + "\n",
    "csv": run_csv,
    "markdown": counters_markdown,
}

AGREEMENT_EXPORTERS: Mapping[str, Callable[[Run], str]] = {
    "json": lambda run: to_json(run) + "\n",
    "csv": agreement_csv,
    "markdown": agreement_markdown,
}
