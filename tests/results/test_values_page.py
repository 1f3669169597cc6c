"""docs/values.md lists every derived value; ``python tests/results/test_values_page.py`` writes it anew."""

from __future__ import annotations

from pathlib import Path

from gpuprof.results.derived import TABLE
from gpuprof.results.metric_sets import SETS

PAGE = Path(__file__).parent.parent.parent / "docs" / "values.md"

HEAD = """# Values and their names

These names stand in `expect:` of a YAML file, in `--fail-on` of `gpuprof compare`, in the CSV files, and in what
`gpuprof counters` prints. Shares and efficiencies are fractions from 0 to 1, what is in percent says so. A value whose
counters are missing is absent, never 0. *Measured* is a clock on a GPU; *counted* is exact: read from the machine code,
or counted while it was executed (on the emulator, or by Nsight Compute).

| name | unit | kind | meaning |
| :--- | :--- | :--- | :--- |
"""

FOOT = """
`gpuprof compare --fail-on` knows four more: `slower` and `faster` (percent of the old time, 0 where the interval of the
ratio holds 1), `failed` and `different` (1 where a variant broke or vanished, and where its machine code differs);
`NAME.change` is after minus before, with `%` relative to before.

Raw counters keep Nsight Compute's names (`smsp__inst_executed.sum`). `--ncu` takes these sets, or metrics by name:
"""

KINDS = """
All variants are profiled in one process of ncu, and `--ncu-report FILE` keeps one report of them all. Where a variant
ends that process (a fault, no memory left), the others are profiled without it, in reports named after their variants.

`gpuprof counters --compare emulated,ncu` tells two kinds of counters. *Exact* ones are part of the instrumented code
or of the launch (`smsp__sass_*`, `smsp__inst_executed*`, the source view's numbers): ncu sees every event, and they
must be equal. *Hardware* ones (`l1tex__*`) are collected by units of the chip in several passes, and can lose events on
large grids: an H200 once gave 134,173,468 sectors for a launch with 134,217,728, and the whole number the next time.
Within 0.1 % they are called that, and no difference.
"""


def page() -> str:
    rows = [f"| `{entry.name}` | {entry.unit} | {entry.kind} | {entry.meaning} |" for entry in TABLE]
    sets = [f"- `{name}`: {len(metrics)} metrics" for name, metrics in SETS.items()]
    return HEAD + "\n".join(rows) + "\n" + FOOT + "\n" + "\n".join(sets) + "\n" + KINDS


def test_the_page_lists_what_there_is() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
