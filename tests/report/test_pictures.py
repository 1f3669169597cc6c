"""What the pictures of a page show, computed by hand."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from gpuprof.isa.access_sample import AccessSample
from gpuprof.report.page.pictures import lanes
from gpuprof.report.page.pictures.difference import difference
from gpuprof.report.page.pictures.ladder import ladder
from gpuprof.report.page.pictures.roofline import roofline
from gpuprof.report.page.pictures.sweep import sweeps
from gpuprof.report.page.pictures.trend import trend
from gpuprof.report.page.tables import number_in
from gpuprof.results.history import PastResult
from gpuprof.results.json import from_json
from gpuprof.results.model import Run
from tests.report.browser import DATA


def stored(name: str) -> Run:
    return from_json(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()).decode())


def access(space: str, width: int, places: list[int | None], cost: int, ideal: int) -> AccessSample:
    return AccessSample(0, "LDS R0, [R1]", space, "read", width, tuple(places), cost, ideal)


def rows(sample: AccessSample) -> dict[int, set[int]]:
    """Pass -> banks that give a word in it."""
    found: dict[int, set[int]] = {}
    for cell in lanes._bank_cells(sample):
        assert cell.column not in found.get(cell.row, set())
        found.setdefault(cell.row, set()).add(cell.column)
    return found


def test_a_column_of_32_floats_meets_in_one_bank_and_a_padded_one_in_none() -> None:
    plain = access("shared", 4, [128 * lane for lane in range(32)], 32, 1)
    assert rows(plain) == {number: {0} for number in range(32)}
    padded = access("shared", 4, [132 * lane for lane in range(32)], 1, 1)
    assert rows(padded) == {0: set(range(32))}


def test_one_word_for_all_lanes_is_one_cell() -> None:
    cells = list(lanes._bank_cells(access("shared", 4, [64] * 32, 1, 1)))
    assert [(cell.column, cell.row, len(cell.lanes)) for cell in cells] == [(16, 0, 32)]


def test_wide_loads_go_by_quarters_of_the_warp_unless_lanes_share_addresses() -> None:
    consecutive = access("shared", 16, [16 * lane for lane in range(32)], 4, 4)
    assert rows(consecutive) == {number: set(range(32)) for number in range(4)}
    pairs = access("shared", 16, [16 * (lane // 2) for lane in range(32)], 2, 4)
    assert max(rows(pairs)) + 1 == 2


def test_sectors_are_drawn_whole_with_what_nobody_asked_for() -> None:
    sample = access("global", 4, [32 * lane for lane in range(32)], 32, 4)
    values = lanes._lines(sample)["data"]["values"]
    assert len(values) == 32 * 8
    assert sum(value["used"] for value in values) == 32
    assert len({value["y"] for value in values}) == 8
    assert "32 sectors for 128 bytes, 4 would hold them" in lanes.describe(sample)


def test_lanes_that_take_no_part_are_not_drawn() -> None:
    half: list[int | None] = [4 * lane if lane < 16 else None for lane in range(32)]
    assert rows(access("shared", 4, half, 1, 1)) == {0: set(range(16))}


def test_the_stored_transpose_shows_padding_before_and_after() -> None:
    groups = lanes.access_groups(stored("transpose"))
    loads = {figure.title: figure.caption for figure in groups[0].figures}
    assert loads["tiled"].startswith("32 wavefronts, 1 without bank conflicts.")
    assert loads["padded, swizzled"].startswith("1 wavefront, no bank conflict.")
    stores = {figure.title: figure.caption for figure in groups[3].figures}
    assert stores["plain"].startswith("32 sectors for 128 bytes, 4 would hold them.")


def test_two_parameters_are_a_heat_map_and_one_a_curve() -> None:
    (tiles,) = sweeps(stored("gemm_tiles"))
    assert tiles.title == "tiled by M and TILE"  # N and K go with M
    assert "tiled/TILE" not in tiles.svg
    strides = sweeps(stored("bank_strides"))
    assert [figure.title for figure in strides] == ["stride by STRIDE"]


@pytest.mark.parametrize("axes", [3, 6])
def test_three_to_six_parameters_are_parallel_coordinates(axes: int) -> None:
    run = stored("bank_strides")
    results = tuple(
        replace(run.results[number % 8], parameters={f"P{axis}": number >> axis & 1 for axis in range(axes)})
        for number in range(2**axes)
    )
    (figure,) = sweeps(replace(run, results=results))
    assert figure.wide
    assert all(f"P{axis}" in figure.title for axis in range(axes))


def test_a_wrong_output_is_a_grid() -> None:
    run = stored("wrong")
    assert difference(run.results[0]) is None
    figure = difference(run.results[1])
    assert figure is not None
    assert figure.svg.count("all wrong") > 32  # the last rows, and the legend
    assert "some wrong" in figure.svg


def test_bars_leave_out_what_is_wrong_or_alone() -> None:
    assert ladder(stored("wrong")) is None
    figure = ladder(stored("transpose"))
    assert figure is not None
    assert "memcpy" not in figure.svg


def test_a_roofline_without_times_says_so() -> None:
    figure = roofline(stored("gemm_tiles"))
    assert figure is not None
    assert "of the datasheet" in figure.caption
    assert "Nothing was timed" in figure.caption


def test_stored_runs_are_a_trend_from_two_on() -> None:
    run = stored("transpose")
    past = [PastResult(f"run{n}", f"2026-12-0{n}T10:00:00", None, "plain", None, 1e6 / n) for n in (1, 2)]
    assert trend(run, past[:1]) is None
    figure = trend(run, past)
    assert figure is not None
    assert "last 2 stored runs" in figure.caption


def test_cells_order_by_their_quantity() -> None:
    cells = ("873.4 µs", "1.204 ms", "2.5 s", "12.5%", "154.7M", "8K", "4,284", "-0.5", "±0.1%", "2.31x")
    values = (873.4, 1204.0, 2.5e6, 12.5, 154.7e6, 8192.0, 4284.0, -0.5, 0.1, 2.31)
    assert [number_in(cell) for cell in cells] == pytest.approx(values)
    assert [number_in(cell) for cell in ("-", "ok", "naive", "4x4 tiles", "")] == [None] * 5
