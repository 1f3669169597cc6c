"""Check the torture sweep's JSON: 200 rows, each bad one with its own reason, the good ones verified (and timed).

python benchmarks/torture_rows.py RUN.json [--untimed]
"""

from __future__ import annotations

import sys
from pathlib import Path

from gpuprof.results.json import from_json
from gpuprof.results.model import Result, Status

GOOD = "scale"


def complaints(results: tuple[Result, ...], *, timed: bool) -> list[str]:
    """What does not hold; empty when the sweep went as it must."""
    found = [] if len(results) == 200 else [f"{len(results)} rows instead of 200"]
    bad = [result for result in results if result.family != GOOD]
    for result in results:
        if result.family == GOOD and result.status is not Status.OK:
            found.append(f"{result.variant} is {result.status.value}: {result.reason}")
        if result.family == GOOD and timed and result.timing is None:
            found.append(f"{result.variant} was not timed")
    for result in bad:
        if result.status in (Status.OK, Status.SKIPPED) or not result.reason:
            found.append(f"{result.variant} misbehaves, and its row says {result.status.value}: {result.reason}")
    reasons = [result.reason for result in bad]
    if len(set(reasons)) != len(reasons):
        found.append("two bad rows give the same reason")
    return found


def main() -> None:
    """Print the bad rows, then what does not hold."""
    run = from_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for result in run.results:
        if result.family != GOOD:
            print(f"{result.variant:<20} {result.status.value:<14} {result.reason}")
    found = complaints(run.results, timed="--untimed" not in sys.argv)
    print(f"{len(run.results)} rows in {run.seconds:.1f} s; {len(found)} complaints")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
