"""The run on disk while it works, always whole; and what ``--resume`` takes from an earlier one."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from gpuprof.errors import StoreError
from gpuprof.results.json import RunEncoder, from_json, write_whole
from gpuprof.results.model import Result, Run, Status

#: Seconds between two writes at least: a sweep of short variants is not spent on writing all earlier rows again.
WRITE_INTERVAL = 0.5
#: Writing may take this share of a run's time at most: very large runs are written less often still.
WRITE_SHARE = 0.05
#: Rows that are an answer; the others are tried again.
_FINAL = frozenset({Status.OK, Status.DIFFERS, Status.BUILD_FAILED, Status.LAUNCH_FAILED, Status.TIMED_OUT})


def journal_path(config: Path) -> Path:
    """Where the latest run of a YAML file is kept when no ``--json`` names a file."""
    from platformdirs import user_data_path

    key = hashlib.sha256(str(config.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return user_data_path("gpuprof") / "runs" / f"{config.stem}-{key}.json"


class Journal:
    """Writes the run to every path, by write and rename.

    A path that cannot be written is given up and costs nothing but a note: the run goes on.
    """

    def __init__(self, paths: tuple[Path, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = paths
        self._clock = clock
        self._encoder = RunEncoder()
        self._next = -math.inf  #: on the clock
        self._failed: dict[Path, str] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each path that was given up."""
        return tuple(f"Later runs cannot resume this one: {reason}" for reason in self._failed.values())

    def due(self) -> bool:
        """Is it time to write again? A killed run loses the rows of the last ``WRITE_INTERVAL`` at most."""
        return self._clock() >= self._next

    def write(self, run: Run) -> None:
        """Write it now."""
        started = self._clock()
        text = self._encoder.to_json(run) + "\n"
        for path in self._paths:
            if path not in self._failed:
                self._write(text, path)
        ended = self._clock()
        self._next = ended + max(WRITE_INTERVAL, (ended - started) / WRITE_SHARE)

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
        if path.is_file():
            run = from_json(path.read_text(encoding="utf-8"), origin=str(path))
            return {result.variant: result for result in run.results if result.status in _FINAL}
    raise StoreError(f"--resume: there is no earlier run of this experiment (looked at {', '.join(map(str, paths))})")


def still_holds(result: Result | None, fingerprint: str) -> bool:
    """May the earlier row stand for a new one?"""
    return result is not None and bool(fingerprint) and result.fingerprint == fingerprint
