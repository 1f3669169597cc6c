"""Operation classes in ``gpuprof counters``: whole on sm_120, and without a value where a class is not known."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from gpuprof.cli import cli
from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.device.session import StepCounters
from gpuprof.emulator.counting import metrics
from gpuprof.emulator.options import EmulationOptions
from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import COUNTED_OPERATIONS, Operation, opcode
from gpuprof.profile.counting import counters_of
from gpuprof.report.counter_table import render_counters
from gpuprof.results.derived import derived_values
from gpuprof.results.json import read_run, to_json
from tests.emulator.emulated_kernels import i32
from tests.sass.sass_tools import compile_cubin

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
CLASSES = [m.thread_op(operation.value) for operation in COUNTED_OPERATIONS]


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


def test_an_instruction_without_a_class_leaves_the_classes_without_a_value(
    counters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every executable opcode has a class by now: the table's word for WARPGROUP is taken back."""
    unknown = replace(opcode("WARPGROUP"), operation=Operation.UNKNOWN)
    monkeypatch.setattr(metrics, "opcode", lambda name: unknown if name == "WARPGROUP" else opcode(name))
    counters(WARPGROUP, "sm_90a")
    run = read_run(tmp_path / "run.json")
    device = EmulatedDevice(EmulationOptions())
    handle = device.allocate(512)
    arguments = (Pointer(handle), Pointer(handle), *(np.float32(value).tobytes() for value in (2, 3)), i32(128))
    cubin = compile_cubin(tmp_path / "uni.cu", "sm_90a", tmp_path)
    launched = device.launch(Launch(cubin, "uni", (1, 1, 1), (128, 1, 1), 0, arguments))
    assert launched is not None
    counted = counters_of([StepCounters("main", True, launched)])
    assert counted is not None
    assert not set(CLASSES) & set(counted.values)
    assert {counted.unavailable[name] for name in CLASSES} == {
        "WARPGROUP executed; under which class of operation Nsight Compute counts it is unknown"
    }
    assert counted.values[m.thread_op("fmul")] == 128, "a known floating-point counter keeps its value"
    assert all(m.thread_op("integer") not in entry.counters for entry in launched.per_instruction)
    result = replace(run.results[0], counters=counted)
    assert "lane_efficiency_pred_on" in derived_values(result)
    run = replace(run, results=(result,))
    text = io.StringIO()
    render_counters(run, Console(file=text, width=120))
    assert "no value: WARPGROUP executed" in text.getvalue()
    assert m.thread_op("integer") not in text.getvalue()
    raw = json.loads(to_json(run))
    assert m.thread_op("integer") in raw["results"][0]["counters"]["unavailable"]
    assert m.thread_op("integer") not in raw["results"][0]["counters"]["values"]
