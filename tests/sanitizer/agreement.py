"""The table of agreement with compute-sanitizer, from what ``record_compute_sanitizer`` wrote.

python -m tests.sanitizer.agreement compute_sanitizer.json.gz docs/results/sanitizer.md
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.sanitizer.cases import Case, cases, names_the_fault, sanitize

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
#: planted -> the tool whose subject it is
SUBJECT = {
    "race_warps": "racecheck",
    "race_warp": "racecheck",
    "race_lanes": "racecheck",
    "race_blocks": "racecheck",
    "atomic_plain": "racecheck",
    "equal": "racecheck",
    "copy": "racecheck",
    "unset": "initcheck",
    "barrier": "synccheck",
    "absent": "synccheck",
    "mask": "synccheck",
    "bounds": "memcheck",
}
#: Why compute-sanitizer says nothing, by what its guide says of the tool.
_LIMITS = {
    "race_blocks": "documented limit: racecheck looks at shared memory only",
    "unset": "documented limit: initcheck looks at global memory only (2025.3)",
}
_GLOBAL_FILES = ("global_races.cu",)
#: Single kernels, from what the recorded texts say.
_KERNELS = {
    "count_read": "not its subject: it reported no hazard between an atomic and a plain access in any case",
    "count_clear": "not its subject: it reported no hazard between an atomic and a plain access in any case",
    "producer_ok": "policy: racecheck does not take bar.arrive and bar.sync of one named barrier for an order",
    "two_names_ok": "policy: synccheck calls one named barrier at two instructions divergent; PTX allows it",
    "same_flag": "policy: equal values are a note here and nothing there",
    "absent_source": "not its subject: synccheck checks masks, not the lane that is read",
    "one_warp": "policy: the threads that went round it have ended, and the hardware does not wait for those",
    "rounds": "policy: the threads that left the loop have ended, and the hardware does not wait for those",
    "past_end": "documented limit: the address lies in the next allocation (memcheck without --padding)",
}


def seen(record: dict[str, Any]) -> str:
    """What a tool said: ``-`` nothing, the number of errors or hazards, ``hang``, ``not run``."""
    if record.get("skipped"):
        return "not run"
    if record.get("timed_out"):
        return "hang"
    text = record.get("text", "") + record.get("end", "")
    hazards = re.search(r"RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)", text)
    if hazards:
        return f"{hazards[1]} errors, {hazards[2]} warnings" if hazards[1] != "0" or hazards[2] != "0" else "-"
    errors = re.search(r"ERROR SUMMARY: (\d+) error", text)
    return "-" if errors and errors[1] == "0" else f"{errors[1]} errors" if errors else "no summary"


def reason(case: Case, said: dict[str, str], ours: bool) -> str:
    """Why the two differ; empty where they agree."""
    if case.kernel in _KERNELS:
        return _KERNELS[case.kernel]
    found = any(word not in ("-", "not run") for word in said.values())
    if case.planted == "ok":
        return "" if not found else "unexplained: compute-sanitizer reports the repaired twin"
    if not ours:
        return "unexplained: gpuprof does not find it"
    if found:
        subject = said[SUBJECT[case.planted]]
        return "" if subject not in ("-", "not run") else "level: another of its tools says so"
    if case.file in _GLOBAL_FILES:
        return _LIMITS["race_blocks"]
    return _LIMITS.get(case.planted, "unexplained")


def main() -> None:
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        data = json.load(file)
    rows, counts, unexplained = [], dict.fromkeys(("agree", "differ"), 0), 0
    tally = {name: [0, 0, 0] for name in ("gpuprof", *TOOLS)}
    seconds = dict.fromkeys(TOOLS, 0.0)
    for case in cases():
        record = data["results"].get(case.kernel, {})
        said = {tool: seen(record.get(tool, {"skipped": True})) for tool in TOOLS}
        findings = sanitize(case, data["arch"])
        ours = bool(findings) if case.planted == "ok" else names_the_fault(case, findings)
        why = reason(case, said, ours)
        unexplained += why.startswith("unexplained")
        counts["differ" if why else "agree"] += 1
        for tool in TOOLS:
            seconds[tool] += record.get(tool, {}).get("seconds", 0.0)
            hit = said[tool] not in ("-", "not run")
            tally[tool][2 if case.planted == "ok" else 0] += hit
            tally[tool][1] += case.planted != "ok" and not hit and SUBJECT[case.planted] == tool
        tally["gpuprof"][2 if case.planted == "ok" else 0 if ours else 1] += ours or case.planted != "ok"
        words = "; ".join(f"{each.kind} {list(each.lines)}" for each in findings) or "-"
        plain = re.search(r"results (\d+)", record.get("plain", {}).get("text", ""))
        cells = (
            case.kernel,
            case.planted,
            list(case.lines) or "",
            words,
            *said.values(),
            plain[1] if plain else "-",
            why,
        )
        rows.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    lines = [
        "# The sanitizer beside compute-sanitizer, on an H200",
        "",
        f"compute-sanitizer 2025.3.1, driver 580.159.04, nvcc 13.0.88, code for {data['arch']} with -lineinfo;",
        "racecheck with `--racecheck-report all --racecheck-detect-level info`.",
        "Each kernel of `tests/sanitizer/kernels` is one launch;",
        "*results* is how many different outputs 100 plain runs gave. gpuprof ran on the emulator. Recorded by",
        "`python -m tests.sanitizer.record_compute_sanitizer`, written by `python -m tests.sanitizer.agreement`.",
        "",
        f"{counts['agree']} rows agree, {counts['differ']} differ, {unexplained} of them unexplained.",
        "",
        "| tool | planted faults found | of its subject missed | false (repaired twins) | seconds |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {tool} | {hit} | {missed} | {false} | {round(seconds[tool]) if tool in seconds else ''} |"
            for tool, (hit, missed, false) in tally.items()
        ),
        "",
        "| kernel | planted | lines | gpuprof | memcheck | racecheck | initcheck | synccheck | results | difference |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | ---: | --- |",
        *rows,
    ]
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
