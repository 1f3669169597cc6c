"""Occupancy over the block size and over the registers per thread, with the launches of the run marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuprof import arch
from gpuprof.arch.facts import ArchFacts
from gpuprof.arch.occupancy import occupancy
from gpuprof.errors import GpuprofError
from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.svg import SERIES, to_svg
from gpuprof.results.model import Result, Run

#: Curves in one picture: more cannot be told apart.
MAX_CURVES = 4
HEIGHT = 240
BLOCKS = tuple(range(32, 1025, 32))
Usage = tuple[str, int, int]  #: architecture, registers, shared bytes


def occupancy_curves(run: Run) -> list[Figure]:
    """Two pictures, for the first few different uses of registers and shared memory."""
    uses: dict[Usage, list[Result]] = {}
    for result in run.results:
        usage = _usage(result)
        if usage is not None:
            uses.setdefault(usage, []).append(result)
    shown = dict(list(uses.items())[:MAX_CURVES])
    try:
        by_block = list(_rows(shown, _by_block))
        by_registers = list(_rows(shown, _by_registers))
    except GpuprofError:
        return []
    if not by_block:
        return []
    more = (
        f" The first {MAX_CURVES} of {len(uses)} uses of registers and shared memory." if len(uses) > len(shown) else ""
    )
    return [
        _figure("Occupancy by block size", "threads per block", by_block, shown, more, lambda r: _threads(r)),
        _figure("Occupancy by registers", "registers per thread", by_registers, shown, more, _registers),
    ]


def _figure(
    title: str, axis: str, rows: list[dict[str, Any]], uses: Mapping[Usage, list[Result]], more: str, place: Any
) -> Figure:
    marks = [
        {
            "x": place(result),
            "y": result.occupancy.percent,
            "use": _words(usage),
            "hover": f"{result.variant}: {result.occupancy.percent:.3g}%, limited by {result.occupancy.limiter}",
        }
        for usage, results in uses.items()
        for result in results
        if result.occupancy is not None
    ]
    said = "; ".join(dict.fromkeys(mark["hover"] for mark in marks))
    caption = f"Theoretical occupancy in percent; the points are this run's launches.{more}"
    names = [_words(usage) for usage in uses]
    colour = {
        "field": "use",
        "type": "nominal",
        "scale": {"domain": names, "range": list(SERIES[: len(names)])},
        "legend": {"title": None, "columns": 1},
    }
    x = {"field": "x", "type": "quantitative", "axis": {"title": axis, "grid": False, "tickCount": 8}}
    y = {"field": "y", "type": "quantitative", "scale": {"domain": [0, 100]}, "axis": {"title": "%", "tickCount": 5}}
    spec = {
        "height": HEIGHT,
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": colour},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "size": 80},
                "encoding": {"x": x, "y": y, "color": colour, "description": {"field": "hover"}},
            },
        ],
    }
    return Figure(title, caption, to_svg(spec, f"{title}. {said}"))


def _usage(result: Result) -> Usage | None:
    build = result.build
    if build is None or build.registers is None or result.launch is None or result.occupancy is None or not build.arch:
        return None
    return build.arch, build.registers, (build.static_shared_bytes or 0) + (build.dynamic_shared_bytes or 0)


def _words(usage: Usage) -> str:
    _, registers, shared = usage
    return f"{registers} registers" + (f", {shared:,} B shared" if shared else "")


def _threads(result: Result) -> int:
    x, y, z = result.launch.block if result.launch is not None else (0, 0, 0)
    return x * y * z


def _registers(result: Result) -> int:
    return result.build.registers or 0 if result.build is not None else 0


def _rows(uses: Mapping[Usage, list[Result]], curve: Any) -> Iterator[dict[str, Any]]:
    for usage, results in uses.items():
        for x, percent in curve(arch.get(usage[0]), usage, _threads(results[0])):
            yield {"x": x, "y": percent, "use": _words(usage)}


def _by_block(facts: ArchFacts, usage: Usage, threads: int) -> Iterator[tuple[int, float]]:
    for size in BLOCKS:
        found = occupancy(facts, threads=size, registers=usage[1], static_shared=0, dynamic_shared=usage[2])
        yield size, found.percent


def _by_registers(facts: ArchFacts, usage: Usage, threads: int) -> Iterator[tuple[int, float]]:
    for registers in range(16, facts.max_registers_per_thread + 1):
        found = occupancy(facts, threads=threads, registers=registers, static_shared=0, dynamic_shared=usage[2])
        yield registers, found.percent
