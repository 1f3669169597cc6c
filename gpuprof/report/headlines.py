"""ncu's headline values, in its own terms and order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuprof.isa import ncu_metrics as m
from gpuprof.report import units
from gpuprof.results.metric_sets import STALL_REASONS, stall_metric
from gpuprof.results.model import Counters

#: Heading -> (words, metric, unit) as ncu's details page has them.
HEADLINES: Sequence[tuple[str, Sequence[tuple[str, str, str]]]] = (
    ("Speed Of Light", (("compute", m.COMPUTE_PERCENT, "percent"), ("memory", m.MEMORY_PERCENT, "percent"))),
    (
        "Throughput",
        (
            ("DRAM", m.DRAM_PERCENT, "percent"),
            ("L2", m.L2_PERCENT, "percent"),
            ("L1", m.L1_PERCENT, "percent"),
            ("shared wavefronts", m.SHARED_PIPE_PERCENT, "percent"),
            ("L1 hits", m.L1_HIT_PERCENT, "percent"),
            ("L2 hits", m.L2_HIT_PERCENT, "percent"),
        ),
    ),
    (
        "Occupancy",
        (("achieved", m.WARPS_ACTIVE_PERCENT, "percent"), ("theoretical", m.WARPS_THEORETICAL_PERCENT, "percent")),
    ),
    (
        "Scheduler",
        (("issue slots busy", m.ISSUE_PERCENT, "percent"), ("eligible warps", m.WARPS_ELIGIBLE, "ratio")),
    ),
)

TOP_STALLS = 3


def headlines(counters: Counters) -> Iterator[str]:
    """One line per heading that has a value; nothing where no rates were collected."""
    if m.TIME in counters.values:
        yield f"Duration: {units.microseconds(counters.values[m.TIME] / 1000)} under ncu, caches flushed"
    for heading, entries in HEADLINES:
        known = [
            f"{words} {units.show(counters.values[name], unit)}"
            for words, name, unit in entries
            if name in counters.values
        ]
        if known:
            yield f"{heading}: {', '.join(known)}"
    stalls = top_stalls(counters.values)
    if stalls:
        listed = ", ".join(f"{STALL_REASONS[reason]} {units.ratio(value)}" for reason, value in stalls)
        yield f"Stalls (warps per issue): {listed}"


def top_stalls(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The most frequent stall reasons, largest first."""
    found = [
        (reason, float(values[stall_metric(reason)])) for reason in STALL_REASONS if stall_metric(reason) in values
    ]
    return sorted((entry for entry in found if entry[1] > 0), key=lambda entry: -entry[1])[:TOP_STALLS]
