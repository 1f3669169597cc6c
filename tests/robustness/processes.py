"""What a process has started and holds, read from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Every living process below ``pid``, by the parents that /proc names."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def is_running(pid: int) -> bool:
    """Whether a process of that number lives (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def folders_held_by(pid: int) -> set[Path]:
    """The run folders whose lock file a process has open."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            name = os.readlink(descriptor)
            if name.endswith("/owner.lock"):
                found.add(Path(name).parent)
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once ``condition`` holds; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.02)
