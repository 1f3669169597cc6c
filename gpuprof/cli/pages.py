"""What the commands with ``--html`` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuprof.results.history import PastResult
    from gpuprof.results.model import Run

#: Stored runs that a page shows over time.
TREND_RUNS = 20


def past_of(run: Run, history: str | Path | None) -> tuple[PastResult, ...]:
    """Earlier results of a stored run's experiment, oldest first; nothing for a run that is in no history."""
    from gpuprof.errors import StoreError
    from gpuprof.results.history import History, history_path

    if not run.identifier:
        return ()
    try:
        return History(history_path(history)).past_results(run.experiment, limit=TREND_RUNS)
    except StoreError:
        return ()
