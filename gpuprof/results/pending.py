"""Runs on their way into the history: one that is killed before it was stored, the next reader of the history stores.

A run that is to be stored puts a note (``NAME.json.pending``) beside its JSON and journal in the user's data folder:
which database, under which identifier. The note goes once the run is stored, and is locked until then; a note that
nobody holds is of a killed run.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from gpuprof.errors import StoreError
from gpuprof.results.history import History
from gpuprof.results.journal import read_run_and_journal
from gpuprof.results.model import Run

SUFFIX = ".pending"
_MAX_BYTES = 65_536
_KILLED = "The run was killed before its end; these rows were final."


@dataclass(frozen=True)
class _Note:
    """Where a run is to be stored, and when (ISO 8601, UTC) it began or later."""

    history: str
    identifier: str
    since: str


def latest_run_path(config: Path) -> Path:
    """Where the latest run of a YAML file is kept when no ``--json`` names a file."""
    key = hashlib.sha256(str(config.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return _folder() / f"{config.stem}-{key}.json"


def _folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("gpuprof") / "runs"


@contextmanager
def to_be_stored(config: Path, history: Path) -> Iterator[str]:
    """Around a run and storing it: gives the identifier to store it under.

    Left by an exception, the note stays: what the run has on disk is stored later. Where no note can be kept, or
    another run of this YAML file holds it, the identifier is empty, and the run is stored at its end or not at all.
    """
    path = _note_beside(latest_run_path(config))
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    note = _Note(str(history.absolute()), secrets.token_hex(4), since)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)  # what a full disk refuses is refused here, not on closing
    except OSError:
        yield ""
        return
    with file:
        if not _is_ours(file):
            yield ""
            return
        with suppress(OSError):
            file.truncate(0)
            file.write(json.dumps(asdict(note)).encode())
        yield note.identifier
        path.unlink(missing_ok=True)


def store_killed_runs(history: History) -> None:
    """Store in ``history`` what killed runs have on disk that were to be stored there.

    What cannot be stored now stays for the next time; nothing is raised.
    """
    try:
        notes = sorted(_folder().glob(f"*{SUFFIX}"))
    except OSError:
        return
    for path in notes:
        with suppress(OSError), path.open("r+b") as file:
            if _is_ours(file) and _settle(path, file, history):
                path.unlink(missing_ok=True)


def _settle(path: Path, file: IO[bytes], history: History) -> bool:
    """Store the run that a note is of; whether the note has done its work."""
    try:
        note = _Note(**json.loads(file.read(_MAX_BYTES)))
    except (ValueError, TypeError, RecursionError):
        return True
    if Path(note.history) != history.path.absolute():
        return False
    run = _run_of(note, path.with_name(path.name.removesuffix(SUFFIX)))
    if run is None:
        return True
    try:
        history.store(run)
    except StoreError:
        return False
    return True


def _run_of(note: _Note, path: Path) -> Run | None:
    """What that run has on disk; None where it ended before its first row."""
    try:
        run = read_run_and_journal(path)
    except StoreError:
        return None
    if not run.results or run.started < note.since:
        return None
    notes = run.notes if run.complete else (*run.notes, _KILLED)
    return replace(run, identifier=note.identifier, notes=notes)


def _note_beside(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)


def _is_ours(file: IO[bytes]) -> bool:
    """Lock a note; False where somebody holds it, or removed it since it was opened."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0
