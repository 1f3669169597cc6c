"""What the compiler said of a build that succeeded: what changes the code or explains it, each once.

nvcc's log of a good build is mostly ptxas's report (``-v``); limits that were ignored or adjusted, spills that were
asked for (``-Xptxas -warn-spills``), performance advice (C75xx) and deprecated features are between its lines.
"""

from __future__ import annotations

import re

#: Every warning of ptxas, nvlink and nvcc, and information of ptxas with a number.
_TOOLS = re.compile(
    r"^(?:ptxas|nvlink|nvcc) (?:warning\s*:(?P<warning>.*)|info\s*:\s*\((?P<number>C\d+)\)(?P<advice>.*))$", re.M
)
_FRONT_END = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): warning #(?P<number>[\w-]+): (?P<text>.*)$", re.M)
#: Of the front end's warnings those that say something of the code; unused names and the like are the author's affair.
_TELLING = re.compile(
    r"deprecat|unroll|pragma|before its value is set|launch_bounds|out of (?:range|bounds)|overflow|shift count"
    r"|uninitialized|division by zero|local memory|infinite|maxnreg"
)


def compiler_notes(log: str) -> tuple[str, ...]:
    """``compiler: ...`` for each kind of warning, in the log's order."""
    found = []
    for match in _TOOLS.finditer(log):
        number = f"({match['number']}) " if match["number"] else ""
        found.append(f"compiler: {number}{(match['warning'] or match['advice'] or '').strip()}")
    for match in _FRONT_END.finditer(log):
        if _TELLING.search(match["text"]):
            file = match["file"].rsplit("/", 1)[-1]
            found.append(f"compiler: {match['text'].strip()} (#{match['number']}, {file}:{match['line']})")
    return tuple(dict.fromkeys(found))
