"""Where the wrong elements of an output are: a word and a small picture. That alone finds most boundary bugs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The picture's largest height and width, in characters.
PICTURE_ROWS = 8
PICTURE_COLUMNS = 32
#: An extent that holds at most this share of its axis is an edge or a corner.
EDGE_SHARE = 0.25
#: A form is named when this share of it is wrong: some wrong values are right by chance.
SHARE_OF_FORM = 0.75
#: Smaller squares have no diagonal worth a word.
MIN_SQUARE = 4
#: A flat output at least this long is drawn as rows.
FLAT_ROW = 32


def where_wrong(wrong: NDArray[np.bool_]) -> str:
    """A word or two for a mask of wrong elements: none, all, one element, a corner, an edge, stripes, scattered ..."""
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return "none"
    if count == wrong.size:
        return "all"
    if count == 1:
        return "one element"
    plane = _as_plane(wrong)
    rows, columns = np.flatnonzero(plane.any(axis=1)), np.flatnonzero(plane.any(axis=0))
    return _diagonal_word(plane) or _box_word(plane, rows, columns) or _stripe_word(rows, columns, plane) or "scattered"


def _diagonal_word(plane: NDArray[np.bool_]) -> str | None:
    """What is said of a square by its diagonal: a transposed matrix is right there alone, a mask wrong on one side."""
    size = plane.shape[0]
    if size < MIN_SQUARE or plane.shape[1] != size:
        return None
    diagonal = np.eye(size, dtype=np.bool_)
    if np.array_equal(plane, diagonal):
        return "the diagonal"
    if np.count_nonzero(plane & diagonal) == 0 and np.count_nonzero(plane) >= SHARE_OF_FORM * (size * size - size):
        return "all but the diagonal: transposed?"
    triangles = {"upper triangle": np.triu(np.ones_like(plane)), "lower triangle": np.tril(np.ones_like(plane))}
    for name, triangle in triangles.items():
        inside = np.count_nonzero(plane & triangle)
        if inside == np.count_nonzero(plane) and inside >= SHARE_OF_FORM * (size * size - size) / 2:
            return name
    return None


def _box_word(plane: NDArray[np.bool_], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> str | None:
    """The word when the wrong elements fill one box (three quarters of it at least), else None."""
    box = plane[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    if np.count_nonzero(box) < SHARE_OF_FORM * box.size:
        return None
    across, along = _position(rows, plane.shape[0]), _position(columns, plane.shape[1])
    if across == along == "whole":
        return "nearly all"
    if across == "whole" or along == "whole":
        side = _SIDES.get((across, along))
        return f"{side} edge" if side else "stripe"
    if across in _ENDS and along in _ENDS:
        return f"{_ENDS[across][0]} {_ENDS[along][1]} corner"
    return "block"


_ENDS = {"low": ("top", "left"), "high": ("bottom", "right")}
_SIDES = {("low", "whole"): "top", ("high", "whole"): "bottom", ("whole", "low"): "left", ("whole", "high"): "right"}


def _position(indices: NDArray[np.intp], extent: int) -> str:
    """``whole``, ``low``, ``high`` or ``middle``: where along an axis of ``extent`` the indices are."""
    first, last = int(indices[0]), int(indices[-1])
    if first == 0 and last == extent - 1:
        return "whole"
    if last - first + 1 <= max(1, extent * EDGE_SHARE):
        if first == 0:
            return "low"
        if last == extent - 1:
            return "high"
    return "middle"


def _stripe_word(rows: NDArray[np.intp], columns: NDArray[np.intp], plane: NDArray[np.bool_]) -> str | None:
    """Whole rows or columns at a regular distance are stripes."""
    wrong = int(np.count_nonzero(plane))
    if wrong == rows.size * plane.shape[1]:
        return "stripes (rows)" + _distance(rows)
    if wrong == columns.size * plane.shape[0]:
        return "stripes (columns)" + _distance(columns)
    flat = np.flatnonzero(plane.reshape(-1))
    steps = np.unique(np.diff(flat))
    return f"one element in {int(steps[0])}" if steps.size == 1 and steps[0] > 1 else None


def _distance(indices: NDArray[np.intp]) -> str:
    steps = np.unique(np.diff(indices))
    return f", every {int(steps[0])}" if steps.size == 1 and steps[0] > 1 else ""


def picture(wrong: NDArray[np.bool_]) -> tuple[str, ...]:
    """Lines of ``.`` (all right), ``x`` (some wrong), ``#`` (all wrong) over the output, at most 8 x 32 characters."""
    plane, there = _as_plane(wrong), _as_plane(np.ones_like(wrong))
    row_edges = _edges(plane.shape[0], PICTURE_ROWS)
    column_edges = _edges(plane.shape[1], PICTURE_COLUMNS)
    summed, cells = (_sums(mask, row_edges, column_edges) for mask in (plane, there))
    marks = np.where(summed == 0, np.where(cells == 0, " ", "."), np.where(summed == cells, "#", "x"))
    return tuple("".join(line).rstrip() for line in marks)


def _sums(plane: NDArray[np.bool_], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many are true in each cell."""
    within: NDArray[np.int64] = np.add.reduceat(plane.astype(np.int64), rows[:-1], axis=0)
    return np.add.reduceat(within, columns[:-1], axis=1)


def _edges(extent: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, extent, min(extent, most) + 1).astype(np.int64))


def _as_plane(wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask as rows and columns: leading axes joined; a long flat one folded into near-square rows."""
    if wrong.ndim >= 2:
        return wrong.reshape(-1, wrong.shape[-1])
    flat = wrong.reshape(-1)
    if flat.size < FLAT_ROW * 2:
        return flat.reshape(1, -1)
    width = 1 << int(np.log2(flat.size) / 2 + 1)
    padded = np.zeros(-(-flat.size // width) * width, dtype=np.bool_)
    padded[: flat.size] = flat
    return padded.reshape(-1, width)
