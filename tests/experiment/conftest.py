"""A small experiment to spoil, and helpers to write and load one."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuprof.errors import ConfigError
from gpuprof.experiment.model import Experiment
from gpuprof.results.expectations import load_experiment as load

GOOD = """\
name: small
description: a small GEMM
sizes: {M: 64, N: 32, K: 16}
iters: 5
buffers:
  A: {dtype: float32, shape: [M, K], fill: "i % 13 - 6"}
  B: {dtype: float32, shape: [K, N], fill: "i % 7 - 3"}
  C: {dtype: float32, shape: [M, N], output: true}
reference: {C: A @ B}
tolerance: {rtol: 1.0e-5}
work: {flop: 2*M*N*K, bytes: 4*(M*K + K*N + M*N)}
baseline: naive
variants:
  naive:
    source: k.cu
    kernel: naive<float>
    block: [16, 16]
    grid: [cdiv(N, 16), cdiv(M, 16)]
    args: [M, N, K, A, B, C]
  tiled:
    source: k.cu
    kernel: tiled<float, {TILE}>
    params: {TILE: [8, 16]}
    block: [TILE, TILE]
    grid: [cdiv(N, TILE), cdiv(M, TILE)]
    args: [M, N, K, A, B, C]
expect:
  - verdict == "ok"
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a YAML text (GOOD with replacements, or another) beside a k.cu without code; returns its path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text("// a kernel\n")

    def write(*replacements: tuple[str, str], text: str = GOOD) -> Path:
        text = textwrap.dedent(text)
        for old, new in replacements:
            assert old in text, f"{old!r} is not in the YAML"
            text = text.replace(old, new, 1)
        path = tmp_path / "small.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def loaded(write: Write) -> Callable[..., Experiment]:
    """Load GOOD with replacements."""
    return lambda *replacements, **options: load(write(*replacements), **options)


@pytest.fixture
def mistakes(write: Write) -> Callable[..., list[str]]:
    """The problems of GOOD with replacements, as ``line: key: message``."""

    def mistakes(*replacements: tuple[str, str], text: str = GOOD) -> list[str]:
        path = write(*replacements, text=text)
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert caught.value.exit_code == 2
        assert all(problem.file == str(path) for problem in caught.value.problems)
        return [f"{problem.line}: {problem.key}: {problem.message}" for problem in caught.value.problems]

    return mistakes
