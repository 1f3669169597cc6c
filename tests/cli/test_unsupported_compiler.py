"""A host compiler that nvcc refuses: every command says so, and takes the option that it names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = 'extern "C" __global__ void one(float *y) { y[threadIdx.x] *= 2; }\n'
CONFIG = """
buffers: {y: {dtype: float32, shape: 32, fill: 1, output: true}}
reference: {y: y * 2}
variants:
  one: {source: one.cu, kernel: one, block: 32, grid: 1, args: [y]}
"""
COMMANDS = {
    "sass": ("sass", "one.cu", "--arch", "sm_89"),
    "ptx": ("ptx", "one.cu", "--arch", "sm_89"),
    "occupancy": ("occupancy", "--kernel", "one.cu", "--block", "64", "--arch", "sm_89"),
    "counters": ("counters", "one.yaml"),
    "run": ("run", "one.yaml", "--no-history", "--device", "emulated"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A kernel, its YAML, and a g++ that claims to be of a version which no nvcc knows."""
    (tmp_path / "one.cu").write_text(KERNEL)
    (tmp_path / "one.yaml").write_text(CONFIG)
    (tmp_path / "bin").mkdir()
    for name in ("g++", "gcc"):
        stub = tmp_path / "bin" / name
        stub.write_text(f'#!/bin/sh\nexec {shutil.which(name)} -U__GNUC__ -D__GNUC__=99 "$@"\n')
        stub.chmod(0o755)
    return tmp_path


def gpuprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with the refused compiler first in PATH, and a build cache of its own."""
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GPUPROF_CACHE_DIR": str(folder / "cache"),
        "COLUMNS": "400",
    }
    environment.pop("NVCC_CCBIN", None)
    command = [sys.executable, "-m", "gpuprof", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_repair_that_is_named_is_an_option_and_works(command: str, folder: Path) -> None:
    refused = gpuprof(folder, *COMMANDS[command])
    assert refused.returncode != 0
    text = " ".join((refused.stdout + refused.stderr).split())
    assert "nvcc does not support this host compiler" in text
    assert "--ccbin" in text
    repaired = gpuprof(folder, *COMMANDS[command], "--ccbin", str(shutil.which("g++")))
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr


def test_doctor_tries_the_compiler_of_now_and_not_the_cache(folder: Path) -> None:
    good = gpuprof(folder, "doctor", "--json", "--ccbin", str(shutil.which("g++")))
    assert good.returncode == 0, good.stdout
    done = gpuprof(folder, "doctor", "--json")
    assert done.returncode == 3
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["trial build"]["state"] != "ok"
    assert "does not support this host compiler" in json.dumps(findings["trial build"])
