"""wmma kernels as nvcc compiles them: fragments loaded, multiplied and stored by one warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.emulated_cubin import EmulatedCubin
from tests.emulator.test_semantics_programs import compiled

KERNEL = """
extern "C" __global__ void {name}({out} *o, const {load} *a, const {load} *b) {{
    wmma::fragment<wmma::matrix_a, 16, 16, {k}, {kind}, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, {k}, {kind}, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, {k}, {out}> fc;
    wmma::fill_fragment(fc, ({out})0);
    for (int step = 0; step < 2; ++step) {{
        wmma::load_matrix_sync(fa, a + step * {k}, 2 * {k});
        wmma::load_matrix_sync(fb, b + step * {k}, 2 * {k});
        wmma::mma_sync(fc, fa, fb, fc);
    }}
    wmma::store_matrix_sync(o, fc, 16, wmma::mem_row_major);
}}
"""
#: name -> (fragment type, element type, K of one step, accumulator type, its numpy type)
KERNELS: dict[str, tuple[str, str, int, str, Any]] = {
    "f16_f32": ("half", "half", 16, "float", np.float32),
    "f16_f16": ("half", "half", 16, "half", np.float16),
    "bf16_f32": ("__nv_bfloat16", "__nv_bfloat16", 16, "float", np.float32),
    "tf32_f32": ("wmma::precision::tf32", "float", 8, "float", np.float32),
    "s8_s32": ("signed char", "signed char", 16, "int", np.int32),
    "u8_s32": ("unsigned char", "unsigned char", 16, "int", np.int32),
}
SOURCE = "#include <mma.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda;\n" + "".join(
    KERNEL.format(name=name, kind=kind, load=load, k=k, out=out) for name, (kind, load, k, out, _) in KERNELS.items()
)


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> EmulatedCubin:
    source = tmp_path_factory.mktemp("wmma") / "wmma.cu"
    source.write_text(SOURCE)
    return EmulatedCubin(compiled(source, "sm_89"))


def encoded(values: np.ndarray, name: str) -> np.ndarray:
    """The matrix in the element type's bits."""
    if name.startswith("bf16"):
        return (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    types = {"f16": np.float16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8}
    return values.astype(types[name.split("_")[0]])


def product(cubin: EmulatedCubin, name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.zeros((16, 16), KERNELS[name][4])
    return cubin.run(name, out, (encoded(a, name), encoded(b, name)), threads=32, block=32)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_small_integers_multiply_exactly(cubin: EmulatedCubin, name: str) -> None:
    random = np.random.default_rng(7)
    depth = 2 * KERNELS[name][2]
    low = 0 if name.startswith("u8") else -5
    a, b = (random.integers(low, 6, (16, depth)) for _ in range(2))
    assert (product(cubin, name, a, b) == a @ b.T).all()


@pytest.mark.parametrize("name", ["f16_f32", "tf32_f32"])
def test_real_numbers_are_within_the_model_s_bound(cubin: EmulatedCubin, name: str) -> None:
    """sm_89's adder keeps 24 bits and adds 8 products (4 of TF32) at once: a cut is below 2^-23 of the terms' sum."""
    random = np.random.default_rng(8)
    depth = 2 * KERNELS[name][2]
    a, b = (random.normal(size=(16, depth)).astype(np.float16).astype(np.float64) for _ in range(2))
    bound = (np.abs(a) @ np.abs(b).T) * (depth + 10) * 2.0**-23
    error = np.abs(product(cubin, name, a, b) - a @ b.T)
    assert (error <= bound).all()
    assert error.max() > 0
