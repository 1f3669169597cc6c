"""Rows on disk the moment they are final: one JSON line each, appended beside the run's JSON.

The run's JSON is written whole, which for a long run is seldom. Its journal (``run.json.journal``) holds a line for the
run without rows and a line for each final row; a background thread appends and syncs it, so that a killed run loses
nothing that it announced. The complete JSON replaces the journal, which is then removed; ``read_run`` reads both.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from gpuprof.errors import StoreError
from gpuprof.results.json import MAX_BYTES, encode, from_json, read_run, result_from_json
from gpuprof.results.model import Result, Run
from gpuprof.system.files import exists, reason_unreadable

SUFFIX = ".journal"
#: Seconds that closing waits for the thread: rows are then in the complete JSON anyway.
_CLOSE_SECONDS = 30.0


def journal_beside(path: Path) -> Path:
    """The journal of a run's JSON."""
    return path.parent / (path.name + SUFFIX)


class RowJournal:
    """Appends rows to the journals of several JSON files; a file that cannot be written is given up with a reason.

    ``failed`` has the reason by JSON file. A journal that a living run holds is left to it.
    """

    def __init__(self, paths: Sequence[Path], header: Run) -> None:
        self.failed: dict[Path, str] = {}
        self._files: dict[Path, IO[bytes]] = {}
        self._queue: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        first = _line(replace(header, results=()))
        for path in paths:
            self._open(path, first)
        self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
        self._thread.start()

    def add(self, row: Result) -> None:
        """Append a final row; returns at once."""
        self._queue.put(row)

    def close(self, *, remove: bool) -> None:
        """Write what is due; ``remove`` the files, whose rows are in the complete JSON now."""
        self._queue.put(None)
        self._thread.join(_CLOSE_SECONDS)
        for path, file in self._files.items():
            if remove:
                journal_beside(path).unlink(missing_ok=True)
            file.close()
        self._files.clear()

    def _open(self, path: Path, first: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = journal_beside(path).open("ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                self.failed[path] = f"another run is writing {journal_beside(path)}"
                return
            file.truncate(0)
            file.write(first)
            file.flush()
            self._files[path] = file
        except OSError as error:
            self.failed[path] = f"cannot write {journal_beside(path)}: {error.strerror or error}"

    def _work(self) -> None:
        """In the thread: append what has come, sync, until None comes."""
        ended = False
        while not ended:
            rows = [self._queue.get()]
            with suppress(queue.Empty):
                while rows[-1] is not None:
                    rows.append(self._queue.get_nowait())
            ended = rows[-1] is None
            text = b"".join(_line(row) for row in rows if row is not None)
            if text:
                self._append(text)

    def _append(self, text: bytes) -> None:
        for path, file in list(self._files.items()):
            if path in self.failed:
                continue
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            except OSError as error:
                self.failed[path] = f"cannot write {journal_beside(path)}: {error.strerror or error}"


def _line(value: Run | Result) -> bytes:
    return json.dumps(encode(value), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def read_journal(path: Path) -> Run | None:
    """The run that a journal holds, rows in the order in which they ended; None where it holds no run.

    A last line that was cut short, and lines that are not rows, are dropped.
    """
    if reason_unreadable(path, MAX_BYTES) is not None:
        return None
    try:
        lines = path.read_bytes().split(b"\n")
        run = from_json(lines[0].decode("utf-8"), origin=str(path))
    except (OSError, StoreError, UnicodeDecodeError):
        return None
    rows: dict[str, Result] = {}
    for line in lines[1:]:
        with suppress(StoreError, UnicodeDecodeError):
            if line:
                row = result_from_json(line.decode("utf-8"), origin=str(path))
                rows[row.variant] = row
    return replace(run, results=tuple(rows.values()), complete=False)


def read_run_and_journal(path: Path) -> Run:
    """The run of a JSON file, with the rows of its journal where the run was killed; raises StoreError.

    Where the two are of different runs, it is the one that began later.
    """
    journal = read_journal(journal_beside(path))
    if journal is None:
        return read_run(path)
    if not exists(path):
        return journal
    run = read_run(path)
    if (run.started, run.config) != (journal.started, journal.config):
        return journal if journal.started > run.started else run
    if run.complete:
        return run
    rows = {row.variant: row for row in (*run.results, *journal.results)}
    return replace(run, results=tuple(rows.values()))
