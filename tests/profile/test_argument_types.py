"""Arguments by the types of the kernel's parameters: converted where that is safe, else refused with both types."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.experiment.arguments import fitted, scalar_argument
from gpuprof.isa.parameter_type import ParameterType
from gpuprof.report.columns import status_word
from gpuprof.results.model import Status
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest
from gpuprof.toolchain.parameter_types import parameter_types
from tests.profile.experiments import rows_of, run_yaml

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void scale(float *y, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}
__global__ void times(int *y, int a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}
template <typename T> __global__ void scale_any(T *y, T a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = y[i] * a;
}
extern "C" __global__ void scale_c(float *__restrict__ y, const float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}
extern "C" __global__ void vectors(float4 *y, long long n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) { y[i].x *= 2; y[i].y *= 2; y[i].z *= 2; y[i].w *= 2; }
}
"""
CONFIG = """
sizes: {N: 256}
buffers:
  y: {dtype: float32, shape: N, fill: "i % 7", output: true}
  yi: {dtype: int32, shape: N, fill: "i % 7", output: true}
  yd: {dtype: float64, shape: N, fill: "i % 7", output: true}
variants:
  int_for_float: {source: k.cu, kernel: scale, block: 64, grid: 4, args: [y, 2, N], reference: {y: 2 * y}}
  int_for_float_c: {source: k.cu, kernel: scale_c, block: 64, grid: 4, args: [y, 2, N], reference: {y: 2 * y}}
  int_for_double: {source: k.cu, kernel: scale_any<double>, block: 64, grid: 4, args: [yd, 2, N],
                   reference: {yd: 2 * yd}}
  int_for_long: {source: k.cu, kernel: vectors, block: 64, grid: 1, args: [y, N], reference: {y: 2 * y}}
  float_for_int: {source: k.cu, kernel: times, block: 64, grid: 4, args: [yi, 2.5, N]}
  given_for_float: {source: k.cu, kernel: scale, block: 64, grid: 4, args: [y, {value: 2, dtype: int32}, N]}
  doubles: {source: k.cu, kernel: scale, block: 64, grid: 4, args: [yd, 2.0, N]}
  doubles_c: {source: k.cu, kernel: scale_c, block: 64, grid: 4, args: [yd, 2.0, N]}
  ints: {source: k.cu, kernel: scale, block: 64, grid: 4, args: [yi, 2.0, N]}
  buffer_for_float: {source: k.cu, kernel: scale, block: 64, grid: 4, args: [y, y, N]}
"""
REFUSED = {
    "float_for_int": ("float32", "int"),
    "given_for_float": ("int32", "float; write {value: 2, dtype: float32}"),
    "doubles": ("float64*", "float*; give yd dtype float32"),
    "doubles_c": ("float64*", "float*"),
    "ints": ("int32*", "float*"),
    "buffer_for_float": ("a pointer", "parameter is float"),
}


def test_arguments_run_right_or_fail_with_both_types(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, CONFIG, SOURCE)
    for label, row in rows.items():
        if label in REFUSED:
            given, wanted = REFUSED[label]
            assert row.status is Status.LAUNCH_FAILED, label
            assert f"is {given}, and the kernel's parameter is " in (row.reason or ""), row.reason
            assert wanted in (row.reason or ""), row.reason
        else:
            assert (row.status, row.verification and row.verification.verdict) == (Status.OK, "ok"), (label, row.reason)


def test_a_row_without_a_reference_ran_and_an_output_without_one_is_named(tmp_path: Path) -> None:
    config = """
sizes: {N: 64}
buffers:
  y: {dtype: float32, shape: N, fill: i, output: true}
  z: {dtype: float32, shape: N, fill: i, output: true}
variants:
  free: {source: k.cu, kernel: scale, block: 64, grid: 1, args: [y, 2, N]}
  partly:
    steps:
      - {source: k.cu, kernel: scale, block: 64, grid: 1, args: [y, 2, N]}
      - {source: k.cu, kernel: scale, block: 64, grid: 1, args: [z, 3, N]}
    reference: {y: 2 * y}
"""
    run = run_yaml(tmp_path, config, SOURCE)
    free, partly = run.results
    assert free.verification is not None
    assert free.verification.verdict == "ran"
    assert [status_word(result) for result in run.results] == ["ran", "ok"]
    assert partly.verification is not None
    assert partly.verification.verdict == "ok"
    assert partly.verification.notes == ("z is an output without a reference: nobody compares it",)


@pytest.mark.parametrize(
    ("value", "wanted", "dtype"),
    [
        (2, "__half", "float16"),
        (2.5, "__half", "float16"),
        (2.5, "double", "float64"),
        (7, "unsigned char", "uint8"),
        (1, "bool", "bool"),
        (300, "unsigned char", "int32"),  # does not fit: left as it is, and refused
        (-1, "unsigned int", "int32"),
        (2, "Pair", "int32"),
    ],
)
def test_open_numbers_take_the_parameters_type(value: float, wanted: str, dtype: str) -> None:
    argument = fitted(scalar_argument(value), ParameterType(wanted))
    assert (argument.value, argument.dtype) == (value, dtype)  # type: ignore[union-attr]


def test_a_type_of_the_yaml_is_kept() -> None:
    given = scalar_argument(2, "int32")
    assert fitted(given, ParameterType("float")) is given


PLACES = """
struct Pair { int a; float b; };
template <typename T> __global__ void named(T *y, const T a, Pair p, float4 v, bool f, const float *__restrict__ z)
{
    y[0] = a + p.a + v.x + f + z[0];
}
extern "C" __global__ void plain(const double *x, float a, unsigned n, Pair p, void *raw, const int (*rows)[4])
{
    ((float *)raw)[n] = x[0] + a + p.b + rows[0][0];
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_types_come_from_the_mangled_name_or_from_ptx_and_source(tmp_path: Path, arch: str) -> None:
    (tmp_path / "p.cu").write_text(PLACES)
    builder = Builder(find_tools())

    def types(kernel: str) -> str:
        build = builder.build(BuildRequest(tmp_path / "p.cu", kernel, arch))
        found = parameter_types(build.cubin, build.symbol, build.request.source)
        return ", ".join(each.name if each else "?" for each in found)

    assert types("named<float>") == "float*, float, Pair, float4, bool, float*"
    assert types("plain") == "double*, float, unsigned int, ?, ?, ?"
