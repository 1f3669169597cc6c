"""Large outputs: references take no more than they must, and what does not fit is said before it is tried."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuprof import experiment as experiments
from gpuprof.errors import DeviceMemoryError
from gpuprof.experiment import fills, reference
from gpuprof.experiment.model import Reference
from gpuprof.profile import shared_arrays
from gpuprof.profile.shared_arrays import SharedData, host_bytes
from gpuprof.results.model import Status
from gpuprof.system.memory import available_bytes
from tests.profile.experiments import rows_of

SOURCE = """
extern "C" __global__ void ones(signed char *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1;
}
"""
CONFIG = """
sizes: {N: 33554432}
buffers: {y: {dtype: int8, shape: N, output: true}}
reference: {y: REFERENCE}
variants:
  ones: {source: k.cu, kernel: ones, block: 256, grid: "cdiv(N, 256)", args: [y, {value: N, dtype: int64}]}
"""


def test_a_reference_of_one_number_takes_no_room(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CONFIG.replace("REFERENCE", "1"))
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    assert host_bytes(variant) == 33_554_432  # the output, read back
    data = SharedData()
    try:
        (path,) = data.references(variant).values()
        assert path.stat().st_size < 1000
        assert np.load(path).dtype == np.int8
    finally:
        data.close()
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1"), SOURCE)["ones"]
    assert (row.status, row.verification and row.verification.verdict) == (Status.OK, "ok")


def test_integer_references_have_their_outputs_width(tmp_path: Path) -> None:
    config = CONFIG.replace("REFERENCE", "full(1, N)").replace("33554432", "65536")
    (tmp_path / "e.yaml").write_text(config)
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    data = SharedData()
    try:
        (path,) = data.references(variant).values()
        assert np.load(path).nbytes <= 65536
    finally:
        data.close()


def test_what_does_not_fit_is_one_clear_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_arrays, "available_bytes", lambda: 10_000_000)
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1"), SOURCE)["ones"]
    assert row.status is Status.LAUNCH_FAILED
    assert "needs about 0.0336 GB of this machine's memory, and 0.01 GB are free" in (row.reason or "")


def test_beyond_the_emulated_device_is_one_clear_row(tmp_path: Path) -> None:
    row = rows_of(tmp_path, CONFIG.replace("REFERENCE", "1").replace("33554432", "2147483712"), SOURCE)["ones"]
    assert row.status is Status.LAUNCH_FAILED
    assert "memory" in (row.reason or "")


PEAK = """
import resource, sys
from pathlib import Path
import numpy as np
from gpuprof import experiment
from gpuprof.experiment.model import Tolerance
from gpuprof.profile.shared_arrays import SharedData
from gpuprof.profile.verification.compare import compare_output

(variant,) = experiment.load(Path(sys.argv[1])).variants
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = SharedData()
try:
    data.prepare(variant, 1)
    want = np.load(data.references(variant)["y"], mmap_mode="r")
    got = want.astype(variant.buffers["y"].dtype)
    assert compare_output("y", got, want, Tolerance(1e-2, 1e-2)).wrong == 0
finally:
    data.close()
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_an_elementwise_check_takes_three_bytes_a_byte(dtype: str, tmp_path: Path) -> None:
    """Inputs, reference and comparison of two buffers of 8 Mi elements; mapped files count as the process's memory."""
    config = """
sizes: {N: 8388608}
buffers:
  x: {dtype: DTYPE, shape: N, fill: random}
  y: {dtype: DTYPE, shape: N, output: true}
reference: {y: "where(x > 0, min(x + 1, 50), 0)"}
variants:
  ones: {source: k.cu, kernel: ones, block: 256, grid: "cdiv(N, 256)", args: [y, {value: N, dtype: int64}]}
"""
    (tmp_path / "e.yaml").write_text(config.replace("DTYPE", dtype))
    (tmp_path / "k.cu").write_text(SOURCE)
    done = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path / "e.yaml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    buffers = 2 * 8_388_608 * np.dtype(dtype).itemsize
    assert int(done.stdout) <= 3 * buffers + 24_000_000  # pieces, and what is imported on the way


@pytest.mark.parametrize("text", ["x * 2 + N", "where(x > 3, min(x, 5), -x)", "sqrt(abs(x)) // 1"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "float16"])
def test_pieces_give_what_the_whole_gives(
    text: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "BLOCK", 100)
    config = f"""
sizes: {{N: 1001}}
buffers: {{x: {{dtype: {dtype}, shape: [N], fill: i % 50}}, y: {{dtype: {dtype}, shape: [N], output: true}}}}
reference: {{y: "{text}"}}
variants: {{v: {{source: k.cu, kernel: ones, block: 1, grid: 1, args: [y, {{value: N, dtype: int64}}]}}}}
"""
    (tmp_path / "e.yaml").write_text(config)
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    inputs = {"x": fills.materialize(variant.buffers["x"])}
    found = reference.evaluate_in_pieces(variant, "y", inputs)
    assert found is not None
    pieces = list(found)
    assert [piece.size for piece in pieces] == [100] * 10 + [1]
    assert np.array_equal(np.concatenate(pieces), reference.evaluate(variant, inputs)["y"])


@pytest.mark.parametrize("text", ["x - min(x)", "x / sum(x)", "roll(x, 1)", "T(x)", "x @ x", "max(x, axis=0)"])
def test_what_looks_at_other_elements_is_not_taken_apart(text: str, tmp_path: Path) -> None:
    config = """
buffers: {x: {dtype: float32, shape: [8, 8], fill: i + 1}, y: {dtype: float32, shape: [8, 8], output: true}}
reference: {y: "where(x > 0, x, x)"}
variants: {v: {source: k.cu, kernel: ones, block: 1, grid: 1, args: [y, {value: 64, dtype: int64}]}}
"""
    (tmp_path / "e.yaml").write_text(config)
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    changed = replace(variant, reference=Reference(expressions={"y": text}))
    inputs = {"x": fills.materialize(variant.buffers["x"])}
    assert reference.evaluate_in_pieces(changed, "y", inputs) is None


@pytest.mark.parametrize("fill", ["{random: normal}", "{random: uniform}", "{random: integers, low: -9, high: 99}"])
def test_random_values_do_not_depend_on_the_pieces(fill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = CONFIG.replace("REFERENCE", "1").replace("33554432", "5001")
    config = config.replace("int8, shape: N, output: true", f"float32, shape: N, fill: {fill}, output: true")
    (tmp_path / "e.yaml").write_text(config)
    (tmp_path / "k.cu").write_text(SOURCE)
    (variant,) = experiments.load(tmp_path / "e.yaml").variants
    whole = fills.materialize(variant.buffers["y"], seed_offset=3)
    monkeypatch.setattr(fills, "BLOCK", 77)
    assert np.array_equal(fills.materialize(variant.buffers["y"], seed_offset=3), whole)


def test_the_system_says_what_is_free() -> None:
    free = available_bytes()
    assert free is None or 0 <= free < 1 << 50
    assert issubclass(DeviceMemoryError, Exception)


@pytest.mark.parametrize(
    ("text", "in_pieces"),
    [
        ("A @ B", True),
        ("2 * (A @ D.T) + C", True),
        ("where((A @ B) > 0, A @ B, 0)", True),
        ("A @ B + C @ E", True),
        ("A @ B + (S @ C) @ E", False),
        ("(A @ B) @ E", False),
        ("S @ S", False),
        ("sum(A @ B)", False),
    ],
)
def test_products_of_matrices_go_by_rows(
    text: str, in_pieces: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "MATRIX_BLOCK", 256)
    shapes = {"A": (70, 30), "B": (30, 50), "C": (70, 50), "D": (50, 30), "E": (50, 50), "S": (70, 70)}
    lines = (f"  {name}: {{dtype: float64, shape: {list(shape)}, fill: 0}}" for name, shape in shapes.items())
    buffers = "".join(f"{line}\n" for line in lines)
    extents = [70, 70] if text == "S @ S" else [70, 50]
    (tmp_path / "e.yaml").write_text(
        f"buffers:\n{buffers}  y: {{dtype: float64, shape: {extents}, output: true}}\n"
        f'reference: {{y: "{text}"}}\n'
        "variants:\n  v: {source: k.cu, kernel: k, block: 1, grid: 1, args: [y]}\n"
    )
    (tmp_path / "k.cu").write_text(SOURCE)
    variant = experiments.load(tmp_path / "e.yaml").variants[0]
    inputs = {name: np.random.default_rng(len(name)).normal(size=shape) for name, shape in shapes.items()}
    pieces = reference.evaluate_in_pieces(variant, "y", inputs)
    assert (pieces is not None) == in_pieces
    if pieces is not None:
        whole = reference.evaluate(variant, inputs)["y"]
        np.testing.assert_allclose(np.concatenate(list(pieces)).reshape(whole.shape), whole, rtol=1e-12, atol=1e-12)
