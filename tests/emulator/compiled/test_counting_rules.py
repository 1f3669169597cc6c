"""The compiled counting rules are those of isa.memory_access and counting.bypass_copies, over thousands of patterns."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from gpuprof.emulator.compiled.library import runtime
from gpuprof.emulator.counting import bypass_copies
from gpuprof.isa import memory_access

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SECTORS, LINES, LOAD, STORE, MATRIX, ATOMIC, IDEAL, COPY, REQUESTED, COPIED, PASSES, SERIAL = range(12)
PATTERNS = 400


def rule(
    number: int, address: np.ndarray, mask: np.ndarray, width: int, source: object = None, reads: object = None
) -> int:
    words = np.ascontiguousarray(address, np.uint32)
    from_where = np.ascontiguousarray(address if source is None else source, np.uint32)
    bits = int(np.packbits(mask, bitorder="little").view(np.uint32)[0])
    reading = bits if reads is None else int(np.packbits(np.asarray(reads), bitorder="little").view(np.uint32)[0])
    library = runtime()
    return int(library.gp_rule(number, library_pointer(words), library_pointer(from_where), bits, reading, width))


def library_pointer(array: np.ndarray) -> object:
    import ctypes

    return ctypes.c_void_p(array.ctypes.data)


def patterns(width: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Addresses aligned to ``width`` and enabled lanes, at least one: strides, broadcasts, swizzles and noise."""
    random = np.random.default_rng(seed)
    lane = np.arange(32)
    for number in range(PATTERNS):
        kind = number % 6
        stride = int(random.integers(0, 40))
        if kind == 0:
            elements = lane * stride
        elif kind == 1:
            elements = lane // int(random.choice([2, 4, 8, 16])) * stride
        elif kind == 2:
            elements = (lane ^ int(random.integers(0, 32))) * stride
        elif kind == 3:
            elements = random.integers(0, int(random.choice([4, 32, 1000])), 32)
        elif kind == 4:
            elements = random.permutation(32) * int(random.choice([1, 2, 8]))
        else:
            elements = lane % int(random.integers(1, 32)) * 32 + lane
        mask = np.ones(32, bool) if random.random() < 0.5 else random.random(32) < random.random()
        mask[int(random.integers(0, 32))] = True
        yield (elements + int(random.integers(0, 100))) * width, mask


def repeated(address: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Lanes that are off repeat the first that is on, as the runtime has them."""
    return np.where(mask, address, address[mask.argmax()])


@pytest.mark.parametrize("width", [4, 8, 16])
def test_shared_memory(width: int) -> None:
    for address, mask in patterns(width, width):
        rows, on = repeated(address, mask)[None].astype(np.int64), mask[None]
        got = [rule(number, rows[0], mask, width) for number in (LOAD, STORE, ATOMIC, IDEAL)]
        want = [
            memory_access.load_wavefronts(rows, on, width),
            memory_access.store_wavefronts(rows, on, width),
            memory_access.atomic_wavefronts(rows, on, width),
            memory_access.ideal_wavefronts(on, width),
        ]
        assert got == [int(each[0]) for each in want], (address.tolist(), mask.tolist())


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_matrices(matrices: int) -> None:
    for address, mask in patterns(16, matrices):
        rows, on = repeated(address, mask)[None].astype(np.int64), mask[None]
        want = int(memory_access.matrix_wavefronts(rows, on, matrices)[0])
        assert rule(MATRIX, rows[0], mask, matrices) == want


@pytest.mark.parametrize("width", [1, 4, 16])
def test_global_memory(width: int) -> None:
    for address, mask in patterns(width, 10 + width):
        rows = repeated(address, mask)[None].astype(np.int64)
        assert rule(SECTORS, rows[0], mask, width) == memory_access.global_sectors(rows, mask[None])
        assert rule(LINES, rows[0], mask, width) == memory_access.global_lines(rows, mask[None])


@pytest.mark.parametrize("width", [4, 8, 16])
def test_copies(width: int) -> None:
    random = np.random.default_rng(width)
    sources = list(patterns(width, 20 + width))
    for (address, mask), (source, _) in zip(
        patterns(width, 30 + width), random.permutation(np.array(sources, object)), strict=True
    ):
        shared, reads = repeated(address, mask).astype(np.int64), mask & (random.random(32) < 0.8)
        origin = np.asarray(source, np.int64)
        want = memory_access.copy_wavefronts(shared[None], origin[None], mask[None], reads[None], width)
        assert rule(COPY, shared, mask, width, origin, reads) == int(want[0])


def test_bypassing_copies() -> None:
    random = np.random.default_rng(7)
    for (address, mask), (source, _) in zip(patterns(16, 40), patterns(16, 41), strict=True):
        reads = mask & (random.random(32) < 0.9)
        near = random.random() < 0.5  # whole sectors that move together
        origin = address + 4096 if near else source
        lanes = [(lane, int(address[lane]), int(origin[lane])) for lane in np.flatnonzero(reads).tolist()]
        got = [rule(number, address, mask, 16, origin, reads) for number in (REQUESTED, COPIED, PASSES)]
        want = [
            bypass_copies.requested_sectors(lanes),
            bypass_copies.copied_sectors(lanes),
            bypass_copies.passes(lanes),
        ]
        assert got == want, (address.tolist(), origin.tolist(), reads.tolist())
