"""``gpuprof new``: two files that run as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.cli.new import write_starter
from gpuprof.errors import UsageError
from gpuprof.experiment import load


def test_the_starter_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source, config = write_starter("my-saxpy", tmp_path)
    experiment = load(config)
    assert [variant.label for variant in experiment.variants] == ["plain", "unrolled/UNROLL=2", "unrolled/UNROLL=4"]
    assert 'extern "C" __global__ void my_saxpy_kernel(' in source.read_text()
    assert all(step.source == source for variant in experiment.variants for step in variant.steps)  # type: ignore[union-attr]
    assert "@" not in source.read_text() + config.read_text()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("kept")
    with pytest.raises(UsageError, match=r"mine.yaml already here; nothing was written"):
        write_starter("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]
    assert (tmp_path / "mine.yaml").read_text() == "kept"


@pytest.mark.parametrize("name", ["../x", "1x", "a b", "a/b", "", "é", ".x"])
def test_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a valid name"):
        write_starter(name, tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_starter("x", tmp_path / "missing")


@pytest.mark.slow
def test_the_starter_runs_and_verifies_on_the_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from gpuprof.cli.run import command

    monkeypatch.chdir(tmp_path)
    write_starter("starter", tmp_path)
    done = CliRunner().invoke(
        command, ["starter", "--device", "emulated", "--check", "--no-history", "--set", "N=100001"]
    )
    assert done.exit_code == 0, done.output
