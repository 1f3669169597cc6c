"""What the compiler says of good builds, flags that cannot be taken, and where they came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.errors import BuildError
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.compiler_notes import compiler_notes
from gpuprof.toolchain.model import BuildRequest
from gpuprof.toolchain.refused_flags import refused_flag
from tests.profile.experiments import run_yaml

SOURCE = """
__device__ __noinline__ float twice(float v) { return v * 2; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void with_maxnreg(float *y)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;\\n");
    y[threadIdx.x] = twice(y[threadIdx.x]);
}
#endif
extern "C" __global__ void plain(float *y) { y[threadIdx.x] = y[threadIdx.x] * 2; }
#ifdef TOO_MANY
extern "C" __global__ void __launch_bounds__(128, 64) blocks(float *y) { y[threadIdx.x] = y[threadIdx.x] * 2; }
#endif
"""
CONFIG = """
arch: sm_90a
sizes: {N: 128}
buffers: {y: {dtype: float32, shape: N, fill: 1, output: true}}
reference: {y: 2 * y}
variants:
  setmaxnreg: {source: k.cu, kernel: with_maxnreg, block: 128, grid: 1, args: [y]}
  low: {source: k.cu, kernel: plain, flags: [-maxrregcount=18], block: 128, grid: 1, args: [y]}
  high: {source: k.cu, kernel: plain, flags: [-maxrregcount=300], block: 128, grid: 1, args: [y]}
  blocks: {source: k.cu, kernel: blocks, flags: [-DTOO_MANY], block: 128, grid: 1, args: [y]}
"""
SAID = {
    "setmaxnreg": "'setmaxnreg' ignored",
    "low": "register count of 18 to lower bound of 24",
    "high": "300, will be ignored",
    "blocks": "minnctapersm will be ignored",
}


def test_warnings_that_change_the_code_are_notes_of_their_rows(tmp_path: Path) -> None:
    rows = {row.variant: row for row in run_yaml(tmp_path, CONFIG, SOURCE).results}
    for label, words in SAID.items():
        assert any(words in note for note in rows[label].notes), rows[label].notes
    assert len(rows["low"].notes) == 1  # nothing of ptxas's report
    shown = CliRunner().invoke(cli, ["sass", str(tmp_path / "k.cu"), "--kernel", "with_maxnreg", "--arch", "sm_90a"])
    assert "(C7508)" in shown.output


def test_the_front_end_is_quoted_where_it_says_something_of_the_code() -> None:
    log = (
        '/a/k.cu(3): warning #177-D: variable "unused" was declared but never referenced\n'
        '/a/k.cu(7): warning #549-D: variable "x" is used before its value is set\n'
        "ptxas info    : Used 8 registers, used 0 barriers\n"
        "nvcc warning : Support for offline compilation for architectures prior to sm_75 is deprecated\n"
        "ptxas warning : Registers are spilled to local memory in function 'k', 8 bytes spill stores\n"
        "ptxas warning : Registers are spilled to local memory in function 'k', 8 bytes spill stores\n"
    )
    assert compiler_notes(log) == (
        "compiler: Support for offline compilation for architectures prior to sm_75 is deprecated",
        "compiler: Registers are spilled to local memory in function 'k', 8 bytes spill stores",
        'compiler: variable "x" is used before its value is set (#549-D, k.cu:7)',
    )


@pytest.mark.parametrize(
    ("flags", "variables", "words"),
    [
        (("-gencode", "arch=compute_80,code=sm_80"), {}, "-gencode in the variant's flags"),
        (("-gencode=arch=compute_80,code=sm_80",), {}, "-gencode=arch=compute_80,code=sm_80 in the variant's flags"),
        ((), {"NVCC_APPEND_FLAGS": "-O2 -ptx"}, "-ptx in the environment variable NVCC_APPEND_FLAGS"),
        ((), {"NVCC_PREPEND_FLAGS": "--generate-code arch=compute_80"}, "variable NVCC_PREPEND_FLAGS"),
        (("-lineinfo", "-use_fast_math", "-Xptxas", "-O1"), {"NVCC_APPEND_FLAGS": "-O3"}, None),
    ],
)
def test_flags_that_cannot_be_taken(flags: tuple[str, ...], variables: dict[str, str], words: str | None) -> None:
    found = refused_flag(flags, variables)
    assert (found is None) if words is None else (words in (found or ""))


def test_a_build_with_such_a_flag_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(float *y) { *y = 1; }')
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-gencode arch=compute_80,code=sm_80")
    with pytest.raises(BuildError, match=r"-gencode in the environment variable NVCC_APPEND_FLAGS"):
        Builder(find_tools()).build(BuildRequest(tmp_path / "k.cu", "k", "sm_89"))


def test_variables_that_add_flags_are_recorded_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-use_fast_math")
    source = 'extern "C" __global__ void k(float *y) { y[threadIdx.x] = 2; }'
    config = (
        "buffers: {y: {dtype: float32, shape: 32, output: true}}\nreference: {y: 2}\n"
        "variants: {k: {source: k.cu, kernel: k, block: 32, grid: 1, args: [y]}}\n"
    )
    run = run_yaml(tmp_path, config, source)
    assert run.environment.variables == {"NVCC_APPEND_FLAGS": "-use_fast_math"}
    assert any("NVCC_APPEND_FLAGS" in note and "-use_fast_math" in note for note in run.notes)
