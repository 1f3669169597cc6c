"""The arena: addresses, guard zones, reuse, limits, and the shadow of written bytes."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.emulator.memory.arena import GLOBAL_BASE, GUARD_BYTES, Arena
from gpuprof.errors import DeviceMemoryError


def test_buffers_are_zero_aligned_and_far_apart() -> None:
    arena = Arena()
    first, second = arena.allocate(1000), arena.allocate(10)
    assert first >> 32 == second >> 32 == GLOBAL_BASE >> 32
    assert first % 256 == second % 256 == 0
    assert second - (first + 1000) >= GUARD_BYTES
    assert not arena.view(first, 1000).any()


def test_freed_memory_is_reused_and_zero_again() -> None:
    arena = Arena()
    first, kept = arena.allocate(50_000), arena.allocate(100)
    arena.view(first, 50_000)[:] = 7
    arena.view(kept, 100)[:] = 8
    arena.written[(first - GLOBAL_BASE) >> 2] = 15
    arena.free(first)
    assert arena.region_of(first - GLOBAL_BASE) is None
    again = arena.allocate(40_000)
    assert again == first
    assert not arena.view(again, 40_000).any()
    assert not arena.written_bytes(again, 40_000).any()
    assert (arena.view(kept, 100) == 8).all()


def test_the_capacity_is_a_limit_with_numbers() -> None:
    arena = Arena(capacity_bytes=1000)
    held = arena.allocate(600)
    with pytest.raises(DeviceMemoryError, match="asked for 500 bytes, 400 bytes are free of 1,000"):
        arena.allocate(500)
    arena.free(held)
    arena.allocate(1000)


def test_ownership_of_ranges() -> None:
    arena = Arena()
    start = arena.allocate(64) - GLOBAL_BASE
    offsets = np.array([start - 4, start, start + 60, start + 61, start + 64])
    assert arena.owned(offsets, 4).tolist() == [False, True, True, False, False]
    assert "4 bytes before the start" in arena.describe_nearest(GLOBAL_BASE + start - 4)
    assert "61 bytes into it, across the end" in arena.describe_nearest(GLOBAL_BASE + start + 61)


def test_written_bytes_of_a_part_of_a_word() -> None:
    arena = Arena()
    address = arena.allocate(10)
    word = (address - GLOBAL_BASE) >> 2
    arena.written[word : word + 3] = (0b0110, 0b1111, 0b0001)
    assert np.flatnonzero(arena.written_bytes(address, 10)).tolist() == [1, 2, 4, 5, 6, 7, 8]
    arena.clear_written(address, 10)
    assert not arena.written_bytes(address, 10).any()
