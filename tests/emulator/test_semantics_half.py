# ruff: noqa: RUF005  (tables of two lines)
"""Packed FP16 and BF16 against fractions and numpy's own halves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from gpuprof.emulator.semantics.narrow import (
    E4M3,
    E5M2,
    bfloat_to_single,
    decode_small,
    encode_small,
    to_bfloat,
    to_half,
)
from tests.emulator.lanes import SmallLanes, execute, lanes_with

SPECIAL = np.array(
    [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFC12, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x3C01, 0x3555]
    + [0x3F80, 0xBF80, 0x7F80, 0x7F7F, 0x0080, 0x007F, 0x3F81, 0x4049, 0x1400],
    np.uint16,
)


def crossed(count: int, extra: int = 300) -> list[np.ndarray]:
    """16-bit patterns: the specials crossed, then random ones."""
    axes = [axis.ravel() for axis in np.meshgrid(*[SPECIAL[: 25 if count < 3 else 12]] * count, indexing="ij")]
    random = np.random.default_rng(2)
    return [np.concatenate([axis, random.integers(0, 65536, extra).astype(np.uint16)]) for axis in axes]


def packed(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def value_of(bits: int, bf16: bool) -> float:
    if bf16:
        return float(np.uint32(bits << 16).view(np.float32))
    return float(np.uint16(bits).view(np.float16))


def round_narrow(exact: Fraction, bf16: bool) -> int:
    """Bits of the nearest 16-bit float to a non-zero exact value, ties to even, by counting units."""
    mantissa, lowest, bias = (7, -126, 127) if bf16 else (10, -14, 15)
    magnitude = abs(exact)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, lowest)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    whole, rest = divmod(magnitude, Fraction(2) ** (exponent - mantissa))
    whole += rest * 2 > Fraction(2) ** (exponent - mantissa) or (
        rest * 2 == Fraction(2) ** (exponent - mantissa) and whole % 2 == 1
    )
    bits = int(whole) + ((exponent + bias - 1) << mantissa)  # the leading one carries into the exponent
    infinity = 0x7F80 if bf16 else 0x7C00
    return min(bits, infinity) | (0x8000 if exact < 0 else 0)


def expected(operation: str, bits: tuple[int, ...], bf16: bool) -> int | None:
    """The result's bits; None where only its sign is open (an exact zero)."""
    values = [value_of(item, bf16) for item in bits]
    a, b, c = (*values, 0.0)[:3] if operation != "HADD2" else (values[0], 1.0, values[1])
    if not all(math.isfinite(item) for item in values):
        with np.errstate(all="ignore"):
            special = np.float64(a) * b + (c if operation != "HMUL2" else 0)
        if math.isnan(special):
            return 0x7FFF
        return (0x7F80 if bf16 else 0x7C00) | (0x8000 if special < 0 else 0)
    exact = Fraction(a) * Fraction(b) + (Fraction(c) if operation != "HMUL2" else 0)
    return round_narrow(exact, bf16) if exact else None


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("operation", ["HADD2", "HMUL2", "HFMA2"])
def test_arithmetic_rounds_once_per_half(operation: str, bf16: bool) -> None:
    count = 3 if operation == "HFMA2" else 2
    low = crossed(count)
    high = [np.roll(value, 11) for value in low]
    name = f"{operation}.BF16_V2" if bf16 else operation
    sources = ", ".join(f"R{index + 1}" for index in range(count))
    lanes = lanes_with(**{f"R{index + 1}": packed(*pair) for index, pair in enumerate(zip(low, high, strict=True))})
    execute(f"{name} R0, {sources}", lanes)
    got = lanes.registers["R0"].ravel()[: low[0].size]
    for index in range(low[0].size):
        for shift, halves in ((0, low), (16, high)):
            bits = tuple(int(value[index]) for value in halves)
            want, found = expected(operation, bits, bf16), int(got[index]) >> shift & 0xFFFF
            if want is None:
                assert found & 0x7FFF == 0
            else:
                assert found == want, (operation, bf16, [hex(x) for x in bits], hex(found), hex(want))


def halves(low: float, high: float) -> np.ndarray:
    return np.array([low, high], np.float16).view(np.uint32)


def result(lanes: SmallLanes) -> list[float]:
    return lanes.registers["R0"].ravel()[:1].view(np.float16).astype(float).tolist()


def test_swizzles_signs_and_immediates() -> None:
    lanes = lanes_with(R1=halves(1.0, 2.0), R2=halves(10.0, 20.0))
    assert result(execute("HADD2 R0, R1.H1_H1, R2.H0_H0", lanes)) == [12.0, 12.0]
    assert result(execute("HADD2 R0, -|R1|, -R2", lanes)) == [-11.0, -22.0]
    one_two = int(halves(1.0, 2.0)[0])
    assert result(execute("HADD2 R0, R2, 2, 1", lanes, encoded_constant=one_two)) == [11.0, 22.0]
    assert result(execute("HFMA2 R0, R1, 2, 1, R2", lanes, encoded_constant=one_two)) == [11.0, 24.0]
    assert result(execute("HFMA2.SAT R0, -R1, R1, R2", lanes)) == [1.0, 1.0]
    execute("HFMA2.MMA R0, -RZ, RZ, -10824, -13904", lanes, encoded_constant=0xF149F2CA)
    assert lanes.registers["R0"].ravel()[0] == 0xF149F2CA


def test_half_to_single() -> None:
    lanes = lanes_with(R1=halves(-1.5, 3.25))
    execute("HADD2.F32 R0, -RZ, R1.H1_H1", lanes)
    assert lanes.registers["R0"].ravel()[0] == np.float32(3.25).view(np.uint32)
    execute("HADD2.F32 R0, -RZ, -R1.H0_H0", lanes)
    assert lanes.registers["R0"].ravel()[0] == np.float32(1.5).view(np.uint32)


def test_comparisons_and_extrema() -> None:
    nan = float("nan")
    a, b = packed_halves([(1, 4), (nan, 2), (3, 3)]), packed_halves([(2, 2), (1, nan), (3, 4)])
    lanes = lanes_with(R1=a, R2=b)
    execute("HSET2.BF.GT.AND R0, R1, R2, PT", lanes)
    assert lanes.registers["R0"].ravel()[:3].tolist() == [0x3C000000, 0, 0]
    execute("HSET2.GEU.AND R0, R1, R2, PT", lanes)
    assert lanes.registers["R0"].ravel()[:3].tolist() == [0xFFFF0000, 0xFFFFFFFF, 0x0000FFFF]
    execute("HSETP2.LT.AND P0, P1, R1, R2, PT", lanes)
    assert lanes.predicates["P0"].ravel()[:3].tolist() == [True, False, False]
    assert lanes.predicates["P1"].ravel()[:3].tolist() == [False, False, True]
    execute("HMNMX2 R0, R1, R2, PT", lanes)
    assert lanes.registers["R0"].ravel()[:3].view(np.float16).tolist() == [1, 2, 1, 2, 3, 3]
    execute("HMNMX2.NAN R0, R1, R2, !PT", lanes)
    assert np.isnan(lanes.registers["R0"].ravel()[:3].view(np.float16)).tolist() == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]


def packed_halves(pairs: list[tuple[float, float]]) -> np.ndarray:
    return np.array(pairs, np.float16).view(np.uint32).ravel()


@pytest.mark.parametrize("mode", ["RN", "RZ", "RM", "RP"])
def test_narrowing_in_every_direction(mode: str) -> None:
    """Against the neighbours among all 65536 values of the format."""
    random = np.random.default_rng(1)
    values = np.concatenate(
        [
            np.ldexp(random.uniform(-2, 2, 2000), random.integers(-28, 17, 2000)),
            [65519.9, 65520.0, 2.0**-25, -(2.0**-26)],
        ]
    )
    for narrow, all_values in (
        (to_half, np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float64)),
        (to_bfloat, bfloat_to_single(np.arange(0x7F81, dtype=np.uint16)).astype(np.float64)),
    ):
        bits = narrow(values, mode)
        for value, found in zip(values.tolist(), bits.tolist(), strict=True):
            magnitude = abs(value)
            above = int(np.searchsorted(all_values, magnitude))  # the first that is not below
            below = above if all_values[above] == magnitude else above - 1
            up = {"RZ": False, "RP": value > 0, "RM": value < 0}.get(mode)
            if up is None:
                top = (
                    all_values[above]
                    if np.isfinite(all_values[above])
                    else 2 * all_values[below] - all_values[below - 1]
                )
                gaps = magnitude - all_values[below], top - magnitude
                up = gaps[1] < gaps[0] or (gaps[0] == gaps[1] and below % 2 == 1)
            want = (above if up else below) | (0x8000 if value < 0 else 0)
            assert found == want, (mode, narrow, value)


@pytest.mark.parametrize("kind", [E4M3, E5M2])
def test_small_floats_round_trip_and_round_to_nearest(kind: object) -> None:
    codes = np.arange(256, dtype=np.uint8)
    values = decode_small(codes, kind)  # type: ignore[arg-type]
    finite = np.isfinite(values)
    assert (encode_small(values[finite], kind) == codes[finite]).all()  # type: ignore[arg-type]
    positive = np.sort(values[finite & (codes < 128)].astype(np.float64))
    middle = (positive[:-1] + positive[1:]) / 2
    up, down = (encode_small((middle * factor).astype(np.float32), kind) for factor in (1.001, 0.999))  # type: ignore[arg-type]
    assert (decode_small(up, kind) == positive[1:]).all()  # type: ignore[arg-type]
    assert (decode_small(down, kind) == positive[:-1]).all()  # type: ignore[arg-type]


def test_e4m3_has_the_values_of_its_specification() -> None:
    """OCP 8-bit floating point: E4M3's largest is 448, its smallest 2^-9; 1.0 is 0x38; E5M2's largest is 57344."""
    assert decode_small(np.array([0x7E, 0x01, 0x38, 0xB8], np.uint8), E4M3).tolist() == [448.0, 2.0**-9, 1.0, -1.0]
    assert decode_small(np.array([0x7B, 0x01, 0x3C], np.uint8), E5M2).tolist() == [57344.0, 2.0**-16, 1.0]
    assert np.isnan(decode_small(np.array([0x7F], np.uint8), E4M3)[0])
