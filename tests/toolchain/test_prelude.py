"""Parameters in ``#pragma unroll``, where a macro cannot stand."""

from __future__ import annotations

from pathlib import Path

from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest
from gpuprof.toolchain.nvcc import Unit
from gpuprof.toolchain.prelude import constants

KERNEL = """
#include "part.h"
extern "C" __global__ void sums(float* p) {
    float sum = 0.0f;
#pragma unroll FACTOR
    for (int i = 0; i < 64; ++i) sum += p[i * WIDTH + threadIdx.x];
    p[threadIdx.x] = sum;
}
"""


def unit(folder: Path, text: str, header: str = "", **defines: str) -> Unit:
    (folder / "part.h").write_text(header)
    source = folder / "k.cu"
    source.write_text(text)
    return Unit(source, "sm_89", tuple(defines.items()), (), ())


def test_only_unrolled_integers_become_constants(tmp_path: Path) -> None:
    found = constants(unit(tmp_path, KERNEL, FACTOR="4", WIDTH="32"))
    assert found == (("FACTOR", "4"),)
    assert constants(unit(tmp_path, KERNEL, FACTOR="2.0f")) == ()


def test_a_pragma_in_a_header_counts_and_a_directive_keeps_the_macro(tmp_path: Path) -> None:
    header = "template <int N> void f() {\n#pragma unroll (DEPTH / 2)\nfor (int i = 0; i < N; ++i) {}\n}\n"
    assert constants(unit(tmp_path, KERNEL, header, DEPTH="8")) == (("DEPTH", "8"),)
    assert constants(unit(tmp_path, KERNEL, header + "#if DEPTH > 4\n#endif\n", DEPTH="8")) == ()


def test_the_factor_decides_the_code(builder: Builder, tmp_path: Path) -> None:
    source = unit(tmp_path, KERNEL).source
    sizes = {}
    for factor in ("1", "8"):
        request = BuildRequest(source, "sums", "sm_89", defines={"FACTOR": factor, "WIDTH": "32"})
        build = builder.build(request)
        assert "warning" not in build.log
        sizes[factor] = build.cubin.stat().st_size
    assert sizes["8"] > sizes["1"]


def test_the_build_is_cached(builder: Builder, tmp_path: Path) -> None:
    request = BuildRequest(unit(tmp_path, KERNEL).source, "sums", "sm_89", defines={"FACTOR": "4", "WIDTH": "32"})
    assert not builder.build(request).cached
    assert builder.build(request).cached
