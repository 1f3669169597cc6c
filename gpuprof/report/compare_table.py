"""Two runs side by side: one line per variant, then what changed around them, and what --fail-on caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuprof.report import units
from gpuprof.report.columns import status_word
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns
from gpuprof.results.compare import Comparison, Pair, VariantComparison
from gpuprof.results.derived import describe
from gpuprof.results.json import encode
from gpuprof.results.model import Run
from gpuprof.results.thresholds import Violation

if TYPE_CHECKING:
    from rich.console import Console

VERDICT_STYLES = {"faster": "green", "slower": "red", "unclear": "yellow"}


@dataclass(frozen=True)
class CompareSpec:
    """A column of the comparison, as ``columns.ColumnSpec`` is one of the run table."""

    title: str
    short: str
    priority: int
    text: Callable[[VariantComparison], str]
    right: bool = True
    shrink_to: int = 0


def _value(name: str, unit: str | None = None) -> Callable[[VariantComparison], str]:
    """``before → after``, or one value where it is the same in both."""
    entry = describe(name)
    assert entry is not None, name
    chosen = unit or entry.unit

    def text(variant: VariantComparison) -> str:
        pair = variant.values.get(name)
        if pair is None or (pair.before is None and pair.after is None):
            return units.NOTHING
        before, after = units.show(pair.before, chosen), units.show(pair.after, chosen)
        return after if before == after and pair.equal else f"{before} → {after}"

    return text


def _ratio(variant: VariantComparison) -> str:
    return units.NOTHING if variant.time_ratio is None else f"{variant.time_ratio:.3f}"


def _interval(variant: VariantComparison) -> str:
    if variant.time_interval is None:
        return units.NOTHING
    low, high = variant.time_interval
    return f"{low:.3f} to {high:.3f}"


def _status(variant: VariantComparison) -> str:
    before = status_word(variant.before) if variant.before else "absent"
    after = status_word(variant.after) if variant.after else "absent"
    return after if before == after else f"{before} → {after}"


def _counters(variant: VariantComparison) -> str:
    both = [pair for pair in variant.counters.values() if pair.before is not None and pair.after is not None]
    if not both:
        return units.NOTHING
    same = sum(1 for pair in both if pair.equal)
    return "all equal" if same == len(both) else f"{len(both) - same} of {len(both)} differ"


SPECS: tuple[CompareSpec, ...] = (
    CompareSpec("variant", "variant", ALWAYS, lambda variant: variant.variant, right=False, shrink_to=12),
    CompareSpec("status", "status", 90, _status, right=False, shrink_to=7),
    CompareSpec("time", "time", 95, _value("time_us")),
    CompareSpec("time ratio", "ratio", 99, _ratio),
    CompareSpec("interval", "95% interval", 94, _interval),
    CompareSpec(
        "verdict",
        "verdict",
        98,
        lambda variant: units.NOTHING if variant.verdict == "not timed" else variant.verdict,
        right=False,
    ),
    CompareSpec("code", "code", 92, lambda variant: variant.code, right=False),
    CompareSpec("registers", "regs", 85, _value("registers")),
    CompareSpec("spill bytes", "spill", 60, _value("spill_bytes")),
    CompareSpec("shared bytes", "smem", 50, _value("shared_bytes")),
    CompareSpec("occupancy", "occ.", 65, _value("occupancy")),
    CompareSpec("warp instructions", "warp instr.", 80, _value("warp_instructions", "short_count")),
    CompareSpec("load sectors per request", "ld sect", 63, _value("load_sectors_per_request")),
    CompareSpec("store sectors per request", "st sect", 62, _value("store_sectors_per_request")),
    CompareSpec("shared load ways", "ld ways", 61, _value("shared_load_ways")),
    CompareSpec("shared store ways", "st ways", 61, _value("shared_store_ways")),
    CompareSpec("counters", "counters", 75, _counters),
)


def chosen_specs(names: Sequence[str]) -> tuple[CompareSpec, ...]:
    """``SPECS`` as ``--columns`` changes them: ``NAME`` for just these, ``+NAME`` and ``-NAME`` for more and fewer.

    Raises:
        UsageError: a name that no column and no value has.
    """
    from gpuprof.errors import UsageError
    from gpuprof.results.derived import TABLE, no_value

    by_name = {spec.title.replace(" ", "_").replace("-", "_"): spec for spec in SPECS}
    values = {entry.name: CompareSpec(entry.name, entry.name, 97, _value(entry.name)) for entry in TABLE}
    specs = list(SPECS) if all(name[0] in "+-" for name in names) else [SPECS[0]]
    for name in names:
        spec = by_name.get(name.lstrip("+-")) or values.get(name.lstrip("+-"))
        if spec is None:
            raise UsageError(f"--columns {name}: {no_value(name.lstrip('+-'), sorted({*by_name, *values}))}")
        specs = [other for other in specs if other is not spec or spec is SPECS[0]]
        if not name.startswith("-") and spec is not SPECS[0]:
            specs.append(spec)
    return tuple(specs)


def compare_columns(comparison: Comparison, names: Sequence[str] = ()) -> list[Column]:
    """The columns that have anything to say, of those that ``names`` (``--columns``) chooses."""
    columns = []
    for spec in chosen_specs(names):
        cells = tuple(spec.text(variant) for variant in comparison.variants)
        if spec.priority >= ALWAYS or any(cell != units.NOTHING for cell in cells):
            columns.append(Column(spec.short, cells, spec.priority, spec.right, spec.shrink_to))
    return columns


def render_comparison(
    comparison: Comparison, console: Console, violations: Sequence[Violation] = (), columns: Sequence[str] = ()
) -> None:
    """Print the comparison, and what ``violations`` failed; ``columns`` are the names of ``--columns``."""
    from rich.text import Text

    for title, run in (("before", comparison.before), ("after", comparison.after)):
        console.print(Text(f"{title + ':':8}{run_title(run)}", style="bold"))
    console.print()
    styles = {"verdict": VERDICT_STYLES, "code": {"different": "yellow"}}
    print_columns(compare_columns(comparison, columns), console, styles)
    for style, line in compare_lines(comparison, violations):
        console.print(Text(line, style=style))


def run_title(run: Run) -> str:
    """``gemm_1024, 2026-11-29T12:00:00Z, NVIDIA H200 (1a2b3c4d)``."""
    place = run.environment.gpu or {"emulated": "emulator", "none": "build only"}.get(run.environment.device, "")
    identifier = f" ({run.identifier})" if run.identifier else ""
    return ", ".join(part for part in (run.experiment, run.started, place) if part) + identifier


def compare_lines(comparison: Comparison, violations: Sequence[Violation] = ()) -> Iterator[tuple[str, str]]:
    """(style, line) below the table."""
    for note in comparison.notes:
        yield "dim", note
    notes: dict[str, list[str]] = {}
    for variant in comparison.variants:
        if variant.note:
            notes.setdefault(variant.note, []).append(variant.variant)
    for variant in comparison.variants:
        if variant.before and variant.after and variant.before.status is not variant.after.status:
            yield "yellow", f"{variant.variant}: {_status(variant)}"
    for note, names in notes.items():
        where = "" if len(names) == len(comparison.variants) else f"{', '.join(names)}: "
        yield "yellow", f"{where}{note}"
    yield from _changed_counters(comparison)
    for violation in violations:
        value = units.significant(violation.value, 4)
        unit = "%" if violation.threshold.text.endswith("%") else ""
        yield "red", f"{violation.variant}: fails on {violation.threshold.text} (it is {value}{unit})"


def _changed_counters(comparison: Comparison, limit: int = 6) -> Iterator[tuple[str, str]]:
    """The counters that changed most, by variant."""
    for variant in comparison.variants:
        changed = [(name, pair) for name, pair in variant.counters.items() if _changed(pair)]
        changed.sort(key=lambda entry: -abs((entry[1].ratio or 1e9) - 1))
        for name, pair in changed[:limit]:
            before, after = units.show(pair.before, "count"), units.show(pair.after, "count")
            change = "" if pair.ratio is None else f" (x {units.significant(pair.ratio, 4)})"
            yield "", f"{variant.variant}: {name}: {before} → {after}{change}"
        if len(changed) > limit:
            yield "dim", f"{variant.variant}: and {len(changed) - limit} more counters (see --json)"


def _changed(pair: Pair) -> bool:
    return pair.before is not None and pair.after is not None and not pair.equal


def compare_data(comparison: Comparison, violations: Sequence[Violation] = ()) -> dict[str, Any]:
    """The comparison as JSON values."""
    return {
        "before": _run_data(comparison.before),
        "after": _run_data(comparison.after),
        "notes": list(comparison.notes),
        "variants": [_variant_data(variant) for variant in comparison.variants],
        "violations": [
            {"variant": entry.variant, "condition": entry.threshold.text, "value": encode(entry.value)}
            for entry in violations
        ],
    }


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "identifier": run.identifier,
        "experiment": run.experiment,
        "started": run.started,
        "environment": encode(run.environment),
    }


def _variant_data(variant: VariantComparison) -> dict[str, Any]:
    return {
        "variant": variant.variant,
        "status": [result.status.value if result else None for result in (variant.before, variant.after)],
        "time_ratio": encode(variant.time_ratio),
        "time_interval": encode(variant.time_interval),
        "verdict": variant.verdict,
        "code": variant.code,
        "note": variant.note,
        "values": {name: encode(pair) for name, pair in variant.values.items()},
        "counters": {name: encode(pair) for name, pair in variant.counters.items()},
    }
