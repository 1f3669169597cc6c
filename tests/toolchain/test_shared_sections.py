"""Cubins in which two sections are the same bytes, as ptxas writes them since sm_100 with -lineinfo, are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.toolchain.elf import read_cubin
from tests.sass.sass_tools import compile_cubin

SOURCE = "".join(
    f'extern "C" __global__ void k{n}(float* p) {{ __shared__ float t[64]; t[threadIdx.x] = p[threadIdx.x + {n}]; '
    "__syncthreads(); p[threadIdx.x] = t[63 - threadIdx.x]; }\n"
    for n in range(4)
)


@pytest.mark.parametrize("arch", ["sm_89", "sm_100", "sm_120"])
def test_sections_that_share_bytes(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(SOURCE, encoding="utf-8")
    facts = read_cubin(compile_cubin(source, arch, tmp_path))
    assert set(facts.kernels) == {f"k{n}" for n in range(4)}
    assert {kernel.static_shared_bytes for kernel in facts.kernels.values()} == {256}
