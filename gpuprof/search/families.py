"""The points of several families as one list: parameters that a family lacks have a value of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import UsageError
from gpuprof.experiment.space import MAX_SPACE, PointSpace
from gpuprof.search.points import SearchAxis, SearchPoints

FAMILY = "variant"
_ABSENT = ""


@dataclass(frozen=True)
class Place:
    """A point of a family: the family's number, and its row there."""

    family: int
    row: tuple[int, ...]


class FamilyPoints:
    """All points of ``families``; ``points`` is what a strategy sees.

    Raises UsageError for more than ``MAX_SPACE``.
    """

    def __init__(self, families: Sequence[PointSpace]) -> None:
        self._families = tuple(families)
        tables = [_table(family) for family in families]
        if not sum(map(len, tables)):
            raise UsageError("`where` drops every point; nothing is left to search")
        self._starts = np.cumsum([0, *map(len, tables)])
        self._tables = tables
        if len(families) == 1:
            axes = [SearchAxis(axis.name, axis.values) for axis in families[0].axes]
            self.points = SearchPoints(axes, tables[0])
        else:
            self.points = self._joined()

    def place(self, index: int) -> Place:
        """The family and row of a point."""
        family = int(np.searchsorted(self._starts, index, side="right")) - 1
        row = self._tables[family][index - int(self._starts[family])]
        return Place(family, tuple(int(number) for number in row))

    def _joined(self) -> SearchPoints:
        """The family as the first axis, so that the order stays that of the tables."""
        names = list(dict.fromkeys(axis.name for family in self._families for axis in family.axes))
        axes = [SearchAxis(FAMILY, tuple(family.family for family in self._families))]
        rows = np.zeros((int(self._starts[-1]), len(names) + 1), dtype=np.uint16)
        for number in range(len(self._families)):
            rows[self._starts[number] : self._starts[number + 1], 0] = number
        for column, name in enumerate(names, 1):
            given = [{axis.name: axis for axis in family.axes}.get(name) for family in self._families]
            values = list(dict.fromkeys(v for axis in given for v in (axis.values if axis else (_ABSENT,))))
            values.sort(key=lambda value: (isinstance(value, str), value))
            axes.append(SearchAxis(name, tuple(values)))
            for number, axis in enumerate(given):
                part = slice(int(self._starts[number]), int(self._starts[number + 1]))
                if axis is None:
                    rows[part, column] = values.index(_ABSENT)
                else:
                    own = [each.name for each in self._families[number].axes].index(name)
                    places = np.array([values.index(value) for value in axis.values], dtype=np.uint16)
                    rows[part, column] = places[self._tables[number][:, own]]
        return SearchPoints(axes, rows)


def _table(family: PointSpace) -> NDArray[Any]:
    narrow = np.uint8 if all(len(axis.values) <= 256 for axis in family.axes) else np.uint16
    blocks: list[NDArray[Any]] = []
    count = 0
    for block in family.blocks():
        count += len(block)
        if count > MAX_SPACE:
            raise UsageError(f"{family.family}: more than {MAX_SPACE:,} points; shorten the lists or use `where`")
        blocks.append(block.astype(narrow))
    return np.concatenate(blocks) if blocks else np.zeros((0, len(family.axes)), narrow)
