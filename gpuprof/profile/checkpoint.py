"""The run on disk while it works, always whole, its newest rows in a journal; and what ``--resume`` takes from it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuprof.errors import StoreError
from gpuprof.results.journal import RowJournal, journal_beside, read_run_and_journal
from gpuprof.results.json import RunEncoder, write_whole
from gpuprof.results.model import Result, Run, Status

#: Seconds between two writes at least: a sweep of short variants is not spent on writing all earlier rows again.
WRITE_INTERVAL = 0.5
#: Writing may take this share of a run's time at most: very large runs are written less often still.
WRITE_SHARE = 0.05
#: Rows that are an answer; the others are tried again.
_FINAL = frozenset(Status) - {Status.SKIPPED}


class Checkpoint:
    """Appends each final row to the journal of every path, and writes the whole run by write and rename.

    A path that cannot be written is given up and costs nothing but a note: the run goes on.
    """

    def __init__(self, paths: tuple[Path, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._encoder = RunEncoder()
        self._next = -math.inf  #: on the clock
        self._failed: dict[Path, str] = {}
        self._rows: RowJournal | None = None
        self._unwritten = False  #: rows since the last whole write

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each path that was given up."""
        reasons = {**(self._rows.failed if self._rows is not None else {}), **self._failed}
        return tuple(f"Later runs cannot resume this one: {reason}" for reason in dict.fromkeys(reasons.values()))

    def start(self, run: Run) -> None:
        """Begin with a run that has no rows yet; earlier files stay until the first whole write."""
        self._rows = RowJournal(self._paths, run)

    def add(self, row: Result) -> None:
        """A row is final: it is on disk within a second."""
        self._unwritten = True
        if self._rows is not None:
            self._rows.add(row)

    def due(self) -> bool:
        """Whether the whole run should be written again; rows between two writes are in the journal."""
        return self._clock() >= self._next

    def write(self, run: Run) -> None:
        """Write the whole run now; a complete one ends the journal."""
        started = self._clock()
        text = self._encoder.to_json(run) + "\n"
        for path in self._paths:
            if path not in self._failed:
                self._write(text, path)
        self._unwritten = False
        ended = self._clock()
        self._next = ended + max(WRITE_INTERVAL, (ended - started) / WRITE_SHARE)

    def close(self) -> None:
        """End the journal; it is removed unless it holds what no whole write has."""
        if self._rows is not None:
            self._rows.close(remove=not self._failed and not self._unwritten)
            self._rows = None

    def _write(self, text: str, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(text, path)
        except OSError as error:
            self._failed[path] = f"cannot write {path}: {error.strerror or error}"
        except StoreError as error:
            self._failed[path] = str(error)


def earlier_results(paths: tuple[Path, ...]) -> Mapping[str, Result]:
    """The final rows of the first path that holds a run, by label; raises StoreError when none does."""
    for path in paths:
        if path.exists() or journal_beside(path).exists():
            run = read_run_and_journal(path)
            return {result.variant: result for result in run.results if result.status in _FINAL}
    raise StoreError(f"--resume: there is no earlier run of this experiment (looked at {', '.join(map(str, paths))})")


def still_holds(result: Result | None, fingerprint: str) -> bool:
    """May the earlier row stand for a new one?"""
    return result is not None and bool(fingerprint) and result.fingerprint == fingerprint
