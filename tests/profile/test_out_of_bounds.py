"""An access outside of a buffer is told in the user's words: kernel, buffer and element."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.results.model import Status
from tests.profile.experiments import rows_of

SOURCE = """
namespace space {
template <int N> __global__ void rows(const float *A, float *y)
{
    y[threadIdx.x] = A[(blockIdx.x + N) * 64 + threadIdx.x];
}
}
__global__ void in_front(float *y) { y[(int)threadIdx.x - 3] = 1; }
__global__ void split(float2 *y) { y[threadIdx.x] = make_float2(1, 2); }
"""
CONFIG = """
buffers:
  A: {dtype: float32, shape: [1024, 64], fill: i % 7}
  y: {dtype: float32, shape: 64, output: true}
variants:
  past: {source: k.cu, kernel: "space::rows<1>", block: 64, grid: 1024, args: [A, y]}
  front: {source: k.cu, kernel: in_front, block: 64, grid: 1, args: [y]}
"""


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (
            "past",
            ["A[1024, 0]", "of A ([1024, 64], 262,144 bytes)", "space::rows<1> at", "k.cu:5", "block (1023, "],
        ),
        ("front", ["y[-3]", "12 bytes before the start of y ([64], 256 bytes)", ": in_front at", "thread (0, 0, 0)"]),
    ],
)
def test_buffer_element_and_kernel_are_named(tmp_path: Path, label: str, words: list[str]) -> None:
    row = rows_of(tmp_path, CONFIG, SOURCE)[label]
    assert row.status is Status.LAUNCH_FAILED
    for word in words:
        assert word in (row.reason or ""), row.reason
