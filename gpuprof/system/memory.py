"""How much memory this process may still take: of the machine, and of the control group that it is in."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
#: (limit, use) of a control group, version 2 and version 1.
_GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available_bytes() -> int | None:
    """Bytes that can be taken without swapping; None where the system does not say."""
    found = [value for value in (_of_machine(), *(_of_group(*files) for files in _GROUPS)) if value is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _of_group(limit: Path, use: Path) -> int | None:
    try:
        return max(0, int(limit.read_text(encoding="ascii")) - int(use.read_text(encoding="ascii")))
    except (OSError, ValueError):  # "max": no limit
        return None
