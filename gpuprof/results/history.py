"""The store of runs: one SQLite file with the whole JSON of each run, and the columns to query.

Several processes may write at once: every change is one immediate transaction, and a writer waits for another. A
damaged file, one of another program, and one of a newer gpuprof are refused with a message and left as they are.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gpuprof.errors import StoreError, UsageError
from gpuprof.results.derived import derived_values
from gpuprof.results.json import from_json, to_json
from gpuprof.results.model import Result, Run, Status
from gpuprof.system.files import exists, expand_user, reason_unreadable

#: SQLite's user_version of a file that this module wrote.
DATABASE_VERSION = 1
#: SQLite's application_id: "gprf".
APPLICATION_ID = 0x67707266
#: How long a writer waits for another one.
WAIT_SECONDS = 60.0
#: The smallest page of SQLite: no database is shorter.
SMALLEST_DATABASE = 512
ENVIRONMENT_VARIABLE = "GPUPROF_HISTORY"

#: The derived values that are columns of the table ``results``.
COLUMNS = ("time_us", "gflops", "gbps", "registers", "spill_bytes", "shared_bytes", "occupancy", "warp_instructions")

_SCHEMA = (
    """CREATE TABLE runs (
        identifier TEXT PRIMARY KEY, experiment TEXT NOT NULL, started TEXT NOT NULL, seconds REAL NOT NULL,
        device TEXT NOT NULL, gpu TEXT, variants INTEGER NOT NULL, failed INTEGER NOT NULL,
        complete INTEGER NOT NULL, best TEXT, best_us REAL, json TEXT NOT NULL)""",
    "CREATE INDEX runs_by_experiment ON runs (experiment, started)",
    f"""CREATE TABLE results (
        run TEXT NOT NULL REFERENCES runs (identifier), variant TEXT NOT NULL, status TEXT NOT NULL,
        cubin_sha256 TEXT, {", ".join(f"{name} REAL" for name in COLUMNS)}, PRIMARY KEY (run, variant))""",
)


@dataclass(frozen=True)
class HistoryEntry:
    """One stored run, without its results. ``best`` is the fastest variant that verified, ``best_us`` its time."""

    identifier: str
    experiment: str
    started: str
    seconds: float
    device: str
    gpu: str | None
    variants: int
    failed: int
    complete: bool
    best: str | None
    best_us: float | None


@dataclass(frozen=True)
class PastResult:
    """A variant in a stored run."""

    run: str
    started: str
    gpu: str | None
    variant: str
    time_us: float | None
    warp_instructions: float | None


_ENTRY_COLUMNS = "identifier, experiment, started, seconds, device, gpu, variants, failed, complete, best, best_us"


def history_path(option: str | Path | None = None) -> Path:
    """The database's file: the option, else GPUPROF_HISTORY, else one in the user's data folder."""
    chosen = option or os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return expand_user(Path(chosen))
    import platformdirs

    return Path(platformdirs.user_data_dir("gpuprof", appauthor=False)) / "history.sqlite"


#: The repair where the database cannot be opened.
_ELSEWHERE = "give --history FILE, or store nothing (`gpuprof run --no-history`)"


class History:
    """The runs in one database file; the file is made by the first ``store``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def store(self, run: Run) -> str:
        """Store ``run``, or replace the stored one of the same identifier; return the identifier.

        Raises:
            StoreError: the file is damaged, of another program or a newer gpuprof, or cannot be written.
        """
        identifier = run.identifier or secrets.token_hex(4)
        run = replace(run, identifier=identifier)
        text = to_json(run, indent=None)
        with self._connection(writing=True) as connection:
            connection.execute("DELETE FROM results WHERE run = ?", (identifier,))
            connection.execute(
                f"INSERT OR REPLACE INTO runs ({_ENTRY_COLUMNS}, json) VALUES ({_marks(12)})", (*_run_row(run), text)
            )
            connection.executemany(
                f"INSERT OR REPLACE INTO results VALUES ({_marks(4 + len(COLUMNS))})",
                [_result_row(identifier, result) for result in run.results],
            )
        return identifier

    def load(self, identifier: str) -> Run:
        """The run of exactly that identifier.

        Raises:
            StoreError: there is none, or the file or the stored JSON cannot be read.
        """
        with self._connection() as connection:
            row = connection.execute("SELECT json FROM runs WHERE identifier = ?", (identifier,)).fetchone()
        if row is None:
            raise StoreError(f"no run {identifier!r} in {self.path}; gpuprof history lists them")
        return from_json(str(row[0]), origin=f"run {identifier} in {self.path}")

    def list(self, experiment: str | None = None, *, limit: int | None = None) -> tuple[HistoryEntry, ...]:
        """The stored runs, newest first; of one experiment if it is named."""
        where = "" if experiment is None else "WHERE experiment = ?"
        query = f"SELECT {_ENTRY_COLUMNS} FROM runs {where} ORDER BY started DESC, rowid DESC LIMIT ?"
        values = (*(() if experiment is None else (experiment,)), -1 if limit is None else limit)
        with self._connection() as connection:
            rows = connection.execute(query, values).fetchall()
        return tuple(_entry(row) for row in rows)

    def past_results(self, experiment: str, *, limit: int) -> tuple[PastResult, ...]:
        """The verified results of the last ``limit`` runs of an experiment, oldest run first."""
        query = """SELECT runs.identifier, runs.started, runs.gpu, variant, time_us, warp_instructions FROM results
            JOIN runs ON runs.identifier = results.run WHERE status = 'ok' AND runs.identifier IN
            (SELECT identifier FROM runs WHERE experiment = ? ORDER BY started DESC, rowid DESC LIMIT ?)
            ORDER BY runs.started, runs.rowid, results.rowid"""
        with self._connection() as connection:
            return tuple(PastResult(*row) for row in connection.execute(query, (experiment, limit)).fetchall())

    def find(self, reference: str) -> Run:
        """A run as people name it: an identifier or its first letters, an experiment (its newest run), ``latest``.

        ``gemm_1024~1`` is the run before the newest one of gemm_1024, ``latest~1`` the last but one of all.

        Raises:
            UsageError: nothing, or more than one run, fits.
            StoreError: the file cannot be read.
        """
        name, back = _split(reference)
        entries = self.list()
        named = [entry for entry in entries if name in ("latest", entry.experiment)]
        if named or name == "latest":
            if back >= len(named):
                raise UsageError(f"no run {reference!r}: {self.path} holds {len(named)} of that name")
            return self.load(named[back].identifier)
        fitting = [entry.identifier for entry in entries if entry.identifier.startswith(reference)]
        exact = [identifier for identifier in fitting if identifier == reference]
        if len(exact or fitting) == 1:
            return self.load((exact or fitting)[0])
        raise UsageError(_not_found(reference, fitting, entries, self.path))

    @contextmanager
    def _connection(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction on the checked database; an absent file reads as an empty one."""
        reason = reason_unreadable(self.path) if exists(self.path) else None
        if reason is not None:
            raise StoreError(f"cannot open the history {self.path}: {reason}; {_ELSEWHERE}")
        try:
            if writing:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            size = self.path.stat().st_size if self.path.exists() else 0
            if self.path.is_file() and size and _is_cut_short(self.path, size):
                raise StoreError(_damaged(self.path, f"cut short at {size:,} bytes"))
            name = str(self.path) if writing or size else ":memory:"
            with closing(sqlite3.connect(name, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                try:
                    self._prepare(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise StoreError(_explain(self.path, error)) from None
        except OSError as error:
            raise StoreError(f"cannot use the history {self.path}: {error.strerror or error}") from None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Refuse what is not ours; make the tables in an empty file."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if empty and version == 0:
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {DATABASE_VERSION}")
        elif application != APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program: give --history another file")
        elif version > DATABASE_VERSION:
            raise StoreError(
                f"the history {self.path} was written by a newer gpuprof (version {version}, this one reads "
                f"{DATABASE_VERSION}): upgrade gpuprof, or give --history another file; nothing was changed"
            )


def _is_cut_short(path: Path, size: int) -> bool:
    """Whether the file ends within a page. SQLite reads such a page as zeros, and less than a page as no database.

    The page size is the 16-bit number at offset 16 of the file, 1 meaning 65,536 (SQLite's "Database File Format").
    """
    with path.open("rb") as file:
        page = int.from_bytes(file.read(18)[16:18], "big")
    return size < SMALLEST_DATABASE or size % (65_536 if page == 1 else max(page, 1)) != 0


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _split(reference: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.+)~(\d{1,9})", reference)
    return (match[1], int(match[2])) if match else (reference, 0)


def _run_row(run: Run) -> tuple[object, ...]:
    good = [result for result in run.results if result.status is Status.OK]
    timed = [(result.timing.median_us, result.variant) for result in good if result.timing is not None]
    best_us, best = min(timed, default=(None, None))
    environment = run.environment
    return (
        *(run.identifier, run.experiment, run.started, run.seconds, environment.device, environment.gpu),
        *(len(run.results), len(run.results) - len(good), int(run.complete), best, best_us),
    )


def _result_row(identifier: str, result: Result) -> tuple[object, ...]:
    values = derived_values(result)
    cubin = result.build.cubin_sha256 if result.build else None
    return (identifier, result.variant, result.status.value, cubin, *(values.get(name) for name in COLUMNS))


def _entry(row: tuple[object, ...]) -> HistoryEntry:
    values = list(row)
    values[8] = bool(values[8])
    return HistoryEntry(*values)  # type: ignore[arg-type]


def _not_found(reference: str, fitting: list[str], entries: tuple[HistoryEntry, ...], path: Path) -> str:
    if fitting:
        return f"{reference!r} fits {len(fitting)} runs ({', '.join(fitting[:5])}): give more letters"
    if not entries:
        return f"no run {reference!r}: the history {path} is empty"
    import difflib

    names = list(dict.fromkeys(entry.experiment for entry in entries))
    near = difflib.get_close_matches(reference, names, n=3) or names[:3]
    return f"no run, experiment or file {reference!r}; the history has {', '.join(near)}: gpuprof history lists all"


def _explain(path: Path, error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"the history {path} was in use by another process for {WAIT_SECONDS:.0f} s: try again"
    if isinstance(error, sqlite3.OperationalError) and ("unable to open" in text or "readonly" in text):
        return f"cannot open the history {path} ({text}): {_ELSEWHERE}"
    return _damaged(path, text)


def _damaged(path: Path, why: str) -> str:
    return (
        f"the history {path} is damaged or no SQLite database ({why}): move it away, or give --history another file; "
        "nothing was changed"
    )
