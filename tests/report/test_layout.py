"""Fitting columns into a width, and the formatters of units."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.report import units
from gpuprof.report.layout import ALWAYS, Column, fit


def column(head: str, width: int, priority: int, **fields: object) -> Column:
    return Column(head, ("x" * width,), priority, **fields)


def test_everything_stays_where_there_is_room() -> None:
    layout = fit([column("a", 10, 1), column("b", 10, 2)], 22)
    assert (layout.widths, layout.gap, layout.dropped) == ((10, 10), 2, ())


def test_gaps_narrow_before_a_column_goes() -> None:
    assert fit([column("a", 10, 1), column("b", 10, 2)], 21).gap == 1


def test_the_least_important_goes_first_and_is_named() -> None:
    layout = fit([column("a", 10, 5), column("b\nc", 10, 2), column("d", 10, 9)], 22)
    assert [kept.head for kept in layout.columns] == ["a", "d"]
    assert layout.dropped == ("b c",)


def test_a_column_that_says_one_thing_says_it_when_dropped() -> None:
    assert fit([column("a", 10, ALWAYS), column("spill", 5, 0, silent="0")], 12).dropped == ("spill (0 in every row)",)


def test_the_last_columns_fold_the_widest_first() -> None:
    columns = [column("a", 30, ALWAYS, shrink_to=8), column("b", 20, ALWAYS, shrink_to=6), column("c", 20, ALWAYS)]
    assert fit(columns, 40).widths == (10, 8, 20)  # each two above its least width


def test_a_very_long_text_folds_before_others_go_and_gets_what_is_left() -> None:
    layout = fit([column("a", 200, ALWAYS, shrink_to=8), column("b", 50, 3)], 100)
    assert layout.dropped == ()
    assert layout.widths == (48, 50)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, ALWAYS), st.sampled_from([0, 5])), min_size=1, max_size=12),
    st.integers(20, 160),
)
@settings(deadline=None)
def test_a_layout_fits_unless_what_stays_cannot_fold(shape: list[tuple[int, int, int]], width: int) -> None:
    columns = [column(f"c{n}"[:1], w, p, shrink_to=s) for n, (w, p, s) in enumerate(shape)]
    layout = fit(columns, width)
    assert len(layout.columns) + len(layout.dropped) == len(columns)
    rigid = sum(min(c.width, c.shrink_to or c.width) for c in layout.columns) + len(layout.columns) - 1
    assert layout.width <= max(width, rigid)


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("count", 154_664_960, "154,664,960"),
        ("count", 2.5, "2.50"),
        ("short_count", 154_664_960, "154.7M"),
        ("short_count", 9_999, "9,999"),
        ("short_count", 10_000, "10k"),
        ("short_count", 4_949_278_720, "4.949G"),
        ("bytes", 1023, "1,023"),
        ("bytes", 8192, "8K"),
        ("bytes", 1120, "1,120"),
        ("bytes", 34_696, "33.9K"),
        ("us", 0.5, "0.5000 µs"),
        ("us", 873.42, "873.4 µs"),
        ("us", 1000, "1.000 ms"),
        ("us", 12_345, "12.35 ms"),
        ("us", 1_204_000, "1.204 s"),
        ("percent", 66.6667, "66.7%"),
        ("percent", 100, "100%"),
        ("share", 0.217, "21.7%"),
        ("ratio", 5.0, "5"),
        ("ratio", 1.254, "1.25"),
        ("times", 2.314, "2.31x"),
        ("GFLOP/s", 16_345.6, "16,346"),
        ("difference", 0, "0"),
        ("difference", 1.19e-7, "1.19e-07"),
        ("difference", 12.5, "12.5"),
        ("difference", math.nan, "nan"),
        ("us", math.inf, "inf s"),
        ("count", -math.inf, "-inf"),
        ("us", None, "-"),
    ],
)
def test_units(unit: str, value: float | None, text: str) -> None:
    assert units.show(value, unit) == text


@given(st.sampled_from(sorted(units.FORMATTERS)), st.floats())
@settings(deadline=None)
def test_every_number_can_be_shown(unit: str, value: float) -> None:
    assert units.show(value, unit)


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (200, "3 min 20 s")]
)
def test_wall_times(value: float, text: str) -> None:
    assert units.seconds(value) == text
