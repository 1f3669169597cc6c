"""Sectors and wavefronts against a brute-force count, for random and for structured access patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.emulator.counting.pattern_memo import PatternMemo, WavefrontMemo, count_sectors
from gpuprof.isa import memory_access as wavefronts
from gpuprof.isa.memory_access import count_distinct

LANES = range(32)
ALL = np.ones((1, 32), bool)


@st.composite
def accesses(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """(addresses, mask, width) of up to 5 warps; structured patterns as often as scattered ones."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    warps = draw(st.integers(1, 5))
    if draw(st.booleans()):
        stride, start = draw(st.integers(0, 40)), draw(st.lists(st.integers(0, 500), min_size=warps, max_size=warps))
        elements = np.array(start)[:, None] + stride * np.arange(32)
    else:
        limit = draw(st.sampled_from([4, 64, 2000]))
        numbers = draw(st.lists(st.integers(0, limit), min_size=32 * warps, max_size=32 * warps))
        elements = np.array(numbers).reshape(warps, 32)
    mask = np.ones((warps, 32), bool)
    if draw(st.booleans()):
        bits = draw(st.lists(st.integers(0, 2**32 - 1), min_size=warps, max_size=warps))
        mask = (np.array(bits, np.uint64)[:, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)).astype(bool)
    return (elements * width).astype(np.int64), mask, width


def sectors_by_hand(addresses: np.ndarray, mask: np.ndarray, width: int, size: int) -> int:
    total = 0
    for row, on in zip(addresses.tolist(), mask.tolist(), strict=True):
        total += len({byte // size for lane in LANES if on[lane] for byte in range(row[lane], row[lane] + width)})
    return total


@given(accesses())
def test_sectors_and_lines_are_the_distinct_ones(access: tuple[np.ndarray, np.ndarray, int]) -> None:
    addresses, mask, width = access
    want = (sectors_by_hand(addresses, mask, width, 32), sectors_by_hand(addresses, mask, width, 128))
    assert count_sectors(addresses, mask, PatternMemo()) == want
    if mask.all():
        memo = PatternMemo()
        assert count_sectors(addresses, None, memo) == want
        assert count_sectors(addresses + 256, None, memo) == want


def most_words_in_a_bank(words: set[int]) -> int:
    banks = [word % 32 for word in words]
    return max((banks.count(bank) for bank in set(banks)), default=0)


def by_hand(row: list[int], on: list[bool], width: int, *, merges: bool) -> int:
    """The rule of one warp, lane by lane: groups of lanes, distinct words per bank, pairs that merge."""
    parts = {8: 2, 16: 4}.get(width, 1)
    if merges and parts > 1:
        for distance in (1, 2):
            if all(row[n] == row[n ^ distance] for n in LANES if on[n] and on[n ^ distance]):
                parts //= 2
                break
    size = 32 // parts
    total = 0
    for part in range(parts):
        lanes = [n for n in range(part * size, part * size + size) if on[n]]
        total += most_words_in_a_bank({row[n] // 4 + k for n in lanes for k in range(max(width // 4, 1))})
    return total


@given(accesses())
def test_wavefronts_of_loads_and_stores(access: tuple[np.ndarray, np.ndarray, int]) -> None:
    addresses, mask, width = access
    for rule, merges in ((wavefronts.load_wavefronts, True), (wavefronts.store_wavefronts, False)):
        want = [
            by_hand(row, on, width, merges=merges) for row, on in zip(addresses.tolist(), mask.tolist(), strict=True)
        ]
        assert rule(addresses, mask, width).tolist() == want
        memo = WavefrontMemo(lambda a, m, rule=rule: rule(a, m, width), lambda m: wavefronts.ideal_wavefronts(m, width))
        assert memo.count(addresses, mask)[0] == sum(want)
        assert memo.count(addresses + 128, mask)[0] == sum(want)


@settings(max_examples=50)
@given(accesses())
def test_wavefronts_of_atomics(access: tuple[np.ndarray, np.ndarray, int]) -> None:
    addresses, mask, _ = access
    addresses = addresses // 4 * 4
    want = []
    for row, on in zip(addresses.tolist(), mask.tolist(), strict=True):
        banks = [row[n] // 4 % 32 for n in LANES if on[n]]
        want.append(max((banks.count(bank) for bank in banks), default=0))
    assert wavefronts.atomic_wavefronts(addresses, mask, 4).tolist() == want


#: Measured examples: lane stride in elements -> wavefronts of (load, store).
STRIDES = [(4, 1, 1, 1), (4, 2, 2, 2), (4, 32, 32, 32), (4, 33, 1, 1), (16, 1, 4, 4), (16, 0, 2, 4), (16, 2, 8, 8)]


@pytest.mark.parametrize(("width", "stride", "load", "store"), STRIDES)
def test_known_strides(width: int, stride: int, load: int, store: int) -> None:
    addresses = (np.arange(32) * stride * width)[None, :]
    if stride == 0:
        store = 4
    assert wavefronts.load_wavefronts(addresses, ALL, width)[0] == load
    assert wavefronts.store_wavefronts(addresses, ALL, width)[0] == store


def test_a_warp_with_no_enabled_lane_costs_nothing() -> None:
    addresses, none = np.zeros((3, 32), np.int64), np.zeros((3, 32), bool)
    assert count_sectors(addresses, none, PatternMemo()) == (0, 0)
    assert wavefronts.load_wavefronts(addresses, none, 16).tolist() == [0, 0, 0]
    assert wavefronts.ideal_wavefronts(none, 16).tolist() == [0, 0, 0]
    assert count_distinct(addresses, none) == 0


def test_ideal_wavefronts_count_the_parts_with_an_enabled_lane() -> None:
    half = (np.arange(32) < 16)[None, :]
    assert [int(wavefronts.ideal_wavefronts(half, width)[0]) for width in (4, 8, 16)] == [1, 1, 2]
