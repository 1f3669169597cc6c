"""Random straight-line programs: each expression is CUDA text and, at the same time, its value in numpy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Operation:
    """One operation: its CUDA text with places for its operands, and what numpy computes."""

    text: str
    compute: Callable[..., Array]
    arity: int


def unary(text: str, compute: Callable[..., Array]) -> Operation:
    return Operation(text, compute, 1)


def binary(text: str, compute: Callable[..., Array]) -> Operation:
    return Operation(text, compute, 2)


def ternary(text: str, compute: Callable[..., Array]) -> Operation:
    return Operation(text, compute, 3)


def _signed(value: Array) -> Array:
    return value.view(np.dtype(f"i{value.itemsize}"))


def _as_unsigned(value: Array) -> Array:
    return value.view(np.dtype(f"u{value.itemsize}"))


def _divide_signed(a: Array, b: Array) -> Array:
    """C's quotient: towards zero, by a divisor between 1 and 2^15."""
    x, y = _signed(a).astype(object), (_signed(b) & 0x7FFF | 1).astype(object)
    quotient = np.array(
        [abs(int(p)) // int(q) * (1 if p >= 0 else -1) for p, q in zip(x.ravel(), y.ravel(), strict=True)]
    )
    return quotient.astype(_signed(a).dtype).view(a.dtype).reshape(a.shape)


def _population(value: Array) -> Array:
    return np.array([int(x).bit_count() for x in value.ravel()], value.dtype)


def _leading_zeros(value: Array) -> Array:
    return np.array([value.itemsize * 8 - int(x).bit_length() for x in value.ravel()], value.dtype)


def _rotate(a: Array, b: Array) -> Array:
    count = b & np.uint32(31)
    return np.array(
        [(int(x) << int(n) | int(x) >> (32 - int(n))) & 0xFFFFFFFF for x, n in zip(a, count, strict=True)], np.uint32
    )


WORDS = [
    binary("({0} + {1})", lambda a, b: a + b),
    binary("({0} - {1})", lambda a, b: a - b),
    binary("({0} * {1})", lambda a, b: a * b),
    ternary("({0} * {1} + {2})", lambda a, b, c: a * b + c),
    binary("({0} & {1})", lambda a, b: a & b),
    binary("({0} ^ {1})", lambda a, b: a ^ b),
    ternary("(({0} & {1}) | (~{0} & {2}))", lambda a, b, c: (a & b) | (~a & c)),
    binary("({0} << ({1} & 31))", lambda a, b: a << (b & np.uint32(31))),
    binary("({0} >> ({1} & 31))", lambda a, b: a >> (b & np.uint32(31))),
    binary("(u32)((int){0} >> ({1} & 31))", lambda a, b: _as_unsigned(_signed(a) >> _signed(b & np.uint32(31)))),
    unary("({0} * 12u + 7u)", lambda a: a * np.uint32(12) + np.uint32(7)),
    binary("({0} + ({1} << 3))", lambda a, b: a + (b << np.uint32(3))),
    binary("__umulhi({0}, {1})", lambda a, b: ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32)),
    binary("(u32)min((int){0}, (int){1})", lambda a, b: _as_unsigned(np.minimum(_signed(a), _signed(b)))),
    binary("max({0}, {1})", np.maximum),
    binary("(u32)abs((int)({0} >> 1) - (int)({1} >> 1))",
           lambda a, b: _as_unsigned(np.abs(_signed(a >> np.uint32(1)) - _signed(b >> np.uint32(1))))),
    ternary("((int){0} < (int){1} ? {2} : {0})", lambda a, b, c: np.where(_signed(a) < _signed(b), c, a)),
    ternary("({0} >= {1} && {1} != {2} ? {1} : {2})", lambda a, b, c: np.where((a >= b) & (b != c), b, c)),
    unary("(u32)__popc({0})", _population),
    unary("(u32)__clz((int){0})", _leading_zeros),
    unary("__brev({0})", lambda a: np.array([int(f"{int(x):032b}"[::-1], 2) for x in a], np.uint32)),
    binary("__funnelshift_l({0}, {0}, {1})", _rotate),
    binary("__byte_perm({0}, {1}, 0x5263)",
           lambda a, b: np.stack([a.view(np.uint8)[3::4], b.view(np.uint8)[2::4], a.view(np.uint8)[2::4],
                                  b.view(np.uint8)[1::4]], axis=-1).view(np.uint32)[:, 0]),
    binary("({0} / ({1} | 1u))", lambda a, b: a // (b | np.uint32(1))),
    binary("({0} % ({1} | 1u))", lambda a, b: a % (b | np.uint32(1))),
    binary("(u32)((int){0} / ((int)({1} & 0x7fffu) | 1))", _divide_signed),
    unary("({0} / 7u)", lambda a: a // np.uint32(7)),
]  # fmt: skip

LONGS = [
    binary("({0} + {1})", lambda a, b: a + b),
    binary("({0} - {1})", lambda a, b: a - b),
    binary("({0} * {1})", lambda a, b: a * b),
    binary("({0} & ~{1})", lambda a, b: a & ~b),
    binary("({0} << ({1} & 63))", lambda a, b: a << (b & np.uint64(63))),
    binary("({0} >> ({1} & 63))", lambda a, b: a >> (b & np.uint64(63))),
    binary("(u64)((i64){0} >> ({1} & 63))", lambda a, b: _as_unsigned(_signed(a) >> _signed(b & np.uint64(63)))),
    ternary("((i64){0} < (i64){1} ? {2} : {0})", lambda a, b, c: np.where(_signed(a) < _signed(b), c, a)),
    ternary("({0} <= {1} ? {1} : {2})", lambda a, b, c: np.where(a <= b, b, c)),
    binary("({0} / ({1} >> 7 | 1))", lambda a, b: a // (b >> np.uint64(7) | np.uint64(1))),
    binary("({0} % ({1} >> 40 | 1))", lambda a, b: a % (b >> np.uint64(40) | np.uint64(1))),
    unary("(u64)__popcll({0})", _population),
    unary("(u64)__clzll((i64){0})", _leading_zeros),
    binary("__umul64hi({0}, {1})",
           lambda a, b: np.array([int(x) * int(y) >> 64 for x, y in zip(a, b, strict=True)], np.uint64)),
]  # fmt: skip


def _fused_single(a: Array, b: Array, c: Array) -> Array:
    """Through 64 bits of mantissa: two roundings differ from one about once in 2^40."""
    return (a.astype(np.longdouble) * b + c).astype(np.float32)


SINGLES = [
    binary("({0} + {1})", lambda a, b: a + b),
    binary("({0} - {1})", lambda a, b: a - b),
    binary("({0} * {1})", lambda a, b: a * b),
    ternary("fmaf({0}, {1}, {2})", _fused_single),
    binary("({0} / {1})", lambda a, b: a / b),
    unary("sqrtf(fabsf({0}))", lambda a: np.sqrt(np.abs(a))),
    binary("fminf({0}, {1})", np.fmin),
    binary("fmaxf({0}, -{1})", lambda a, b: np.fmax(a, -b)),
    ternary("({0} < {1} ? {2} : -{0})", lambda a, b, c: np.where(a < b, c, -a)),
    unary("(fabsf({0}) * 0.5f + 1.25f)", lambda a: np.abs(a) * np.float32(0.5) + np.float32(1.25)),
    unary("floorf({0})", np.floor),
    unary("rintf({0} * 3.0f)", lambda a: np.rint(a * np.float32(3))),
    unary("(1.0f / {0})", lambda a: np.float32(1) / a),
    unary("(float)(int)fminf(fmaxf({0}, -1e9f), 1e9f)",
          lambda a: np.trunc(np.clip(np.fmax(a, np.float32(-1e9)), -1e9, 1e9)).astype(np.int64).astype(np.float32)),
    unary("(float)(double){0}", lambda a: a),
]  # fmt: skip

DOUBLES = [
    binary("({0} + {1})", lambda a, b: a + b),
    binary("({0} - {1})", lambda a, b: a - b),
    binary("({0} * {1})", lambda a, b: a * b),
    binary("({0} / {1})", lambda a, b: a / b),
    unary("sqrt(fabs({0}))", lambda a: np.sqrt(np.abs(a))),
    ternary("({0} < {1} ? {2} : -{0})", lambda a, b, c: np.where(a < b, c, -a)),
    unary("floor({0})", np.floor),
    binary("fmax({0}, {1})", np.fmax),
    unary("(double)(float){0}", lambda a: a.astype(np.float32).astype(np.float64)),
    unary("(double)(i64)fmin(fmax({0}, -1e15), 1e15)",
          lambda a: np.trunc(np.fmin(np.fmax(a, -1e15), 1e15)).astype(np.int64).astype(np.float64)),
]  # fmt: skip

HALVES = [
    binary("__hadd2({0}, {1})", lambda a, b: (a.astype(np.float32) + b.astype(np.float32)).astype(np.float16)),
    binary("__hsub2({0}, {1})", lambda a, b: (a.astype(np.float32) - b.astype(np.float32)).astype(np.float16)),
    binary("__hmul2({0}, {1})", lambda a, b: (a.astype(np.float32) * b.astype(np.float32)).astype(np.float16)),
    ternary("__hfma2({0}, {1}, {2})",
            lambda a, b, c: (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float16)),
    unary("__hneg2({0})", lambda a: -a),
    unary("__habs2({0})", np.abs),
    binary("__hmin2({0}, {1})", np.fmin),
    binary("__hgt2({0}, {1})", lambda a, b: (a > b).astype(np.float16)),
    unary("__lowhigh2highlow({0})", lambda a: a.reshape(-1, 2)[:, ::-1].ravel()),
    unary("__low2half2({0})", lambda a: np.repeat(a.reshape(-1, 2)[:, 0], 2)),
]  # fmt: skip

#: Family -> (C type, operations, dtype of an array of inputs).
FAMILIES: dict[str, tuple[str, list[Operation], Any]] = {
    "word": ("u32", WORDS, np.uint32),
    "long": ("u64", LONGS, np.uint64),
    "single": ("float", SINGLES, np.float32),
    "double": ("double", DOUBLES, np.float64),
    "half": ("half2", HALVES, np.float16),
}


@dataclass(frozen=True)
class Program:
    """A kernel of three inputs and one output, as text and as a function of arrays."""

    name: str
    family: str
    text: str
    steps: tuple[tuple[Operation, tuple[int, ...]], ...]

    def compute(self, inputs: tuple[Array, ...]) -> Array:
        values = list(inputs)
        with np.errstate(all="ignore"):
            for operation, operands in self.steps:
                values.append(operation.compute(*(values[index] for index in operands)))
        return values[-1]


def make_program(family: str, seed: int, length: int) -> Program:
    """A chain in which each step uses the one before and any earlier values."""
    kind, operations, _ = FAMILIES[family]
    choose = random.Random(f"{family} {seed}")
    lines, steps = [], []
    for number in range(3, 3 + length):
        operation = choose.choice(operations)
        operands = (number - 1, *(choose.randrange(number) for _ in range(operation.arity - 1)))
        operands = tuple(choose.sample(operands, len(operands)))
        expression = operation.text.format(*(f"v{index}" for index in operands))
        lines.append(f"    {kind} v{number} = {expression};")
        steps.append((operation, operands))
    name = f"{family}_{seed}"
    body = "\n".join(lines)
    text = (
        f'extern "C" __global__ void {name}({kind} *out, const {kind} *a, const {kind} *b, const {kind} *c, int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
        f"    {kind} v0 = a[i], v1 = b[i], v2 = c[i];\n{body}\n    out[i] = v{2 + length};\n}}\n"
    )
    return Program(name, family, text, tuple(steps))


PRELUDE = """#include <cuda_fp16.h>
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
"""
