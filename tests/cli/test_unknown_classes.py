"""Operation classes in ``gpuprof counters``: whole on sm_120, and without a value where a class is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import Operation
from gpuprof.results.derived import derived_values
from gpuprof.results.json import read_run

UNIFORM_MATH = """
extern "C" __global__ void uni(const float* in, float* out, float a, float b, int n) {
    float s = a * b + (float)n, t = fminf(a, s) * 0.5f;
    int m = max(n, 7); m = abs(m - 3);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * (s + t) + (float)m;
}
"""
WARPGROUP = """
extern "C" __global__ void uni(const float* in, float* out, float a, float b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    asm volatile("wgmma.fence.sync.aligned;");
    out[i] = v * a;
}
"""
CONFIG = """
name: uni
sizes: {N: 128}
buffers:
  x: {dtype: float32, shape: [N], fill: "1"}
  y: {dtype: float32, shape: [N], output: true}
variants:
  plain: {source: uni.cu, kernel: uni, block: [128], grid: [1], args: [x, y, 2.0, 3.0, N]}
"""
CLASSES = [m.thread_op(operation.value) for operation in Operation if operation is not Operation.UNKNOWN]


@pytest.fixture
def counters(tmp_path: Path):
    def call(kernel: str, arch: str, *flags: str) -> str:
        (tmp_path / "uni.cu").write_text(kernel, encoding="utf-8")
        (tmp_path / "uni.yaml").write_text(CONFIG, encoding="utf-8")
        arguments = ["counters", str(tmp_path / "uni.yaml"), "--arch", arch, "--json", str(tmp_path / "run.json")]
        done = CliRunner().invoke(cli, [*arguments, *flags])
        assert done.exit_code == 0, done.output
        return done.output

    return call


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_100", "sm_120"])
def test_the_classes_sum_to_the_executed_lanes(arch: str, counters, tmp_path: Path) -> None:
    """No branch here has a second predicate, so each executed lane is of one class (UVIMNMX of sm_120 too)."""
    counters(UNIFORM_MATH, arch)
    values = read_run(tmp_path / "run.json").results[0].counters.values
    assert sum(values[name] for name in CLASSES) == values[m.THREAD_INSTRUCTIONS_ON]
    assert values[m.thread_op("uniform")] % 128 == 0


def test_an_instruction_without_a_class_leaves_the_classes_without_a_value(counters, tmp_path: Path) -> None:
    text = counters(WARPGROUP, "sm_90a")
    result = read_run(tmp_path / "run.json").results[0]
    assert not set(CLASSES) & set(result.counters.values)
    assert {result.counters.unavailable[name] for name in CLASSES} == {
        "WARPGROUP executed; under which class of operation Nsight Compute counts it is unknown"
    }
    assert result.counters.values[m.thread_op("fmul")] == 128, "a known floating-point counter keeps its value"
    assert "no value: WARPGROUP executed" in text
    assert m.thread_op("integer") not in text
    assert all(m.thread_op("integer") not in entry["counters"] for entry in result.counters.per_line)
    assert "lane_efficiency_pred_on" in derived_values(result)
    raw = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert m.thread_op("integer") in raw["results"][0]["counters"]["unavailable"]
