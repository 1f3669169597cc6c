"""``symbols:`` sets variables of the source, and what nothing sets is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof import api
from gpuprof.errors import ConfigError
from gpuprof.results.model import Result

TAPS = """
__constant__ float taps[3];
__constant__ float known[3] = {1, 2, 3};
__device__ int step;
namespace inner { __constant__ int bias; }
extern "C" __global__ void filter(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 3; ++k) if (i + k < n) sum += taps[k] * x[i + k];
    if (i < n) y[i] = sum;
}
extern "C" __global__ void weighted(float* y) { y[threadIdx.x] = known[threadIdx.x % 3]; }
extern "C" __global__ void stepped(float* y) {
    y[threadIdx.x] = (threadIdx.x + 1) * step + inner::bias;
}
"""
YAML = """
name: symbols
sizes: {{N: 64}}
buffers:
  x: {{dtype: float32, shape: N, fill: "i % 7"}}
  y: {{dtype: float32, shape: N, output: true}}
{more}
variants:
  all: {{source: taps.cu, kernel: {kernel}, block: 64, grid: 1, args: {args}}}
"""


def run(folder: Path, kernel: str, args: str, more: str = "") -> Result:
    (folder / "taps.cu").write_text(TAPS)
    config = folder / "symbols.yaml"
    config.write_text(YAML.format(kernel=kernel, args=args, more=more))
    return api.run(config, device="emulated").results[0]


def test_constants_that_nothing_sets_are_named(tmp_path: Path) -> None:
    result = run(tmp_path, "filter", "[x, y, N]")
    assert any("taps" in note and "symbols:" in note for note in result.notes)


def test_constants_with_a_value_of_their_own_are_not(tmp_path: Path) -> None:
    assert run(tmp_path, "weighted", "[y]").notes == ()


def test_the_taps_of_a_filter_are_set_and_stand_in_the_reference(tmp_path: Path) -> None:
    more = 'symbols: {taps: {dtype: float32, shape: 3, fill: "2 * (i == 0)"}}\nreference: {y: "x * 2 + sum(taps) - 2"}'
    result = run(tmp_path, "filter", "[x, y, N]", more)
    assert (result.status.value, result.notes) == ("ok", ())


def test_device_variables_and_names_in_namespaces(tmp_path: Path) -> None:
    more = """symbols:
  step: {dtype: int32, shape: 1, fill: 3}
  bias: {dtype: int32, shape: 1, fill: 40}
reference: {y: "(arange(N) + 1) * 3 + 40"}"""
    assert run(tmp_path, "stepped", "[y]", more).status.value == "ok"


@pytest.mark.parametrize(
    ("symbols", "said"),
    [
        ("{tabs: {dtype: float32, shape: 3, fill: 1}}", "no variable tabs (it has"),
        ("{taps: {dtype: float32, shape: 4, fill: 1}}", "16 bytes, and the variable has 12"),
    ],
)
def test_a_wrong_symbol_is_one_line(tmp_path: Path, symbols: str, said: str) -> None:
    result = run(tmp_path, "filter", "[x, y, N]", f"symbols: {symbols}")
    assert result.status.value == "launch_failed"
    assert said in (result.reason or "")


@pytest.mark.parametrize(
    ("args", "symbols", "said"),
    [
        ("[x, y, taps]", "{taps: {dtype: float32, shape: 3, fill: 1}}", "is under `symbols`"),
        ("[x, y, N]", "{x: {dtype: float32, shape: 3, fill: 1}}", "already used"),
        ("[x, y, N]", "{taps: {dtype: float32, shape: 3}}", "fill"),
    ],
)
def test_mistakes_of_the_yaml(tmp_path: Path, args: str, symbols: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run(tmp_path, "filter", args, f"symbols: {symbols}")
