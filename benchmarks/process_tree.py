"""What a process has started and holds, read from /proc: for the killed runs here and in the tests."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """Every living process below ``pid``, by the parents that /proc names."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                parents[int(entry.name)] = int(_status(int(entry.name))[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def is_running(pid: int) -> bool:
    """Whether a process of that number lives; one that waits to be reaped does not."""
    try:
        return _status(pid)[0] not in "ZX"
    except OSError:
        return False


def _status(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the program's name, which may hold blanks: state, parent ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def folders_held_by(pid: int) -> set[Path]:
    """The run folders whose lock file a process has open; none of a process that has ended."""
    found = set()
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                name = os.readlink(descriptor)
                if name.endswith("/owner.lock"):
                    found.add(Path(name).parent)
    return found
