"""A run as people name it on the command line: a JSON file, or a run of the history."""

from __future__ import annotations

from pathlib import Path

from gpuprof.results.history import History, history_path
from gpuprof.results.journal import journal_beside, read_run_and_journal
from gpuprof.results.model import Run
from gpuprof.results.pending import store_killed_runs
from gpuprof.system.files import exists, expand_user, is_file


def load_run(reference: str, history: str | Path | None = None) -> Run:
    """The run in a file of that name, else the history's run: identifier, its first letters, experiment, ``latest``.

    Raises:
        UsageError: nothing, or more than one run, fits.
        StoreError: the file or the history cannot be read.
    """
    path = expand_user(Path(reference))
    named = exists(path) and not path.is_dir()
    if named or is_file(journal_beside(path)) or reference.endswith(".json"):
        return read_run_and_journal(path)
    stored = History(history_path(history))
    store_killed_runs(stored)
    return stored.find(reference)
