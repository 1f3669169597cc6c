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


def fit(columns: Sequence[Column], width: int) -> Layout:
    """Fit ``columns`` into ``width``: first narrower gaps, then drop the least important, then fold what may fold."""
    kept = list(columns)
    dropped: list[str] = []
    while True:
        for gap in (2, 1):
            if sum(column.width for column in kept) + gap * (len(kept) - 1) <= width:
                return Layout(tuple(kept), tuple(column.width for column in kept), gap, tuple(dropped))
        least = min(kept, key=lambda column: column.priority)
        if least.priority >= ALWAYS:
            return Layout(tuple(kept), _fold(kept, width), 1, tuple(dropped))
        kept.remove(least)
        name = least.head.replace("\n", " ")
        dropped.append(f"{name} (all {least.silent})" if least.silent else name)


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
