"""How an experiment's variants did over the stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprof.report import units
from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.svg import SERIES, to_svg
from gpuprof.results.history import PastResult
from gpuprof.results.model import Run

MAX_LINES = len(SERIES)
HEIGHT = 260


def trend(run: Run, past: Sequence[PastResult]) -> Figure | None:
    """Times on the run's GPU, or warp instructions without one; None for fewer than two runs with a value."""
    gpu = run.environment.gpu
    timed = any(result.timing is not None for result in run.results)
    labels = [result.variant for result in run.results][:MAX_LINES]
    rows: list[dict[str, Any]] = []
    for each in past:
        value = each.time_us if timed else each.warp_instructions
        if each.variant in labels and value is not None and (not timed or each.gpu == gpu):
            shown = units.microseconds(value) if timed else units.short_count(value)
            rows.append(
                {
                    "run": each.run,
                    "value": value,
                    "variant": each.variant,
                    "hover": f"{each.variant}, {each.started.replace('T', ' ')[:16]}: {shown}",
                }
            )
    runs = list(dict.fromkeys(row["run"] for row in rows))
    if len(runs) < 2:
        return None
    dates = {entry.run: entry.started[5:16].replace("T", " ") for entry in past}
    for row in rows:
        row["x"] = f"{dates[row['run']]} {row['run'][:4]}"
    order = [f"{dates[run]} {run[:4]}" for run in runs]
    kept = [label for label in labels if any(row["variant"] == label for row in rows)]
    quantity = f"median time on {gpu}" if timed else "warp instructions"
    caption = f"{quantity[0].upper()}{quantity[1:]} in the last {len(runs)} stored runs."
    if len(run.results) > MAX_LINES:
        caption += f" The first {MAX_LINES} variants."
    spec = {
        "height": HEIGHT,
        "data": {"values": rows},
        "encoding": {
            "x": {"field": "x", "type": "ordinal", "sort": order, "axis": {"title": "run", "labelAngle": -40}},
            "y": {
                "field": "value",
                "type": "quantitative",
                "axis": {"title": "µs" if timed else "warp instructions", "format": "~s", "tickCount": 5},
            },
            "color": {
                "field": "variant",
                "type": "nominal",
                "scale": {"domain": kept, "range": list(SERIES[: len(kept)])},
                "legend": {"title": None, "columns": 2},
            },
        },
        "layer": [
            {"mark": {"type": "line"}},
            {"mark": {"type": "point"}, "encoding": {"description": {"field": "hover"}}},
        ],
    }
    said = "; ".join(row["hover"] for row in rows[-MAX_LINES:])
    return Figure("Over the stored runs", caption, to_svg(spec, f"{caption} Latest: {said}"))
