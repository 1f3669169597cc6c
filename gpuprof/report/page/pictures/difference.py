"""Where an output is wrong, as a grid over it."""

from __future__ import annotations

from gpuprof.report.page.model import Figure
from gpuprof.report.page.pictures.svg import BAD, LINE, to_svg
from gpuprof.results.model import Result

#: The marks of ``Verification.picture`` -> what they say.
MARKS = {".": "right", "x": "some wrong", "#": "all wrong"}
CELL = 15


def difference(result: Result) -> Figure | None:
    """The picture of a result that differs; None for any other."""
    check = result.verification
    if check is None or not check.picture:
        return None
    cells = [
        {"row": row, "column": column, "state": MARKS[mark]}
        for row, line in enumerate(check.picture)
        for column, mark in enumerate(line)
        if mark in MARKS
    ]
    columns = max(len(line) for line in check.picture)
    spec = {
        "autosize": "pad",
        "width": CELL * columns,
        "height": CELL * len(check.picture),
        "data": {"values": cells},
        "mark": {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 1},
        "encoding": {
            "x": {"field": "column", "type": "ordinal", "axis": None},
            "y": {"field": "row", "type": "ordinal", "axis": None},
            "color": {
                "field": "state",
                "type": "nominal",
                "scale": {"domain": list(MARKS.values()), "range": [LINE, "var(--warn)", BAD]},
                "title": None,
            },
            "description": {"field": "state"},
        },
    }
    where = f" ({check.where_wrong})" if check.where_wrong else ""
    text = f"{check.wrong:,} of {check.checked:,} checked elements differ{where}."
    first = check.first_difference
    if first is not None:
        place = f"{first.buffer}[{', '.join(str(number) for number in first.index)}]"
        text += f" First at {place}: got {first.got}, expected {first.expected}."
    return Figure(result.variant, text, to_svg(spec, f"Grid over the output of {result.variant}: {text}"))
