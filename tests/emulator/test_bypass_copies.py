"""cp.async.cg by patterns: the numbers that an H200 counted for kernels made of them (tests/hardware/configs.json)."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.emulator.counting.bypass_copies import Lane, copied_sectors, passes, requested_sectors
from gpuprof.emulator.memory.async_copy import _first_bytes


def lanes(count: int = 32, *, shared: int = 0, source: int = 0) -> list[Lane]:
    """Lane after lane, 16 bytes each, on both sides."""
    return [(lane, shared + 16 * lane, source + 16 * lane) for lane in range(count)]


def rows(length: int, shared_stride: int, source_stride: int) -> list[Lane]:
    """A tile's rows of ``length`` lanes each: bytes from one row to the next on both sides."""
    return [
        (lane, lane // length * shared_stride + lane % length * 16, lane // length * source_stride + lane % length * 16)
        for lane in range(32)
    ]


def test_a_contiguous_copy_moves_its_bytes_once() -> None:
    """async_copy<16>: 8 warps, 128 sectors in both counters, 32 wavefronts."""
    assert (requested_sectors(lanes()), copied_sectors(lanes()), passes(lanes())) == (16, 16, 4)


#: Launches ``bypass_copy<false>``: shift and lanes per chunk and step of the source, shift and step of the target (in
#: chunks of 16 bytes), then l1tex's sectors, those by instruction, and wavefronts.
@pytest.mark.parametrize(
    ("pattern", "counted"),
    [
        ((1, 1, 1, 0, 1), (20, 32, 12)),
        ((7, 1, 1, 0, 1), (20, 32, 12)),
        ((0, 1, 1, 3, 1), (20, 32, 16)),
        ((1, 1, 1, 1, 1), (17, 17, 6)),
        ((0, 32, 1, 0, 1), (16, 32, 32)),
        ((0, 2, 1, 0, 1), (16, 32, 32)),
        ((0, 1, 8, 0, 1), (32, 32, 32)),
        ((0, 1, 1, 0, 2), (32, 32, 32)),
        ((0, 1, 2, 0, 1), (16, 32, 32)),
        ((0, 1, 5, 0, 3), (32, 32, 32)),
    ],
)
def test_measured_patterns(pattern: tuple[int, ...], counted: tuple[int, ...]) -> None:
    shift, repeat, step, target, stride = pattern
    warp = [(lane, 16 * (lane * stride + target), 16 * (lane // repeat * step + shift)) for lane in range(32)]
    assert (requested_sectors(warp), copied_sectors(warp), passes(warp)) == counted


@pytest.mark.parametrize("source", [32, 64, 96])
def test_a_quarter_across_two_lines_takes_two_passes(source: int) -> None:
    assert (requested_sectors(lanes(source=source)), copied_sectors(lanes(source=source))) == (16, 16)
    assert passes(lanes(source=source)) == 8


def test_equal_bytes_go_to_each_lane_alone() -> None:
    """micro_gemm_pipelined at the matrix's edge: lane 0 reads one chunk, all others the next.

    With as many whole rows, at all four places in a line: 47 sectors (88 pairs: 4,136) and 39 wavefronts per pair.
    """
    edge = [(lane, 16 * lane, 16 * min(lane, 1)) for lane in range(32)]
    assert (requested_sectors(edge), copied_sectors(edge), passes(edge)) == (16, 31, 32)
    whole = [lanes(source=source) for source in (0, 32, 64, 96)]
    assert sum(map(passes, whole)) / 4 + passes(edge) == 39
    assert sum(map(copied_sectors, whole)) / 4 + copied_sectors(edge) == 47


def test_padded_tiles_misalign_rows() -> None:
    """gemm_wmma_shared: A in rows of 4 lanes, 80 bytes apart, and B in rows of 16, 272 apart; 192 copies of each.

    l1tex has 7,296 sectors, the counters by instruction 9,216 and 4,896 wavefronts.
    """
    a, b = rows(4, 80, 192), rows(16, 272, 512)
    assert 192 * (requested_sectors(a) + requested_sectors(b)) == 7296
    assert 192 * (copied_sectors(a) + copied_sectors(b)) == 9216
    placed = [[(lane, shared + place, source) for lane, shared, source in b] for place in (0, 32, 64, 96)]
    assert 192 * passes(a) + 48 * sum(map(passes, placed)) == 4896


def test_rows_of_an_odd_width_request_by_line() -> None:
    """micro_gemm_vector, N = 92: 23 lanes per row, 20 rows of 368 bytes; l1tex has 268 sectors."""
    assert sum(requested_sectors(lanes(23, source=368 * row)) for row in range(20)) == 268


def test_of_lanes_with_one_target_only_the_last_requests() -> None:
    """The row "shared same" of the one-warp launches: a single sector."""
    assert requested_sectors([(lane, 0, 16 * lane) for lane in range(32)]) == 1


def test_no_lane_copies_nothing() -> None:
    assert (requested_sectors([]), copied_sectors([]), passes([])) == (0, 0, 0)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_zfill_keeps_the_first_bytes(dtype: type) -> None:
    """What the low bits of a ZFILL address leave of a word; a count may also lie before or behind the word."""
    size = np.dtype(dtype).itemsize
    word = np.frombuffer(bytes(range(0xF0, 0xF0 + size)), dtype)
    for count in (-4, 0, 1, 3, size - 1, size, size + 8):
        kept = max(0, min(count, size))
        want = bytes(range(0xF0, 0xF0 + kept)) + bytes(size - kept)
        assert _first_bytes(word, np.array([count])).tobytes() == want
