# ruff: noqa: RUF005  (tables of two lines)
"""FP32 and FP64 arithmetic against fractions rounded by hand; comparisons and selections on crossed specials."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.emulator.semantics.exact import exact_fused, fused_double
from gpuprof.emulator.semantics.floats import division_is_special, fused
from tests.emulator.lanes import execute, lanes_with, run

SPECIAL = np.array(
    [0x0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF812345, 1, 0x80000001, 0x7FFFFF]
    + [0x800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800001, 0x3F7FFFFF, 0x34000000, 0x4B800000, 0x00400000],
    np.uint32,
)
CANONICAL = 0x7FFFFFFF


def crossed(count: int, extra: int = 200, spread: int = 60) -> list[np.ndarray]:
    """Bits of singles: every combination of the specials, then random ones of similar and of any size."""
    specials = SPECIAL if count < 3 else SPECIAL[:16:1]
    axes = [axis.ravel() for axis in np.meshgrid(*[specials] * count, indexing="ij")]
    random = np.random.default_rng(3)
    result = []
    for axis in axes:
        near = np.ldexp(random.uniform(-2, 2, extra), random.integers(-spread, spread, extra)).astype(np.float32)
        result.append(np.concatenate([axis, near.view(np.uint32), random.integers(0, 2**32, extra, np.uint32)]))
    return result


def single(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def overflows(exact: Fraction, mode: str) -> bool:
    """Whether a value beyond the range becomes infinite rather than the largest number."""
    return mode == "RN" or mode == ("RP" if exact > 0 else "RM")


def round_single(exact: Fraction, mode: str = "RN") -> float:
    """A non-zero exact value to the nearest single, by counting units of the last place."""
    magnitude = abs(exact)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, -126)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 23)
    whole, rest = divmod(magnitude, unit)
    up = {"RN": rest * 2 > unit or (rest * 2 == unit and whole % 2), "RZ": False}
    up |= {"RP": rest > 0 and exact > 0, "RM": rest > 0 and exact < 0}
    value = (whole + bool(up[mode])) * unit
    if value >= Fraction(2) ** 128:
        value = math.inf if overflows(exact, mode) else Fraction(2) ** 128 - Fraction(2) ** 104
    return math.copysign(float(value), exact)


def expected(operation: str, values: list[float], mode: str) -> float:
    """IEEE 754 by its definition."""
    a, b, c = (*values, 0.0)[:3] if operation != "FADD" else (values[0], 1.0, values[1])
    with np.errstate(all="ignore"):
        special = (
            np.float64(a) * np.float64(b) if operation == "FMUL" else np.float64(a) * np.float64(b) + np.float64(c)
        )
    if not math.isfinite(a) or not math.isfinite(b) or not math.isfinite(c):
        return float(special)
    exact = Fraction(a) * Fraction(b) + (Fraction(c) if operation != "FMUL" else 0)
    if exact:
        return round_single(exact, mode)
    product_negative = math.copysign(1, a) * math.copysign(1, b) < 0
    if operation == "FMUL":
        return -0.0 if product_negative else 0.0
    negatives = {product_negative, math.copysign(1, c) < 0}
    if c != 0:  # x + -x
        negatives = {True, False}
    return -0.0 if negatives == {True} or (mode == "RM" and True in negatives) else 0.0


def bits_of(value: float) -> int:
    if math.isnan(value):
        return CANONICAL
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


@pytest.mark.parametrize("mode", ["RN", "RZ", "RM", "RP"])
@pytest.mark.parametrize("operation", ["FADD", "FMUL", "FFMA"])
def test_arithmetic_rounds_once(operation: str, mode: str) -> None:
    count = 3 if operation == "FFMA" else 2
    values = crossed(count)
    suffix = "" if mode == "RN" else f".{mode}"
    sources = ", ".join(f"R{index + 1}" for index in range(count))
    registers = {f"R{index + 1}": value for index, value in enumerate(values)}
    got = run(f"{operation}{suffix} R0, {sources}", **registers)
    for index, operands in enumerate(zip(*values, strict=True)):
        want = bits_of(expected(operation, [single(int(x)) for x in operands], mode))
        assert got[index] == want, (operation, mode, [hex(int(x)) for x in operands], hex(got[index]), hex(want))


def test_ffma_halfway_cases_are_exact() -> None:
    """Products and addends made so that the double sum lands halfway between two singles."""
    random = np.random.default_rng(11)
    count = 4000
    c = np.ldexp(random.integers(2**23, 2**24, count).astype(np.float64), -23)
    tiny = np.ldexp(random.integers(1, 2**24, count).astype(np.float64), random.integers(-80, -40, count))
    half = 2.0**-24 + np.where(random.random(count) < 0.5, tiny * 2.0**-30, -tiny * 2.0**-30)
    a = half.astype(np.float32)
    b = (1 + np.ldexp(random.integers(-3, 4, count).astype(np.float64), -23)).astype(np.float32)
    wide = random.integers(0, 2**32, count, np.uint32)
    for x, y, z in ((a, b, c.astype(np.float32)), (a, b, -c.astype(np.float32)), _denormal_halfway(wide)):
        got = fused(x, y, z)
        for index in range(0, count, 3):
            want = round_single(Fraction(float(x[index])) * Fraction(float(y[index])) + Fraction(float(z[index])))
            assert got[index] == np.float32(want), (x[index], y[index], z[index])


def _denormal_halfway(bits: np.ndarray) -> tuple[np.ndarray, ...]:
    """(half a place of the denormals, and a little) times one, plus a denormal."""
    a = np.ldexp(1.0 + (bits & 3) * 2.0**-23, -100).astype(np.float32)
    b = np.full(bits.size, 2.0**-50, np.float32)
    return a, b, (bits >> np.uint32(9)).view(np.float32)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 3), min_size=1, max_size=32))
def test_ffma_on_any_bits(triples: list[tuple[int, int, int]]) -> None:
    columns = [np.array(column, np.uint32) for column in zip(*triples, strict=True)]
    got = run("FFMA R0, R1, R2, R3", **dict(zip(("R1", "R2", "R3"), columns, strict=True)))
    for index, bits in enumerate(triples):
        assert got[index] == bits_of(expected("FFMA", [single(x) for x in bits], "RN"))


def flushed(value: np.ndarray) -> np.ndarray:
    tiny = np.abs(value) < np.float32(2.0**-126)
    return np.where(tiny, np.copysign(np.float32(0), value), value)


@pytest.mark.parametrize("operation", ["FADD", "FMUL"])
def test_ftz_and_sat(operation: str) -> None:
    a, b = crossed(2)
    x, y = flushed(a.view(np.float32)), flushed(b.view(np.float32))
    with np.errstate(all="ignore"):
        exact = flushed(x + y if operation == "FADD" else x * y)
    got = run(f"{operation}.FTZ R0, R1, R2", R1=a, R2=b)[: a.size]
    assert (got == np.where(np.isnan(exact), CANONICAL, exact.view(np.uint32))).all()
    clamped = run(f"{operation}.FTZ.SAT R0, R1, R2", R1=a, R2=b)[: a.size].view(np.float32)
    assert (clamped == np.where(exact > 0, np.minimum(exact, 1), 0)).all()
    assert not np.signbit(clamped).any()


def test_operand_signs_apply_absolute_first() -> None:
    a, b = crossed(2)
    x, y = a.view(np.float32), b.view(np.float32)
    got = run("FADD R0, -|R1|, -R2", R1=a, R2=b)[: a.size]
    with np.errstate(all="ignore"):
        want = -np.abs(x) - y
    assert (got == np.where(np.isnan(want), CANONICAL, want.view(np.uint32))).all()


@pytest.mark.parametrize("spreads", [False, True])
@pytest.mark.parametrize("smallest", [False, True])
def test_fmnmx(smallest: bool, spreads: bool) -> None:
    a, b = crossed(2)

    def choose(x: int, y: int) -> int:
        first, second = single(x), single(y)
        if math.isnan(first) or math.isnan(second):
            other = y if math.isnan(first) else x
            return CANONICAL if spreads or (math.isnan(first) and math.isnan(second)) else other
        key = (lambda item: (item[0], -(item[1] >> 31))) if smallest else (lambda item: (-item[0], item[1] >> 31))
        return min([(first, x), (second, y)], key=key)[1]

    name = "FMNMX.NAN" if spreads else "FMNMX"
    got = run(f"{name} R0, R1, R2, {'PT' if smallest else '!PT'}", R1=a, R2=b)
    chosen = run(f"{name} R0, R1, R2, P1", predicates={"P1": np.full(a.size, smallest)}, R1=a, R2=b)
    for index, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert got[index] == choose(x, y), (hex(x), hex(y))
    assert (got == chosen)[: a.size].all()


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "LT": lambda a, b: a < b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "NE": lambda a, b: a < b or a > b,
    "GE": lambda a, b: a >= b,
    "LTU": lambda a, b: not a >= b,
    "EQU": lambda a, b: not (a < b or a > b),
    "LEU": lambda a, b: not a > b,
    "GTU": lambda a, b: not a <= b,
    "NEU": lambda a, b: a != b,
    "GEU": lambda a, b: not a < b,
    "NUM": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "NAN": lambda a, b: math.isnan(a) or math.isnan(b),
}


@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_comparisons_of_singles_and_doubles(name: str) -> None:
    a, b = crossed(2, extra=20)
    want = [COMPARISONS[name](single(x), single(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert run(f"FSETP.{name}.AND P0, PT, R1, R2, PT", result="P0", R1=a, R2=b)[: a.size].tolist() == want
    selected = run(f"FSET.BF.{name}.AND R0, R1, R2, PT", R1=a, R2=b)[: a.size]
    assert (selected == np.where(want, 0x3F800000, 0)).all()
    with np.errstate(all="ignore"):
        doubles = [value.view(np.float32).astype(np.float64).view(np.uint64) for value in (a, b)]
    got = run(f"DSETP.{name}.OR P0, PT, R2, R4, !PT", result="P0", R2=doubles[0], R4=doubles[1])[: a.size]
    assert got.tolist() == want


def test_fsel_keeps_bits() -> None:
    a, b = crossed(2)
    mask = np.arange(a.size) % 3 == 0
    got = run("FSEL R0, R1, -R2, P1", predicates={"P1": mask}, R1=a, R2=b)[: a.size]
    assert (got == np.where(mask, a, b ^ np.uint32(1 << 31))).all()


def test_fchk_is_safe() -> None:
    """Where FCHK says that the fast path will do, the quotient and the reciprocal's Newton step stay normal."""
    a, b = crossed(2, extra=3000, spread=127)
    x, y = a.view(np.float32), b.view(np.float32)
    easy = ~division_is_special(x, y)
    assert 0.2 < easy[-6000:].mean() < 0.9
    with np.errstate(all="ignore"):
        quotient = np.abs(x[easy].astype(np.float64) / y[easy].astype(np.float64))
    assert ((quotient > 2.0**-126) & (quotient < 2.0**127)).all()


DOUBLES = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        5e-324,
        -5e-324,
        2.0**-1022,
        1e-300,
        1e300,
        1.7976931348623157e308,
        2.0**53,
        3.0,
        1e-160,
    ]
    + [2.0**-969, 2.0**-450, 2.0**451, 4e-310]
)


def doubles(count: int) -> list[np.ndarray]:
    axes = [axis.ravel() for axis in np.meshgrid(*[DOUBLES[: 18 if count < 3 else 13]] * count, indexing="ij")]
    random = np.random.default_rng(4)
    near = [np.ldexp(random.uniform(-2, 2, 500), random.integers(-30, 30, 500)) for _ in axes]
    return [np.concatenate(pair) for pair in zip(axes, near, strict=True)]


def round_fraction(exact: Fraction, mode: str) -> float:
    """To double by its definition: count units of the last place."""
    magnitude = abs(exact)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, -1022)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 52)
    whole, rest = divmod(magnitude, unit)
    up = {"RN": rest * 2 > unit or (rest * 2 == unit and whole % 2), "RZ": False}
    up |= {"RP": rest > 0 and exact > 0, "RM": rest > 0 and exact < 0}
    value = (whole + bool(up[mode])) * unit
    largest = Fraction(2) ** 1024 - Fraction(2) ** 971
    if value > largest:
        return math.copysign(math.inf if overflows(exact, mode) else float(largest), 1 if exact > 0 else -1)
    return math.copysign(float(value), 1 if exact > 0 else -1)


@pytest.mark.parametrize("mode", ["RN", "RZ", "RM", "RP"])
@pytest.mark.parametrize("operation", ["DADD", "DMUL", "DFMA"])
def test_double_arithmetic_rounds_once(operation: str, mode: str) -> None:
    count = 3 if operation == "DFMA" else 2
    values = doubles(count)
    suffix = "" if mode == "RN" else f".{mode}"
    sources = ", ".join(f"R{2 * index + 2}" for index in range(count))
    registers = {f"R{2 * index + 2}": value.view(np.uint64) for index, value in enumerate(values)}
    lanes = lanes_with(**registers)
    execute(f"{operation}{suffix} R0, {sources}", lanes)
    words = [lanes.registers[name].ravel().astype(np.uint64) for name in ("R0", "R1")]
    got = (words[0] | words[1] << np.uint64(32)).view(np.float64)
    for index, (a, b, *c) in enumerate(zip(*[value.tolist() for value in values], strict=True)):
        if operation == "DADD":
            exact = Fraction(a) + Fraction(b)
        else:
            exact = Fraction(a) * Fraction(b) + (Fraction(c[0]) if c else 0)
        if exact:
            assert got[index] == round_fraction(exact, mode), (operation, mode, a, b, c)
        else:
            assert got[index] == 0


def test_double_zero_signs() -> None:
    plus, minus = np.array([0.0]), np.array([-0.0])
    assert not np.signbit(fused_double(plus, plus, plus, "RM"))
    assert np.signbit(fused_double(plus, plus, minus, "RM"))
    assert not np.signbit(fused_double(plus, plus, minus, "RN"))
    one = np.array([1.0])
    assert np.signbit(fused_double(one, one, -one, "RM"))
    assert not np.signbit(fused_double(one, one, -one, "RP"))
    assert np.signbit(fused_double(minus, one, minus, "RN"))
    assert math.copysign(1, exact_fused(5e-324, -5e-324, 0.0, "RN")) < 0


def test_double_specials() -> None:
    infinity, nan, one = (np.array([value]) for value in (np.inf, np.nan, 1.0))
    with np.errstate(all="ignore"):
        assert fused_double(infinity, one, one)[0] == np.inf
        assert fused_double(one, one, -infinity)[0] == -np.inf
        assert np.isnan(fused_double(infinity, one, -infinity)[0])
        assert np.isnan(fused_double(nan, one, one)[0])
        assert fused_double(np.array([1e200]), np.array([1e200]), one)[0] == np.inf
        assert fused_double(np.array([1e200]), np.array([1e200]), -infinity)[0] == -np.inf


def test_dsetp_min_chooses_as_an_h200_does() -> None:
    """A number before a NaN, -0 before +0; the second result marks two NaNs (kernel dmin_plain of the questions)."""
    nan = math.nan
    a = np.array([1.0, 2.0, nan, 1.0, -0.0, 0.0, nan])
    b = np.array([2.0, 1.0, 1.0, nan, 0.0, -0.0, nan])
    lanes = lanes_with(R2=a.view(np.uint64), R4=b.view(np.uint64))
    execute("DSETP.MIN.AND P0, P1, R2, R4, PT", lanes)
    assert lanes.predicates["P0"].ravel()[:7].tolist() == [True, False, False, True, True, False, False]
    assert lanes.predicates["P1"].ravel()[:7].tolist() == [False] * 6 + [True]
