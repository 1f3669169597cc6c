"""Work per byte against the ceilings of the GPU: what a variant may reach at most, and, where it was timed, reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuprof import arch
from gpuprof.errors import GpuprofError
from gpuprof.report import units
from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.svg import ACCENT, INK, MUTED, to_svg
from gpuprof.results.derived import counters_of, derived_values
from gpuprof.results.model import PeakFacts, Result, Run, Status

#: More points than this are a cloud without names.
MAX_NAMED = 8
#: Characters beside a point.
MAX_LABEL = 26
HEIGHT = 300


@dataclass(frozen=True)
class _Point:
    result: Result
    intensity: float  #: FLOP per byte
    gflops: float | None


def roofline(run: Run) -> Figure | None:
    """None where no variant does floating-point work, or nothing is known of a GPU's ceilings."""
    peaks = run.environment.peaks or _datasheet(run)
    points = _points(run)
    if peaks is None or not points:
        return None
    timed = any(point.result.timing is not None for point in points)
    counted = any(counters_of(point.result) is not None for point in points)
    axis = "FLOP per byte of global sectors" if counted else "FLOP per byte, by the formulas of the YAML"
    source = "measured by gpuprof peaks" if peaks.source == "measured" else "of the datasheet"
    caption = f"Ceilings of {peaks.gpu}, {source}: {units.rate(peaks.fp32_gflops)} GFLOP/s FP32, "
    caption += f"{units.rate(peaks.dram_gbps)} GB/s DRAM."
    if counted:
        caption += " Sectors are those between SM and L1: hits in a cache come on top of the DRAM ceiling."
    if not timed and any("gflops" in point.result.modelled for point in points):
        caption += " The marks are modelled rates, not measured ones."
    elif not timed:
        caption += " Nothing was timed: the marks show what the ceilings allow at each variant's intensity."
    said = "; ".join(_sentence(point) for point in points[:MAX_NAMED])
    return Figure("Roofline", caption, to_svg(_spec(peaks, points, axis), f"Roofline. {caption} {said}"))


def _points(run: Run) -> list[_Point]:
    found = []
    for result in run.results:
        values = derived_values(result)
        formula = result.work_flop / result.work_bytes if result.work_flop and result.work_bytes else None
        intensity = values.get("flop_per_byte", formula)
        if result.status is Status.OK and intensity:
            modelled = result.modelled.get("gflops")
            rate = values.get("gflops", None if modelled is None else float(modelled))
            found.append(_Point(result, intensity, rate))
    return found


def _datasheet(run: Run) -> PeakFacts | None:
    """Of the run's GPU, else of the first product of the architecture that the code is for."""
    name = next((result.build.arch for result in run.results if result.build and result.build.arch), None)
    try:
        products = arch.get(name).products if name else ()
    except GpuprofError:
        return None
    if not products:
        return None
    words = (run.environment.gpu or run.environment.modelled_gpu or "").split()
    first = next((product for product in products if product.name.split()[0] in words), products[0])
    return PeakFacts(first.name, first.fp32_tflops * 1e3, first.fp16_tensor_tflops * 1e3, first.dram_gbps, "datasheet")


def _sentence(point: _Point) -> str:
    reached = f", {units.rate(point.gflops)} GFLOP/s" if point.gflops is not None else ""
    return f"{point.result.variant}: {units.ratio(point.intensity)} FLOP per byte{reached}"


def _spec(peaks: PeakFacts, points: Sequence[_Point], axis: str) -> dict[str, Any]:
    ridge = peaks.fp32_gflops / peaks.dram_gbps
    low = min(0.05, *(point.intensity / 2 for point in points), ridge / 4)
    high = max(ridge * 8, *(point.intensity * 3 for point in points))
    roof = [{"x": x, "y": min(peaks.fp32_gflops, x * peaks.dram_gbps)} for x in (low, ridge, high)]
    rows: list[dict[str, Any]] = []
    names = _names(points) if len(points) <= MAX_NAMED else {}
    for point in points:
        allowed = min(peaks.fp32_gflops, point.intensity * peaks.dram_gbps)
        rows.append(
            {
                "x": point.intensity,
                "y": point.gflops if point.gflops is not None else allowed,
                "roof": allowed,
                "name": names.pop(_place(point), ""),
                "hover": _sentence(point),
                "right": point.intensity * point.intensity > low * high,
            }
        )
    floor = min(roof[0]["y"], *(row["y"] / 2 for row in rows))
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"title": axis, "grid": False, "values": _decades(low, high), "format": "~g"},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [floor, peaks.fp32_gflops * 2.5], "nice": False},
        "axis": {"title": "GFLOP/s", "values": _decades(floor, 3 * peaks.fp32_gflops), "format": "~s"},
    }
    rated = any(point.gflops is not None for point in points)
    timed = any(point.result.timing is not None for point in points)
    return {
        "height": HEIGHT,
        "layer": [
            {
                "data": {"values": roof},
                "mark": {"type": "line", "color": INK, "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "order": {"field": "x"}},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "rule", "color": MUTED, "strokeDash": [3, 3]},
                "encoding": {"x": x, "y": y, "y2": {"field": "roof"} if rated else {"datum": floor}},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "color": ACCENT, "filled": timed, "size": 70},
                "encoding": {"x": x, "y": y, "description": {"field": "hover"}},
            },
            *(
                {
                    "data": {"values": [row for row in rows if row["right"] is right]},
                    "mark": {"type": "text", "align": "right" if right else "left", "dx": -9 if right else 9, "dy": 10},
                    "encoding": {"x": x, "y": y, "text": {"field": "name"}},
                }
                for right in (False, True)
            ),
        ],
    }


def _place(point: _Point) -> tuple[str, str]:
    """Points that the eye cannot tell apart have the same."""
    return f"{point.intensity:.1e}", f"{point.gflops or 0:.1e}"


def _names(points: Sequence[_Point]) -> dict[tuple[str, str], str]:
    """One label for each place, with the names of all points there."""
    found: dict[tuple[str, str], list[str]] = {}
    for point in points:
        found.setdefault(_place(point), []).append(point.result.variant)
    return {place: _label(names) for place, names in found.items()}


def _label(names: Sequence[str]) -> str:
    """What fits beside a point: the hover text has the whole."""
    text = ", ".join(names)
    if len(text) <= MAX_LABEL:
        return text
    return f"{len(names)} variants" if len(names) > 1 else f"{text[: MAX_LABEL - 1]}…"


def _decades(low: float, high: float) -> list[float]:
    """The powers of ten between them."""
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
