"""The 32 lanes of a warp in one access: over the sectors of global memory, or over the banks of shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from gpuprof.isa.access_sample import AccessSample
from gpuprof.isa.machine import BANK_BYTES, LINE_BYTES, SECTOR_BYTES, SHARED_BANKS
from gpuprof.report.page.model import AccessGroup, Figure
from gpuprof.report.page.pictures.svg import to_svg
from gpuprof.results.model import Result, Run

#: Rows of a picture: 32 lines of memory, or 32 passes over the banks.
MAX_ROWS = 32
CELL = 16
#: Pictures of one kind: the different patterns of a run's variants.
MAX_PATTERNS = 6
KINDS = (
    ("shared", "read", "Loads from shared memory, over the 32 banks"),
    ("shared", "write", "Stores to shared memory, over the 32 banks"),
    ("global", "read", "Loads from global memory, over its sectors"),
    ("global", "write", "Stores to global memory, over its sectors"),
)


@dataclass(frozen=True)
class _Cell:
    """A word of the picture. ``lanes`` are those that touch it, none for one that is only fetched along."""

    column: int
    row: int
    lanes: tuple[int, ...]


def access_groups(run: Run) -> tuple[AccessGroup, ...]:
    """By kind of access: the costliest of each variant, one picture per pattern."""
    groups = []
    for space, verb, title in KINDS:
        patterns: dict[object, list[tuple[Result, AccessSample]]] = {}
        for result in run.results:
            sample = _costliest(result, space, verb)
            if sample is not None:
                patterns.setdefault(_pattern(sample), []).append((result, sample))
        shown = _various(list(patterns.values()))
        if shown:
            note = f"{len(shown)} of {len(patterns)} different patterns." if len(patterns) > len(shown) else ""
            groups.append(AccessGroup(title, tuple(_figure(found) for found in shown), note))
    return tuple(groups)


def _various(found: list[list[tuple[Result, AccessSample]]]) -> list[list[tuple[Result, AccessSample]]]:
    """At most ``MAX_PATTERNS``: first one of each cost, in the order of the variants."""
    by_cost: dict[int, int] = {}
    for number, pattern in enumerate(found):
        by_cost.setdefault(pattern[0][1].cost, number)
    rest = [number for number in range(len(found)) if number not in by_cost.values()]
    chosen = sorted([*by_cost.values(), *rest][:MAX_PATTERNS])
    return [found[number] for number in chosen]


def _costliest(result: Result, space: str, verb: str) -> AccessSample | None:
    """The access with most sectors or wavefronts beyond its ideal; the first of equals."""
    found = [access for access in result.accesses if access.space == space and access.verb == verb]
    return max(found, key=lambda each: each.cost - each.ideal, default=None)


def _pattern(sample: AccessSample) -> object:
    """Equal for accesses whose pictures are equal."""
    unit = LINE_BYTES
    first = min((lane for lane in sample.lanes if lane is not None), default=0) // unit * unit
    lanes = tuple(None if lane is None else lane - first for lane in sample.lanes)
    return sample.width, sample.cost, sample.ideal, lanes


def _figure(found: Sequence[tuple[Result, AccessSample]]) -> Figure:
    sample = found[0][1]
    names = list(dict.fromkeys(result.variant for result, _ in found))
    title = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    sentence = describe(sample)
    spec = _banks(sample) if sample.space == "shared" else _lines(sample)
    return Figure(title, sentence, to_svg(spec, f"{title}. {sentence}"), lanes=True)


def describe(sample: AccessSample) -> str:
    """``1 LDS of 4 bytes per lane: 32 wavefronts, 1 without bank conflicts``."""
    lanes = sum(lane is not None for lane in sample.lanes)
    asked = lanes * sample.width
    places = [lane for lane in sample.lanes if lane is not None]
    different = len({place + byte for place in places for byte in range(sample.width)})
    unit = "sector" if sample.space == "global" else "wavefront"
    cost = f"{sample.cost} {unit}{'s' * (sample.cost != 1)}"
    if sample.space == "global":
        tail = f" for {asked} bytes" if different == asked else f" for {different} different bytes of {lanes} lanes"
        if different == asked:
            least = sample.cost == sample.ideal
            tail += ", as few as can hold them" if least else f", {sample.ideal} would hold them"
    else:
        tail = ", no bank conflict" if sample.cost <= sample.ideal else f", {sample.ideal} without bank conflicts"
    place = f" at {PurePath(sample.file).name}:{sample.line}" if sample.line is not None else ""
    where = f" of {sample.buffer}" if sample.buffer else ""
    return f"{cost}{tail}. {sample.text}{place}{where}, warp {sample.warp} of block {sample.block}."


def _banks(sample: AccessSample) -> dict[str, Any]:
    """Columns are banks, rows are passes: a bank gives one word in each."""
    cells = list(_bank_cells(sample))
    rows = max((cell.row for cell in cells), default=0) + 1
    return _grid(
        cells,
        rows,
        [str(row + 1) for row in range(min(rows, MAX_ROWS))],
        x_title="bank",
        y_title="wavefront",
        columns=[str(bank) for bank in range(SHARED_BANKS)],
        hover="bank",
    )


def _bank_cells(sample: AccessSample) -> Iterator[_Cell]:
    """Wide accesses go by halves or quarters of the warp, unless lanes that share addresses let them go at once."""
    groups = {8: 2, 16: 4}.get(sample.width, 1)
    options = [groups, max(1, groups // 2)]
    chosen = next((count for count in options if _passes(sample, count) == sample.cost), groups)
    first = 0
    for group in _groups(sample, chosen):
        for bank, words in group.items():
            for number, lanes in enumerate(words.values()):
                yield _Cell(bank, first + number, tuple(lanes))
        first += max((len(words) for words in group.values()), default=0)


def _groups(sample: AccessSample, count: int) -> Iterator[dict[int, dict[int, list[int]]]]:
    """Of each group of lanes: bank -> word -> lanes."""
    size = len(sample.lanes) // count
    for start in range(0, len(sample.lanes), size):
        banks: dict[int, dict[int, list[int]]] = {}
        for lane in range(start, start + size):
            place = sample.lanes[lane]
            if place is None:
                continue
            for word in range(place // BANK_BYTES, (place + sample.width - 1) // BANK_BYTES + 1):
                banks.setdefault(word % SHARED_BANKS, {}).setdefault(word, []).append(lane)
        yield banks


def _passes(sample: AccessSample, count: int) -> int:
    return sum(max((len(words) for words in group.values()), default=0) for group in _groups(sample, count))


def _lines(sample: AccessSample) -> dict[str, Any]:
    """Rows are the touched lines of 128 bytes, columns their 32 words; fetched sectors are tinted."""
    touched: dict[int, list[int]] = {}
    for lane, place in enumerate(sample.lanes):
        if place is not None:
            for word in range(place // BANK_BYTES, (place + sample.width - 1) // BANK_BYTES + 1):
                touched.setdefault(word, []).append(lane)
    words_of_line, words_of_sector = LINE_BYTES // BANK_BYTES, SECTOR_BYTES // BANK_BYTES
    lines = sorted({word // words_of_line for word in touched})
    rows = {line: number for number, line in enumerate(lines)}
    sectors = sorted({word // words_of_sector for word in touched})
    cells = [
        _Cell(word % words_of_line, rows[word // words_of_line], tuple(touched.get(word, ())))
        for sector in sectors
        for word in range(sector * words_of_sector, (sector + 1) * words_of_sector)
    ]
    labels = [f"+{line * LINE_BYTES:,}" for line in lines[:MAX_ROWS]]
    return _grid(
        cells,
        len(lines),
        labels,
        x_title="byte of the line of 128",
        y_title="",
        columns=[str(word * BANK_BYTES) for word in range(words_of_line)],
        hover="byte",
    )


def _grid(
    cells: Sequence[_Cell],
    rows: int,
    labels: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    columns: Sequence[str],
    hover: str,
) -> dict[str, Any]:
    values = [
        {
            "x": columns[cell.column],
            "y": labels[cell.row],
            "lane": _lane_text(cell.lanes),
            "used": bool(cell.lanes),
            "hover": f"{hover} {columns[cell.column]}: {_lane_words(cell.lanes)}",
        }
        for cell in cells
        if cell.row < MAX_ROWS
    ]
    shown = min(rows, MAX_ROWS)
    ticks = [column for number, column in enumerate(columns) if number % 8 == 0]
    x = {
        "field": "x",
        "type": "ordinal",
        "scale": {"domain": list(columns), "paddingInner": 0.08},
        "axis": {"title": x_title, "values": ticks, "labelAngle": 0, "orient": "top", "domain": False, "ticks": False},
    }
    y = {
        "field": "y",
        "type": "ordinal",
        "scale": {"domain": list(labels), "paddingInner": 0.08},
        "axis": {"title": y_title or None, "domain": False, "ticks": False, "labelFontSize": 10},
    }
    return {
        "autosize": "pad",
        "width": CELL * len(columns),
        "height": CELL * shown,
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {
                "data": {"values": [{"y": label} for label in labels]},
                "mark": {"type": "rect", "color": "var(--raised)", "aria": False},
                "encoding": {"x": {"value": 0}, "x2": {"value": CELL * len(columns)}},
            },
            {
                "mark": {"type": "rect"},
                "encoding": {
                    "x": x,
                    "color": {
                        "field": "used",
                        "type": "nominal",
                        "scale": {"domain": [False, True], "range": ["var(--wasted)", "var(--fill)"]},
                        "legend": None,
                    },
                    "description": {"field": "hover"},
                },
            },
            {
                "transform": [{"filter": "datum.used"}],
                "mark": {"type": "text"},
                "encoding": {
                    "x": x,
                    "text": {"field": "lane"},
                    "size": {"condition": {"test": "length(datum.lane) > 2", "value": 7}, "value": 9},
                },
            },
        ],
    }


def _lane_text(lanes: Sequence[int]) -> str:
    """The lane's number; of several how many there are."""
    return "" if not lanes else str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"


def _lane_words(lanes: Sequence[int]) -> str:
    if not lanes:
        return "fetched, not asked for"
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    consecutive = lanes[-1] - lanes[0] == len(lanes) - 1
    return f"lanes {lanes[0]} to {lanes[-1]}" if consecutive else f"lanes {', '.join(map(str, lanes))}"
