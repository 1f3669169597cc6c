"""The variants as bars, in the order of the table, with the interval of each median."""

from __future__ import annotations

from typing import Any

from gpuprof.report import units
from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.measure import CYCLES, Measure, busiest, measure_of, values_of
from gpuprof.report.page.pictures.svg import ACCENT, INK, MUTED, WIDTH, to_svg
from gpuprof.results.best import best_of
from gpuprof.results.lookup import is_baseline
from gpuprof.results.model import Result, Run

#: Of a longer sweep the best are drawn.
MAX_BARS = 16
#: Pixels for a variant: its name above, its bar below.
STEP = 38


def ladder(run: Run) -> Figure | None:
    """Bars from zero; None for fewer than two variants. Ratios are to the best, where one is."""
    measure = measure_of(run)
    if measure is None:
        return None
    found = values_of(run, measure)
    if len(found) < 2:
        return None
    shown = found
    if len(found) > MAX_BARS:
        least_first = {result.variant for result, _ in sorted(found, key=lambda pair: pair[1])[:MAX_BARS]}
        shown = [pair for pair in found if pair[0].variant in least_first]
    best = best_of(run)
    winner = best.result.variant if best is not None else ""
    least = next((value for result, value in found if result.variant == winner), None)
    rows = [_row(run, result, value, measure, winner, least) for result, value in shown]
    caption = f"{measure.title[0].upper()}{measure.title[1:]}; shorter is better."
    if measure.interval_words:
        caption += f" The thin line is {measure.interval_words}."
    if len(shown) < len(found):
        caption += f" The best {len(shown)} of {len(found)} variants."
    said = "; ".join(f"{row['variant']}: {row['label']}" for row in rows)
    return Figure("Variants", caption, to_svg(_spec(rows), f"Bars of {measure.title}. {said}"))


def _row(run: Run, result: Result, value: float, measure: Measure, winner: str, least: float | None) -> dict[str, Any]:
    low, high = measure.interval(result) or (value, value)
    label = measure.show(value)
    if least is not None and result.variant != winner:
        label += f"  ({units.times(value / least)})"
    limit = busiest(result) if measure is CYCLES else ""
    return {
        "variant": result.variant,
        "value": value,
        "low": low,
        "high": high,
        "label": label,
        "kind": "best" if result.variant == winner else "baseline" if winner and is_baseline(run, result) else "other",
        "hover": f"{result.variant}: {label}" + (f", {limit}" if limit else ""),
    }


def _spec(rows: list[dict[str, Any]]) -> dict[str, Any]:
    top = 1.35 * max(row["high"] for row in rows)
    y = {"field": "variant", "type": "nominal", "sort": None, "axis": None}
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, top], "nice": False},
        "axis": None,
    }
    colour = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": ["best", "baseline", "other"], "range": [ACCENT, MUTED, "var(--bar)"]},
        "legend": None,
    }
    hover = {"field": "hover"}
    return {
        "width": WIDTH,
        "height": {"step": STEP},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": 14, "yOffset": 8},
                "encoding": {"x": x, "color": colour, "description": hover},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "yOffset": 8, "color": INK},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "description": hover},
            },
            {
                "mark": {"type": "text", "align": "left", "yOffset": -8, "baseline": "middle"},
                "encoding": {"x": {"value": 0}, "text": {"field": "variant"}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "yOffset": 8, "baseline": "middle"},
                "encoding": {"x": {**x, "field": "high"}, "text": {"field": "label"}},
            },
        ],
    }
