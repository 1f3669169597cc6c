"""``gpuprof sass`` of a config with several steps, and that its JSON and its text say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli.sass import command
from gpuprof.toolchain import find_tools

pytestmark = pytest.mark.skipif(
    find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm"
)

SOURCE = """
extern __shared__ float rows[];
extern "C" __global__ void first(float* a) {
    for (int k = 0; k < 16; ++k) rows[k * 32 + threadIdx.x % 32] = a[k * 512 + threadIdx.x];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 16; ++k) s = s * 0.5f + rows[threadIdx.x % 16 * 32 + k];
    a[threadIdx.x] = s / (a[threadIdx.x] + 1.0f);
}
extern "C" __global__ void last(float* a, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s += a[threadIdx.x * 3 + i * 192] * 0.1;
    a[threadIdx.x] = s;
}
"""
CONFIG = """
name: two
buffers:
  a: {dtype: float32, shape: [16384], output: true}
variants:
  v:
    source: two.cu
    steps:
      - {kernel: first, block: 512, grid: 1, shared: 2048, args: [a]}
      - {kernel: last, block: 64, grid: 1, args: [a, 8]}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("steps")
    (folder / "two.cu").write_text(SOURCE)
    (folder / "two.yaml").write_text(CONFIG)
    return str(folder / "two.yaml")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), env={"COLUMNS": "400"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(("kernel", "block", "shared"), [("first", [512, 1, 1], 2048), ("last", [64, 1, 1], 0)])
def test_a_kernel_comes_with_its_own_steps_launch(config: str, kernel: str, block: list[int], shared: int) -> None:
    data = json.loads(run(config, "--kernel", kernel, "--json"))
    assert data["block"] == block
    assert data["dynamic_shared_bytes"] == shared


@pytest.mark.parametrize("kernel", ["first", "last"])
def test_the_json_and_the_text_agree(config: str, kernel: str) -> None:
    data = json.loads(run(config, "--kernel", kernel, "--json", "--all"))
    text = run(config, "--kernel", kernel, "--all", "--findings", "50")
    flat = re.sub(r"\s+", " ", text)
    assert data["findings"]
    for finding in data["findings"]:
        assert finding["sentence"] in flat
        assert f"Typical fix: {finding['fix']}." in flat
        if finding["saves_at_most"] is not None:
            assert f"Saves at most {finding['saves_at_most']['amount']:g}" in flat
        if finding["tried"]:
            assert finding["tried"][1:] in flat
    assert f"{data['instructions']} instructions in {data['code_bytes']:,} bytes" in flat
    modelled = data["stream"]["modelled"]["register_bank_conflict_cycles"]
    assert ("register bank conflicts: -" in flat) == (modelled is None)
    assert f"{data['predication']['predicated']} predicated instruction" in flat
    listed = re.findall(r"^ +([0-9a-f]{4})  B[0-9-]{6}:\S+:([Y-]):S(\d\d) ", text, re.MULTILINE)
    assert len(listed) == len(data["listing"])
    for (address, may_yield, stall), entry in zip(listed, data["listing"], strict=True):
        assert int(address, 16) == entry["address"]
        assert int(stall) == entry["control"]["stall"]
        assert (may_yield == "Y") == entry["control"]["yield"]
