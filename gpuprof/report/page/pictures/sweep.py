"""A sweep over parameters: a curve over one, a heat map over two, parallel coordinates over three to six."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.measure import Measure, measure_of, values_of
from gpuprof.report.page.pictures.svg import ACCENT, MUTED, SEQUENCE, to_svg
from gpuprof.results.model import Result, Run

Value = float | int | str
Point = dict[str, Any]
MAX_AXES = 6
#: Best points that the caption names.
MAX_NAMED_BEST = 4
#: Of parallel coordinates: the best are drawn in colour.
BEST_SHARE = 0.1
HEIGHT = 260
CELL = 44
#: Points with fewer values than this are two bars, which the ladder shows already.
MIN_POINTS = 3


def sweeps(run: Run) -> list[Figure]:
    """A picture for each family whose variants differ in one to six parameters or sizes."""
    measure = measure_of(run)
    if measure is None:
        return []
    families: dict[str, list[tuple[Result, float]]] = {}
    for result, value in values_of(run, measure):
        families.setdefault(result.family, []).append((result, value))
    found = [_sweep(family, rows, measure) for family, rows in families.items() if len(rows) >= MIN_POINTS]
    return [figure for figure in found if figure is not None]


def _sweep(family: str, rows: Sequence[tuple[Result, float]], measure: Measure) -> Figure | None:
    points: list[Point] = [{**_point(result), "value": value} for result, value in rows]
    axes = _axes([_point(result) for result, _ in rows])
    if not 1 <= len(axes) <= MAX_AXES:
        return None
    sizes = [name for name in axes if name in rows[0][0].sizes]
    if len(sizes) == len(axes):
        sizes = []
    _relate(points, sizes)
    title = f"{family} by {_listed(axes)}"
    caption = f"{measure.title[0].upper()}{measure.title[1:]}. {_best_words(points, axes, sizes, measure)}"
    if len(axes) == 1:
        spec = _curve(axes[0], points, measure)
    elif len(axes) == 2 and _is_grid(axes, points):
        spec = _heat_map(axes, points, measure)
        caption += f" Darker is more, beside the best of the same {_listed(sizes)}." if sizes else " Darker is more."
    else:
        spec = _parallel(axes, points, measure)
        caption += " One line per variant; the best tenth in colour."
    return Figure(title, caption, to_svg(spec, f"{title}. {caption}"), wide=len(axes) > 2)


def _relate(points: Sequence[Point], sizes: Sequence[str]) -> None:
    """Give each point its ``ratio`` to the best of the same sizes: other sizes are other work."""
    least: dict[tuple[Value, ...], float] = {}
    for point in points:
        key = tuple(point[name] for name in sizes)
        least[key] = min(point["value"], least.get(key, point["value"]))
    for point in points:
        point["ratio"] = point["value"] / least[tuple(point[name] for name in sizes)]


def _best_words(points: Sequence[Point], axes: Sequence[str], sizes: Sequence[str], measure: Measure) -> str:
    """Where the least is, for each of the sizes."""
    best = [point for point in points if point["ratio"] == 1]
    free = [name for name in axes if name not in sizes]
    said = []
    for point in best[:MAX_NAMED_BEST]:
        at = f" for {', '.join(f'{name} {point[name]}' for name in sizes)}" if sizes else ""
        said.append(f"{', '.join(f'{name} {point[name]}' for name in free)}{at} ({measure.show(point['value'])})")
    more = f" and {len(best) - len(said)} more" if len(best) > len(said) else ""
    return f"Least at {'; '.join(said)}{more}."


def _point(result: Result) -> dict[str, Value]:
    return {**result.sizes, **result.parameters}


def _axes(points: Sequence[dict[str, Value]]) -> list[str]:
    """Names with more than one value; of several that go hand in hand (M, N and K of a square) the first."""
    axes: list[str] = []
    columns: set[tuple[int, ...]] = set()
    for name in points[0]:
        values = [point.get(name) for point in points]
        order = list(dict.fromkeys(values))
        pattern = tuple(order.index(value) for value in values)
        if len(order) > 1 and None not in order and pattern not in columns:
            axes.append(name)
            columns.add(pattern)
    return axes


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_grid(axes: Sequence[str], points: Sequence[dict[str, Value]]) -> bool:
    """Whether at least half of the cells are there, and each once."""
    cells = [(point[axes[0]], point[axes[1]]) for point in points]
    room = len({cell[0] for cell in cells}) * len({cell[1] for cell in cells})
    return len(set(cells)) == len(cells) and 2 * len(cells) >= room


def _ordered(points: Sequence[dict[str, Value]], name: str) -> list[Value]:
    values = list(dict.fromkeys(point[name] for point in points))
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _curve(name: str, points: Sequence[dict[str, Any]], measure: Measure) -> dict[str, Any]:
    numbers = all(isinstance(point[name], int | float) for point in points)
    rows = [
        {"x": point[name], "y": point["value"], "hover": f"{name} {point[name]}: {measure.show(point['value'])}"}
        for point in points
    ]
    x: dict[str, Any] = {
        "field": "x",
        "type": "quantitative" if numbers else "ordinal",
        "axis": {"title": name, "grid": False, "labelAngle": 0, "tickCount": 6},
    }
    if (
        numbers
        and all(row["x"] > 0 for row in rows)
        and max(row["x"] for row in rows) >= 32 * min(row["x"] for row in rows)
    ):
        x["scale"] = {"type": "log", "base": 2}
        x["axis"]["values"] = _ordered(points, name) if len(points) <= 10 else None
        x["axis"]["format"] = "~s"
    if not numbers:
        x["sort"] = None
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": {"title": measure.unit, "format": "~s", "tickCount": 5},
    }
    encoding = {"x": x, "y": y}
    return {
        "height": HEIGHT,
        "data": {"values": rows},
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "line", "color": ACCENT}, "encoding": {"order": {"field": "x"}} if numbers else {}},
            {"mark": {"type": "point", "color": ACCENT}, "encoding": {"description": {"field": "hover"}}},
        ],
    }


def _heat_map(axes: Sequence[str], points: Sequence[dict[str, Any]], measure: Measure) -> dict[str, Any]:
    first, second = sorted(axes, key=lambda name: -len(_ordered(points, name)))
    columns, lines = _ordered(points, first), _ordered(points, second)
    rows = [
        {
            "x": str(point[first]),
            "y": str(point[second]),
            "ratio": point["ratio"],
            "label": measure.show(point["value"]),
            "hover": f"{first} {point[first]}, {second} {point[second]}: {measure.show(point['value'])}",
        }
        for point in points
    ]
    fits = len(columns) <= 7
    return {
        "height": max(CELL * len(lines), 90),
        "data": {"values": rows},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "sort": [str(value) for value in columns],
                "axis": {
                    "title": first,
                    "labelAngle": 0,
                    "orient": "top",
                    "domain": False,
                    "ticks": False,
                    "labelOverlap": True,
                },
            },
            "y": {
                "field": "y",
                "type": "ordinal",
                "sort": [str(value) for value in lines],
                "axis": {"title": second, "domain": False, "ticks": False},
            },
        },
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "field": "ratio",
                        "type": "quantitative",
                        "scale": {"type": "quantize", "range": list(SEQUENCE)},
                        "legend": None,
                    },
                    "description": {"field": "hover"},
                },
            },
            *([{"mark": {"type": "text", "fontSize": 12}, "encoding": {"text": {"field": "label"}}}] if fits else []),
        ],
    }


def _parallel(axes: Sequence[str], points: Sequence[dict[str, Any]], measure: Measure) -> dict[str, Any]:
    """Each axis from its least to its most; the measure is the last one, best below."""
    names = [*axes, "value"]
    ordered = {name: _ordered(points, name) for name in axes}
    values = [point["value"] for point in points]
    low, high = min(values), max(values)
    count = max(1, round(BEST_SHARE * len(points)))
    limit = sorted(values)[count - 1]
    rows = []
    for number, point in enumerate(sorted(points, key=lambda point: -point["value"])):
        hover = ", ".join(f"{name} {point[name]}" for name in axes) + f": {measure.show(point['value'])}"
        for name in names:
            if name == "value":
                place = (point["value"] - low) / (high - low) if high > low else 0.5
            else:
                steps = ordered[name]
                place = steps.index(point[name]) / (len(steps) - 1)
            rows.append({"line": number, "axis": name, "place": place, "best": point["value"] <= limit, "hover": hover})
    ticks = [
        {"axis": name, "place": step / (len(ordered[name]) - 1), "label": str(value)}
        for name in axes
        for step, value in enumerate(ordered[name])
    ]
    ticks += [{"axis": "value", "place": place, "label": measure.show(value)} for place, value in ((0, low), (1, high))]
    x = {
        "field": "axis",
        "type": "point",
        "sort": names,
        "axis": {
            "title": None,
            "labelAngle": 0,
            "domain": False,
            "ticks": False,
            "orient": "top",
            "labelExpr": f"datum.label == 'value' ? '{measure.unit}' : datum.label",
        },
        "scale": {"padding": 0.35},
    }
    x["type"] = "nominal"
    y = {"field": "place", "type": "quantitative", "axis": None, "scale": {"domain": [-0.05, 1.05]}}
    return {
        "height": 300,
        "width": 1040,
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 1.2, "aria": True},
                "encoding": {
                    "x": x,
                    "y": y,
                    "detail": {"field": "line"},
                    "color": {
                        "field": "best",
                        "type": "nominal",
                        "scale": {"domain": [False, True], "range": [MUTED, ACCENT]},
                        "legend": None,
                    },
                    "opacity": {"condition": {"test": "datum.best", "value": 1}, "value": 0.35},
                    "order": {"field": "order"},
                    "description": {"field": "hover"},
                },
            },
            {
                "data": {"values": ticks},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "dx": 6,
                    "fontSize": 11,
                    "stroke": "var(--paper)",
                    "strokeWidth": 3,
                },
                "encoding": {"x": x, "y": y, "text": {"field": "label"}},
            },
            {
                "data": {"values": ticks},
                "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 11},
                "encoding": {"x": x, "y": y, "text": {"field": "label"}},
            },
        ],
    }
