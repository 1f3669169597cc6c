"""Sectors and wavefronts: known values, and that static analysis and the emulator's counters are one rule."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.emulator.counting.pattern_memo import PatternMemo, WavefrontMemo, count_sectors
from gpuprof.isa import memory_access
from gpuprof.isa.machine import WARP_LANES
from gpuprof.isa.opcodes import Access
from gpuprof.sass.findings.memory import least_sectors, rows_apart, shared_wavefronts_of
from gpuprof.sass.lane_value import Value
from tests.sass.sass_tools import analysed

ALL = np.ones((1, WARP_LANES), np.bool_)
LANE = np.arange(WARP_LANES)
PATTERNS = 4000


def instruction(text: str):
    return analysed(f"{text}\nEXIT").graph.function.body[0]


def regular(random: np.random.Generator, width: int) -> np.ndarray:
    """(lane % a) * b + (lane // a) * c + ((lane // d) % 2) * e, in units of the width: what index arithmetic gives."""
    a, d = int(random.choice([1, 2, 4, 8, 16, 32])), int(random.choice([1, 2, 4, 8, 16]))
    b, c, e = (int(random.choice([0, 1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64])) for _ in range(3))
    return ((LANE % a) * b + (LANE // a) * c + (LANE // d % 2) * e) * width


@pytest.mark.parametrize(
    ("stride", "width", "expected"),
    [(4, 4, 1), (8, 4, 2), (128, 4, 32), (8, 8, 2), (16, 16, 4), (32, 16, 8), (0, 4, 1)],
)
def test_wavefronts_of_strides(stride: int, width: int, expected: int) -> None:
    """A stride of 2 words meets 16 banks twice; 128 bits go by quarters of the warp (``tests/hardware/h200``)."""
    found = memory_access.shared_wavefronts(Access.LOAD, (LANE * stride)[None], ALL, width)
    assert found.tolist() == [expected]


def test_pairs_of_equal_lanes_merge_in_loads_and_not_in_stores() -> None:
    """float4 at (lane % 2) * 16: two addresses; a load merges to 2 groups, a store keeps its 4."""
    addresses = ((LANE % 2) * 16 * 16)[None]
    assert memory_access.shared_wavefronts(Access.LOAD, addresses, ALL, 16).tolist() == [4]
    assert memory_access.shared_wavefronts(Access.STORE, addresses, ALL, 16).tolist() == [8]


@pytest.mark.parametrize(("rows", "expected"), [(16, 4), (144, 4), (128, 32), (64, 16)])
def test_matrices_of_four(rows: int, expected: int) -> None:
    """Rows of 16 bytes at a pitch: 144 is the padded tile, at 128 the 8 rows of a matrix meet in 4 banks."""
    addresses = (LANE * rows)[None]
    for access in (Access.MATRIX_LOAD, Access.MATRIX_STORE):
        assert memory_access.shared_wavefronts(access, addresses, ALL, 16).tolist() == [expected]
        assert memory_access.shared_ideal_wavefronts(access, ALL, 16).tolist() == [4]


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("LDS R4, [R2]", 4),
        ("LDS.64 R4, [R2]", 8),
        ("LDS.128 R4, [R2]", 16),
        ("LDS.U8 R4, [R2]", 1),
        ("STS.U16 [R2], R4", 2),
        ("STS [R2], R4", 4),
        ("STS.64 [R2], R4", 8),
        ("STS.128 [R2], R4", 16),
        ("LDSM.16.M88.4 R4, [R2]", 16),
        ("LDSM.16.MT88.2 R4, [R2]", 8),
        ("LDSM.16.M88 R4, [R2]", 4),
        ("STSM.16.M88.4 [R2], R4", 16),
    ],
)
def test_static_analysis_counts_shared_accesses_as_the_emulator_does(text: str, width: int) -> None:
    """The emulator's memo moves patterns by whole rows, static analysis knows them up to a common part."""
    found = instruction(text)
    matrix = found.opcode in ("LDSM", "STSM")
    access = {
        "LDS": Access.LOAD,
        "STS": Access.STORE,
        "LDSM": Access.MATRIX_LOAD,
        "STSM": Access.MATRIX_STORE,
    }[found.opcode]
    memo = WavefrontMemo(
        lambda addresses, mask: memory_access.shared_wavefronts(access, addresses, mask, width),
        lambda mask: memory_access.shared_ideal_wavefronts(access, mask, width),
    )
    random = np.random.default_rng(width + len(text))
    for _ in range(PATTERNS // 4):
        addresses = regular(random, 16 if matrix else width)
        base = int(random.integers(0, 64)) * 128
        wavefronts, ideal = memo.count((addresses + base)[None], ALL)
        taken, least = shared_wavefronts_of(found, addresses[None], np.ones((1, 32), dtype=bool))
        assert (int(taken[0]), int(least[0])) == (wavefronts, min(wavefronts, ideal))


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_static_analysis_counts_sectors_as_the_emulator_does(width: int) -> None:
    random = np.random.default_rng(width)
    memo = PatternMemo()
    for _ in range(PATTERNS // 4):
        addresses = regular(random, width)
        base = int(random.integers(0, 64)) * 128
        sectors, _lines = count_sectors((addresses + base)[None], None, memo)
        assert int(memory_access.global_sectors((addresses + base)[None], np.ones((1, 32), dtype=bool))) == sectors


def test_lanes_a_run_time_pitch_apart_are_in_sectors_of_their_own() -> None:
    """Eight rows of four neighbouring words, the rows a multiple of the pitch apart: one sector per row."""
    value = Value((LANE % 4 * 4)[None], (("parameter 2", (LANE // 4)[None]),), exact=False)
    rows = rows_apart(value)
    assert rows.shape == (1, WARP_LANES)
    assert least_sectors(rows[0], 4) == 8
    assert memory_access.ideal_sectors(WARP_LANES, 4) == 4


@pytest.mark.parametrize(
    ("first", "stride", "width", "expected"),
    [(0, 4, 4, 4), (4, 4, 4, 4), (0, 8, 4, 8), (0, 16, 16, 16), (28, 32, 4, 32), (0, 1, 1, 1), (20, 0, 4, 1)],
)
def test_sectors_at_the_place_that_suits_best(first: int, stride: int, width: int, expected: int) -> None:
    """32 words in a row fill four sectors wherever the first is found: the base decides, and is not known."""
    assert least_sectors(first + LANE * stride, width) == expected
