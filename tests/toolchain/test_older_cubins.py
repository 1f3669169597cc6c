"""Cubins of CUDA 11.8, 12.4, 12.9 and 13.0 (``record_older_cubins``): read, disassembled, and run on the emulator."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.toolchain.elf import read_cubin
from tests.toolchain.record_older_cubins import ARCHITECTURES, ARCHIVE

CUBINS = tuple(f"cuda{toolkit}.{arch}" for toolkit, each in ARCHITECTURES.items() for arch in each)
THREADS = 128
ELEMENTS = 4 * THREADS - 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cubins of the archive as files."""
    where = tmp_path_factory.mktemp("older")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(where)
    return where


def expected() -> np.ndarray:
    """``older.cu`` in numpy, in float32 like the kernel."""
    x = np.zeros(4 * THREADS, np.float32)
    x[:ELEMENTS] = np.arange(ELEMENTS, dtype=np.float32) % 32
    tiles = x.reshape(4, THREADS)
    index = np.arange(4 * THREADS)
    lane, k = index % THREADS, index * 7 % 16
    y = tiles[index // THREADS, (lane + k) % THREADS] + k + 2 * tiles[index // THREADS, (lane + 1) % THREADS]
    y = y.astype(np.float32)
    with np.errstate(divide="ignore"):
        cases = [y + 1, y * 3, y - 7, np.sqrt(y), 1 / y, np.minimum(y, 2), y * y]
    return np.choose(np.minimum(index % 9, 7), [*cases, -y])[:ELEMENTS]


@pytest.mark.parametrize("name", CUBINS)
def test_the_facts_of_a_cubin_do_not_depend_on_its_elf_format(folder: Path, name: str) -> None:
    facts = read_cubin(folder / f"{name}.cubin")
    kernel = facts.kernels["older"]
    assert facts.arch == name.rsplit(".", 1)[1]
    assert (kernel.static_shared_bytes, kernel.barriers, len(kernel.parameters)) == (512, 1, 4)
    assert [parameter.size for parameter in kernel.parameters] == [8, 8, 8, 4]
    assert kernel.registers > 16


@pytest.mark.parametrize("name", CUBINS)
def test_a_cubin_of_any_toolkit_runs_on_the_emulator(folder: Path, name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "expected.npy", expected())
    config = tmp_path / "older.yaml"
    config.write_text(f"""
name: older
arch: {name.rsplit(".", 1)[1]}
buffers:
  x: {{dtype: float32, shape: {ELEMENTS}, fill: i % 32}}
  out: {{dtype: float32, shape: {ELEMENTS}, output: true}}
  total: {{dtype: int32, shape: 1, fill: 0, output: true}}
  wanted: {{dtype: float32, shape: {ELEMENTS}, fill: expected.npy}}
reference: {{out: wanted, total: {ELEMENTS * (ELEMENTS - 1) // 2}}}
variants:
  stored:
    source: {folder / name}.cubin
    kernel: older
    block: {THREADS}
    grid: 4
    shared: {THREADS * 4}
    args: [x, out, total, {ELEMENTS}]
""")
    result = CliRunner().invoke(cli, ["run", str(config), "--device", "emulated"])
    assert result.exit_code == 0, result.output
    assert "last element 506 of 507" in result.output


def test_sass_reads_a_cubin_of_the_older_format(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["sass", str(folder / "cuda12.4.sm_90a.cubin"), "--kernel", "older"])
    assert result.exit_code == 0, result.output
    assert "sm_90a" in result.output
