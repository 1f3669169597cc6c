"""Runs that ended before they were stored: who reads the history next stores them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.results.history import History
from gpuprof.results.journal import RowJournal, journal_beside
from gpuprof.results.json import read_run, to_json, write_whole
from gpuprof.results.model import Run
from gpuprof.results.pending import latest_run_path, store_killed_runs, to_be_stored
from gpuprof.results.reference import load_run

DATA = Path(__file__).parent / "data"
LATER, EARLIER = "2999-01-01T00:00:00+00:00", "2000-01-01T00:00:00+00:00"


class Killed(Exception):
    """In the place of a kill: nothing after it is done, and the lock is free."""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "a.yaml"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history.sqlite")


@pytest.fixture
def run() -> Run:
    return replace(read_run(DATA / "gpu_run.json"), started=LATER, identifier="")


def left_behind(run: Run, config: Path, history: History, rows: int) -> str:
    """A run that is killed after some rows; what it would have been stored under."""
    path = latest_run_path(config)
    with suppress(Killed), to_be_stored(config, history.path) as identifier:
        journal = RowJournal((path,), replace(run, complete=False))
        for row in run.results[:rows]:
            journal.add(row)
        journal.close(remove=False)
        raise Killed
    return identifier


def test_rows_of_a_killed_run_are_stored_once(run: Run, config: Path, history: History) -> None:
    identifier = left_behind(run, config, history, rows=2)
    store_killed_runs(history)
    store_killed_runs(history)
    (entry,) = history.list()
    assert (entry.identifier, entry.variants, entry.complete) == (identifier, 2, False)
    found = history.load(identifier)
    assert found.results == run.results[:2]
    assert found.notes[-1] == "The run was killed before its end; these rows were final."
    assert journal_beside(latest_run_path(config)).exists()  # --resume takes it from there


def test_a_name_of_the_history_finds_a_killed_run(run: Run, config: Path, history: History) -> None:
    left_behind(run, config, history, rows=1)
    assert len(load_run("latest", history.path).results) == 1


def test_a_run_that_ended_and_was_killed_before_it_was_stored(run: Run, config: Path, history: History) -> None:
    with suppress(Killed), to_be_stored(config, history.path):
        latest_run_path(config).parent.mkdir(parents=True, exist_ok=True)
        write_whole(to_json(run), latest_run_path(config))
        raise Killed
    store_killed_runs(history)
    (entry,) = history.list()
    assert (entry.variants, entry.complete) == (len(run.results), True)


def test_a_run_that_was_stored_is_left_alone(run: Run, config: Path, history: History) -> None:
    with to_be_stored(config, history.path) as identifier:
        history.store(replace(run, identifier=identifier))
    assert list(latest_run_path(config).parent.iterdir()) == []
    store_killed_runs(history)
    assert [entry.identifier for entry in history.list()] == [identifier]


def test_a_living_run_is_left_to_itself(run: Run, config: Path, history: History) -> None:
    with to_be_stored(config, history.path) as first, to_be_stored(config, history.path) as second:
        assert first
        assert second == ""
        write_whole(to_json(run), latest_run_path(config))
        store_killed_runs(history)
    assert not history.path.exists()


def test_another_history_does_not_take_it(run: Run, config: Path, history: History, tmp_path: Path) -> None:
    left_behind(run, config, history, rows=1)
    other = History(tmp_path / "other.sqlite")
    store_killed_runs(other)
    assert other.list() == ()
    store_killed_runs(history)
    assert len(history.list()) == 1


@pytest.mark.parametrize("earlier", [True, False])
def test_a_run_that_was_killed_before_its_first_row(run: Run, config: Path, history: History, earlier: bool) -> None:
    """What an earlier run left is not taken for it."""
    path = latest_run_path(config)
    path.parent.mkdir(parents=True)
    if earlier:
        write_whole(to_json(replace(run, started=EARLIER)), path)
    with suppress(Killed), to_be_stored(config, history.path):
        raise Killed
    store_killed_runs(history)
    assert history.list() == ()
    assert [file.name for file in path.parent.iterdir()] == ([path.name] if earlier else [])


def test_a_journal_that_began_later_wins_over_a_complete_run(run: Run, config: Path, history: History) -> None:
    path = latest_run_path(config)
    path.parent.mkdir(parents=True)
    write_whole(to_json(replace(run, started=EARLIER)), path)
    left_behind(run, config, history, rows=3)
    store_killed_runs(history)
    assert [(entry.variants, entry.complete) for entry in history.list()] == [(3, False)]


def test_a_note_that_says_nothing_goes(config: Path, history: History) -> None:
    folder = latest_run_path(config).parent
    folder.mkdir(parents=True)
    for name, text in (("a", ""), ("b", "[" * 60_000), ("c", '{"history": 1}')):
        (folder / f"{name}.json.pending").write_text(text)
    store_killed_runs(history)
    assert list(folder.iterdir()) == []
