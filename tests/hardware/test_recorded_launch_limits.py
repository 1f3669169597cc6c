"""Which launches an H200's driver took, replayed; recorded by ``record_launch_limits.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gpuprof.arch.launch_limits import KernelResources, launch_problem

RECORD = json.loads((Path(__file__).parent / "launch_limits.json").read_text(encoding="utf-8"))
FORMS = (
    r"static (?P<static>\d+) \+ dynamic (?P<dynamic>\d+)",
    r"(?P<registers>\d+) registers x (?P<block>\d+)",
    r"launch bounds (?P<bound>\d+), block (?P<block>\d+)",
)


def problem(launch: str) -> str | None:
    """gpuprof's answer to a launch of the record, from its name."""
    match = next(found for form in FORMS if (found := re.fullmatch(form, launch)))
    values = {name: int(text) for name, text in match.groupdict().items()}
    kernel = KernelResources(values.get("registers", 16), values.get("static", 0), values.get("bound"))
    return launch_problem("sm_90", kernel, (1, 1, 1), (values.get("block", 32), 1, 1), values.get("dynamic", 0))


def test_two_hundred_launches_are_refused_where_the_driver_refuses_them() -> None:
    rows = RECORD["rows"]
    assert len(rows) == 239
    assert sum(bool(row["driver"]) for row in rows) not in (0, len(rows))
    assert [row["launch"] for row in rows if (problem(row["launch"]) is None) != (not row["driver"])] == []
