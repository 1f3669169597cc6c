"""``gpuprof check`` as a person types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli.check import command
from gpuprof.errors import ConfigError
from gpuprof.experiment import bundled

CONFIGS = sorted(path.stem for path in bundled.bundled_folder("configs").glob("*.yaml"))
GOOD = """\
sizes: {N: [64, 100]}
buffers: {x: {dtype: float32, shape: N, output: true}}
variants:
  one:
    source: k.cu
    kernel: f<{BLOCK}>
    params: {BLOCK: [32, 64]}
    where: N % BLOCK == 0 or BLOCK == 32
    block: BLOCK
    grid: [cdiv(N, BLOCK), 2]
    shared: 4 * BLOCK
    args: [N, x]
"""
BAD = {
    "key": GOOD.replace("kernel:", "kernal:"),
    "block": GOOD.replace("block: BLOCK", "block: 2048"),
    "grid": GOOD.replace("BLOCK), 2]", "BLOCK), 70000]"),
    "size": GOOD.replace("[64, 100]", "0"),
    "buffer": GOOD.replace("[N, x]", "[N, y]"),
    "escape": GOOD.replace("shape: N", 'shape: "().__class__"'),
    "shared": GOOD.replace("4 * BLOCK", "200000"),
    "syntax": GOOD.replace("{N:", "{N: ["),
    "empty": "",
}


def gpuprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GPUPROF_CACHE_DIR": str(folder / "cache"), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "gpuprof", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text("template <int B> __global__ void f(int n, float* x) { if (n) x[0] = B; }\n")
    (tmp_path / "e.yaml").write_text(GOOD)
    return tmp_path


def test_the_table_lists_every_variant_and_what_was_dropped(folder: Path) -> None:
    done = gpuprof(folder, "check", "e.yaml")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["one/BLOCK=32/N=64", "f<32>", "2x2", "32", "128"] in rows
    assert ["one/BLOCK=64/N=64", "f<64>", "1x2", "64", "256"] in rows
    assert ["one/BLOCK=32/N=100", "f<32>", "4x2", "32", "128"] in rows
    assert done.stdout.splitlines()[-1] == "e is valid: 3 variants, 1 point dropped by `where`"
    assert sorted(path.name for path in folder.iterdir()) == ["e.yaml", "k.cu"]


def test_sizes_may_be_set(folder: Path) -> None:
    done = gpuprof(folder, "check", "e", "--set", "N=32,64", "--set", "BLOCK=64", "--json")
    data = json.loads(done.stdout)
    assert [variant["variant"] for variant in data["variants"]] == ["one/BLOCK=64/N=64"]
    assert data["dropped"] == 1
    (step,) = data["variants"][0]["steps"]
    assert (step["kind"], step["kernel"], step["grid"], step["shared_bytes"]) == ("kernel", "f<64>", [1, 2, 1], 256)
    assert gpuprof(folder, "check", "e", "--set", "M=3").returncode == 2


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_yaml_ends_with_2(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "e.yaml").write_text(BAD[name])
    done = CliRunner().invoke(command, ["e.yaml"])
    assert isinstance(done.exception, ConfigError)
    assert done.exception.exit_code == 2
    assert all(problem.file == "e.yaml" for problem in done.exception.problems)


@pytest.mark.parametrize("name", ["key", "shared"])
@pytest.mark.parametrize("command", ["check", "run"])
def test_the_process_ends_with_2_and_nothing_is_built(name: str, command: str, folder: Path) -> None:
    (folder / "e.yaml").write_text(BAD[name])
    done = gpuprof(folder, command, "e.yaml", *(["--no-history", "--arch", "sm_89"] if command == "run" else []))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "e.yaml" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("cache/**/*.cubin"))


def test_a_miss(folder: Path) -> None:
    done = gpuprof(folder, "check", "gemm_1025")
    assert done.returncode == 2
    assert "did you mean gemm_1024" in done.stderr


def test_every_bundled_config_fits_100_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in CONFIGS:
        done = CliRunner().invoke(command, [name])
        assert done.exit_code == 0, f"{name}: {done.exception}"
        assert max(len(line.rstrip()) for line in done.output.splitlines()) <= 100, name
