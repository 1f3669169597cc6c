"""Tensor instructions: layouts against the PTX ISA's own formulas, sums within the model's bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gpuprof.emulator.semantics.accumulate import ADDERS, tensor_sum
from tests.emulator.lanes import SmallLanes, execute

RANDOM = np.random.default_rng(6)


def pack(values: np.ndarray, kind: str) -> int:
    """Elements of one register, the first lowest, as its 32 bits."""
    if kind == "f16":
        return int(values.astype(np.float16).view(np.uint32)[0])
    if kind == "bf16":
        return int((values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16).view(np.uint32)[0])
    if kind == "tf32":
        return int(values.astype(np.float32).view(np.uint32)[0])
    if kind in ("s8", "u8"):
        return int(values.astype(np.int64).astype(np.uint8).view(np.uint32)[0])
    return sum((int(value) & 15) << 4 * index for index, value in enumerate(values))


def lane_registers(place: object, count: int, matrix: np.ndarray, kind: str, elements: int) -> list[np.ndarray]:
    """Registers from a formula: place(group, thread, register, element) -> (row, column) of the matrix."""
    registers = []
    for q in range(count):
        words = [
            pack(np.array([matrix[place(lane // 4, lane % 4, q, e)] for e in range(elements)]), kind)  # type: ignore[operator]
            for lane in range(32)
        ]
        registers.append(np.array(words, np.uint32).reshape(1, 1, 32))
    return registers


def load(lanes: SmallLanes, first: int, registers: list[np.ndarray]) -> None:
    for index, value in enumerate(registers):
        lanes.registers[f"R{first + index}"] = value


CASES = [  # text, kind, K, elements per register, bits of an element's group along K
    ("HMMA.16816.F32", "f16", 16, 2),
    ("HMMA.16816.F32.BF16", "bf16", 16, 2),
    ("HMMA.1688.F32", "f16", 8, 2),
    ("HMMA.1688.F32.TF32", "tf32", 8, 1),
    ("HMMA.1684.F32.TF32", "tf32", 4, 1),
    ("IMMA.16816.S8.S8", "s8", 16, 4),
    ("IMMA.16832.S8.S8", "s8", 32, 4),
    ("IMMA.16832.U8.U8", "u8", 32, 4),
    ("IMMA.16864.S4.S4", "s4", 64, 8),
]


@pytest.mark.parametrize(("name", "kind", "depth", "elements"), CASES)
def test_products_of_small_integers_are_exact(name: str, kind: str, depth: int, elements: int) -> None:
    low, high = (0, 5) if kind == "u8" else (-4, 4)
    a, b = RANDOM.integers(low, high, (16, depth)), RANDOM.integers(low, high, (depth, 8))
    c = RANDOM.integers(-50, 50, (16, 8))
    lanes = SmallLanes(1, 1)
    span = 4 * elements  # columns that one register covers over the four threads of a group
    load(lanes, 4, lane_registers(lambda g, t, q, e: (g + 8 * (q & 1), elements * t + span * (q >> 1) + e),
                                  2 * depth // span, a, kind, elements))  # fmt: skip
    load(
        lanes, 12, lane_registers(lambda g, t, q, e: (elements * t + span * q + e, g), depth // span, b, kind, elements)
    )
    addend = c.astype(np.int32) if name.startswith("I") else c.astype(np.float32).view(np.int32)
    for q in range(4):
        words = [addend[lane // 4 + 8 * (q >> 1), 2 * (lane % 4) + (q & 1)] for lane in range(32)]
        lanes.registers[f"R{16 + q}"] = np.array(words, np.int32).view(np.uint32).reshape(1, 1, 32)
    left, right = ("R4.ROW", "R12.COL") if name.startswith("I") else ("R4", "R12")
    execute(f"{name} R20, {left}, {right}, R16", lanes)
    want = a @ b + c
    for q in range(4):
        got = lanes.registers[f"R{20 + q}"].ravel()
        numbers = got.view(np.int32) if name.startswith("I") else got.view(np.float32)
        for lane in range(32):
            assert numbers[lane] == want[lane // 4 + 8 * (q >> 1), 2 * (lane % 4) + (q & 1)]


def test_hmma_with_half_accumulator() -> None:
    a, b, c = RANDOM.integers(-3, 3, (16, 16)), RANDOM.integers(-3, 3, (16, 8)), RANDOM.integers(-9, 9, (16, 8))
    lanes = SmallLanes(1, 1)
    load(lanes, 4, lane_registers(lambda g, t, q, e: (g + 8 * (q & 1), 2 * t + 8 * (q >> 1) + e), 4, a, "f16", 2))
    load(lanes, 8, lane_registers(lambda g, t, q, e: (2 * t + 8 * q + e, g), 2, b, "f16", 2))
    load(lanes, 10, lane_registers(lambda g, t, q, e: (g + 8 * q, 2 * t + e), 2, c, "f16", 2))
    execute("HMMA.16816.F16 R12, R4, R8, R10", lanes)
    want = a @ b + c
    for q in range(2):
        halves = lanes.registers[f"R{12 + q}"].view(np.float16).reshape(32, 2)
        for lane in range(32):
            assert halves[lane].tolist() == want[lane // 4 + 8 * q, 2 * (lane % 4) : 2 * (lane % 4) + 2].tolist()


def test_imma_saturates_only_when_told() -> None:
    lanes = SmallLanes(1, 1)
    full = np.full((1, 1, 32), 0x7F7F7F7F, np.uint32)
    load(lanes, 4, [full] * 4)
    load(lanes, 8, [full] * 2)
    load(lanes, 12, [np.full((1, 1, 32), 0x7FFFFFFF, np.uint32)] * 4)
    execute("IMMA.16832.S8.S8 R20, R4.ROW, R8.COL, R12", lanes)
    assert lanes.registers["R20"][0, 0, 0] == (0x7FFFFFFF + 32 * 127 * 127) % 2**32
    execute("IMMA.16832.S8.S8.SAT R20, R4.ROW, R8.COL, R12", lanes)
    assert lanes.registers["R20"][0, 0, 0] == 0x7FFFFFFF


@pytest.mark.parametrize(("name", "rows", "depth"), [("BMMA.88128.XOR.POPC", 8, 4), ("BMMA.168256.AND.POPC", 16, 8)])
def test_one_bit_products(name: str, rows: int, depth: int) -> None:
    a, b = (RANDOM.integers(0, 2**32, (count, depth), np.uint32) for count in (rows, 8))
    lanes = SmallLanes(1, 1)
    halves = rows // 8
    for q in range(rows * depth // 32):
        column, half = divmod(q, halves)
        words = [a[lane // 4 + 8 * half, lane % 4 + 4 * column] for lane in range(32)]
        lanes.registers[f"R{4 + q}"] = np.array(words, np.uint32).reshape(1, 1, 32)
    for q in range(depth // 4):
        words = [b[lane // 4, lane % 4 + 4 * q] for lane in range(32)]
        lanes.registers[f"R{8 + q}"] = np.array(words, np.uint32).reshape(1, 1, 32)
    execute(f"{name} R12, R4.ROW, R8.COL, RZ", lanes)
    combine = (lambda x, y: x ^ y) if "XOR" in name else (lambda x, y: x & y)
    for lane in range(32):
        for q in range(rows // 4):
            row, column = lane // 4 + 8 * (q >> 1), 2 * (lane % 4) + (q & 1)
            want = sum(int(combine(x, y)).bit_count() for x, y in zip(a[row].tolist(), b[column].tolist(), strict=True))
            assert lanes.registers[f"R{12 + q}"][0, 0, lane] == want


def fused(a: float, b: float, c: float) -> float:
    """a * b + c, rounded once to nearest even: Python's quotient of two integers is."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return exact.numerator / exact.denominator


def test_dmma() -> None:
    """Bit by bit the chain of fused multiply-adds along K; the scales make its order and single rounding matter."""
    a, b, c = (RANDOM.normal(size=shape) * 4.0 ** RANDOM.integers(-6, 7, shape) for shape in ((8, 4), (4, 8), (8, 8)))
    lanes = SmallLanes(1, 1)
    left = np.array([a[lane // 4, lane % 4] for lane in range(32)]).view(np.uint32).reshape(32, 2)
    right = np.array([b[lane % 4, lane // 4] for lane in range(32)]).view(np.uint32).reshape(32, 2)
    addend = np.array([c[lane // 4, 2 * (lane % 4) + e] for lane in range(32) for e in (0, 1)]).view(np.uint32)
    for first, words in ((0, left), (2, right), (4, addend.reshape(32, 4))):
        for step in range(words.shape[1]):
            lanes.registers[f"R{first + step}"] = words[:, step].reshape(1, 1, 32).copy()
    execute("DMMA.884 R8, R0, R2, R4", lanes)
    words = np.stack([lanes.registers[f"R{8 + step}"].ravel() for step in range(4)], axis=-1)
    got = np.ascontiguousarray(words).view(np.float64)
    reversed_order = 0
    for lane in range(32):
        for e in (0, 1):
            row, column = lane // 4, 2 * (lane % 4) + e
            chain = backwards = float(c[row, column])
            for k in range(4):
                chain = fused(float(a[row, k]), float(b[k, column]), chain)
                backwards = fused(float(a[row, 3 - k]), float(b[3 - k, column]), backwards)
            assert got[lane, e] == chain
            reversed_order += backwards != chain
    assert reversed_order  # another order would be seen


@pytest.mark.parametrize("arch", [75, 80, 89, 90])
def test_sum_is_within_the_stated_bound(arch: int) -> None:
    """Per block: below (terms + 2) units of the last kept place of the largest term, plus one cut to float32."""
    a = RANDOM.normal(size=(20, 16, 16)).astype(np.float16).astype(np.float32)
    b = RANDOM.normal(size=(20, 8, 16)).astype(np.float16).astype(np.float32)
    c = RANDOM.normal(size=(20, 16, 8)).astype(np.float32)
    got = tensor_sum(a, b, c, adder=ADDERS[arch], narrow=False)
    products = a[:, :, None].astype(np.float64) * b[:, None]
    exact = products.sum(-1) + c
    largest = np.abs(products).sum(-1) + np.abs(c)
    adder = ADDERS[arch]
    blocks = 16 // adder.block
    bound = largest * (blocks * (adder.block + 2) * 2.0**-adder.bits + blocks * 2.0**-23)
    assert (np.abs(got - exact) <= bound).all()
    assert (got.astype(np.float32) == got).all()
    assert np.abs(got - exact).max() > 0  # it does cut
