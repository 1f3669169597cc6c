"""Which columns of a table fit into a width: pure arithmetic, apart from any drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A drawn column: head lines joined by a newline, one text per row. A higher ``priority`` stays longer.

    ``shrink_to`` is the width to which it may be folded once nothing more can be dropped (0: never folded).
    """

    head: str
    cells: tuple[str, ...]
    priority: int
    right: bool = True
    shrink_to: int = 0
    silent: str = ""  #: what every cell says, where that is nothing much

    @property
    def width(self) -> int:
        from rich.cells import cell_len

        lines = [line for text in (self.head, *self.cells) for line in text.split("\n")]
        return max((cell_len(line) for line in lines), default=0)


@dataclass(frozen=True)
class Layout:
    """The columns that are drawn with their widths, the blanks between them, and the heads of those left out."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    gap: int
    dropped: tuple[str, ...]

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * max(0, len(self.widths) - 1)


#: Columns of this priority or above are never dropped; they fold instead.
ALWAYS = 100


#: A column that may fold claims at most this share of the width before others have to go.
FOLD_SHARE = 0.4


def fit(columns: Sequence[Column], width: int) -> Layout:
    """Fit ``columns`` into ``width``: fold what is very long, narrow the gaps, drop the least important, fold the rest.

    What is left over is given back to the folded columns.
    """
    kept = list(columns)
    dropped: list[str] = []
    while True:
        widths = [_claim(column, width) for column in kept]
        for gap in (2, 1):
            room = width - sum(widths) - gap * (len(kept) - 1)
            if room >= 0:
                return Layout(tuple(kept), _unfold(kept, widths, room), gap, tuple(dropped))
        least = min(kept, key=lambda column: column.priority)
        if least.priority >= ALWAYS:
            return Layout(tuple(kept), _fold(kept, width), 1, tuple(dropped))
        kept.remove(least)
        name = least.head.replace("\n", " ")
        dropped.append(name + _constant(least.silent))


def _constant(cell: str) -> str:
    """What to add to a dropped column's name where every row has the same ``cell``."""
    if not cell:
        return ""
    return " (all)" if cell == "all" else f" ({cell} in every row)"


def _claim(column: Column, width: int) -> int:
    """The width that a column asks for: its own, or its share where it may fold."""
    if not column.shrink_to:
        return column.width
    return min(column.width, max(column.shrink_to, int(FOLD_SHARE * width)))


def _unfold(columns: Sequence[Column], widths: Sequence[int], room: int) -> tuple[int, ...]:
    """Give the room to folded columns, in order."""
    grown = []
    for column, width in zip(columns, widths, strict=True):
        more = min(room, column.width - width)
        room -= more
        grown.append(width + more)
    return tuple(grown)


def _fold(columns: Sequence[Column], width: int) -> tuple[int, ...]:
    """Take the excess from the columns that may fold, widest first, down to their least width."""
    widths = [column.width for column in columns]
    excess = sum(widths) + len(widths) - 1 - width
    while excess > 0:
        room = [
            (widths[n] - column.shrink_to, n) for n, column in enumerate(columns) if 0 < column.shrink_to < widths[n]
        ]
        if not room:
            break
        _, n = max(room)
        widths[n] -= 1
        excess -= 1
    return tuple(widths)
