"""What bounds a kernel, in plain words with the numbers it rests on: a pure function of its counters.

With ncu's rates the thresholds are those of ncu's own Speed Of Light rule (section SpeedOfLight, rule SOLBottleneck,
Nsight Compute 2020 to 2025): below 60 % of both compute and memory throughput a kernel is latency bound; from 80 % on
the larger one is the bound; between them the larger one is, unless they are within 10 points of each other. The memory
side is then the busiest of DRAM, L2, L1 and shared-memory wavefronts. Without rates (on the emulator) nothing is said
about time: the verdict names what the counts alone show to be wasted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuprof.isa import ncu_metrics as m
from gpuprof.results.derived import counters_of, derived_values
from gpuprof.results.metric_sets import STALL_REASONS, stall_metric
from gpuprof.results.model import Result

#: ncu's SOLBottleneck thresholds, in percent of the peak.
LATENCY_BELOW = 60.0
BOUND_FROM = 80.0
BALANCED_WITHIN = 10.0
#: Achieved warps below this share of the SM's places are too few to hide latency, in percent.
MIN_WARPS_PERCENT = 40.0

#: Above these, the counts alone are worth a word: sectors beyond ideal, ways, inactive lanes.
WASTED_SECTORS_FROM = 1.25
CONFLICT_WAYS_FROM = 1.25
LANES_BELOW = 0.8


@dataclass(frozen=True)
class Verdict:
    """``bound``: ``dram``, ``l2``, ``l1``, ``shared``, ``issue``, ``compute``, ``latency``, ``warps``, ``balanced``,
    or ``counted`` (no rates). ``side`` is what ncu's own rule would call it: ``memory``, ``compute``, ``latency``,
    ``balanced`` or empty. ``text`` is the sentence; ``numbers`` the metrics it rests on.
    """

    bound: str
    side: str
    text: str
    numbers: Mapping[str, float]


#: The memory units, busiest first wins: metric, key, and words.
_MEMORY_UNITS: Sequence[tuple[str, str, str]] = (
    (m.DRAM_PERCENT, "dram", "DRAM bandwidth"),
    (m.L2_PERCENT, "l2", "L2 bandwidth"),
    (m.SHARED_PIPE_PERCENT, "shared", "shared-memory wavefronts"),
    (m.L1_PERCENT, "l1", "L1 throughput"),
)


def verdict(result: Result) -> Verdict | None:
    """The verdict of a result; None where nothing was counted."""
    counters = result.ncu if result.ncu is not None else counters_of(result)
    if counters is None:
        return None
    if m.COMPUTE_PERCENT in counters.values and m.MEMORY_PERCENT in counters.values:
        return bound_by_rates(counters.values)
    return _by_counts(derived_values(result))


def bound_by_rates(values: Mapping[str, float]) -> Verdict:
    """The verdict from ncu's rates: needs the compute and memory throughput, uses what else is there."""
    compute, memory = float(values[m.COMPUTE_PERCENT]), float(values[m.MEMORY_PERCENT])
    rests_on = {m.COMPUTE_PERCENT: compute, m.MEMORY_PERCENT: memory}
    head = f"compute {compute:.0f}%, memory {memory:.0f}% of peak"
    side = sol_side(compute, memory)
    if side == "latency":
        return _latency(values, rests_on, head)
    if side == "balanced":
        return Verdict("balanced", side, f"compute and memory are in balance: {head}", rests_on)
    return _memory(values, rests_on, head) if side == "memory" else _compute(values, rests_on, head)


def sol_side(compute: float, memory: float) -> str:
    """What ncu's SOLBottleneck rule says: ``latency``, ``memory``, ``compute`` or ``balanced``."""
    if max(compute, memory) < LATENCY_BELOW:
        return "latency"
    if max(compute, memory) < BOUND_FROM and abs(compute - memory) < BALANCED_WITHIN:
        return "balanced"
    return "memory" if memory > compute else "compute"


def _memory(values: Mapping[str, float], rests_on: Mapping[str, float], head: str) -> Verdict:
    known = [(float(values[metric]), metric, key, words) for metric, key, words in _MEMORY_UNITS if metric in values]
    if not known:
        return Verdict("memory", "memory", f"bound by memory: {head}", rests_on)
    percent, metric, key, words = max(known, key=lambda entry: entry[0])
    shared = values.get(m.SHARED_PIPE_PERCENT)
    if key == "l1" and shared is not None and float(shared) >= 0.9 * percent:
        percent, metric, key, words = float(shared), m.SHARED_PIPE_PERCENT, "shared", "shared-memory wavefronts"
    text = f"bound by {words} ({percent:.0f}% of peak): {head}"
    return Verdict(key, "memory", text, {**rests_on, metric: percent})


def _compute(values: Mapping[str, float], rests_on: Mapping[str, float], head: str) -> Verdict:
    issue = values.get(m.ISSUE_PERCENT)
    pipe = _busiest_pipe(values)
    if pipe is not None and (issue is None or pipe[1] >= float(issue)):
        name, percent = pipe
        text = f"bound by the {name} pipe ({percent:.0f}% of peak): {head}"
        return Verdict("compute", "compute", text, {**rests_on, pipe_metric(name): percent})
    if issue is None:
        return Verdict("compute", "compute", f"bound by compute: {head}", rests_on)
    text = f"bound by instruction issue ({float(issue):.0f}% of issue slots busy): {head}"
    return Verdict("issue", "compute", text, {**rests_on, m.ISSUE_PERCENT: float(issue)})


def pipe_metric(name: str) -> str:
    return f"sm__inst_executed_pipe_{name}.avg.pct_of_peak_sustained_active"


def _busiest_pipe(values: Mapping[str, float]) -> tuple[str, float] | None:
    prefix, _, suffix = pipe_metric("|").partition("|")
    pipes = [
        (name[len(prefix) : -len(suffix)], float(value))
        for name, value in values.items()
        if name.startswith(prefix) and name.endswith(suffix)
    ]
    return max(pipes, key=lambda entry: entry[1], default=None)


def _latency(values: Mapping[str, float], rests_on: Mapping[str, float], head: str) -> Verdict:
    numbers = dict(rests_on)
    active, theoretical = values.get(m.WARPS_ACTIVE_PERCENT), values.get(m.WARPS_THEORETICAL_PERCENT)
    reason = _top_stall(values)
    tail = f"; most often {STALL_REASONS[reason[0]]} ({reason[1]:.1f} warps per issue)" if reason else ""
    if reason:
        numbers[stall_metric(reason[0])] = reason[1]
    if active is None:
        return Verdict("latency", "latency", f"bound by latency: {head}{tail}", numbers)
    numbers[m.WARPS_ACTIVE_PERCENT] = float(active)
    of_theory = ""
    if theoretical is not None:
        numbers[m.WARPS_THEORETICAL_PERCENT] = float(theoretical)
        of_theory = f", {float(theoretical):.0f}% possible"
    few = float(active) < MIN_WARPS_PERCENT
    words = "bound by latency with too few warps" if few else "bound by latency"
    text = f"{words} ({float(active):.0f}% of the warps resident{of_theory}): {head}{tail}"
    return Verdict("warps" if few else "latency", "latency", text, numbers)


def _top_stall(values: Mapping[str, float]) -> tuple[str, float] | None:
    found = [
        (reason, float(values[stall_metric(reason)])) for reason in STALL_REASONS if stall_metric(reason) in values
    ]
    waiting = [entry for entry in found if entry[0] != "not_selected" and entry[1] > 0]
    return max(waiting, key=lambda entry: entry[1], default=None)


def _by_counts(values: Mapping[str, float]) -> Verdict:
    numbers: dict[str, float] = {}
    found: list[str] = []

    def note(name: str, text: str) -> None:
        numbers[name] = values[name]
        found.append(text)

    useful = values.get("useful_bytes_percent")
    if useful is not None and useful < 100 / WASTED_SECTORS_FROM:
        note("useful_bytes_percent", f"{useful:.0f}% of the sectors' bytes are used")
    ways = values.get("bank_conflict_ways")
    if ways is not None and ways >= CONFLICT_WAYS_FROM:
        note("bank_conflict_ways", f"{ways:.3g}-way bank conflicts")
    lanes = values.get("lane_efficiency")
    if lanes is not None and lanes < LANES_BELOW:
        note("lane_efficiency", f"{100 * lanes:.0f}% of the lanes active")
    spills = values.get("local_sectors")
    if spills:
        note("local_sectors", f"{spills:,.0f} sectors of local memory")
    text = "; ".join(found) if found else "accesses, banks and lanes are as good as they can be"
    return Verdict("counted", "", f"counted, not timed: {text}", numbers)
