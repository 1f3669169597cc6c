"""Integer, shift, logic and predicate instructions against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.lanes import execute, lanes_with, run

MASK = 0xFFFFFFFF
EDGES = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x12345678, 0xA5C3960F]


def crossed(count: int, extra: int = 64) -> list[np.ndarray]:
    """Every combination of the edges, then random words."""
    edges = EDGES if count < 3 else EDGES[:2] + EDGES[4:10]
    axes = [axis.ravel() for axis in np.meshgrid(*[np.array(edges, np.uint32)] * count, indexing="ij")]
    random = np.random.default_rng(5)
    return [np.concatenate([axis, random.integers(0, 2**32, extra, np.uint32)]) for axis in axes]


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def check(text: str, expect: Callable[..., int], count: int, result: str = "R0", **predicates: bool) -> None:
    """The instruction's result for every combination equals ``expect(a, b, ...)``."""
    values = crossed(count)
    size = values[0].size
    masks = {name: np.full(size, value) for name, value in predicates.items()}
    registers = {f"R{index + 1}": value for index, value in enumerate(values)}
    got = run(text, result=result, predicates=masks, **registers)[:size]
    for index, operands in enumerate(zip(*[value.tolist() for value in values], strict=True)):
        wanted = expect(*operands)
        wanted = bool(wanted) if result.startswith("P") else wanted & MASK
        assert got[index] == wanted, (text, [hex(x) for x in operands], hex(int(got[index])), wanted)


def carries(*terms: int) -> int:
    return sum(terms) >> 32


@pytest.mark.parametrize(
    ("text", "expect"),
    [
        ("IADD3 R0, R1, R2, R3", lambda a, b, c: a + b + c),
        ("IADD3 R0, -R1, R2, -R3", lambda a, b, c: b - a - c),
        ("IADD3 R0, R1, -0x40, RZ", lambda a, b, c: a - 64),
        ("VIADD R0, R1, 0xffffffc0", lambda a, b, c: a - 64),
        ("IMAD R0, R1, R2, R3", lambda a, b, c: a * b + c),
        ("IMAD R0, -R1, R2, R3", lambda a, b, c: c - a * b),
        ("IMAD R0, R1, R2, RZ", lambda a, b, c: a * b),
        ("IMAD.MOV.U32 R0, RZ, RZ, R3", lambda a, b, c: c),
        ("IMAD.MOV R0, RZ, RZ, -R3", lambda a, b, c: -c),
        ("IMAD.SHL.U32 R0, R1, 0x10, RZ", lambda a, b, c: a << 4),
        ("IMAD.IADD R0, R1, 0x1, R3", lambda a, b, c: a + c),
        ("IMAD.HI.U32 R0, R1, R2, RZ", lambda a, b, c: a * b >> 32),
        ("IMAD.HI R0, R1, R2, RZ", lambda a, b, c: signed(a) * signed(b) >> 32),
        ("LEA R0, R1, R2, 0x3", lambda a, b, c: (a << 3) + b),
        ("LEA R0, -R1, R2, 0x3", lambda a, b, c: b - (a << 3)),
        ("LEA.HI R0, R1, R2, R3, 0x5", lambda a, b, c: ((c << 32 | a) << 5 >> 32) + b),
        ("LEA.HI R0, R1, R2, RZ, 0x1b", lambda a, b, c: (a << 27 >> 32) + b),
        ("LEA.HI.SX32 R0, R1, R2, 0xc", lambda a, b, c: (signed(a) << 12 >> 32) + b),
        ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", lambda a, b, c: a ^ b ^ c),
        ("LOP3.LUT R0, R1, R2, R3, 0xb8, !PT", lambda a, b, c: (b & c) | (a & ~b)),
        ("IABS R0, R1", lambda a, b, c: abs(signed(a))),
        ("IMNMX R0, R1, R2, PT", lambda a, b, c: min(signed(a), signed(b))),
        ("IMNMX.U32 R0, R1, R2, !PT", lambda a, b, c: max(a, b)),
        ("VIMNMX3 R0, R1, R2, R3, PT", lambda a, b, c: min(signed(a), signed(b), signed(c))),
        ("VIADDMNMX R0, R1, R2, R3, !PT", lambda a, b, c: max(signed(a + b), signed(c))),
        ("VIADDMNMX.U32 R0, R1, -R2, R3, PT", lambda a, b, c: min(a - b & MASK, c)),
        ("POPC R0, R1", lambda a, b, c: a.bit_count()),
        ("POPC R0, ~R1", lambda a, b, c: 32 - a.bit_count()),
        ("BREV R0, R1", lambda a, b, c: int(f"{a:032b}"[::-1], 2)),
        ("FLO.U32 R0, R1", lambda a, b, c: a.bit_length() - 1),
        ("FLO R0, R1", lambda a, b, c: (a if a < 1 << 31 else ~a & MASK).bit_length() - 1),
        ("FLO.U32.SH R0, R1", lambda a, b, c: 32 - a.bit_length() if a else -1),
        ("SEL R0, R1, R2, P1", lambda a, b, c: a),
        ("SEL R0, R1, R2, !P1", lambda a, b, c: b),
        ("MOV R0, 0xf149f2ca", lambda a, b, c: 0xF149F2CA),
        ("VABSDIFF R0, R1, R2, 0x5", lambda a, b, c: abs(signed(a) - signed(b)) + 5),
        ("SGXT.U32 R0, R1, 0x7", lambda a, b, c: a & 127),
        ("SGXT R0, R1, 0xd", lambda a, b, c: signed(a, 13)),
        ("SGXT R0, R1, R2", lambda a, b, c: signed(a, b) if 0 < b < 32 else a if b else 0),
        ("BMSK R0, R1, R2", lambda a, b, c: ((1 << min(b, 32)) - 1) << min(a, 32)),
        ("BMSK.W R0, R1, R2", lambda a, b, c: ((1 << (b & 31)) - 1) << (a & 31)),
    ],
)
def test_word_result(text: str, expect: Callable[..., int]) -> None:
    check(text, expect, 3, P1=True)


@pytest.mark.parametrize(
    ("text", "result", "expect"),
    [
        ("IADD3 R0, P0, P2, R1, R2, R3", "P0", lambda a, b, c: carries(a, b, c) >= 1),
        ("IADD3 R0, P0, P2, R1, R2, R3", "P2", lambda a, b, c: carries(a, b, c) >= 2),
        ("IADD3 R0, P0, R1, -R2, RZ", "P0", lambda a, b, c: a >= b),  # no borrow, also for b = 0
        ("IADD3.X R0, P0, R1, ~R2, RZ, P1, !PT", "P0", lambda a, b, c: carries(a, ~b & MASK, 1)),
        ("IADD3.X R0, R1, R2, R3, P1, P1", "R0", lambda a, b, c: a + b + c + 2),
        ("IMAD.X R0, R1, R2, ~R3, P1", "R0", lambda a, b, c: a * b + ~c + 1),
        ("LEA R0, P0, R1, R2, 0x2", "P0", lambda a, b, c: carries(a << 2 & MASK, b)),
        ("LEA R0, P0, -R1, R2, 0x2", "P0", lambda a, b, c: b >= (a << 2 & MASK)),
        ("LEA.HI.X R0, R1, R2, R3, 0x1, P1", "R0", lambda a, b, c: ((c << 32 | a) << 1 >> 32) + b + 1),
        ("LEA.HI.X.SX32 R0, R1, R2, 0x1, P1", "R0", lambda a, b, c: (signed(a) << 1 >> 32) + b + 1),
        ("LEA.HI.X R0, P0, ~R1, R2, R3, 0x1, P1", "P0", lambda a, b, c: carries(~(c << 1 | a >> 31) & MASK, b, 1)),
        ("ISETP.GE.AND P0, PT, R1, R2, PT", "P0", lambda a, b, c: signed(a) >= signed(b)),
        ("ISETP.LT.U32.OR P0, PT, R1, R2, !P1", "P0", lambda a, b, c: a < b),
        ("ISETP.NE.U32.AND P0, P2, R1, R2, P1", "P2", lambda a, b, c: a == b),
        ("ISETP.EQ.XOR P0, PT, R1, R2, P1", "P0", lambda a, b, c: (a == b) ^ True),
        ("ISETP.GT.AND.EX P0, PT, R1, R2, PT, P1", "P0", lambda a, b, c: signed(a) >= signed(b)),
        ("ISETP.LT.U32.AND.EX P0, PT, R1, R2, PT, !P1", "P0", lambda a, b, c: a < b),
        ("LOP3.LUT P0, RZ, R1, R2, RZ, 0xc0, !PT", "P0", lambda a, b, c: a & b),
        ("LOP3.LUT P0, RZ, R1, R2, RZ, 0xc0, P1", "P0", lambda a, b, c: 1),
        ("FLO.U32 R0, P0, R1", "P0", lambda a, b, c: a),
    ],
)
def test_carries_and_predicates(text: str, result: str, expect: Callable[..., int]) -> None:
    check(text, expect, 3, result, P1=True)


@pytest.mark.parametrize("lut", [*range(0, 256, 7), 0x3C, 0xC0, 0xF8, 0xFC, 0xFE, 0xFF, 0xE8, 0xCA, 0xD8])
def test_lop3_is_its_table(lut: int) -> None:
    def table(a: int, b: int, c: int) -> int:
        bits = [lut >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1 for i in range(32)]
        return sum(bit << i for i, bit in enumerate(bits))

    values = [np.array(column, np.uint32) for column in ([0xF0F0F0F0], [0xCCCCCCCC], [0xAAAAAAAA])]
    registers = dict(zip(("R1", "R2", "R3"), values, strict=True))
    got = run(f"LOP3.LUT R0, R1, R2, R3, {lut:#x}, !PT", **registers)[0]
    assert got == table(0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA)
    folded = run(f"LOP3.LUT R0, R1, RZ, R3, {lut:#x}, !PT", **registers)[0]
    assert folded == table(0xF0F0F0F0, 0, 0xAAAAAAAA)


@pytest.mark.parametrize("lut", [0x80, 0x8, 0x96, 0x40, 0xF8, 0x7F, 0x0, 0xFF, 0x2A])
def test_plop3_is_its_table(lut: int) -> None:
    index = np.arange(8)
    masks = {"P1": index & 4 != 0, "P2": index & 2 != 0, "P3": index & 1 != 0}
    lanes = lanes_with(predicates=masks, R1=np.zeros(32, np.uint32))
    execute(f"PLOP3.LUT P4, P5, P1, P2, P3, {lut:#x}, 0x96", lanes)
    wanted = [bool(lut >> i & 1) for i in index]
    assert np.broadcast_to(lanes.predicates["P4"], (1, 1, 32)).ravel()[:8].tolist() == wanted
    assert lanes.predicates["P5"].ravel()[:8].tolist() == [i.bit_count() % 2 == 1 for i in range(8)]


def funnel(low: int, count: int, high: int, word: str) -> int:
    """SHF by its definition on Python integers."""
    left, wraps, keep_high = ".L" in word, ".W" in word, word.endswith(".HI")
    width = 64 if "64" in word else 32
    count = count & width - 1 if wraps else min(count, width)
    value = high << 32 | low
    if ".S" in word:
        value = signed(value, 64)
    value = value << count if left else value >> count
    return (value >> 32 if keep_high else value) & MASK


@pytest.mark.parametrize("high", ["", ".HI"])
@pytest.mark.parametrize(
    "form", [f"SHF.{way}{wrap}.{kind}" for way in "LR" for wrap in ("", ".W") for kind in ("U32", "S32", "U64", "S64")]
)
def test_shf(form: str, high: str) -> None:
    check(f"{form}{high} R0, R1, R2, R3", lambda a, b, c: funnel(a, b, c, form + high), 3)
    for constant in (0, 1, 5, 31, 32, 40):
        text = f"{form}{high} R0, R1, {constant:#x}, R3"
        check(text, lambda a, b, c, n=constant: funnel(a, n, c, form + high), 3)


@pytest.mark.parametrize("form", ["WIDE", "WIDE.U32", "HI", "HI.U32"])
def test_imad_wide_adds_a_pair(form: str) -> None:
    a, b = crossed(2)
    random = np.random.default_rng(8)
    c = random.integers(0, 2**64, a.size, np.uint64)
    lanes = lanes_with(R4=a, R5=b, R6=c)
    execute(f"IMAD.{form} R0, P0, R4, R5, R6", lanes)
    for index in range(a.size):
        x, y = int(a[index]), int(b[index])
        product = x * y if "U32" in form else signed(x) * signed(y)
        total = (product & (1 << 64) - 1) + int(c[index])
        low, high = total & MASK, total >> 32 & MASK
        assert lanes.registers["R0"].ravel()[index] == (high if "HI" in form else low)
        if "WIDE" in form:
            assert lanes.registers["R1"].ravel()[index] == high
        assert lanes.predicates["P0"].ravel()[index] == bool(total >> 64)


def permuted(a: int, selector: int, c: int) -> int:
    pair = c << 32 | a
    result = 0
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = pair >> 8 * (nibble & 7) & 255
        result |= ((255 if byte >> 7 else 0) if nibble & 8 else byte) << 8 * k
    return result


@pytest.mark.parametrize(
    "selector", [0x7604, 0x3210, 0x5410, 0x7732, 0x4321, 0x9999, 0xBA98, 0x0, 0xFEDC, 0x0123, 0x7610]
)
def test_prmt_constant_selector(selector: int) -> None:
    check(f"PRMT R0, R1, {selector:#x}, R2", lambda a, b: permuted(a, selector, b), 2)


def test_prmt_register_selector() -> None:
    check("PRMT R0, R1, R2, R3", permuted, 3)


@pytest.mark.parametrize(
    ("mode", "bytes_of"),
    [  # PTX ISA, prmt: the source byte of result byte k for selector value n
        ("F4E", lambda n, k: n + k),
        ("B4E", lambda n, k: (n - k) % 8),
        ("RC8", lambda n, k: n),
        ("ECL", lambda n, k: max(n, k)),
        ("ECR", lambda n, k: min(n, k)),
        ("RC16", lambda n, k: (n & 1) * 2 + k % 2),
    ],
)
def test_prmt_modes(mode: str, bytes_of: Callable[[int, int], int]) -> None:
    def expect(a: int, b: int, c: int) -> int:
        pair = c << 32 | a
        return sum((pair >> 8 * bytes_of(b & 3, k) & 255) << 8 * k for k in range(4))

    check(f"PRMT.{mode} R0, R1, R2, R3", expect, 3)
    check(f"PRMT.{mode} R0, R1, 0x2, R3", lambda a, b, c: expect(a, 2, c), 3)


def bytes_signed(value: int, is_signed: bool) -> list[int]:
    return [signed(value >> 8 * k, 8) if is_signed else value >> 8 * k & 255 for k in range(4)]


def test_byte_instructions() -> None:
    def dot(a: int, b: int, c: int) -> int:
        return c + sum(x * y for x, y in zip(bytes_signed(a, True), bytes_signed(b, False), strict=True))

    def distance(a: int, b: int, c: int) -> int:
        return c + sum(abs(x - y) for x, y in zip(bytes_signed(a, False), bytes_signed(b, False), strict=True))

    def smaller(a: int, b: int, c: int) -> int:
        return sum(min(a >> 8 * k & 255, b >> 8 * k & 255) << 8 * k for k in range(4))

    def halves(a: int, b: int, c: int) -> int:
        return c + sum(signed(a >> 16 * k, 16) * signed(b >> 8 * k + 16, 8) for k in range(2))

    check("IDP.4A.S8.U8 R0, R1, R2, R3", dot, 3)
    check("IDP.2A.HI.S16.S8 R0, R1, R2, R3", halves, 3)
    check("VABSDIFF4.U8.ACC R0, R1, R2, R3", distance, 3)
    check("VIMNMX.U8x4 R0, R1, R2, PT", smaller, 3)
    check(
        "VIADD.U8x4 R0, R1, -R2", lambda a, b, c: sum(((a >> 8 * k) - (b >> 8 * k) & 255) << 8 * k for k in range(4)), 3
    )


def test_predicates_to_register_and_back() -> None:
    index = np.arange(128)
    masks = {f"P{i}": (index >> i & 1).astype(bool) for i in range(7)}
    lanes = lanes_with(predicates=masks, R1=np.full(128, 0xABCDEFFF, np.uint32))
    execute("P2R R2, PR, R1, 0x5a", lanes)
    assert (lanes.registers["R2"].ravel() == ((0xABCDEFFF & ~0x5A) | (index & 0x5A))).all()
    execute("P2R.B1 R3, PR, R1, 0x7f", lanes)
    assert (lanes.registers["R3"].ravel() == ((0xABCDEFFF & ~0x7F00) | (index << 8))).all()
    cleared = lanes_with(predicates={name: np.zeros(128, bool) for name in masks}, R3=lanes.registers["R3"].ravel())
    execute("R2P PR, R3.B1, 0x7f", cleared)
    for i in range(7):
        assert (cleared.predicates[f"P{i}"].ravel() == masks[f"P{i}"]).all()


def test_results_may_overwrite_sources() -> None:
    lanes = lanes_with(R1=np.array([3], np.uint32), predicates={"P0": np.array([True])})
    execute("IADD3.X R1, P0, R1, 0xffffffff, RZ, P0, !PT", lanes)
    assert lanes.registers["R1"].ravel()[0] == 3
    assert lanes.predicates["P0"].ravel()[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, (1 << 64) - 1)] * 2), min_size=1, max_size=32))
def test_64_bit_subtraction_and_comparison_by_halves(pairs: list[tuple[int, int]]) -> None:
    """The sequence that compilers emit for a - b and a < b on 64-bit integers."""
    a, b = (np.array(column, np.uint64) for column in zip(*pairs, strict=True))
    lanes = lanes_with(R2=a, R4=b)
    execute("IADD3 R6, P0, R2, -R4, RZ", lanes)
    execute("IADD3.X R7, R3, ~R5, RZ, P0, !PT", lanes)
    execute("ISETP.LT.U32.AND P1, PT, R2, R4, PT", lanes)
    execute("ISETP.LT.AND.EX P2, PT, R3, R5, PT, P1", lanes)
    for index, (x, y) in enumerate(pairs):
        got = int(lanes.registers["R6"].ravel()[index]) | int(lanes.registers["R7"].ravel()[index]) << 32
        assert got == (x - y) % (1 << 64)
        assert lanes.predicates["P2"].ravel()[index] == (signed(x, 64) < signed(y, 64))
