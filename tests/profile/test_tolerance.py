"""The default tolerance: no wider than the arithmetic needs, and never so narrow that a right kernel differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpuprof.profile.verification.compare import compare_output
from gpuprof.profile.verification.precision import Precision, precision_of
from gpuprof.profile.verification.terms import Terms, terms_of
from gpuprof.profile.verification.tolerance import Sums, default_tolerance, width
from gpuprof.results.model import Status
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.disasm import disassemble_text
from gpuprof.toolchain.model import BuildRequest
from tests.profile.experiments import rows_of

RANDOM = np.random.default_rng(12)


def terms(text: str, random: bool = True, **arrays: NDArray[np.generic] | int | float) -> Terms:
    found = terms_of(text, arrays, dict.fromkeys(arrays, random))
    assert found is not None
    return found


def test_terms_of_sums_of_products() -> None:
    a, b = np.full((4, 100), 3.0, np.float32), np.full((100, 5), -2.0, np.float32)
    product = terms("a @ b", a=a, b=b)
    assert (product.count, product.peak, product.largest_term, product.grain) == (100, 600.0, 6.0, 1.0)
    assert product.typical == pytest.approx(60.0)  # 6 * sqrt(100)
    assert terms("sum(x)", x=np.ones(50, np.float32)).count == 50
    assert terms("sum(a, axis=1)", a=a).count == 100
    assert terms("T(a) @ c", a=a, c=np.ones((4, 2), np.float32)).count == 4
    scaled = terms("alpha * (a @ b) + 0.5 * c", a=a, b=b, c=np.ones((4, 5), np.float32), alpha=2)
    assert (scaled.count, scaled.peak, scaled.grain) == (101, 1200.5, 0.5)
    assert terms("mean(a, axis=1)", a=a).grain == 0  # a hundredth is no sum of powers of two that a float32 holds
    assert terms("max(a @ b + 1, 0)", a=a, b=b).count > 100
    assert terms_of("exp(x) / sum(exp(x))", {"x": np.ones(4)}, {}) is None


def test_exact_sums_are_those_that_the_accumulator_holds() -> None:
    small, large = np.full((1, 1024), 3.0, np.float32), np.full((1, 1024), 300.0, np.float32)
    assert terms("a @ T(a)", a=small).is_exact(24)  # 9 * 1024
    assert not terms("a @ T(a)", a=small).is_exact(11)
    assert not terms("a @ T(a)", a=large).is_exact(24)  # 90,000 * 1024 > 2^24
    assert not terms("sum(x)", x=RANDOM.uniform(0, 1, 9).astype(np.float32)).is_exact(24)
    # values in the thousands of which a later one is no whole number
    late = np.ones(5000, np.float32)
    late[-1] = 0.3
    assert not terms("sum(x)", x=late).is_exact(24)


def test_exact_sums_must_be_equal() -> None:
    sums = Sums(64, terms("sum(x)", x=np.arange(64, dtype=np.float32)))
    want = np.array([2016.0])
    rule = default_tolerance("float32", sums, want)
    assert compare_output("y", np.array([2016.0], np.float32), want, rule).wrong == 0
    assert compare_output("y", np.nextafter(np.array([2016.0], np.float32), np.float32(0)), want, rule).wrong == 1
    assert default_tolerance("int32", sums, want).rtol == 0.0


def test_values_that_are_only_moved_are_equal() -> None:
    x = RANDOM.uniform(-1, 1, (8, 9)).astype(np.float32)
    sums = Sums(1, terms("T(x)", x=x))
    rule = default_tolerance("float32", sums, x.T.astype(np.float64))
    assert (rule.rtol, rule.atol) == (0.0, 0.0)
    narrow = default_tolerance("float16", sums, x.T.astype(np.float64))
    assert compare_output("y", x.T.astype(np.float16), x.T.astype(np.float64), narrow).wrong == 0
    assert narrow.rtol < 0.0005
    assert not terms("x * 1.0", x=x).moved


def test_a_half_output_of_float32_sums_is_rounded_once() -> None:
    a = RANDOM.uniform(-1, 1, (64, 1024)).astype(np.float16)
    b = RANDOM.uniform(-1, 1, (1024, 64)).astype(np.float16)
    want = a.astype(np.float64) @ b.astype(np.float64)
    rule = default_tolerance("float16", Sums(1024, terms("a @ b", a=a, b=b)), want)
    right = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    assert compare_output("c", right, want, rule).wrong == 0
    short = (a[:, :1023].astype(np.float32) @ b[:1023].astype(np.float32)).astype(np.float16)
    assert compare_output("c", short, want, rule).wrong > 3000  # of 4,096
    # sums in half are worse, and right where the machine code keeps them so
    halves = np.zeros((64, 64), np.float16)
    for k in range(1024):
        halves = (halves + a[:, k : k + 1] * b[k]).astype(np.float16)
    assert compare_output("c", halves, want, rule).wrong > 0
    by_code = default_tolerance("float16", Sums(1024, terms("a @ b", a=a, b=b)), want, Precision("float16"))
    assert compare_output("c", halves, want, by_code).wrong == 0


@pytest.mark.parametrize("count", [1, 7, 256, 4096])
@pytest.mark.parametrize("order", ["one after the other", "pairs", "backwards"])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_right_sums_pass_in_any_order(count: int, order: str, low: float) -> None:
    x = RANDOM.uniform(low, 1, (count, 200)).astype(np.float32)
    if order == "pairs":
        got = np.sum(x, axis=0, dtype=np.float32)
    else:
        got = np.zeros(200, np.float32)
        for row in x[:: -1 if order == "backwards" else 1]:
            got = got + row
    want = x.astype(np.float64).sum(axis=0)
    rule = default_tolerance("float32", Sums(count, terms("sum(x, axis=0)", x=x)), want)
    assert compare_output("y", got, want, rule).wrong == 0
    assert count == 1 or width(rule, want) < 0.01 * np.abs(x).mean() * max(1, count / 100)


def test_errors_of_inputs_that_are_not_random_may_add_up() -> None:
    """Adding 0.1 again and again errs in one direction: 13 units in every addition, not their root."""
    x = np.full(100_000, 0.1, np.float32)
    got = np.cumsum(x, dtype=np.float32)[-1:]
    want = np.array([x.astype(np.float64).sum()])
    assert abs(got[0] - want[0]) > 0.5
    rule = default_tolerance("float32", Sums(x.size, terms("sum(x)", False, x=x)), want)
    assert compare_output("y", got, want, rule).wrong == 0


CODE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void in_half(const __half *x, __half *y)
{
    __half sum = __float2half(0.0f);
    for (int k = 0; k < 64; ++k) sum = __hfma(x[k], x[threadIdx.x], sum);
    y[threadIdx.x] = sum;
}
extern "C" __global__ void in_float(const __half *x, __half *y)
{
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += __half2float(x[k]) * __half2float(x[threadIdx.x]);
    y[threadIdx.x] = __float2half(sum);
}
extern "C" __global__ void in_bfloat(const __nv_bfloat16 *x, __nv_bfloat16 *y)
{
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
    for (int k = 0; k < 64; ++k) sum = __hfma(x[k], x[threadIdx.x], sum);
    y[threadIdx.x] = sum;
}
extern "C" __global__ void in_double(const double *x, double *y) { y[threadIdx.x] = x[0] * x[threadIdx.x] + 1; }
extern "C" __global__ void float_for_double(const double *x, double *y)
{
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += (float)x[k] * (float)x[threadIdx.x];
    y[threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(
    ("kernel", "dtype", "accumulator"),
    [
        ("in_half", "float16", "float16"),
        ("in_float", "float16", "float32"),
        ("in_bfloat", "bfloat16", "bfloat16"),
        ("in_double", "float64", "float64"),
        ("float_for_double", "float64", "float32"),
    ],
)
def test_the_machine_code_says_in_what_it_sums(tmp_path: Path, kernel: str, dtype: str, accumulator: str) -> None:
    (tmp_path / "code.cu").write_text(CODE)
    tools = find_tools()
    for arch in ("sm_80", "sm_90"):
        build = Builder(tools).build(BuildRequest(tmp_path / "code.cu", kernel, arch))
        body = parse_disassembly(disassemble_text(tools, build.cubin)).functions[kernel].body
        assert precision_of(body, dtype).accumulator == accumulator, arch


HALF_TAIL = """
#include <cuda_fp16.h>
template <int DROP> __global__ void dot_rows(const __half *a, const __half *b, __half *c, int K, int N)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    float sum = 0;
    for (int k = 0; k < K - DROP; ++k) sum += __half2float(a[i * K + k]) * __half2float(b[k * N + j]);
    c[i * N + j] = __float2half(sum);
}
template <int DROP> __global__ void dot_in_half(const __half *a, const __half *b, __half *c, int K, int N)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    __half sum = __float2half(0.0f);
    for (int k = 0; k < K - DROP; ++k) sum = __hfma(a[i * K + k], b[k * N + j], sum);
    c[i * N + j] = sum;
}
"""
HALF_TAIL_CONFIG = """
sizes: {K: 512, N: 32, R: 8}
buffers:
  a: {dtype: float16, shape: [R, K], fill: {random: uniform, low: -1, high: 1}}
  b: {dtype: float16, shape: [K, N], fill: {random: uniform, low: -1, high: 1}}
  c: {dtype: float16, shape: [R, N], output: true}
reference: {c: a @ b}
variants:
  float: {source: k.cu, kernel: "dot_rows<{DROP}>", params: {DROP: [0, 1]}, block: 32, grid: [1, R],
          args: [a, b, c, K, N]}
  half: {source: k.cu, kernel: "dot_in_half<{DROP}>", params: {DROP: [0, 1]}, block: 32, grid: [1, R],
         args: [a, b, c, K, N]}
"""


def test_a_forgotten_product_shows_whether_sums_are_in_float_or_in_half(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, HALF_TAIL_CONFIG, HALF_TAIL)
    statuses = {label: row.status for label, row in rows.items()}
    assert statuses == {
        "float/DROP=0": Status.OK,
        "float/DROP=1": Status.DIFFERS,
        "half/DROP=0": Status.OK,
        "half/DROP=1": Status.DIFFERS,
    }


LONG_SUM = """
extern "C" __global__ void total(const float *x, float *y, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int w = 128; w > 0; w /= 2) {
        if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(y, part[0]);
}
"""
LONG_SUM_CONFIG = """
sizes: {COUNT: 200003}
buffers:
  x: {dtype: float32, shape: COUNT, fill: FILL}
  y: {dtype: float32, shape: 1, fill: 0, output: true}
reference: {y: "sum(x)"}
variants:
  all: {source: k.cu, kernel: total, block: 256, grid: "cdiv(COUNT, 256)", args: [x, y, COUNT]}
  one_less: {source: k.cu, kernel: total, block: 256, grid: "cdiv(COUNT, 256)", args: [x, y, COUNT - 1]}
"""


@pytest.mark.parametrize("fill", ["{random: uniform, low: 0, high: 1}", '"(i % 7) * 0.1"'])
def test_one_element_of_a_long_sum_shows_with_small_integers(tmp_path: Path, fill: str) -> None:
    rows = rows_of(tmp_path, LONG_SUM_CONFIG.replace("FILL", fill), LONG_SUM)
    assert rows["all"].status is Status.OK
    verification = rows["all"].verification
    assert verification is not None
    assert verification.why.endswith("and equal with small integers for inputs")
    assert rows["one_less"].status is Status.DIFFERS
    assert "with small integers for inputs" in (rows["one_less"].reason or "")


def test_where_no_inputs_are_exact_the_row_says_what_may_hide(tmp_path: Path) -> None:
    config = LONG_SUM_CONFIG.replace("FILL", "{random: uniform, low: 0, high: 1}")
    rows = rows_of(tmp_path, config.replace('"sum(x)"', '"sum(x) * 1.0000001"'), LONG_SUM)
    verification = rows["all"].verification
    assert verification is not None
    assert "the tolerance may hide a missing term: y: a difference of" in verification.notes[0]
