"""Conversions against Python's numbers: every type, direction, saturation and NaN rule."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.emulator.lanes import execute, lanes_with, run

NUMBERS = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.999, 127.5, 128.0, -128.5, 255.5, 256.0, 32767.5, 65535.5, 65536.0]
NUMBERS += [2.0**31, -(2.0**31), 2147483520.0, 2.0**32, 4294967040.0, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 1e-40]
NUMBERS += [math.inf, -math.inf, math.nan]
WHOLE = {"": round, ".TRUNC": math.trunc, ".FLOOR": math.floor, ".CEIL": math.ceil}
KINDS = ["S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64"]


def limits(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "S" else (0, (1 << bits) - 1)


def to_integer(value: float, kind: str, how: str, wide: bool) -> int:
    low, high = limits(kind)
    if math.isnan(value):  # PTX ISA, cvt
        return 1 << int(kind[1:]) - 1 if wide else 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(WHOLE[how](value), low), high)


@pytest.mark.parametrize("how", sorted(WHOLE))
@pytest.mark.parametrize("kind", KINDS)
def test_f2i(kind: str, how: str) -> None:
    name = "" if kind == "S32" else f".{kind}"
    values = np.array(NUMBERS, np.float32)
    wide = kind.endswith("64")
    lanes = lanes_with(R2=values.view(np.uint32))
    execute(f"F2I{name}{how} R0, R2", lanes)
    check_integers(lanes, [to_integer(float(x), kind, how, wide) for x in values], wide)
    if int(kind[1:]) < 32:
        return
    doubles = np.array([*NUMBERS, 2147483647.5, 4294967295.5, 9007199254740993.0])
    lanes = lanes_with(R2=doubles.view(np.uint64))
    execute(f"F2I{name}.F64{how} R0, R2", lanes)
    nan_is_high = [to_integer(float(x), kind, how, True) for x in doubles]
    check_integers(lanes, nan_is_high, wide)


def check_integers(lanes: object, want: list[int], wide: bool) -> None:
    registers = lanes.registers  # type: ignore[attr-defined]
    for index, value in enumerate(want):
        got = int(registers["R0"].ravel()[index])
        if wide:
            got |= int(registers["R1"].ravel()[index]) << 32
        assert got == value % (1 << (64 if wide else 32)), (index, hex(got), value)


def test_f2i_reads_halves() -> None:
    halves = np.array([1.5, -2.5, np.inf, 1000.0], np.float16).view(np.uint16).astype(np.uint32)
    got = run("F2I.F16.NTZ R0, R2", R2=halves)[:4]
    assert got.view(np.int32).tolist() == [2, -2, 2**31 - 1, 1000]


INTEGERS = [0, 1, 255, 256, 0x7FFF, 0x8000, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1, 0xFFFFFF80, 0x12345678]
LONGS = [*INTEGERS, 2**53 + 1, 2**53 + 3, 2**63 - 1, 2**63, 2**64 - 1, 2**62 + 2**38, 2**62 + 2**38 + 1, 2**60 + 3]


def as_signed(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def rounded(value: int, mantissa: int, mode: str) -> float:
    """An integer to a float of ``mantissa`` bits, by its definition."""
    if value == 0:
        return 0.0
    unit = max(abs(value).bit_length() - mantissa, 0)
    whole, rest = divmod(abs(value), 1 << unit)
    up = {"": rest * 2 > 1 << unit or (rest * 2 == 1 << unit and whole % 2 == 1), ".RZ": False}
    up |= {".RP": rest > 0 and value > 0, ".RM": rest > 0 and value < 0}
    result = (whole + up[mode]) << unit
    return float(result if value > 0 else -result)


@pytest.mark.parametrize("mode", ["", ".RZ", ".RP", ".RM"])
@pytest.mark.parametrize("kind", KINDS)
def test_i2f(kind: str, mode: str) -> None:
    bits, signed = int(kind[1:]), kind[0] == "S"
    dtype = np.uint64 if bits == 64 else np.uint32
    patterns = np.array(
        [x & (2**64 - 1 if bits == 64 else 2**32 - 1) for x in (LONGS if bits == 64 else INTEGERS)], dtype
    )
    want = [as_signed(int(x), bits, signed) for x in patterns]
    name = "" if kind == "S32" else f".{kind}"
    got = run(f"I2F{name}{mode} R0, R2", R2=patterns)[: patterns.size].view(np.float32)
    assert got.tolist() == [rounded(x, 24, mode) for x in want]
    lanes = lanes_with(R2=patterns)
    execute(f"I2F.F64{name}{mode} R0, R2", lanes)
    words = [lanes.registers[register].ravel().astype(np.uint64) for register in ("R0", "R1")]
    doubles = (words[0] | words[1] << np.uint64(32)).view(np.float64)[: patterns.size]
    assert doubles.tolist() == [rounded(x, 53, mode) for x in want]


def test_i2f_of_part_of_a_register() -> None:
    value = np.array([0x80FF7F01], np.uint32)
    for suffix, want in (("", 1), (".B1", 127), (".B2", -1), (".B3", -128)):
        assert run(f"I2F.S8 R0, R2{suffix}", R2=value)[0] == np.float32(want).view(np.uint32)
    assert run("I2F.S16 R0, -R2.H1", R2=value)[0] == np.float32(32513).view(np.uint32)
    assert run("I2FP.F32.U32 R0, R2", R2=value)[0] == np.float32(0x80FF7F01).view(np.uint32)


def test_narrow_results() -> None:
    values = np.array([1.0, 65520.0, -1e-8, np.nan, 2.00048828125], np.float32).view(np.uint32)
    want = np.array([0x3C00, 0x7C00, 0x8000, 0x7FFF, 0x4000])
    assert (run("F2F.F16.F32 R0, R1", R1=values)[:5] == want).all()
    packed = run("F2FP.F16.F32.PACK_AB R0, R1, R2", R1=values, R2=values[::-1])[:5]
    assert (packed == (want << 16 | want[::-1])).all()
    assert (run("F2FP.PACK_AB R0, RZ, R1", R1=values)[:5] == want).all()
    bf16 = run("F2FP.BF16.F32.PACK_AB R0, R1, RZ", R1=values)[:5] >> np.uint32(16)
    assert bf16.tolist() == [0x3F80, 0x4780, 0xB22C, 0x7FFF, 0x4000]
    kept = run("F2FP.F16.F32.MERGE_C R0, R1, R3", R1=values, R3=np.full(5, 0xABCD1234, np.uint32))[:5]
    assert (kept == (0xABCD0000 | want)).all()


@pytest.mark.parametrize(("mode", "direction"), [("", None), (".RZ", 0), (".RM", -1), (".RP", 1)])
def test_double_to_single(mode: str, direction: int | None) -> None:
    random = np.random.default_rng(9)
    values = np.concatenate(
        [
            np.ldexp(random.uniform(-2, 2, 400), random.integers(-151, 129, 400)),
            [0.0, -0.0, 1e300, -1e300, 1e-60, -1e-60],
        ]
    )
    got = run(f"F2F.F32.F64{mode} R0, R2", R2=values.view(np.uint64))[: values.size].view(np.float32)
    with np.errstate(all="ignore"):
        nearest = values.astype(np.float32)
    if direction is None:
        assert (got.view(np.uint32) == nearest.view(np.uint32)).all()
        return
    for value, result in zip(values.tolist(), got.tolist(), strict=True):
        way = direction or (-1 if value > 0 else 1)
        assert result == value or (result > value) == (way > 0)
        if math.isfinite(result) and result != value:
            other = float(np.nextafter(np.float32(result), np.float32(-way * np.inf)))
            assert math.isinf(other) or (Fraction(other) > Fraction(value)) != (way > 0)


def test_double_of_single_and_whole_numbers() -> None:
    values = np.array([1.5, 2.5, -0.5, -1.2, np.inf, 1e-40], np.float32)
    lanes = lanes_with(R2=values.view(np.uint32))
    execute("F2F.F64.F32 R0, R2", lanes)
    words = [lanes.registers[name].ravel().astype(np.uint64) for name in ("R0", "R1")]
    assert ((words[0] | words[1] << np.uint64(32)).view(np.float64)[:6] == values).all()
    for how, function in (("", np.rint), (".FLOOR", np.floor), (".CEIL", np.ceil), (".TRUNC", np.trunc)):
        got = run(f"FRND{how} R0, R2", R2=values.view(np.uint32))[:6]
        assert (got == function(values).view(np.uint32)).all()
    lanes = lanes_with(R2=values.astype(np.float64).view(np.uint64))
    execute("FRND.F64.FLOOR R0, R2", lanes)
    assert lanes.registers["R1"].ravel()[2] == 0xBFF00000  # floor(-0.5) = -1


def test_packed_saturation() -> None:
    """cvt.pack.sat.s8.s32.b32: a over b over the low half of c (PTX ISA)."""
    a, b, c = (np.array([x], np.int32).view(np.uint32) for x in (300, -5, 0x1234))
    assert run("I2IP.S8.S32.SAT R0, R1, R2, R3", R1=a, R2=b, R3=c)[0] == 0x12347FFB
    assert run("I2IP.U16.S32.SAT R0, R1, R2, RZ", R1=a, R2=b)[0] == 300 << 16
