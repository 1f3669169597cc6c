"""Special files, names that no file can have, and homes that do not exist: one line, at once, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuprof.cli import main

NAMES = {
    "pipe": "pipe",
    "endless": "/dev/zero",
    "folder": ".",
    "no such user": "~nosuchuser/x.cu",
    "name too long": "a" * 300,
    "path too long": "a/" * 3000 + "x",
    "null byte": "a\0b",
}
COMMANDS = (
    ["check"],
    ["run", "--device", "none"],
    ["counters"],
    ["sass"],
    ["ptx"],
    ["occupancy", "--block", "32", "--kernel"],
    ["show"],
    ["compare", "latest"],
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPUPROF_HISTORY", str(tmp_path / "history.sqlite"))
    os.mkfifo("pipe")


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What ``gpuprof ARGUMENTS`` prints when it refuses them; any exception but SystemExit fails the test."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    printed = capsys.readouterr()
    assert ended.value.code in (1, 2), printed.err
    assert len(printed.err.splitlines()) <= 4
    return printed.err


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_file_argument_that_cannot_be_read(command: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused([*command, name], capsys)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("key", ["source", "include", "fill"])
def test_a_file_of_the_yaml_that_cannot_be_read(key: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.cu").write_text('extern "C" __global__ void k(float *y) { y[threadIdx.x] = 1; }\n')
    text = name.replace("\0", "\\0")
    fill = f"{text}.npy" if key == "fill" else "0.0"
    if key == "fill" and name == "pipe":
        os.mkfifo(fill)
    source, include = text if key == "source" else "k.cu", f', include: ["{text}"]' if key == "include" else ""
    Path("c.yaml").write_text(
        f'buffers:\n  y: {{dtype: float32, shape: 32, fill: "{fill}", output: true}}\n'
        f'variants:\n  v: {{source: "{source}", kernel: k, block: 32, grid: 1, args: [y]{include}}}\n'
    )
    if (key, name) in {("include", "."), ("fill", "/dev/zero"), ("fill", ".")}:
        return  # a folder is what include names; the others become names of ordinary files with .npy
    assert "c.yaml" in refused(["check", "c.yaml"], capsys)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_a_history_that_is_no_regular_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not a regular file" in refused(["history", "--history", name], capsys)


@pytest.mark.timeout(30)
def test_flags_that_include_a_special_file(capsys: pytest.CaptureFixture[str]) -> None:
    """``-include /dev/zero`` would fill the memory before the compiler gave up."""
    Path("k.cu").write_text('extern "C" __global__ void k(float *y) { y[threadIdx.x] = 1; }\n')
    for flags in (
        '["-include", "/dev/zero"]',
        '["-include=/dev/zero"]',
        '["--pre-include", "pipe"]',
        '["-optf", "pipe"]',
    ):
        Path("c.yaml").write_text(
            "buffers:\n  y: {dtype: float32, shape: 32, output: true}\n"
            f"variants:\n  v: {{source: k.cu, kernel: k, block: 32, grid: 1, args: [y], flags: {flags}}}\n"
        )
        assert "not a regular file" in refused(["check", "c.yaml"], capsys)
