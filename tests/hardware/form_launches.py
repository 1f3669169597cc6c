"""The launches of ``forms/``: divergent control flow, partial warps, tensor special values, kinds of public kernels.

Plain data with nothing but numpy, as ``recorded_launches`` is. ``record_forms.py`` records them on a GPU,
``test_recorded_forms.py`` replays them on the emulator.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

try:
    from tests.hardware.recorded_launches import Array, RecordedLaunch, filled, i32, source, target
except ImportError:  # on the recording machine this folder is the path
    from recorded_launches import (  # type: ignore[import-not-found,no-redef]
        Array,
        RecordedLaunch,
        filled,
        i32,
        source,
        target,
    )

FOLDER = Path(__file__).resolve().parent / "forms"
FLOW, TRACE, COLLECTIVES, KINDS, TENSOR = "flow", "trace", "collectives", "kinds", "tensor"
#: Words of one thread's trace: 256 pairs of a point and a clock.
TRACE_WORDS = 512


def kernels_in(name: str, macro: str = "KERNEL") -> list[str]:
    """The names of ``MACRO(name)`` at the start of a line."""
    return re.findall(rf"^{macro}\((\w+)", (FOLDER / name).read_text(), re.MULTILINE)


def _flow() -> list[RecordedLaunch]:
    """Every kernel with one warp, twice, and with two blocks of three warps."""
    launches = []
    for number, (grid, block, seed) in enumerate(((1, 32, 1), (1, 32, 2), (2, 96, 3))):
        for kernel in kernels_in("flow.cu"):
            size = grid * block
            arguments = (
                i32(size),
                source("int32", max(size, 32), f"hash 0 256 {seed}"),
                target("int32", size, "const 0"),
            )
            unused = Array("int32", 4, "const 0")
            launches.append(
                RecordedLaunch(f"{kernel} {number}", FLOW, "flow.cu", kernel, (grid,), (block,), (*arguments, unused))
            )
    return launches


def _traces() -> list[RecordedLaunch]:
    return [
        replace(
            launch,
            folder=TRACE,
            args=(*launch.args[:3], target("int32", launch.block[0] * TRACE_WORDS, "const 0")),
            flags=("-DTRACE",),
        )
        for launch in _flow()
        if launch.grid == (1,)
    ]


def _collectives() -> list[RecordedLaunch]:
    text = (FOLDER / "collectives.cu").read_text()
    names = [name for name in kernels_in("collectives.cu") if name]
    for stem in re.findall(r"^REDUCTION\((\w+),", text, re.MULTILINE):
        names += [f"{stem}_{part}" for part in ("halves", "sides", "some", "groups")]
    for stem in re.findall(r"^TILE\((\w+),", text, re.MULTILINE):
        names += [f"{stem}_{part}" for part in ("reduce", "some", "scan")]
    arguments = (i32(128), source("int32", 128, "hash 0 256 5"), target("int32", 128, "const 0"))
    return [RecordedLaunch(name, COLLECTIVES, "collectives.cu", name, (2,), (64,), arguments) for name in names]


#: Kernels of ``kinds.cu`` with other arguments than (count, source of 4096 numbers, target): grid, block, arguments.
_GEMM = (i32(128), i32(64), i32(64))
_OTHER: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[object, ...]]] = {
    **{
        name: (
            (1, 2),
            (128,),
            (
                *_GEMM,
                source("float16", 128 * 64, "mod 13 -6"),
                source("float16", 64 * 64, "mod 7 -3"),
                target("float32", 128 * 64),
            ),
        )
        for name in ("staged_half_gemm", "staged_half_gemm_flat")
    },
    "vector_sgemm": (
        (1, 2),
        (256,),
        (
            *_GEMM,
            source("float32", 128 * 64, "mod 13 -6"),
            source("float32", 64 * 64, "mod 7 -3"),
            target("float32", 8192),
        ),
    ),
    "half_atomics": (
        (4,),
        (128,),
        (i32(512), source("int32", 4096, "hash 0 256 6"), target("float16", 512, "const 0")),
    ),
    "vector_reductions": (
        (4,),
        (128,),
        (i32(512), source("int32", 4096, "hash 0 256 6"), target("float32", 512, "const 0")),
    ),
    "vector_half_reductions": (
        (2,),
        (64,),
        (i32(512), source("int32", 4096, "hash 0 256 6"), target("float16", 512, "const 0")),
    ),
    "narrow_conversions": (
        (4,),
        (128,),
        (i32(512), source("uint32", 1024, "bits range f32 7"), target("uint32", 4096, "const 0")),
    ),
}
_GRIDS = {"bulk_copy": 4, "uniform_choice": 4, "fence_reduction": 8}


def _kinds() -> list[RecordedLaunch]:
    text = (FOLDER / "kinds.cu").read_text()
    names = [
        name
        for pair in re.findall(r"^(?:KERNEL\((\w+)|extern .*__global__ void (\w+))", text, re.M)
        for name in pair
        if name
    ]
    plain = (i32(4096), source("int32", 4096, "hash 0 256 6"), target("int32", 4096, "const 0"))
    launches = []
    for name in names:
        grid, block, arguments = _OTHER.get(name, ((_GRIDS.get(name, 4),), (128,), plain))
        launches.append(RecordedLaunch(name, KINDS, "kinds.cu", name, grid, block, arguments))  # type: ignore[arg-type]
    return launches


#: Kernel of ``tensor.cu`` -> words a lane of A, B, C; types of the factors and of the accumulator.
_TENSOR: dict[str, tuple[int, int, int, str, str, str]] = {
    "f16_f32_k16": (4, 2, 4, "f16", "f16", "f32"),
    "bf16_f32_k16": (4, 2, 4, "bf16", "bf16", "f32"),
    "f16_f16_k16": (4, 2, 2, "f16", "f16", "f16"),
    "f16_f32_k8": (2, 1, 4, "f16", "f16", "f32"),
    "bf16_f32_k8": (2, 1, 4, "bf16", "bf16", "f32"),
    "f16_f16_k8": (2, 1, 2, "f16", "f16", "f16"),
    "tf32_f32_k8": (4, 2, 4, "f32", "f32", "f32"),
    "tf32_f32_k4": (2, 1, 4, "f32", "f32", "f32"),
    "e4m3_f32_k32": (4, 2, 4, "e4m3", "e4m3", "f32"),
    "e5m2_f32_k32": (4, 2, 4, "e5m2", "e5m2", "f32"),
    "e4m3e5m2_f32_k32": (4, 2, 4, "e4m3", "e5m2", "f32"),
    "sparse_f16_k32": (4, 4, 4, "f16", "f16", "f32"),
    "sparse_bf16_k32": (4, 4, 4, "bf16", "bf16", "f32"),
}
_INTEGER_TENSOR = {
    "s8_k32": (4, 2, 4),
    "u8_k32": (4, 2, 4),
    "s8u8_k16": (2, 1, 4),
    "s8_sat_k32": (4, 2, 4),
    "u8s8_sat_k16": (2, 1, 4),
    "s4_k64": (4, 2, 4),
}
#: What the factors A and B and the accumulator hold; see ``_classes``.
MIXTURES: tuple[tuple[str, str, str], ...] = (
    ("zero", "zero", "zero"),
    ("zero", "normal", "normal"),
    ("rows", "normal", "zero"),
    ("rows", "columns", "normal"),
    ("left", "right", "zero"),
    ("left", "right", "tiny"),
    ("signed_zero", "normal", "signed_zero"),
    ("denormal", "denormal", "zero"),
    ("denormal", "normal", "denormal"),
    ("small", "small", "denormal"),
    ("sparse", "sparse", "zero"),
    ("sparse", "normal", "range"),
    ("range", "range", "range"),
    ("range", "range", "zero"),
    ("large", "large", "normal"),
    ("large", "large", "large"),
    ("infinity", "normal", "normal"),
    ("infinity", "sparse", "infinity"),
    ("nan", "normal", "zero"),
    ("normal", "normal", "nan"),
    ("everything", "everything", "everything"),
)
_WARPS = 4


def _tensor() -> list[RecordedLaunch]:
    launches = []
    for kernel, (a, b, c, first, second, sums) in _TENSOR.items():
        for number, (left, right, addend) in enumerate(MIXTURES):
            seeds = [number * 3 + part for part in range(3)]
            arguments = (
                target("uint32", _WARPS * 32 * c),
                source("uint32", _WARPS * 32 * a, f"bits {left} {first} {seeds[0]}"),
                source("uint32", _WARPS * 32 * b, f"bits {right} {second} {seeds[1]}"),
                source("uint32", _WARPS * 32 * c, f"bits {addend} {sums} {seeds[2]}"),
            )
            name = f"{kernel} {left} {right} {addend}"
            launches.append(RecordedLaunch(name, TENSOR, "tensor.cu", kernel, (_WARPS,), (32,), arguments))
    for kernel, (a, b, c) in _INTEGER_TENSOR.items():
        for number, (left, right, addend) in enumerate(
            (("raw", "raw", "raw"), ("raw", "ones", "near_limit"), ("zero", "raw", "raw"))
        ):
            arguments = (
                target("uint32", _WARPS * 32 * c),
                source("uint32", _WARPS * 32 * a, f"bits {left} u32 {number}"),
                source("uint32", _WARPS * 32 * b, f"bits {right} u32 {number + 7}"),
                source("uint32", _WARPS * 32 * c, f"bits {addend} u32 {number + 15}"),
            )
            name = f"{kernel} {left} {right} {addend}"
            launches.append(RecordedLaunch(name, TENSOR, "tensor.cu", kernel, (_WARPS,), (32,), arguments))
    return launches


#: Type -> its bits, and the bits of its mantissa.
WIDTHS = {"f32": (32, 23), "f16": (16, 10), "bf16": (16, 7), "e4m3": (8, 3), "e5m2": (8, 2)}


def bits(kind: str, form: str, count: int, seed: int) -> np.ndarray:
    """Words that hold values of a type: its special ones, by the kind's mixture. (count,) uint32."""
    if form == "u32":
        return _integers(kind, count, seed)
    width, mantissa_bits = WIDTHS[form]
    per_word = 32 // width
    index = np.arange(count * per_word, dtype=np.uint64)
    random = _mixed(index, seed)
    exponent_bits = width - 1 - mantissa_bits
    top, bias = (1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1
    mantissa = (random >> np.uint64(8)) & np.uint64((1 << mantissa_bits) - 1)
    sign = (random >> np.uint64(40)) & np.uint64(1)
    pick = ((random >> np.uint64(44)) & np.uint64(15)).astype(np.int64)
    near = (bias + ((random >> np.uint64(50)) % np.uint64(4)).astype(np.int64) - 2).clip(1, top - 1)
    anywhere = 1 + ((random >> np.uint64(50)) % np.uint64(top - 1)).astype(np.int64)
    values = {
        "z": (0, 0),
        "d": (0, mantissa | np.uint64(1)),
        "n": (near, mantissa),
        "s": (1 + near % 3, mantissa),
        "r": (anywhere, mantissa),
        "l": (np.full(near.shape, top - 1), mantissa),
        "i": (np.full(near.shape, top), 0),
        "q": (np.full(near.shape, top), mantissa | np.uint64(1 << (mantissa_bits - 1))),
    }
    letters = np.array(list(_classes(kind)))[pick]
    result = np.zeros(index.shape, np.uint64)
    for letter, (exponent, fraction) in values.items():
        whole = (np.asarray(exponent).astype(np.uint64) << np.uint64(mantissa_bits)) | np.asarray(fraction, np.uint64)
        result = np.where(letters == letter, whole, result)
    result |= np.where((letters == "z") & (kind != "signed_zero"), np.uint64(0), sign) << np.uint64(width - 1)
    lane = (index // np.uint64(per_word)).astype(np.int64) % 32
    if kind in ("rows", "columns"):
        result = np.where((lane // 4) % 3 == 0, np.uint64(0), result)
    if kind == "left":
        result = np.where(lane % 2 == 0, np.uint64(0), result)
    if kind == "right":
        result = np.where(lane % 2 == 1, np.uint64(0), result)
    sized = result.astype({32: np.uint32, 16: np.uint16, 8: np.uint8}[width])
    return sized.view(np.uint32)


def _classes(kind: str) -> str:
    """Sixteen letters, of which each value takes one: zero, denormal, normal, small, range, large, infinity, qNaN."""
    return {
        "zero": "z" * 16,
        "signed_zero": "z" * 16,
        "denormal": "d" * 12 + "z" * 4,
        "small": "sssssssddddddddz",
        "tiny": "sddddddddddddzzz",
        "sparse": "nnzzzzzzzzzzzzzr",
        "range": "r" * 16,
        "large": "llllllllnnnnnnzz",
        "infinity": "innnnnnnnnnnnnzz",
        "nan": "qnnnnnnnnnnnnnzz",
        "everything": "zzzdddnnnsrrrllq",
    }.get(kind, "n" * 16)


def _integers(kind: str, count: int, seed: int) -> np.ndarray:
    random = _mixed(np.arange(count, dtype=np.uint64), seed)
    words = (random >> np.uint64(20)).astype(np.uint32)
    if kind == "zero":
        return np.zeros(count, np.uint32)
    if kind == "ones":
        return np.where(words & 1, np.uint32(0x7F7F7F7F), np.uint32(0x80808080)).astype(np.uint32)
    if kind == "near_limit":
        return np.where(words & 1, np.uint32(0x7FFFFFFF) - (words >> 20), np.uint32(0x80000000) + (words >> 20)).astype(
            np.uint32
        )
    return words


def _mixed(index: np.ndarray, seed: int) -> np.ndarray:
    mixed = (index + np.uint64(seed * 7919 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


def contents(dtype: str, count: int, fill: str) -> np.ndarray:
    """As ``filled``, and ``bits KIND TYPE SEED`` for words of special values."""
    if fill.startswith("bits "):
        _, kind, form, seed = fill.split()
        return bits(kind, form, count, int(seed)).view(dtype)
    return filled(dtype, count, fill)


def all_launches() -> dict[str, list[RecordedLaunch]]:
    """By group: each is recorded by processes of its own."""
    return {FLOW: _flow(), COLLECTIVES: _collectives(), KINDS: _kinds(), TENSOR: _tensor(), TRACE: _traces()}
