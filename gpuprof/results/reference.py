"""A run as people name it on the command line: a JSON file, or a run of the history."""

from __future__ import annotations

from pathlib import Path

from gpuprof.results.history import History, history_path
from gpuprof.results.json import read_run
from gpuprof.results.model import Run


def load_run(reference: str, history: str | Path | None = None) -> Run:
    """The run in a file of that name, else the history's run: identifier, its first letters, experiment, ``latest``.

    Raises:
        UsageError: nothing, or more than one run, fits.
        StoreError: the file or the history cannot be read.
    """
    path = Path(reference).expanduser()
    if path.is_file() or reference.endswith(".json"):
        return read_run(path)
    return History(history_path(history)).find(reference)
