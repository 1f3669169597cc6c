# ruff: noqa: RUF005  (long tables, two lines each)
"""The values that questions.cu's kernels are asked about: specials crossed with each other, then random ones.

Made from raw PCG64 output only, which numpy keeps stable, so that a recording stores each set once and a test can
make it again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

F32_SPECIALS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 0.1, np.inf, -np.inf, 255.5, 127.5, -128.5, 448.0, 464.0, 480.0]
    + [65504.0, 65519.0, 65520.0, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-26, 57344.0, 61440.0, 2147483520.0, 2.0**31]
    + [-(2.0**31), 4294967040.0, 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1.0000001, 0.99999994, 3.4028235e38, 1e-3],
    np.float32,
).view(np.uint32)
F32_BITS = np.array(
    [0x7FC00000, 0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0xFFFFFFFF, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000]
    + [0x00400000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800001],
    np.uint32,
)
F64_SPECIALS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.1, np.inf, -np.inf, 2.0**31, -(2.0**31), 2147483647.5, 2.0**32]
    + [4294967295.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1.7976931348623157e308, 2.0**-1022, 1e-310, 5e-324]
    + [3.4028235677973366e38, 1.4e-45, 7e-46, 2.0**-149, 1.0000000596046448, 65520.0, 2.0**-25],
    np.float64,
).view(np.uint64)
F64_BITS = np.array(
    [0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8123456789ABC, 0x7FFFFFFFFFFFFFFF, 0x800FFFFFFFFFFFFF], np.uint64
)
HALVES = np.array(
    [0, 0x8000, 0x3C00, 0xBC00, 0x3800, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE12, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF]
    + [0x3C01, 0x5640, 0x4248, 0x2E66, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x7F81, 0x0080, 0x007F, 0x7F7F, 0x4049],
    np.uint16,
)
INTEGERS = np.array(
    [0, 1, 2, 3, 7, 15, 16, 30, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x12345678]
    + [0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x80808080, 0x7F7F7F7F, 0xFF00FF00, 0xA5C3960F],
    np.uint32,
)
LONGS = np.array(
    [
        0,
        1,
        2**24 + 1,
        2**31,
        2**32 - 1,
        2**53 + 1,
        2**63 - 1,
        2**63,
        2**64 - 1,
        2**62 + 2**38,
        2**40 + 2**16,
        2**60 + 1,
    ],
    np.uint64,
)


def raw(seed: int, count: int) -> np.ndarray:
    """``count`` random uint64."""
    return np.random.PCG64(seed).random_raw(count)


def _words(seed: int, count: int) -> np.ndarray:
    return (raw(seed, count) >> np.uint64(32)).astype(np.uint32)


def _near_one(seed: int, count: int, spread: int) -> np.ndarray:
    """Random singles of either sign with exponents within ``spread`` of 0."""
    bits = raw(seed, count)
    exponent = (bits >> np.uint64(40)) % np.uint64(2 * spread + 1) + np.uint64(127 - spread)
    sign = (bits >> np.uint64(39)) & np.uint64(1)
    return ((sign << np.uint64(31)) | (exponent << np.uint64(23)) | (bits & np.uint64(0x7FFFFF))).astype(np.uint32)


def _near_one_double(seed: int, count: int, spread: int) -> np.ndarray:
    bits, more = raw(seed, count), raw(seed + 1000, count)
    exponent = more % np.uint64(2 * spread + 1) + np.uint64(1023 - spread)
    sign = (more >> np.uint64(40)) & np.uint64(1)
    return (sign << np.uint64(63)) | (exponent << np.uint64(52)) | (bits & np.uint64((1 << 52) - 1))


def _crossed(specials: np.ndarray, count: int) -> list[np.ndarray]:
    return [axis.ravel() for axis in np.meshgrid(*[specials] * count, indexing="ij")]


def _set(specials: np.ndarray, count: int, random: Callable[[int], np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate([axis, random(seed)]) for seed, axis in enumerate(_crossed(specials, count)))


def _f32(count: int, limit: int) -> tuple[np.ndarray, ...]:
    specials = np.concatenate([F32_BITS, F32_SPECIALS])[:limit]
    return _set(specials, count, lambda seed: np.concatenate([_near_one(seed, 512, 30), _words(seed + 9, 512)]))


def _f64(count: int, limit: int) -> tuple[np.ndarray, ...]:
    specials = np.concatenate([F64_BITS, F64_SPECIALS])[:limit]
    return _set(specials, count, lambda seed: np.concatenate([_near_one_double(seed, 512, 40), raw(seed + 9, 256)]))


def _pairs(count: int, limit: int) -> tuple[np.ndarray, ...]:
    """Packed halves: the specials in the low half, another in the high half, then random bits."""
    axes = _crossed(HALVES[:limit], count)
    packed = [axis.astype(np.uint32) | np.roll(axis, 7).astype(np.uint32) << np.uint32(16) for axis in axes]
    return tuple(np.concatenate([axis, _words(seed + 70, 1024)]) for seed, axis in enumerate(packed))


def _u32(count: int, limit: int) -> tuple[np.ndarray, ...]:
    return _set(INTEGERS[:limit], count, lambda seed: _words(seed + 40, 512))


def _fchk() -> tuple[np.ndarray, ...]:
    """Every pair of exponents on a grid that is dense at the ends, mantissa 1.5, and specials."""
    dense = np.r_[0:30, 30:226:7, 226:256]
    a, b = (axis.ravel().astype(np.uint32) << np.uint32(23) for axis in np.meshgrid(dense, dense, indexing="ij"))
    steps = np.arange(-140, 140)
    base = np.repeat(np.array([60, 127, 200]), steps.size)
    shifted = np.clip(base + np.tile(steps, 3), 0, 255)
    c = (shifted.astype(np.uint32) << np.uint32(23)) | np.uint32(0x200000)
    d = (base.astype(np.uint32) << np.uint32(23)) | np.uint32(0x600000)
    return np.concatenate([a | np.uint32(0x400000), a, c, d]), np.concatenate([b | np.uint32(0x300000), b, d, c])


def _mufu() -> tuple[np.ndarray, ...]:
    specials = np.concatenate([F32_BITS, F32_SPECIALS])
    return (np.concatenate([specials, _words(1, 6000), _near_one(2, 10000, 6)]),)


def _mufu64() -> tuple[np.ndarray, ...]:
    specials = np.concatenate([F64_BITS, F64_SPECIALS])
    return (np.concatenate([specials, raw(3, 4000), _near_one_double(4, 8000, 4)]),)


SETS: dict[str, Callable[[], tuple[np.ndarray, ...]]] = {
    "f32.1": lambda: _f32(1, 99),
    "f32.2": lambda: _f32(2, 34),
    "f32.3": lambda: _f32(3, 13),
    "f64.1": lambda: _f64(1, 99),
    "f64.2": lambda: _f64(2, 30),
    "f64.3": lambda: _f64(3, 11),
    "h2.1": lambda: (np.arange(0, 65536, 7, dtype=np.uint32) * np.uint32(0x10001),),
    "h2.2": lambda: _pairs(2, 30),
    "h2.3": lambda: _pairs(3, 12),
    "u32.1": lambda: _u32(1, 99),
    "u32.2": lambda: _u32(2, 31),
    "u32.3": lambda: _u32(3, 12),
    "u64.1": lambda: (np.concatenate([LONGS, raw(50, 1024), raw(51, 512) >> np.uint64(20)]),),
    "fchk": _fchk,
    "mufu": _mufu,
    "mufu64": _mufu64,
}


def matrices(kind: str, words: int, warps: int, seed: int) -> np.ndarray:
    """Fragment registers (warps, 32, words) of random numbers.

    The first third is normal deviates, the second has exponents spread over 2^-8..2^8 with full mantissas, the last
    over 2^-20..2^4 (FP16: what fits), so that sums cancel and terms fall below the last place.
    """
    count = warps * 32 * words * (2 if kind in ("f16", "bf16") else 1)
    bits = raw(seed, 2 * count)
    unit = ((bits[:count] >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    other = (bits[count:] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    normal = np.sqrt(-2.0 * np.log(unit)) * np.cos(2 * np.pi * other)
    sign = np.where(bits[:count] & np.uint64(1), 1.0, -1.0)
    third = count // 3
    value = normal.copy()
    value[third : 2 * third] = (sign * (1 + unit) * 2.0 ** np.floor(other * 17 - 8))[third : 2 * third]
    value[2 * third :] = (sign * (1 + unit) * 2.0 ** np.floor(other * 25 - 20))[2 * third :]
    return _as_words(value, kind).reshape(warps, 32, words)


def _as_words(value: np.ndarray, kind: str) -> np.ndarray:
    if kind == "f16":
        return value.astype(np.float16).view(np.uint32)
    single = value.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return (single >> np.uint32(16)).astype(np.uint16).view(np.uint32)
    if kind == "tf32":
        return single & np.uint32(0xFFFFE000)
    return single


#: kernel -> (kind of A and B, words of A, of B, of C and D, kind of C).
MATRIX_KERNELS: dict[str, tuple[str, int, int, int, str]] = {
    "mma_f16_f32": ("f16", 4, 2, 4, "f32"),
    "mma_bf16_f32": ("bf16", 4, 2, 4, "f32"),
    "mma_f16_f16": ("f16", 4, 2, 2, "f16"),
    "mma_f16_f32_k8": ("f16", 2, 1, 4, "f32"),
    "mma_tf32_k8": ("tf32", 4, 2, 4, "f32"),
    "mma_tf32_k4": ("tf32", 2, 1, 4, "f32"),
    "mma_s8": ("s8", 4, 2, 4, "s32"),
    "mma_s8_sat": ("s8", 4, 2, 4, "s32"),
}
MATRIX_WARPS = 96


def matrix_inputs(kernel: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fragments of A, B and C."""
    kind, a, b, c, addend = MATRIX_KERNELS[kernel]
    if kind == "s8":
        shapes = [(MATRIX_WARPS, 32, words) for words in (a, b, c)]
        fragments = [_words(90 + index, int(np.prod(shape))).reshape(shape) for index, shape in enumerate(shapes)]
        return fragments[0], fragments[1], fragments[2]
    return (
        matrices(kind, a, MATRIX_WARPS, 80),
        matrices(kind, b, MATRIX_WARPS, 81),
        matrices(addend, c, MATRIX_WARPS, 82),
    )


def double_matrix_inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B (warps, 32) and C (warps, 32, 2) as doubles of both signs near 1."""
    a, b = (_near_one_double(seed, 32 * 32, 3).view(np.float64).reshape(32, 32) for seed in (60, 61))
    return a, b, _near_one_double(62, 32 * 64, 3).view(np.float64).reshape(32, 32, 2)
