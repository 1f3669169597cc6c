"""``tensor_map`` of an argument: the map that the kernel gets, and what is said of boxes that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.errors import ConfigError
from gpuprof.experiment import load
from gpuprof.experiment.model import KernelStep, TensorMapArgument
from gpuprof.isa.tensor_map import TensorMap

CONFIG = """
name: boxes
sizes: {{ROWS: 96, COLUMNS: 128}}
buffers:
  a: {{dtype: float16, shape: [ROWS, COLUMNS], fill: 1}}
  b: {{dtype: float32, shape: [4], output: true}}
variants:
  v: {{source: k.cu, kernel: k, block: 128, grid: 1, args: [{argument}, b]}}
"""


def argument(folder: Path, text: str) -> object:
    (folder / "k.cu").write_text('extern "C" __global__ void k() {}')
    (folder / "c.yaml").write_text(CONFIG.format(argument=text))
    step = load(folder / "c.yaml").variants[0].steps[0]
    assert isinstance(step, KernelStep)
    return step.args[0]


def test_a_map_goes_from_the_innermost_dimension_outwards(tmp_path: Path) -> None:
    found = argument(tmp_path, "{buffer: a, tensor_map: {box: [ROWS // 3, 64], swizzle: 128, outside: nan}}")
    expected = TensorMap("float16", (128, 96), (256,), (64, 32), (), 128, nan_fill=True)
    assert found == TensorMapArgument("a", expected)


def test_an_offset_leaves_rows_out(tmp_path: Path) -> None:
    found = argument(tmp_path, "{buffer: a, offset: 10 * COLUMNS, tensor_map: {box: [8, 64], steps: [2, 1]}}")
    assert found == TensorMapArgument("a", TensorMap("float16", (128, 86), (256,), (64, 8), (1, 2)), 2560)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{buffer: a, tensor_map: {box: [8, 300]}}", "box 300 of a tensor map: 1 to 256"),
        ("{buffer: a, tensor_map: {box: [8]}}", "needs a box of 2 sizes, not 1"),
        ("{buffer: a, tensor_map: {box: [8, 128], swizzle: 64}}", "more than its swizzle of 64"),
        ("{buffer: a, offset: 5, tensor_map: {box: [8, 64]}}", "must be a multiple of 128 elements"),
        ("{value: 1, dtype: int32, tensor_map: {box: [8, 64]}}", "expected a `buffer` beside `tensor_map`"),
        ("{buffer: a, tensor_map: {}}", "box"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r".*") as caught:
        argument(tmp_path, text)
    assert message in str(caught.value)
