"""The points that a strategy chooses from: numbers of values by axis, and what a model reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Features = NDArray[np.float32]

#: Products of two axes that a model sees beside the axes themselves, at most.
MAX_PRODUCTS = 45


@dataclass(frozen=True)
class SearchAxis:
    """One parameter: its values, numbers or words."""

    name: str
    values: tuple[Any, ...]

    @property
    def scale(self) -> NDArray[np.float64]:
        """The values between 0 and 1: by logarithm where all are positive, words and mixtures by their place."""
        plain = all(isinstance(value, (int, float)) for value in self.values)
        numbers = np.array([float(value) for value in self.values] if plain else range(len(self.values)), dtype=float)
        numbers = np.log2(numbers) if self.is_positive else numbers
        span = np.ptp(numbers)
        scaled: NDArray[np.float64] = (numbers - numbers.min()) / span if span else np.zeros(len(numbers))
        return scaled

    @property
    def is_positive(self) -> bool:
        """Whether every value is a number above 0."""
        return all(isinstance(value, (int, float)) and value > 0 for value in self.values)


class SearchPoints:
    """``rows``: the valid points, distinct, each a number of a value per axis."""

    def __init__(self, axes: Sequence[SearchAxis], rows: NDArray[Any]) -> None:
        self.axes = tuple(axes)
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def varying(self) -> tuple[int, ...]:
        """The axes that have several values."""
        return tuple(number for number, axis in enumerate(self.axes) if len(axis.values) > 1)

    def features(self, indices: NDArray[np.int64] | slice) -> Features:
        """What a model reads of points: each varying axis, and the products of pairs of larger positive axes.

        Threads of a block and outputs of a tile are such products, and a forest cuts along axes only. Shape
        (points, columns).
        """
        rows = self.rows[indices]
        columns = [self.axes[number].scale[rows[:, number]] for number in self.varying]
        for first, second in self._pairs:
            columns.append(self._logarithms[first][rows[:, first]] + self._logarithms[second][rows[:, second]])
        return np.column_stack(columns).astype(np.float32) if columns else np.zeros((len(rows), 1), np.float32)

    @cached_property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        large = [n for n in self.varying if self.axes[n].is_positive and len(self.axes[n].values) > 2]
        pairs = [(first, second) for position, first in enumerate(large) for second in large[position + 1 :]]
        return tuple(pairs[:MAX_PRODUCTS])

    @cached_property
    def _logarithms(self) -> dict[int, NDArray[np.float64]]:
        numbers = {number for pair in self._pairs for number in pair}
        return {n: np.log2(np.array([float(value) for value in self.axes[n].values])) for n in numbers}

    @cached_property
    def _places(self) -> Numbers:
        """What the number of a value counts in the product, by axis."""
        lengths = [len(axis.values) for axis in self.axes]
        places = np.ones(len(lengths), dtype=np.int64)
        for position in range(len(lengths) - 2, -1, -1):
            places[position] = places[position + 1] * lengths[position + 1]
        return places

    @cached_property
    def _codes(self) -> Numbers:
        """In order."""
        codes = self.code(self.rows)
        return codes if self._order is None else codes[self._order]

    @cached_property
    def _order(self) -> Numbers | None:
        """The points in the order of their codes; None where they are in it already."""
        codes = self.code(self.rows)
        if len(codes) < 2 or bool((codes[1:] > codes[:-1]).all()):
            return None
        return np.argsort(codes).astype(np.int64)

    def code(self, rows: NDArray[Any]) -> Numbers:
        """The place of rows in the product."""
        codes = np.zeros(len(rows), dtype=np.int64)
        for number, place in enumerate(self._places):
            codes += rows[:, number].astype(np.int64) * place
        return codes

    def find(self, rows: NDArray[Any]) -> Numbers:
        """The indices of rows, -1 for those that are no valid points."""
        codes = self.code(rows)
        places = np.minimum(np.searchsorted(self._codes, codes), len(self) - 1)
        indices = places if self._order is None else self._order[places]
        found: Numbers = np.where(self._codes[places] == codes, indices, -1)
        return found

    def neighbours(self, index: int) -> Numbers:
        """The valid points that differ in one axis, by any of its values."""
        row = self.rows[index].astype(np.int64)
        moved = []
        for number in self.varying:
            others = np.repeat(row[None], len(self.axes[number].values), axis=0)
            others[:, number] = np.arange(len(others))
            moved.append(others)
        if not moved:
            return np.zeros(0, dtype=np.int64)
        found = self.find(np.concatenate(moved))
        valid: Numbers = found[(found >= 0) & (found != index)]
        return valid

    def nearest(self, position: NDArray[np.float64], among: NDArray[np.int64] | None = None) -> int:
        """The valid point nearest to a position on the varying axes, each from 0 to 1."""
        if among is None and len(self) > _DIRECT:
            among = self._around(position)
        indices = np.arange(len(self)) if among is None else among
        distance = np.zeros(len(indices))
        for place, number in zip(position, self.varying, strict=True):
            distance += np.abs(self.axes[number].scale[self.rows[indices, number]] - place)
        return int(indices[int(distance.argmin())])

    def _around(self, position: NDArray[np.float64]) -> Numbers:
        """Of very many points, those near the place that the position has in the product."""
        row = np.zeros((1, len(self.axes)), dtype=np.int64)
        for place, number in zip(position, self.varying, strict=True):
            row[0, number] = int(np.abs(self.axes[number].scale - place).argmin())
        middle = int(np.searchsorted(self._codes, self.code(row)[0]))
        first, last = max(0, middle - _DIRECT // 2), min(len(self), middle + _DIRECT // 2)
        return np.arange(first, last, dtype=np.int64) if self._order is None else self._order[first:last]


_DIRECT = 200_000  #: points whose distances are all computed


def product_points(axes: Sequence[SearchAxis]) -> SearchPoints:
    """Every point of the product."""
    grids = np.meshgrid(*(np.arange(len(axis.values)) for axis in axes), indexing="ij")
    return SearchPoints(axes, np.stack([grid.reshape(-1) for grid in grids], axis=1))
