"""A comparison as text for other programs: JSON, CSV, Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from gpuprof.report.compare_table import compare_columns, compare_data, compare_lines, run_title
from gpuprof.report.exports import escape_markdown, markdown_table, write_csv
from gpuprof.results.compare import Comparison, Pair
from gpuprof.results.thresholds import Violation


def compare_json(comparison: Comparison, violations: Sequence[Violation] = ()) -> str:
    """Every value and counter of both runs, by variant."""
    return json.dumps(compare_data(comparison, violations), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compare_csv(comparison: Comparison, violations: Sequence[Violation] = ()) -> str:
    """One row per variant; each value as NAME.before and NAME.after, unrounded."""
    values = list(dict.fromkeys(name for variant in comparison.variants for name in variant.values))
    counters = list(dict.fromkeys(name for variant in comparison.variants for name in variant.counters))
    pairs = [f"{name}.{side}" for name in (*values, *counters) for side in ("before", "after")]
    head = ["variant", "time_ratio", "time_ratio_low", "time_ratio_high", "verdict", "code", "note", "failed_on"]
    table: list[Sequence[object]] = [[*head, *pairs]]
    for variant in comparison.variants:
        low, high = variant.time_interval or (None, None)
        failed = "; ".join(entry.threshold.text for entry in violations if entry.variant == variant.variant)
        row: list[object] = [
            variant.variant,
            variant.time_ratio,
            low,
            high,
            variant.verdict,
            variant.code,
            variant.note,
        ]
        found = [*(variant.values.get(name) for name in values), *(variant.counters.get(name) for name in counters)]
        row += [failed, *(side for pair in found for side in _sides(pair))]
        table.append(row)
    return write_csv(table)


def _sides(pair: Pair | None) -> tuple[float | None, float | None]:
    return (None, None) if pair is None else (pair.before, pair.after)


def compare_markdown(comparison: Comparison, violations: Sequence[Violation] = ()) -> str:
    """A heading, the two runs, the table, and the lines below it."""
    columns = compare_columns(comparison)
    body = [[column.cells[n] for column in columns] for n in range(len(comparison.variants))]
    lines = [f"### {escape_markdown(comparison.after.experiment)}: comparison", ""]
    lines += [f"- before: {escape_markdown(run_title(comparison.before))}"]
    lines += [f"- after: {escape_markdown(run_title(comparison.after))}", ""]
    lines += markdown_table([column.head for column in columns], body, right=[column.right for column in columns])
    below = [f"- {escape_markdown(line)}" for _, line in compare_lines(comparison, violations)]
    return "\n".join([*lines, *([""] if below else []), *below]) + "\n"


def comparison_html(comparison: Comparison, violations: Sequence[Violation] = (), columns: Sequence[str] = ()) -> str:
    """One page that loads nothing; raises MissingToolError without the extra ``report``."""
    from gpuprof.report.page.render import require_report_extra

    require_report_extra()
    from gpuprof.report.page.document import comparison_page

    return comparison_page(comparison, violations, columns)


COMPARE_EXPORTERS: Mapping[str, Callable[[Comparison, Sequence[Violation]], str]] = {
    "json": compare_json,
    "csv": compare_csv,
    "markdown": compare_markdown,
}
