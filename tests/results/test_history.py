"""The history: what goes in comes out, two writers do not clash, and what is not ours is left as it is."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.errors import StoreError, UsageError
from gpuprof.results.history import History, history_path
from gpuprof.results.json import read_run, to_json

DATA = Path(__file__).parent / "data"


@pytest.fixture
def emulated():
    return read_run(DATA / "emulated_run.json")


@pytest.fixture
def gpu():
    return read_run(DATA / "gpu_run.json")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "data folder" / "history.sqlite")


def test_a_stored_run_comes_back_whole(history: History, emulated) -> None:
    identifier = history.store(emulated)
    assert to_json(history.load(identifier)) == to_json(replace(emulated, identifier=identifier))


def test_reading_makes_no_file(history: History) -> None:
    assert history.list() == ()
    assert not history.path.exists()


def test_the_entry_says_what_failed_and_what_was_fastest(history: History, gpu) -> None:
    history.store(gpu)
    (entry,) = history.list()
    # two of the four variants are ok: naive at 873.4 us and TILE=16 at 501.25 us
    assert (entry.variants, entry.failed, entry.best, entry.best_us) == (4, 2, "tiled/TILE=16", 501.25)
    assert (entry.device, entry.gpu, entry.complete) == ("gpu", "NVIDIA H200", True)


def test_storing_again_under_one_identifier_replaces(history: History, gpu) -> None:
    identifier = history.store(replace(gpu, complete=False, results=gpu.results[:1]))
    assert history.store(replace(gpu, identifier=identifier)) == identifier
    assert [entry.variants for entry in history.list()] == [4]
    assert history.load(identifier).complete


def test_the_columns_can_be_queried(history: History, gpu) -> None:
    history.store(gpu)
    rows = (
        sqlite3.connect(history.path).execute("SELECT variant, time_us, registers FROM results ORDER BY 1").fetchall()
    )
    assert rows[0] == ("naive", 873.4, 40)
    assert rows[3] == ("tiled/TILE=64", None, None)


def test_runs_are_found_by_prefix_experiment_and_age(history: History, gpu) -> None:
    for n, (name, identifier) in enumerate((("a", "aaaa"), ("b", "abbb"), ("a", "accc"))):
        history.store(replace(gpu, experiment=name, identifier=identifier, started=f"2026-11-2{n}T00:00:00Z"))
    assert history.find("ac").identifier == "accc"
    assert history.find("b").identifier == "abbb"
    assert history.find("a").identifier == "accc"
    assert history.find("a~1").identifier == "aaaa"
    assert history.find("latest").identifier == "accc"
    assert history.find("latest~2").identifier == "aaaa"
    assert [entry.identifier for entry in history.list("a")] == ["accc", "aaaa"]
    assert [entry.identifier for entry in history.list("a", limit=1)] == ["accc"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [("gemm_1023", "gemm_1024"), ("gemm_1024~2", "holds 2 of that name"), ("ab", "fits 2 runs"), ("~", "no run")],
)
def test_what_is_not_found_says_what_there_is(history: History, gpu, reference: str, message: str) -> None:
    history.store(replace(gpu, identifier="ab01"))
    history.store(replace(gpu, identifier="ab02"))
    with pytest.raises(UsageError, match=message):
        history.find(reference)


def test_an_unknown_identifier_is_an_error(history: History) -> None:
    with pytest.raises(StoreError, match="no run 'nope'"):
        history.load("nope")


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from gpuprof.results.history import History
from gpuprof.results.json import read_run
run = read_run(Path(sys.argv[1]))
history = History(Path(sys.argv[2]))
for n in range(25):
    history.store(replace(run, identifier=f"{sys.argv[3]}{n:02}"))
"""


def test_two_processes_write_at_once(history: History) -> None:
    arguments = [sys.executable, "-c", WRITER, str(DATA / "gpu_run.json"), str(history.path)]
    writers = [subprocess.Popen([*arguments, name], stderr=subprocess.PIPE, text=True) for name in ("a", "b")]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    expected = {f"{name}{n:02}" for name in "ab" for n in range(25)}
    assert {entry.identifier for entry in history.list()} == expected
    assert len(history.load("b24").results) == 4
    assert sqlite3.connect(history.path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_writer_that_is_killed_leaves_an_open_history(history: History) -> None:
    arguments = [sys.executable, "-c", WRITER, str(DATA / "gpu_run.json"), str(history.path), "k"]
    for delay in (0.15, 0.25, 0.35):
        writer = subprocess.Popen(arguments)
        try:
            writer.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            writer.kill()
            writer.wait()
        for entry in history.list():
            assert len(history.load(entry.identifier).results) == 4


def test_a_truncated_file_is_refused_and_not_touched(tmp_path: Path, gpu) -> None:
    whole = tmp_path / "whole.sqlite"
    for n in range(6):
        History(whole).store(replace(gpu, identifier=f"r{n}"))
    content = whole.read_bytes()
    chance = random.Random(3)
    refused = 0
    for _ in range(40):
        cut = content[: chance.randrange(1, len(content))]
        file = tmp_path / "cut.sqlite"
        file.write_bytes(cut)
        for action in (lambda h: h.list(), lambda h: h.store(gpu)):
            with pytest.raises(StoreError, match=r"cut\.sqlite"):
                action(History(file))
            refused += 1
        assert file.read_bytes() == cut
    assert refused == 80


def test_damaged_pages_never_raise_anything_else(tmp_path: Path, gpu) -> None:
    file = tmp_path / "damaged.sqlite"
    History(file).store(replace(gpu, identifier="r"))
    content = file.read_bytes()
    chance = random.Random(4)
    for _ in range(60):
        damaged = bytearray(content)
        start = chance.randrange(len(content) - 200)
        damaged[start : start + 200] = chance.randbytes(200)
        file.write_bytes(damaged)
        with contextlib.suppress(StoreError):  # anything else fails the test
            for entry in History(file).list():
                assert History(file).load(entry.identifier).experiment


def test_a_newer_database_is_refused_and_not_touched(history: History, gpu) -> None:
    history.store(gpu)
    with sqlite3.connect(history.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = history.path.read_bytes()
    for action in (history.list, lambda: history.store(gpu)):
        with pytest.raises(StoreError, match=r"newer gpuprof \(version 99"):
            action()
    assert history.path.read_bytes() == before


def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path, gpu) -> None:
    file = tmp_path / "mail.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE mail (subject TEXT)")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        History(file).store(gpu)
    assert file.read_bytes() == before


def test_a_text_file_is_refused_and_not_touched(tmp_path: Path, gpu) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("buy milk\n" * 200)
    with pytest.raises(StoreError, match="no SQLite database"):
        History(file).store(gpu)
    assert file.read_text() == "buy milk\n" * 200


def test_an_empty_file_is_an_empty_history(tmp_path: Path, gpu) -> None:
    file = tmp_path / "empty.sqlite"
    file.touch()
    assert History(file).list() == ()
    assert file.stat().st_size == 0
    History(file).store(gpu)
    assert len(History(file).list()) == 1


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path, gpu) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot use the history"):
        History(tmp_path / "file" / "history.sqlite").store(gpu)
    with pytest.raises(StoreError, match="cannot open the history"):
        History(tmp_path).store(gpu)


def test_where_the_history_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPROF_HISTORY", "/a/b.sqlite")
    assert history_path() == Path("/a/b.sqlite")
    assert history_path("c.sqlite") == Path("c.sqlite")
    monkeypatch.delenv("GPUPROF_HISTORY")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert history_path() == Path("/data/gpuprof/history.sqlite")
