"""What ``ptxas -v`` reports: spills and stack by function."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FUNCTION = re.compile(r"Function properties for (\S+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Spills:
    """Bytes per thread of one function."""

    stack_bytes: int
    store_bytes: int
    load_bytes: int


def read_spills(log: str) -> dict[str, Spills]:
    """By mangled name. A function that the log does not mention is not in it: unknown, not zero."""
    found: dict[str, Spills] = {}
    name: str | None = None
    for line in log.splitlines():
        function = _FUNCTION.search(line)
        if function:
            name = function.group(1).strip("'")
            continue
        frame = _FRAME.search(line)
        if frame and name is not None:
            stack, stores, loads = (int(text) for text in frame.groups())
            found[name] = Spills(stack, stores, loads)
            name = None
    return found
