"""``gpuprof kernels``: one line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli.kernels import command
from gpuprof.cli.listing import head_comment
from gpuprof.experiment import bundled


def test_every_bundled_kernel_has_one_line_of_at_most_100_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = CliRunner().invoke(command).output.splitlines()
    names = sorted(path.stem for path in bundled.bundled_folder("kernels").glob("*.cu"))
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)
    assert max(len(line) for line in lines) <= 100


def test_a_kernel_here_is_marked_and_hides_the_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm_naive.cu").write_text("/* Mine.\n   More. */\n")
    (tmp_path / "aaa.cu").write_text("int x;\n")
    listed = {entry["name"]: entry for entry in json.loads(CliRunner().invoke(command, ["--json"]).output)}
    assert listed["gemm_naive"]["description"] == "Mine."
    assert listed["gemm_naive"]["bundled"] is False
    assert listed["aaa"]["description"] == ""
    assert listed["gemm_tiled"]["bundled"] is True
    assert "gemm_naive" in CliRunner().invoke(command).output
    assert "(here) Mine." in CliRunner().invoke(command).output


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"// One. Two.\n", "One."),
        (b"\xef\xbb\xbf// With a mark\r\n// over two lines.\r\n", "With a mark over two lines."),
        (b"//\n// After a blank line.\n\n", "After a blank line."),
        (b"/*\n * Starred.\n */\n", "Starred."),
        (b"// caf\xe9 latin-1\n", "caf\ufffd latin-1"),
        (b"#include <x>\n// later\n", ""),
        (b"", ""),
        (b"// y = 0.5 * x, e.g. half", "y = 0.5 * x, e.g. half"),
    ],
)
def test_head_comments(source: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "x.cu").write_bytes(source)
    assert head_comment(tmp_path / "x.cu") == expected
