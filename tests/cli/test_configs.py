"""``gpuprof configs``: one line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli.configs import command
from gpuprof.experiment import bundled


def test_every_bundled_config_has_its_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = CliRunner().invoke(command).output.splitlines()
    names = sorted(path.stem for path in bundled.bundled_folder("configs").glob("*.yaml"))
    assert [line.split()[0] for line in lines] == names
    assert max(len(line) for line in lines) <= 100
    gemm = next(line for line in lines if line.startswith("gemm_1024 "))
    assert gemm.split(maxsplit=1)[1] == "FP32 GEMM, naive against shared-memory tiled, M = N = K = 1024"


def test_a_config_here_is_marked_and_a_wrong_one_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.yaml").write_text("description: my\n  own\n")
    (tmp_path / "broken.yml").write_text("a: [\n")
    lines = [line.split(maxsplit=1) for line in CliRunner().invoke(command).output.splitlines()]
    listed = {line[0]: line[1] for line in lines}
    assert listed["mine"] == "(here) my own"
    assert listed["broken"].startswith("(here) (wrong: is not YAML")
