"""The run on disk while it works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpuprof.profile.checkpoint import WRITE_INTERVAL, Checkpoint
from gpuprof.results.json import RunEncoder, read_run, to_json
from gpuprof.results.model import Environment, Result, Run, Status


def run_of(*rows: Result) -> Run:
    return Run("e", "", "e.yaml", "2026-01-01T00:00:00+00:00", 1.0, Environment("0", "3", "linux", "none"), rows)


def row(label: str, reason: str | None = None) -> Result:
    return Result(label, label, {"T": 8}, {}, Status.OK, reason)


def test_growing_text_is_that_of_the_whole_run() -> None:
    encoder = RunEncoder()
    first, second = row("a", 'a line\n  "results": []\u2028 another'), row("b")
    for run in (run_of(), run_of(first), run_of(first, second), run_of(replace(first, reason="new"), second)):
        assert encoder.to_json(run) == to_json(run)


def test_it_is_due_at_once_and_then_after_a_while(tmp_path: Path) -> None:
    now = 100.0
    files = (tmp_path / "deep" / "run.json", tmp_path / "other.json")
    kept = Checkpoint(files, clock=lambda: now)
    assert kept.due()
    kept.write(run_of(row("a")))
    assert not kept.due()
    now += WRITE_INTERVAL - 0.01
    assert not kept.due()
    now += 0.02
    assert kept.due()
    kept.write(run_of(row("a"), row("b")))
    assert [[result.variant for result in read_run(path).results] for path in files] == [["a", "b"]] * 2


def test_a_path_that_cannot_be_written_is_given_up_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    good, bad = tmp_path / "run.json", tmp_path / "file" / "run.json"
    kept = Checkpoint((bad, good))
    kept.write(run_of(row("a")))
    kept.write(run_of(row("a"), row("b")))
    assert [result.variant for result in read_run(good).results] == ["a", "b"]
    (note,) = kept.notes
    assert str(bad) in note
    assert "cannot resume" in note
