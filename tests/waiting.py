"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds that a busy machine may take for what an idle one does at once.
PATIENCE_S = 120.0


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Return once ``condition`` holds; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come to hold within {seconds:g} s"
        time.sleep(0.02)
