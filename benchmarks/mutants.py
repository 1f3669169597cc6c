"""Mutants of the bundled kernels: does the check find every one that changes an output?

    python benchmarks/mutants.py [--only NAME] [--markdown FILE]

Each mutation replaces one piece of a kernel's source. All variants of a kernel run on the emulator with the default
tolerance; what the check called ``ok`` is compared with the outputs of the kernel as it is, bit by bit: only a mutant
that changes nothing may pass. Ends with 1 when a mutant was missed, or a kernel as it is was not ``ok``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpuprof import experiment as experiments
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Result, Status

KERNELS = Path(__file__).parent.parent / "kernels"


@dataclass(frozen=True)
class Mutation:
    """``old`` is replaced by ``new``, ``count`` times at most."""

    name: str
    old: str
    new: str
    count: int = 1


@dataclass(frozen=True)
class Subject:
    """A kernel, an experiment over it, and what is done to it. ``body`` is the text behind which statements go."""

    name: str
    file: str
    setup: str  #: sizes, buffers and reference in YAML
    launch: str  #: the variant's kernel, block, grid and args in YAML
    body: str
    mutations: tuple[Mutation, ...]
    before: str = ""  #: a step in front of the launch


#: Mutations of every kernel: statements at the start of its body.
LAST_BLOCK = "blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1"
EVERYWHERE = (
    ("skip the last block", f" if ({LAST_BLOCK}) return; "),
    ("skip the first block", " if (blockIdx.x == 0 && blockIdx.y == 0) return; "),
    ("one thread returns", " if (threadIdx.x == 5 && blockIdx.x == 0) return; "),
    ("first launch only", f" if (launches) return; if (threadIdx.x == 0 && {LAST_BLOCK}) launches = 1; "),
)


def uniform(low: int = -1) -> str:
    return f"{{random: uniform, low: {low}, high: 1}}"


def gemm(dtype: str) -> str:
    return f"""
sizes: {{M: 50, N: 70, K: 61}}
buffers:
  A: {{dtype: {dtype}, shape: [M, K], fill: {uniform()}}}
  B: {{dtype: {dtype}, shape: [K, N], fill: {uniform()}}}
  C: {{dtype: {dtype}, shape: [M, N], output: true}}
reference: {{C: A @ B}}
"""


GEMM_LAUNCH = 'block: [16, 16], grid: ["cdiv(N, 16)", "cdiv(M, 16)"], args: [M, N, K, A, B, C]'
NAIVE = (
    Mutation("drop the last k-step", "k < K;", "k < K - 1;"),
    Mutation("start at k = 1", "int k = 0;", "int k = 1;"),
    Mutation("bound of rows off by one", "row >= M", "row >= M - 1"),
    Mutation("bound of columns beyond", "column >= N", "column > N"),
    Mutation("swapped index of B", "B[static_cast<size_t>(k) * N + column]", "B[static_cast<size_t>(column) * K + k]"),
    Mutation("sum starts at a thousandth", "T sum = 0;", "T sum = T(0.001);"),
    Mutation("one product twice", "C[static_cast", "sum += A[row * K] * B[column]; C[static_cast"),
    Mutation("scaled by 1.001", "+ column] = sum;", "+ column] = sum * T(1.001);"),
    Mutation("every second column", "C[static_cast", "if (column % 2 == 0) C[static_cast"),
)
VECTOR = f"""
sizes: {{COUNT: 1000}}
buffers:
  x: {{dtype: float32, shape: COUNT, fill: {uniform()}}}
  y: {{dtype: float32, shape: COUNT, fill: {uniform()}, output: true}}
reference: {{y: 2.0 * x + y}}
"""
ROWS = """
sizes: {ROWS: 37, COLUMNS: 100}
buffers:
  source: {dtype: float32, shape: [ROWS, COLUMNS], fill: {random: normal, std: 2}}
  target: {dtype: float32, shape: [ROWS, COLUMNS], output: true}
reference:
  target: exp(source - max(source, axis=1)) / sum(exp(source - max(source, axis=1)), axis=1)
"""
NORM = f"""
sizes: {{ROWS: 37, COLUMNS: 100}}
buffers:
  source: {{dtype: float32, shape: [ROWS, COLUMNS], fill: {{random: normal, mean: 1, std: 2}}}}
  weight: {{dtype: float32, shape: COLUMNS, fill: {uniform(0)}}}
  bias: {{dtype: float32, shape: COLUMNS, fill: {uniform()}}}
  target: {{dtype: float32, shape: [ROWS, COLUMNS], output: true}}
reference:
  target: (source - mean(source, axis=1)) / sqrt(var(source, axis=1) + 1.0e-5) * weight + bias
"""
LONG_SUM = f"""
sizes: {{COUNT: 100003}}
buffers:
  source: {{dtype: float32, shape: COUNT, fill: {uniform(0)}}}
  total: {{dtype: float32, shape: 1, output: true}}
reference: {{total: sum(source)}}
"""
BINS = """
sizes: {COUNT: 5003}
buffers:
  values: {dtype: int32, shape: COUNT, fill: {random: integers, low: 0, high: 256}}
  counts: {dtype: uint32, shape: 256, output: true}
reference: {counts: "histogram(values, 256)"}
"""
TURNED = f"""
sizes: {{ROWS: 70, COLUMNS: 50}}
buffers:
  source: {{dtype: float32, shape: [ROWS, COLUMNS], fill: {uniform()}}}
  target: {{dtype: float32, shape: [COLUMNS, ROWS], output: true}}
reference: {{target: T(source)}}
"""
LINE = f"""
sizes: {{COUNT: 1000}}
buffers:
  source: {{dtype: float32, shape: COUNT, fill: {uniform()}}}
  target: {{dtype: float32, shape: COUNT, output: true}}
reference:
  target: source + shift(source, 1) + shift(source, 2) + shift(source, 3) + shift(source, -1) + shift(source, -2)
    + shift(source, -3)
"""
PLANE = f"""
sizes: {{ROWS: 30, COLUMNS: 50}}
buffers:
  source: {{dtype: float32, shape: [ROWS, COLUMNS], fill: {uniform()}}}
  target: {{dtype: float32, shape: [ROWS, COLUMNS], output: true}}
reference:
  target: 0.2 * (source + shift(source, 1, axis=1) + shift(source, -1, axis=1) + shift(source, 1, axis=0)
    + shift(source, -1, axis=0))
"""
PRODUCT = f"""
sizes: {{M: 70, N: 100}}
buffers:
  A: {{dtype: float32, shape: [M, N], fill: {uniform()}}}
  x: {{dtype: float32, shape: N, fill: {uniform()}}}
  y: {{dtype: float32, shape: M, output: true}}
reference: {{y: A @ x}}
"""
STRIDED = f"""
sizes: {{COUNT: 1000, STRIDE: 3}}
buffers:
  source: {{dtype: float32, shape: COUNT * STRIDE, fill: {uniform()}}}
  target: {{dtype: float32, shape: COUNT, output: true}}
reference: {{target: "take(source, arange(COUNT) * STRIDE)"}}
"""

SUBJECTS = (
    Subject(
        "saxpy_float",
        "saxpy.cu",
        VECTOR,
        "kernel: saxpy_float, block: 256, grid: 4, args: [COUNT, 2.0, x, y]",
        "float a, const float* x, float* y) {",
        (
            Mutation("bound off by one", "if (i < count) y", "if (i < count - 1) y"),
            Mutation("wrong scalar", "a * x[i] + y[i]", "(a + 0.0001f) * x[i] + y[i]"),
            Mutation("neighbour of x", "a * x[i] + y[i]", "a * x[i ^ 1] + y[i]"),
            Mutation("y left out", "a * x[i] + y[i]", "a * x[i]"),
            Mutation("added twice", "a * x[i] + y[i];", "a * x[i] + y[i] + y[i];"),
            Mutation("every second element", "if (i < count) y", "if (i % 2 == 0 && i < count) y"),
        ),
    ),
    Subject(
        "saxpy_half2",
        "saxpy.cu",
        VECTOR.replace("float32", "float16"),
        "kernel: saxpy_half2, block: 256, grid: 2, args: [COUNT, 2.0, x, y]",
        "float a, const __half2* x, __half2* y) {",
        (
            Mutation("bound off by one", "if (i < count / 2)", "if (i < count / 2 - 1)"),
            Mutation("wrong scalar", "__float2half2_rn(a)", "__float2half2_rn(a * 1.01f)"),
            Mutation("halves swapped", "x[i], y[i]);", "__lowhigh2highlow(x[i]), y[i]);"),
            Mutation("y left out", "__hfma2(__float2half2_rn(a), x[i], y[i])", "__hmul2(__float2half2_rn(a), x[i])"),
            Mutation("neighbour of x", "x[i], y[i]);", "x[i ^ 1], y[i]);"),
            Mutation("every second element", "if (i < count / 2)", "if (i % 2 == 0 && i < count / 2)"),
        ),
    ),
    Subject(
        "gemm_naive<float>",
        "gemm_naive.cu",
        gemm("float32"),
        f'kernel: "gemm_naive_kernel<float>", {GEMM_LAUNCH}',
        "const T* B, T* C) {",
        NAIVE,
    ),
    Subject(
        "gemm_naive<double>",
        "gemm_naive.cu",
        gemm("float64"),
        f'kernel: "gemm_naive_kernel<double>", {GEMM_LAUNCH}',
        "const T* B, T* C) {",
        (
            *NAIVE,
            Mutation(
                "products in float",
                "A[static_cast<size_t>(row) * K + k] *",
                "(float)A[static_cast<size_t>(row) * K + k] * (float)",
            ),
        ),
    ),
    Subject(
        "gemm_tiled<float, 16>",
        "gemm_tiled.cu",
        gemm("float32"),
        f'kernel: "gemm_tiled_kernel<float, 16>", {GEMM_LAUNCH}',
        "const T* B, T* C) {",
        (
            Mutation("drop the last tile", "k0 < K;", "k0 + TILE < K;"),
            Mutation("drop the last k-step of a tile", "k < TILE; ++k", "k < TILE - 1; ++k"),
            Mutation("bound of A off by one", "a_column < K ?", "a_column < K - 1 ?"),
            Mutation("no zeros behind K", "b_row < K && column", "column"),
            Mutation("tile of B transposed", "tile_b[k][tx]", "tile_b[tx][k]"),
            Mutation("no barrier behind the loads", "T(0);\n        __syncthreads();", "T(0);"),
            Mutation("sum starts at a thousandth", "T sum = 0;", "T sum = T(0.001);"),
            Mutation("bound of rows off by one", "if (row < M &&", "if (row < M - 1 &&"),
        ),
    ),
    Subject(
        "gemv_warp",
        "gemv.cu",
        PRODUCT,
        "kernel: gemv_warp, block: 128, grid: cdiv(M, 4), args: [M, N, A, x, y]",
        "gemv_warp(int M, int N, const float* A, const float* x, float* y) {",
        (
            Mutation(
                "drop the last element", "c = lane; c < N; c += 32) sum +=", "c = lane; c < N - 1; c += 32) sum +="
            ),
            Mutation("start at the second warp load", "int c = lane; c < N;", "int c = lane + 32; c < N;"),
            Mutation("last lanes left out of the sum", "distance = 16; distance", "distance = 8; distance"),
            Mutation(
                "row off by one",
                "/ 32, lane = threadIdx.x % 32;\n    if (row >= M) return;\n    float sum = 0.0f;\n    for",
                "/ 32, lane = threadIdx.x % 32;\n    if (row >= M - 1) return;\n    float sum = 0.0f;\n    for",
            ),
            Mutation(
                "sum of shuffles once too often",
                "sum = warp_total(sum);\n    if (lane == 0) y[row] = sum;\n}\n\nextern",
                "sum = warp_total(sum) + sum * 0.001f;\n    if (lane == 0) y[row] = sum;\n}\n\nextern",
            ),
        ),
    ),
    Subject(
        "reduce_v3_atomic",
        "reduction.cu",
        LONG_SUM,
        "kernel: reduce_v3_atomic, block: 256, grid: 20, args: [COUNT, source, total]",
        "reduce_v3_atomic(int count, const float* source, float* total) {",
        (
            Mutation("drop the last float4", "i < count / 4;", "i < count / 4 - 1;"),
            Mutation("drop the last floats", "if (rest < count) sum", "if (rest < count - 3) sum"),
            Mutation(
                "drop one component of one thread", "(sum4.z + sum4.w)", "(sum4.z + (first == 77 ? 0.0f : sum4.w))"
            ),
            Mutation("last warp left out", "lane < BLOCK / 32 ? sums", "lane < BLOCK / 32 - 1 ? sums"),
            Mutation("shuffles stop early", "offset = WARP / 2; offset > 0;", "offset = WARP / 2; offset > 1;"),
            Mutation(
                "first float twice",
                "if (lane == 0) atomicAdd(total, sum);",
                "if (lane == 0) atomicAdd(total, sum + (blockIdx.x ? 0.0f : source[0]));",
            ),
            Mutation(
                "no barrier",
                "= sum;\n    __syncthreads();\n    if (threadIdx.x < 32) {\n        sum = warp_sum(lane",
                "= sum;\n    if (threadIdx.x < 32) {\n        sum = warp_sum(lane",
            ),
        ),
        "{name: zero, fill: total, byte: 0}",
    ),
    Subject(
        "histogram_shared",
        "histogram.cu",
        BINS,
        "kernel: histogram_shared, block: 256, grid: 7, args: [COUNT, values, counts]",
        "histogram_shared(int count, const int* values, unsigned int* counts) {",
        (
            Mutation("bins not set to 0", "block_counts[threadIdx.x] = 0;", ""),
            Mutation("drop the last value", "BINS + threadIdx.x; i < count;", "BINS + threadIdx.x; i < count - 1;"),
            Mutation(
                "one value twice",
                "for (int i = blockIdx.x * BINS",
                "if (blockIdx.x + threadIdx.x == 0) "
                "atomicAdd(&block_counts[values[0]], 1u);\n    for (int i = blockIdx.x * BINS",
            ),
            Mutation(
                "last bin left out",
                "atomicAdd(&counts[threadIdx.x], block",
                "if (threadIdx.x < 255) atomicAdd(&counts[threadIdx.x], block",
            ),
            Mutation("neighbouring bin", "&block_counts[values[i]]", "&block_counts[(values[i] + 1) % BINS]"),
            Mutation(
                "store instead of add",
                "atomicAdd(&counts[threadIdx.x], block_counts[threadIdx.x]);",
                "counts[threadIdx.x] = block_counts[threadIdx.x];",
            ),
        ),
        "{name: zero, fill: counts, byte: 0}",
    ),
    Subject(
        "stencil_1d_shared",
        "stencil.cu",
        LINE,
        'kernel: "stencil_1d_shared<3, 256>", block: 256, grid: 4, args: [COUNT, source, target]',
        "stencil_1d_shared(int count, const float* source, float* target) {",
        (
            Mutation("last neighbour left out", "offset = 0; offset <= 2 * RADIUS", "offset = 0; offset < 2 * RADIUS"),
            Mutation("halo not loaded", "k < BLOCK + 2 * RADIUS; k += BLOCK) {", "k < BLOCK; k += BLOCK) {"),
            Mutation("first element outside read", "tile[k] = j >= 0 &&", "tile[k] = j >= 1 &&"),
            Mutation("shifted by one", "blockIdx.x * BLOCK - RADIUS;", "blockIdx.x * BLOCK - RADIUS + 1;"),
            Mutation(
                "ones outside",
                "? source[j] : 0.0f;\n    }\n    __syncthreads",
                "? source[j] : 1.0f;\n    }\n    __syncthreads",
            ),
            Mutation(
                "bound off by one",
                "if (i >= count) return;\n    float sum = 0.0f;\n#pragma unroll\n    for (int offset = 0",
                "if (i >= count - 1) return;\n    float sum = 0.0f;\n#pragma unroll\n    for (int offset = 0",
            ),
        ),
    ),
    Subject(
        "stencil_2d_global",
        "stencil.cu",
        PLANE,
        "kernel: stencil_2d_global, block: [32, 8], "
        'grid: ["cdiv(COLUMNS, 32)", "cdiv(ROWS, 8)"], args: [ROWS, COLUMNS, source, target]',
        "stencil_2d_global(int rows, int columns, const float* source, float* target) {",
        (
            Mutation("wrong scalar", "0.2f * (source[i]", "0.2001f * (source[i]"),
            Mutation("left edge wraps", "x > 0 ? source[i - 1]", "i > 0 ? source[i - 1]"),
            Mutation("right edge off by one", "x + 1 < columns ?", "x + 2 < columns ?"),
            Mutation("upper row left out", "left + right + up + down", "left + right + down"),
            Mutation("down twice", "up + down);\n}\n\nextern", "down + down);\n}\n\nextern"),
            Mutation(
                "bound of rows off by one",
                "x >= columns || y >= rows) return;\n    const size_t i",
                "x >= columns || y >= rows - 1) return;\n    const size_t i",
            ),
        ),
    ),
    Subject(
        "transpose_tiled",
        "transpose.cu",
        TURNED,
        'kernel: "transpose_tiled<8>", block: [32, 8], '
        'grid: ["cdiv(COLUMNS, 32)", "cdiv(ROWS, 32)"], args: [ROWS, COLUMNS, source, target]',
        "transpose_tiled(int rows, int columns, const float* source, float* target) {",
        (
            Mutation("indices of the tile swapped", "tile[Layout::at(x, y)]", "tile[Layout::at(y, x)]"),
            Mutation("no barrier", "__syncthreads();", ""),
            Mutation("bound of target rows off by one", "target_row < columns &&", "target_row < columns - 1 &&"),
            Mutation("bound of target columns off by one", "target_column < rows)", "target_column < rows - 1)"),
            Mutation(
                "last row of the tile left out", "if (row >= rows || column", "if (row >= rows || y == 31 || column"
            ),
            Mutation(
                "one step of rows short",
                "y < TILE; y += ROWS) {\n        const int target_row",
                "y < TILE - ROWS; y += ROWS) {\n        const int target_row",
            ),
        ),
    ),
    Subject(
        "softmax_warp",
        "softmax.cu",
        ROWS,
        "kernel: softmax_warp, block: 256, grid: cdiv(ROWS, 8), args: [ROWS, COLUMNS, source, target]",
        "softmax_warp(int rows, int columns, const float* source, float* target) {",
        (
            Mutation(
                "last column not summed",
                "c = lane; c < columns; c += 32) sum",
                "c = lane; c < columns - 1; c += 32) sum",
            ),
            Mutation(
                "last column not written",
                "c = lane; c < columns; c += 32) y[c]",
                "c = lane; c < columns - 1; c += 32) y[c]",
            ),
            Mutation(
                "sum starts at a thousandth",
                "float sum = 0.0f;\n    for (int c = lane",
                "float sum = 0.001f;\n    for (int c = lane",
            ),
            Mutation("sum of a lane only", "sum = join_warp<Sum>(sum);", ""),
            Mutation("sum of half the warp", "distance = 16; distance", "distance = 8; distance"),
            Mutation("not divided", "expf(x[c] - highest) / sum;\n}\n", "expf(x[c] - highest);\n}\n", 2),
            Mutation("row off by one", "if (row >= rows) return;", "if (row >= rows - 1) return;"),
        ),
    ),
    Subject(
        "layernorm_two_pass",
        "layernorm.cu",
        NORM,
        "kernel: layernorm_two_pass, block: 256, grid: cdiv(ROWS, 8), "
        "args: [ROWS, COLUMNS, 1.0e-5, source, weight, bias, target]",
        "layernorm_two_pass(int rows, int columns, float epsilon, const float* source,\n"
        + " " * 46
        + "const float* weight, const float* bias, float* target) {",
        (
            Mutation(
                "last column not summed", "c < columns; c += 32) sum += x[c]", "c < columns - 1; c += 32) sum += x[c]"
            ),
            Mutation("variance by n - 1", "warp_total(squares) / columns;", "warp_total(squares) / (columns - 1);"),
            Mutation("mean not subtracted", "(x[c] - mean) * scale", "x[c] * scale"),
            Mutation("bias left out", "scale * weight[c] + bias[c]", "scale * weight[c]"),
            Mutation("neighbour's weight", "scale * weight[c] +", "scale * weight[c ^ 1] +"),
            Mutation("last column not written", "c < columns; c += 32) y[c]", "c < columns - 1; c += 32) y[c]"),
        ),
    ),
    Subject(
        "copy_stride",
        "coalescing.cu",
        STRIDED,
        "kernel: copy_stride, block: 256, grid: 4, args: [COUNT, STRIDE, source, target]",
        "copy_stride(int count, int stride, const float* source, float* target) {",
        (
            Mutation(
                "bound off by one",
                "if (i < count) target[i] = source[static_cast",
                "if (i < count - 1) target[i] = source[static_cast",
            ),
            Mutation("stride less one", "(i) * stride]", "(i) * (stride - 1)]"),
            Mutation("offset by one", "(i) * stride]", "(i) * stride + 1]"),
            Mutation(
                "last bit lost",
                "source[static_cast<size_t>(i) * stride];",
                "__int_as_float(__float_as_int(source[static_cast<size_t>(i) * stride]) & ~1);",
            ),
            Mutation(
                "every second element",
                "if (i < count) target[i] = source[static_cast",
                "if (i % 2 == 0 && i < count) target[i] = source[static_cast",
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Outcome:
    """One mutant: the row's word, by what it was found, and whether it changes an output."""

    subject: str
    mutant: str
    verdict: str
    found_by: str
    changes: bool

    @property
    def missed(self) -> bool:
        return self.changes and self.verdict not in ("differs", "failed")


def mutants_of(subject: Subject) -> dict[str, str]:
    """The mutated sources by name; raises ValueError for a mutation that does not fit the source."""
    text = "__device__ int launches;\n" + (KERNELS / subject.file).read_text(encoding="utf-8")
    if text.count(subject.body) != 1:
        raise ValueError(f"{subject.name}: the start of the body stands {text.count(subject.body)} times")
    found = {name: text.replace(subject.body, subject.body + statement) for name, statement in EVERYWHERE}
    for mutation in subject.mutations:
        if mutation.old not in text:
            raise ValueError(f"{subject.name}: {mutation.name}: {mutation.old!r} is not in the source")
        found[mutation.name] = text.replace(mutation.old, mutation.new, mutation.count)
    return found


def run_subject(subject: Subject, folder: Path) -> list[Outcome]:
    """The outcomes of all mutants; the first is the kernel as it is."""
    sources = {"as it is": (KERNELS / subject.file).read_text(encoding="utf-8"), **mutants_of(subject)}
    lines = [subject.setup, "variants:"]
    for number, text in enumerate(sources.values()):
        (folder / f"m{number}.cu").write_text(text, encoding="utf-8")
        launch = f"{{source: m{number}.cu, {subject.launch}}}"
        steps = f"{{steps: [{subject.before}, {launch}]}}" if subject.before else launch
        lines.append(f"  m{number}: {steps}")
    (folder / "mutants.yaml").write_text("\n".join(lines), encoding="utf-8")
    options = RunOptions(devices=("emulated",), save_outputs=folder / "outputs", emulate_limit=100_000)
    run = run_experiment(experiments.load(folder / "mutants.yaml"), options, SilentObserver())
    rows = {row.variant: row for row in run.results}
    return [
        _outcome(subject.name, name, rows[f"m{number}"], _same(folder / "outputs", number))
        for number, name in enumerate(sources)
    ]


def _outcome(subject: str, mutant: str, row: Result, unchanged: bool) -> Outcome:
    words = {Status.OK: "ok", Status.DIFFERS: "differs", Status.LAUNCH_FAILED: "failed"}
    return Outcome(subject, mutant, words.get(row.status, row.status.value), found_by(row), not unchanged)


def _same(outputs: Path, number: int) -> bool:
    """Are the outputs those of the kernel as it is, in every bit of the first launch?"""
    own, right = outputs / f"m{number}", outputs / "m0"
    files = sorted(right.glob("*.npy"))
    return bool(files) and all(
        (own / file.name).exists() and np.load(own / file.name).tobytes() == np.load(file).tobytes() for file in files
    )


def found_by(row: Result) -> str:
    """By what the check found it."""
    reason = row.reason or ""
    if row.status is Status.LAUNCH_FAILED:
        return "the emulator's checks"
    if "small integers" in reason:
        return "exact sums of small integers"
    if "second launch" in reason:
        return "a second launch over another poison"
    if "never written" in reason:
        return "elements never written"
    if "of which" in reason or "checked elements differ" in reason:
        return "the values"
    return reason[:60]


def table(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table with a summary."""
    mutants = [outcome for outcome in outcomes if outcome.mutant != "as it is"]
    changing = [outcome for outcome in mutants if outcome.changes or outcome.verdict != "ok"]
    missed = [outcome for outcome in mutants if outcome.missed]
    kernels = len({outcome.subject for outcome in outcomes})
    lines = [
        f"{kernels} kernels, {len(mutants)} mutants: {len(changing)} change an output or fail, {len(missed)} of them "
        f"were called ok; {len(mutants) - len(changing)} change nothing.",
        "",
        "| kernel | mutant | verdict | found by |",
        "| :-- | :-- | :-- | :-- |",
    ]
    for outcome in outcomes:
        unfound = "" if outcome.mutant == "as it is" else "MISSED" if outcome.missed else "changes nothing"
        note = outcome.found_by or unfound
        lines.append(f"| {outcome.subject} | {outcome.mutant} | {outcome.verdict} | {note} |")
    return "\n".join(lines) + "\n"


HEAD = """# Mutants

`python benchmarks/mutants.py` changes one piece of a kernel at a time and runs it on the emulator (sm_89) with the
default tolerance. A mutant that is called ok is compared with the kernel as it is, bit by bit.

"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only kernels whose name has this in it")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    outcomes: list[Outcome] = []
    for subject in SUBJECTS:
        if arguments.only is None or arguments.only in subject.name:
            with tempfile.TemporaryDirectory() as folder:
                outcomes += run_subject(subject, Path(folder))
            print(f"{subject.name}: done", file=sys.stderr)
    print(table(outcomes))
    if arguments.markdown is not None:
        arguments.markdown.write_text(HEAD + table(outcomes), encoding="utf-8")
    wrong = [
        outcome for outcome in outcomes if outcome.missed or (outcome.mutant == "as it is" and outcome.verdict != "ok")
    ]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
