"""``gpuprof sass`` and ``gpuprof counters`` say the same of one kernel: bank conflicts, and names of parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.isa import ncu_metrics as m
from gpuprof.results.json import read_run

#: Lanes read 16 bytes at two addresses: pairs of equal lanes merge, so that 4 wavefronts do.
BANKS = """
extern "C" __global__ void pairs(const float4* in, float4* out, int iters) {
    __shared__ float4 tile[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) tile[i] = in[i];
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
    #pragma unroll 1
    for (int k = 0; k < iters; ++k) {
        float4 v = tile[(threadIdx.x % 2) * 16 + k];
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    }
    out[threadIdx.x] = sum;
}
"""
CONFIG = """
name: bank
buffers:
  src: {dtype: float32, shape: [4096], fill: "1"}
  dst: {dtype: float32, shape: [128], output: true}
variants:
  plain: {source: bank.cu, kernel: pairs, block: [32], grid: [1], args: [src, dst, 16]}
"""


@pytest.fixture
def gpuprof(tmp_path: Path):
    (tmp_path / "bank.cu").write_text(BANKS, encoding="utf-8")
    (tmp_path / "bank.yaml").write_text(CONFIG, encoding="utf-8")

    def call(command: str, *arguments: str) -> str:
        done = CliRunner().invoke(cli, [command, str(tmp_path / "bank.yaml"), *arguments], catch_exceptions=False)
        assert done.exit_code in (0, 1), done.output
        return done.stdout

    return call


@pytest.mark.parametrize("arch", ["sm_89", "sm_90"])
def test_merged_128_bit_loads_are_no_bank_conflict(arch: str, gpuprof, tmp_path: Path) -> None:
    gpuprof("counters", "--arch", arch, "--json", str(tmp_path / "run.json"))
    values = read_run(tmp_path / "run.json").results[0].counters.values
    assert values[m.shared_instructions("ld")] == 16
    assert values[m.shared_wavefronts("ld")] == 64, "4 for each of the 16 loads, as many as the bytes of a warp need"
    kernel = json.loads(gpuprof("sass", "--arch", arch, "--json"))
    assert [finding for finding in kernel["findings"] if finding["kind"] == "bank conflict"] == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_90", "sm_120"])
def test_a_run_and_sass_say_the_same_of_one_kernel(arch: str, gpuprof, tmp_path: Path) -> None:
    """Loops, with the names of the parameters that bound them, and the mix: one analysis."""
    gpuprof("run", "--arch", arch, "--device", "none", "--json", str(tmp_path / "run.json"))
    facts = read_run(tmp_path / "run.json").results[0].sass
    kernel = json.loads(gpuprof("sass", "--arch", arch, "--json"))
    assert [dict(loop) for loop in facts.loops] == kernel["loops"]
    assert (facts.instructions, facts.mix) == (kernel["instructions"], kernel["mix"])
    assert facts.predicated == kernel["predication"]["predicated"]
    if arch != "sm_120":  # its bound is in a register before the loop
        assert any("parameter 2" in loop["trip"]["text"] for loop in facts.loops)
