"""Cubins in which two sections are the same bytes, as ptxas writes them since sm_100 with -lineinfo, are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.toolchain.elf import read_cubin
from tests.sass.sass_tools import compile_cubin

#: Much PTX, which is the text that two sections share.
STATEMENTS = " ".join(f"t[threadIdx.x] += p[threadIdx.x * {n} + {n}];" for n in range(1, 40))
SOURCE = f'extern "C" __global__ void k(float* p) {{ __shared__ float t[64]; {STATEMENTS} p[0] = t[3]; }}'


@pytest.mark.parametrize("arch", ["sm_89", "sm_100", "sm_120"])
def test_sections_that_share_bytes(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(SOURCE, encoding="utf-8")
    facts = read_cubin(compile_cubin(source, arch, tmp_path))
    assert facts.kernels["k"].static_shared_bytes == 256
