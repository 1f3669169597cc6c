"""Two runs: what each variant was and became, as a pair of bars."""

from __future__ import annotations

from typing import Any

from gpuprof.report import units
from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.svg import ACCENT, WIDTH, to_svg
from gpuprof.results.compare import Comparison

MAX_VARIANTS = 20
STEP = 52


def changes(comparison: Comparison) -> Figure | None:
    """Times where both runs have them, else warp instructions; None where no variant has both."""
    for name, title, show in (
        ("time_us", "median time", units.microseconds),
        ("warp_instructions", "warp instructions", units.short_count),
    ):
        rows: list[dict[str, Any]] = []
        for variant in comparison.variants[:MAX_VARIANTS]:
            pair = variant.values.get(name)
            if pair is None or pair.before is None or pair.after is None:
                continue
            for side, value in (("before", pair.before), ("after", pair.after)):
                text = f"{side} {show(value)}"
                rows.append({"variant": variant.variant, "side": side, "value": value, "label": text})
        if rows:
            caption = f"{title[0].upper()}{title[1:]}; shorter is better."
            said = "; ".join(f"{row['variant']} {row['label']}" for row in rows)
            return Figure("Before and after", caption, to_svg(_spec(rows), f"Before and after. {said}"))
    return None


def _spec(rows: list[dict[str, Any]]) -> dict[str, Any]:
    x = {
        "field": "value",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, 1.4 * max(row["value"] for row in rows) or 1], "nice": False},
    }
    sides = ["before", "after"]
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "datum.side == 'before'"}],
            "mark": {"type": "text", "align": "left", "yOffset": -15, "baseline": "middle"},
            "encoding": {"x": {"value": 0}, "text": {"field": "variant"}},
        }
    ]
    for offset, side in ((3, sides[0]), (16, sides[1])):
        chosen = [{"filter": f"datum.side == '{side}'"}]
        layers += [
            {
                "transform": chosen,
                "mark": {
                    "type": "bar",
                    "height": 11,
                    "yOffset": offset,
                    "color": ACCENT if side == "after" else "var(--bar)",
                },
                "encoding": {"x": x, "description": {"field": "label"}},
            },
            {
                "transform": chosen,
                "mark": {"type": "text", "align": "left", "dx": 6, "yOffset": offset, "fontSize": 11},
                "encoding": {"x": x, "text": {"field": "label"}},
            },
        ]
    return {
        "width": WIDTH,
        "height": {"step": STEP},
        "data": {"values": rows},
        "encoding": {"y": {"field": "variant", "type": "nominal", "sort": None, "axis": None}},
        "layer": layers,
    }
