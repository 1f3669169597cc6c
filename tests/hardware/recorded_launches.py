"""The launches that are recorded on a GPU and replayed on the emulator: every bundled kernel and the micro-kernels.

Plain data, with nothing but numpy, since the recording machine needs no gpuprof. Sizes are small enough to be replayed
whole, and odd where the kernel allows it, so that bounds are crossed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

KERNELS, MICRO = "kernels", "microkernels"


@dataclass(frozen=True)
class Array:
    """A buffer argument: ``fill`` as in ``filled``; ``output``: read back and kept."""

    dtype: str
    count: int
    fill: str = "poison"
    output: bool = False


@dataclass(frozen=True)
class Scalar:
    dtype: str
    value: float


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch, whose outputs must be bit-equal unless there is a bound.

    ``ulp`` is the bound in units of the last place of each output (MUFU.TANH: 1.1e-5 of it), ``atol`` an absolute one.
    """

    name: str
    folder: str
    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Array | Scalar, ...]
    shared: int = 0
    flags: tuple[str, ...] = ()
    ulp: int = 0
    atol: float = 0.0

    def recipe(self) -> dict[str, Any]:
        """As JSON keeps it."""
        args = [{"kind": "array" if isinstance(arg, Array) else "scalar", **asdict(arg)} for arg in self.args]
        return {**asdict(self), "args": args}


def filled(dtype: str, count: int, fill: str) -> np.ndarray:
    """The content of a buffer.

    ``mod M B`` is i % M + B, ``hash LOW HIGH SEED`` scattered values, ``const V`` one value, ``poison`` 0xFF bytes;
    ``hash`` is a fixed integer hash, so that it is the same with every numpy.
    """
    kind, *numbers = fill.split()
    if kind == "poison":
        return np.full(count * np.dtype(dtype).itemsize, 0xFF, np.uint8).view(dtype)
    if kind == "const":
        return np.full(count, float(numbers[0])).astype(dtype)
    index = np.arange(count, dtype=np.uint64)
    if kind == "mod":
        return (index.astype(np.int64) % int(numbers[0]) + int(numbers[1])).astype(dtype)
    if kind == "permute":  # i * A mod count: a permutation where A and count have no common divisor
        return (index.astype(np.int64) * int(numbers[0]) % count).astype(dtype)
    low, high, seed = (float(number) for number in numbers)
    mixed = (index + np.uint64(int(seed) * 7919 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    unit = ((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(11)).astype(np.float64) / 2.0**53
    values = low + (high - low) * unit
    return np.floor(values).astype(dtype) if np.dtype(dtype).kind in "iu" else values.astype(dtype)


def i32(value: int) -> Scalar:
    return Scalar("int32", value)


def f32(value: float) -> Scalar:
    return Scalar("float32", value)


def source(dtype: str, count: int, fill: str) -> Array:
    return Array(dtype, count, fill)


def target(dtype: str, count: int, fill: str = "poison") -> Array:
    return Array(dtype, count, fill, output=True)


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def gemm_arrays(m: int, n: int, k: int, dtype: str = "float32") -> tuple[Array, Array, Array]:
    fills = ("mod 13 -6", "mod 7 -3") if dtype != "float64" else ("hash -1 1 1", "hash -1 1 2")
    return (
        source(dtype, m * k, fills[0]),
        source(dtype, k * n, fills[1]),
        target("float64" if dtype == "float64" else "float32", m * n),
    )


def _gemms() -> list[RecordedLaunch]:
    launches = []
    for m, n, k in ((64, 64, 64), (37, 50, 29)):
        a, b, c = gemm_arrays(m, n, k)
        sizes = (i32(m), i32(n), i32(k))
        shape = f"{m}x{n}x{k}"
        launches.append(
            RecordedLaunch(
                f"gemm_naive {shape}",
                KERNELS,
                "gemm_naive.cu",
                "gemm_naive_kernel<float>",
                (cdiv(n, 16), cdiv(m, 16)),
                (16, 16),
                (*sizes, a, b, c),
            )
        )
        launches += [
            RecordedLaunch(
                f"gemm_tiled {tile} {shape}",
                KERNELS,
                "gemm_tiled.cu",
                f"gemm_tiled_kernel<float, {tile}>",
                (cdiv(n, tile), cdiv(m, tile)),
                (tile, tile),
                (*sizes, a, b, c),
            )
            for tile in (8, 16, 32)
        ]
    launches += [_micro_gemm(name, tile, shape) for name, tile in MICRO_GEMMS.items() for shape in MICRO_SHAPES]
    for bm, bn, bk, wm, wn, tm, tn, stages in PIPELINED:
        m, n, k = 140, 136, 44
        a, b, c = gemm_arrays(m, n, k)
        launches.append(
            RecordedLaunch(
                f"pipelined {bm}x{bn}x{bk} {wm}x{wn} {stages}",
                KERNELS,
                "micro_gemm_pipelined.cu",
                f"micro_gemm_pipelined<{bm}, {bn}, {bk}, {wm}, {wn}, {tm}, {tn}, {stages}>",
                (cdiv(n, bn), cdiv(m, bm)),
                (bm // wm * (bn // wn) * 32,),
                (i32(m), i32(n), i32(k), f32(1.0), a, b, f32(0.0), c),
                shared=stages * bk * (bm + 4 + bn) * 4,
            )
        )
    a, b, c = gemm_arrays(40, 33, 24, "float64")
    sizes = (i32(40), i32(33), i32(24))
    launches += [
        RecordedLaunch(
            "gemm_naive double",
            KERNELS,
            "gemm_naive.cu",
            "gemm_naive_kernel<double>",
            (3, 3),
            (16, 16),
            (*sizes, a, b, c),
        ),
        RecordedLaunch(
            "gemm_tiled double",
            KERNELS,
            "gemm_tiled.cu",
            "gemm_tiled_kernel<double, 16>",
            (3, 3),
            (16, 16),
            (*sizes, a, b, c),
        ),
        RecordedLaunch(
            "gemm_fp32_iters",
            KERNELS,
            "gemm_fp32_iters.cu",
            "gemm_fp32_iters",
            (2, 5),
            (32, 8),
            (*sizes, i32(3), *gemm_arrays(40, 33, 24)),
        ),
    ]
    halves = (source("float16", 48 * 64, "hash -1 1 1"), source("float16", 64 * 80, "hash -1 1 2"))
    launches.append(
        RecordedLaunch(
            "gemm_wmma",
            KERNELS,
            "gemm_wmma.cu",
            "gemm_wmma",
            (2, 3),
            (32, 4),
            (i32(48), i32(80), i32(64), i32(2), *halves, target("float32", 48 * 80)),
        )
    )
    halves = (source("float16", 128 * 96, "hash -1 1 1"), source("float16", 96 * 256, "hash -1 1 2"))
    launches.append(
        RecordedLaunch(
            "gemm_wmma_shared",
            KERNELS,
            "gemm_wmma_shared.cu",
            "gemm_wmma_shared",
            (2, 1),
            (256,),
            (i32(128), i32(256), i32(96), i32(2), *halves, target("float32", 128 * 256)),
        )
    )
    return launches


#: Kernel: (tile of C, shared floats).
MICRO_GEMMS = {
    "micro_gemm_4x4": (64, 2 * (64 * 8 + 8 * 64)),
    "micro_gemm_reordered": (64, 2 * (64 * 8 + 8 * 64)),
    "micro_gemm_cp_async": (64, 2 * (64 * 8 + 8 * 64)),
    "micro_gemm_8x8": (128, 2 * (128 * 8 + 8 * 128)),
    "micro_gemm_vector": (128, 2 * (8 * 128 + 8 * 128)),
    "micro_gemm_padded": (128, 2 * (8 * 132 + 8 * 128)),
    "micro_gemm_warp_tiled": (128, 2 * (8 * 132 + 8 * 128)),
}
MICRO_SHAPES = ((128, 128, 32, 1.0, 0.0), (70, 92, 20, 0.5, 2.0))
#: BM, BN, BK, WM, WN, TM, TN, STAGES.
PIPELINED = (
    (128, 128, 16, 64, 32, 8, 8, 2),
    (128, 128, 8, 32, 64, 8, 8, 4),
    (128, 256, 16, 64, 64, 16, 8, 3),
    (256, 128, 8, 64, 64, 8, 16, 2),
)


def _micro_gemm(
    name: str, tile_and_shared: tuple[int, int], shape: tuple[int, int, int, float, float]
) -> RecordedLaunch:
    tile, shared = tile_and_shared
    m, n, k, alpha, beta = shape
    a, b, c = gemm_arrays(m, n, k)
    if beta:
        c = target("float32", m * n, "mod 5 -2")
    block = (256,) if name == "micro_gemm_warp_tiled" else (16, 16)
    args = (i32(m), i32(n), i32(k), f32(alpha), a, b, f32(beta), c)
    grid = (cdiv(n, tile), cdiv(m, tile))
    return RecordedLaunch(f"{name} {m}x{n}x{k}", KERNELS, f"{name}.cu", name, grid, block, args, shared=shared * 4)


def _memory() -> list[RecordedLaunch]:
    def bundled(
        name: str, file: str, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *args: Array | Scalar
    ) -> RecordedLaunch:
        return RecordedLaunch(name, KERNELS, file, kernel, grid, block, args)

    floats = source("float32", 32768, "hash -1 1 3")
    launches = [
        bundled(
            f"copy_offset {offset}",
            "coalescing.cu",
            "copy_offset",
            (4,),
            (256,),
            i32(1000),
            i32(offset),
            floats,
            target("float32", 1000),
        )
        for offset in (0, 1, 8)
    ]
    launches += [
        bundled(
            f"copy_stride {stride}",
            "coalescing.cu",
            "copy_stride",
            (4,),
            (256,),
            i32(1000),
            i32(stride),
            floats,
            target("float32", 1000),
        )
        for stride in (1, 2, 4, 8, 32)
    ]
    launches += [
        bundled(
            f"copy {vec}",
            "copy.cu",
            f"copy_kernel<{vec}>",
            (cdiv(3000 // vec, 256),),
            (256,),
            i32(3000),
            floats,
            target("float32", 3000),
        )
        for vec in (1, 2, 4)
    ]
    launches.append(
        bundled("fill", "fill.cu", "fill_float", (4,), (256,), i32(1000), f32(1.5), target("float32", 1000))
    )
    launches += [
        bundled(
            f"transpose_{kind}",
            "transpose.cu",
            f"transpose_{kind}<8>",
            (3, 2),
            (32, 8),
            i32(50),
            i32(70),
            source("float32", 3500, "hash -1 1 4"),
            target("float32", 3500),
        )
        for kind in ("plain", "tiled", "padded", "swizzled")
    ]
    launches += [
        bundled(
            f"bank_stride {stride}",
            "bank_strides.cu",
            f"bank_stride<{stride}>",
            (2,),
            (32,),
            i32(3),
            target("float32", 64),
        )
        for stride in (0, 1, 2, 3, 4, 6, 8, 12, 16, 31, 32, 33)
    ]
    launches.append(
        bundled(
            "float_to_half",
            "float_to_half.cu",
            "float_to_half",
            (4,),
            (256,),
            i32(1000),
            source("float32", 1000, "hash -9 9 5"),
            target("float16", 1000),
        )
    )
    return launches


def _control() -> list[RecordedLaunch]:
    def bundled(
        name: str,
        file: str,
        kernel: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        *args: Array | Scalar,
        flags: tuple[str, ...] = (),
    ) -> RecordedLaunch:
        return RecordedLaunch(name, KERNELS, file, kernel, grid, block, args, flags=flags)

    thousand = (i32(1000), source("float32", 1000, "hash -4 4 6"), target("float32", 1000))
    launches = [
        bundled(
            f"divergence_by_lane {split} {rounds}",
            "divergence.cu",
            f"divergence_by_lane<{rounds}>",
            (4,),
            (256,),
            i32(1000),
            i32(split),
            *thousand[1:],
        )
        for split, rounds in ((16, 256), (31, 256), (16, 4))
    ]
    launches += [
        bundled(
            f"divergence_by_warp {rounds}", "divergence.cu", f"divergence_by_warp<{rounds}>", (4,), (256,), *thousand
        )
        for rounds in (256, 4)
    ]
    sums = (i32(5000), source("float32", 5000, "mod 13 -6"))
    launches += [
        bundled(name, "reduction_unrolled.cu", name, (20,), (256,), *sums, target("float32", 20))
        for name in ("reduce_v0_interleaved", "reduce_v1_sequential", "reduce_v2_shuffle")
    ]
    launches.append(
        bundled(
            "reduce_v3_atomic", "reduction.cu", "reduce_v3_atomic", (3,), (256,), *sums, target("float32", 1, "const 0")
        )
    )
    launches += [
        bundled(f"occupancy_probe {ilp}", "occupancy_probe.cu", f"occupancy_probe<{ilp}>", (4,), (256,), *thousand)
        for ilp in (1, 16)
    ]
    launches.append(
        bundled(
            "occupancy_probe squeezed",
            "occupancy_probe.cu",
            "occupancy_probe<64>",
            (4,),
            (256,),
            *thousand,
            flags=("-maxrregcount=32",),
        )
    )
    counts = target("uint32", 256, "const 0")
    values = source("int32", 5000, "hash 0 256 7")
    launches += [
        bundled("histogram_global", "histogram.cu", "histogram_global", (6,), (256,), i32(5000), values, counts),
        bundled("histogram_shared", "histogram.cu", "histogram_shared", (6,), (256,), i32(5000), values, counts),
        bundled(
            "histogram_shared one value",
            "histogram.cu",
            "histogram_shared",
            (6,),
            (256,),
            i32(5000),
            source("int32", 5000, "const 7"),
            counts,
        ),
        bundled(
            "scan_blocks",
            "scan.cu",
            "scan_blocks",
            (4,),
            (256,),
            i32(4000),
            source("float32", 4000, "hash -1 1 8"),
            target("float32", 4000),
            target("float32", 4),
        ),
        bundled(
            "scan_add",
            "scan.cu",
            "scan_add",
            (4,),
            (256,),
            i32(4000),
            source("float32", 4, "mod 9 1"),
            target("float32", 4000, "mod 5 -2"),
        ),
    ]
    for rows, columns in ((6, 300), (9, 64)):
        matrix = (i32(rows), i32(columns), source("float32", rows * columns, "hash -3 3 9"))
        out = target("float32", rows * columns)
        affine = (source("float32", columns, "hash 0.5 1.5 10"), source("float32", columns, "hash -1 1 11"))
        shape = f"{rows}x{columns}"
        launches += [
            bundled(f"softmax_block {shape}", "softmax.cu", "softmax_block<256>", (rows,), (256,), *matrix, out),
            bundled(f"softmax_warp {shape}", "softmax.cu", "softmax_warp", (cdiv(rows, 8),), (256,), *matrix, out),
        ]
        launches += [
            bundled(
                f"{name} {shape}",
                "layernorm.cu",
                name,
                (cdiv(rows, 8),),
                (256,),
                *matrix[:2],
                f32(1e-5),
                matrix[2],
                *affine,
                out,
            )
            for name in ("layernorm_two_pass", "layernorm_welford")
        ]
    vector = (
        i32(37),
        i32(100),
        source("float32", 3700, "mod 13 -6"),
        source("float32", 100, "mod 7 -3"),
        target("float32", 37),
    )
    launches += [
        bundled("gemv_thread", "gemv.cu", "gemv_thread", (1,), (128,), *vector),
        bundled("gemv_warp", "gemv.cu", "gemv_warp", (10,), (128,), *vector),
        bundled("gemv_vector", "gemv.cu", "gemv_vector", (10,), (128,), *vector),
        bundled("stencil_1d_global", "stencil.cu", "stencil_1d_global<3, 256>", (4,), (256,), *thousand),
        bundled("stencil_1d_shared", "stencil.cu", "stencil_1d_shared<3, 256>", (4,), (256,), *thousand),
    ]
    matrix = (i32(30), i32(70), source("float32", 2100, "hash -1 1 12"), target("float32", 2100))
    launches += [
        bundled("stencil_2d_global", "stencil.cu", "stencil_2d_global", (3, 4), (32, 8), *matrix),
        bundled("stencil_2d_shared", "stencil.cu", "stencil_2d_shared", (3, 4), (32, 8), *matrix),
        bundled(
            "saxpy_float",
            "saxpy.cu",
            "saxpy_float",
            (4,),
            (256,),
            i32(1000),
            f32(2.5),
            thousand[1],
            target("float32", 1000, "mod 7 -3"),
        ),
        bundled(
            "saxpy_float4",
            "saxpy.cu",
            "saxpy_float4",
            (1,),
            (256,),
            i32(1000),
            f32(2.5),
            thousand[1],
            target("float32", 1000, "mod 7 -3"),
        ),
        bundled(
            "saxpy_half2",
            "saxpy.cu",
            "saxpy_half2",
            (2,),
            (256,),
            i32(1000),
            f32(2.5),
            source("float16", 1000, "hash -4 4 6"),
            target("float16", 1000, "mod 7 -3"),
        ),
    ]
    return launches


@dataclass(frozen=True)
class _Micro:
    """A micro-kernel over ``count`` elements in blocks of ``block``: count, then the inputs, then the target."""

    kernel: str
    inputs: tuple[tuple[str, str], ...]  #: dtype and fill
    output: str
    scalars: tuple[int, ...] = ()
    count: int = 300
    block: int = 128
    outputs: int | None = None
    fill: str = "poison"
    inputs_count: int | None = None
    ulp: int = 0
    atol: float = 0.0
    whole: bool = False  #: count is rounded up to whole blocks: every thread reads
    label: str = field(default="")


_BYTES = (("int32", "hash 0 256 20"),)
_INTS = (("int32", "hash -2147483648 2147483647 21"), ("int32", "hash -5000 5000 22"))
_UINTS = (("uint32", "hash 0 4294967295 21"), ("uint32", "hash 0 70000 22"))
_LONGS = (("int64", "hash -9e18 9e18 23"), ("int64", "hash -5e10 5e10 24"))
_FLOATS = (("float32", "hash -3 3 25"), ("float32", "hash -2 2 26"))
_ONE = (("float32", "hash -3 3 25"),)
_DOUBLES = (("float64", "hash -3 3 25"), ("float64", "hash -2 2 26"))
_HALVES = (("float16", "hash -3 3 25"), ("float16", "hash -2 2 26"))

#: Where the groups of lanes end that leave a loop together; one twice, to see what repeats.
_GROUPS = (
    *((16, 32, 32), (17, 32, 32), (20, 32, 32), (28, 32, 32), (31, 32, 32), (8, 32, 32)),
    *((21, 31, 32), (20, 30, 32), (17, 25, 32), (10, 31, 32), (10, 20, 32), (28, 31, 32), (4, 31, 32)),
    *((21, 28, 31), (8, 16, 24), (8, 24, 31), (18, 26, 30), (25, 27, 30), (1, 31, 32)),
)


def _leaving(kernel: str, groups: tuple[int, ...], order: str = "mod 32 0", label: str = "") -> _Micro:
    name = label or f"{kernel} {'/'.join(str(each) for each in groups)} {order}"
    return _Micro(kernel, (("int32", order),), "int32", groups, count=32, block=32, label=name)


_LEAVING = (
    *(_leaving(kernel, groups) for kernel in ("leaving", "leaving_after_loads") for groups in _GROUPS),
    *(_leaving("leaving", groups, "permute 7") for groups in _GROUPS[6:16:3]),
    *(_leaving("leaving_after_loads", _GROUPS[13], label=f"leaving_after_loads again {time}") for time in range(3)),
    *(_leaving("leaving", _GROUPS[13], label=f"leaving again {time}") for time in range(3)),
    *(_leaving("meeting", groups) for groups in ((16, 32), (8, 32), (28, 32), (8, 20), (20, 28), (1, 31), (32, 32))),
)

_MICRO_KERNELS: dict[str, tuple[_Micro, ...]] = {
    "memory.cu": (
        *(
            _Micro(
                "global_stride",
                _ONE,
                "float32",
                scalars=(stride, offset),
                inputs_count=12000,
                label=f"global_stride {stride}+{offset}",
            )
            for stride, offset in ((1, 0), (1, 3), (2, 0), (3, 1), (5, 0), (8, 0), (16, 7), (33, 2))
        ),
        *(
            _Micro(
                "store_stride",
                _ONE,
                "float32",
                scalars=(stride, offset),
                outputs=12000,
                label=f"store_stride {stride}+{offset}",
            )
            for stride, offset in ((1, 0), (1, 5), (2, 1), (7, 0), (32, 0))
        ),
        *(
            _Micro(
                f"copy_width<{ctype}>",
                ((dtype, "hash 0 100 27"),),
                dtype,
                count=300,
                inputs_count=300 * size,
                outputs=300 * size,
            )
            for ctype, dtype, size in (
                ("unsigned char", "uint8", 1),
                ("short", "int16", 1),
                ("float2", "float32", 2),
                ("float4", "float32", 4),
            )
        ),
        _Micro("gather", (("int32", "permute 77"), ("float32", "hash -1 1 28")), "float32"),
        _Micro("scatter", (("int32", "permute 77"), ("float32", "hash -1 1 28")), "float32"),
        _Micro("broadcast_load", _ONE, "float32"),
        *(
            _Micro("shared_permute", _ONE, "float32", scalars=(stride,), label=f"shared_permute {stride}")
            for stride in (1, 2, 5, 8, 33)
        ),
        _Micro("shared_reverse<float4>", _ONE, "float32", count=300, block=256, inputs_count=1200, outputs=1200),
        _Micro("shared_reverse<double>", (("float64", "hash -1 1 29"),), "float64", count=300, block=256),
        _Micro("shared_reverse<unsigned char>", (("uint8", "hash 0 256 30"),), "uint8", count=300, block=256),
        _Micro("constant_table", _BYTES, "float32"),
        _Micro("device_table", _BYTES, "int32"),
    ),
    "branches.cu": (
        _Micro("divergent_if", _BYTES, "int32"),
        _Micro("nested_if", _BYTES, "int32", fill="const 5"),
        _Micro("data_loop", _BYTES, "int32"),
        _Micro("nested_loops", _BYTES, "int32"),
        _Micro("switch_cases", _BYTES, "int32", fill="const 5"),
        _Micro("early_exit", _BYTES, "int32"),
        _Micro("loop_with_break", _BYTES, "int32"),
        _Micro("short_predicates", _BYTES, "int32"),
        _Micro("barrier_loop", _BYTES, "int32", count=384, whole=True),
        _Micro("barrier_counts", _BYTES, "int32", count=384, whole=True),
        _Micro("one_warp_works", _BYTES, "int32", count=384, whole=True),
        *_LEAVING,
    ),
    "warps.cu": (
        _Micro("shuffles", _BYTES, "int32", count=256, whole=True),
        _Micro("votes", _BYTES, "int32", count=256, whole=True),
        _Micro("matches", _BYTES, "uint32", count=256, whole=True),
        _Micro("warp_reductions", _BYTES, "int32", count=256, whole=True),
        _Micro("active_masks", _BYTES, "uint32", count=256, whole=True),
        _Micro("warp_scan", _ONE, "float32", count=256, whole=True),
    ),
    "atomics.cu": (
        _Micro("atomics_integer", _BYTES, "int32", outputs=40, fill="const 77"),
        _Micro("atomics_float", _BYTES, "float32", outputs=16, fill="const 0"),
        _Micro("atomics_double", _BYTES, "float64", outputs=8, fill="const 0"),
        _Micro("atomics_64bit", _BYTES, "uint64", outputs=2, fill="const 1"),
        _Micro("compare_and_swap", _BYTES, "int32", outputs=1, fill="const 0", count=32, block=32),
        _Micro("shared_histogram", _BYTES, "int32", outputs=64, fill="const 0"),
        _Micro("shared_extremes", _BYTES, "int32", outputs=12),
        _Micro("shared_float_sum", _BYTES, "float32", outputs=24),
        _Micro("exchanges", _BYTES, "int32", fill="mod 12 0"),
    ),
    "numbers.cu": (
        _Micro("integer_division", _INTS, "int32"),
        _Micro("unsigned_division", _UINTS, "uint32"),
        _Micro("long_division", _LONGS, "int64"),
        _Micro("long_arithmetic", _LONGS, "int64"),
        _Micro("bits", _UINTS, "uint32"),
        _Micro("float_basic", _FLOATS, "float32"),
        _Micro("float_division", _FLOATS, "float32"),
        _Micro("float_roots", _FLOATS, "float32"),
        _Micro("mufu_exp", (("float32", "hash -30 30 31"),), "float32", count=2000),
        _Micro("mufu_log", (("float32", "hash -30 30 31"),), "float32", count=2000),
        _Micro("mufu_rsqrt", (("float32", "hash -30 30 31"),), "float32", count=2000),
        _Micro("mufu_rcp", (("float32", "hash -30 30 31"),), "float32", count=2000),
        _Micro("mufu_trig", _ONE, "float32", count=2000),
        _Micro("mufu_tanh", _ONE, "float32", ulp=185, count=2000),
        _Micro("accurate_functions", _ONE, "float32"),
        _Micro("accurate_trig", _ONE, "float32"),
        _Micro("double_basic", _DOUBLES, "float64"),
        _Micro("double_division", _DOUBLES, "float64"),
        _Micro("half_pairs", _HALVES, "float16", count=150, inputs_count=300, outputs=300),
        _Micro("half_single", _HALVES, "float16"),
        _Micro("conversions", _ONE, "int32"),
        _Micro("special_values", _FLOATS, "int32"),
    ),
    "copies.cu": (
        *(
            _Micro(
                f"async_copy<{width}>",
                (("uint8", "hash 0 256 32"),),
                "uint8",
                count=256,
                inputs_count=256 * width,
                outputs=256 * width,
            )
            for width in (4, 8, 16)
        ),
        _Micro("async_zero_fill", _ONE, "float32", count=200, inputs_count=800, outputs=1024),
        *(
            _Micro(
                f"bypass_copy<{guarded}>",
                _ONE,
                "float32",
                scalars=shape,
                count=29,
                block=32,
                inputs_count=4096,
                outputs=128,
                label=f"bypass_copy {guarded} {' '.join(map(str, shape))}",
            )
            for guarded in ("false", "true")
            for shape in (
                # source shift, lanes per source chunk, source step, shared shift, shared step
                (0, 1, 1, 0, 1),
                (1, 1, 1, 0, 1),
                (2, 1, 1, 0, 1),
                (4, 1, 1, 0, 1),
                (7, 1, 1, 0, 1),
                (0, 1, 1, 1, 1),
                (0, 1, 1, 3, 1),
                (1, 1, 1, 1, 1),
                (0, 32, 1, 0, 1),
                (0, 2, 1, 0, 1),
                (0, 1, 8, 0, 1),
                (0, 1, 1, 0, 2),
                (0, 1, 2, 0, 1),
                (0, 1, 5, 0, 3),
            )
        ),
        _Micro("async_stages", _ONE, "float32", count=5, inputs_count=640, outputs=128),
    ),
    "stack.cu": (
        _Micro("local_array", _BYTES, "int32"),
        _Micro("spilled", _ONE, "float32"),
        _Micro("calls", _BYTES, "int32"),
        _Micro("recursion", _BYTES, "int32"),
        _Micro("function_pointers", _BYTES, "int32"),
        _Micro("pointers_to_leaves", _BYTES, "int32"),
        *(
            _Micro("recursion_once", (("int32", fill),), "int32", count=32, block=32, label=f"recursion_once {fill}")
            for fill in ("const 1", "const 2", "const 4", "mod 2 1", "mod 3 1", "mod 8 0")
        ),
        _Micro("local_vectors<float2>", _BYTES, "float32", outputs=600),
        _Micro("local_vectors<float4>", _BYTES, "float32", outputs=1200),
    ),
}


def _micro(file: str, micro: _Micro) -> RecordedLaunch:
    inputs = tuple(source(dtype, micro.inputs_count or micro.count, fill) for dtype, fill in micro.inputs)
    output = target(micro.output, micro.outputs or micro.count, micro.fill)
    args = (i32(micro.count), *(i32(value) for value in micro.scalars), *inputs, output)
    blocks = 1 if micro.kernel == "async_stages" else cdiv(micro.count, micro.block)
    name = micro.label or micro.kernel
    grid, block = (blocks,), (micro.block,)
    return RecordedLaunch(name, MICRO, file, micro.kernel, grid, block, args, ulp=micro.ulp, atol=micro.atol)


def _other_micro() -> list[RecordedLaunch]:
    halves = (source("float16", 1024, "hash -1 1 40"), source("float16", 1024, "hash -1 1 41"))
    tiles = (i32(4), *halves)
    return [
        RecordedLaunch(
            "dynamic_shared",
            MICRO,
            "memory.cu",
            "dynamic_shared",
            (1,),
            (96,),
            (i32(96), source("float32", 96, "hash -1 1 42"), target("float32", 96)),
            shared=96 * 8,
        ),
        RecordedLaunch(
            "special_registers",
            MICRO,
            "warps.cu",
            "special_registers",
            (2, 2),
            (24, 2, 2),
            (i32(0), target("uint32", 384)),
        ),
        RecordedLaunch("wmma_tile", MICRO, "copies.cu", "wmma_tile", (1,), (32,), (*tiles, target("float32", 256))),
        RecordedLaunch(
            "wmma_half_sum",
            MICRO,
            "copies.cu",
            "wmma_half_sum",
            (1,),
            (32,),
            (*tiles, target("float16", 256)),
        ),
        RecordedLaunch(
            "mma_sync_tile",
            MICRO,
            "copies.cu",
            "mma_sync_tile",
            (1,),
            (32,),
            (*tiles, target("float32", 128)),
        ),
    ]


def all_launches() -> list[RecordedLaunch]:
    """In the order of recording; names are unique."""
    micro = [_micro(file, entry) for file, entries in _MICRO_KERNELS.items() for entry in entries]
    launches = [*_gemms(), *_memory(), *_control(), *micro, *_other_micro()]
    names = [launch.name for launch in launches]
    duplicates = {name for name in names if names.count(name) > 1}
    assert not duplicates, duplicates
    return launches
