"""Branches whose condition is a modifier: BRA.DIV has the label alone on sm_75, and a mask before it from sm_80 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.sass.analysis import analyse
from tests.sass.sass_tools import analysed, code_of

REDUCTION = """
extern "C" __global__ void reduce(const float* in, float* out, int rows, unsigned mask) {
    for (int row = 0; row < rows; ++row) {
        float v = in[row * 32 + threadIdx.x];
        if (v > 0.0f)
            for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(mask, v, d);
        out[row * 32 + threadIdx.x] = v;
    }
}
"""


@pytest.mark.parametrize("form", ["BRA.DIV `(.L_x_1)", "BRA.DIV ~URZ, `(.L_x_1)", "BRA.CONV `(.L_x_1)"])
def test_the_fast_path_behind_a_branch_on_divergence_is_reachable(form: str) -> None:
    facts = analysed(f"{form}\nSHFL.BFLY PT, R2, R3, 0x1, 0x1f\nEXIT\n.L_x_1:\nMOV R2, R3\nEXIT")
    assert all(facts.graph.is_reachable(block.index) for block in facts.graph.blocks)
    assert facts.graph.blocks[0].successors == (2, 1)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_loops_around_collectives_are_whole(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "reduce.cu"
    source.write_text(REDUCTION, encoding="utf-8")
    code = code_of(source, arch, tmp_path)
    facts = analyse(code.functions["reduce"], code.arch)
    shuffles = [i for i, one in enumerate(facts.graph.function.body) if one.opcode == "SHFL"]
    fast = [i for i in shuffles if facts.graph.loop_of(facts.graph.block_of[i]) is not None]
    assert len(fast) >= 5, "the five steps of the fast path stand in the loop over the rows"
