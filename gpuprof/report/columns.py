"""The columns of the run table, as data: head, unit, source, and how long each stays when the width is short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpuprof.report import units
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.results.derived import derived_values, describe
from gpuprof.results.model import Result, Status

#: Short words for occupancy limiters.
LIMITERS: Mapping[str, str] = {
    "registers": "regs",
    "shared memory": "smem",
    "warps": "warps",
    "blocks": "blocks",
    "barriers": "barriers",
}

STATUS_WORDS: Mapping[Status, str] = {
    Status.OK: "ok",
    Status.DIFFERS: "differs",
    Status.UNCHECKED: "unchecked",
    Status.BUILD_FAILED: "build failed",
    Status.LAUNCH_FAILED: "failed",
    Status.TIMED_OUT: "timed out",
    Status.SKIPPED: "skipped",
}

STATUS_STYLES: Mapping[str, str] = {
    "ok": "green",
    "unchecked": "yellow",
    "built": "",
    "ran": "",
    "reference": "",
    "skipped": "yellow",
    "*": "red",
}


@dataclass(frozen=True)
class Row:
    """A result with its derived values, computed once."""

    result: Result
    values: Mapping[str, float]


@dataclass(frozen=True)
class Head:
    """A column of the table. ``title`` is the plain name for exports, ``short`` the head in the table.

    ``hide`` are cell texts that say little: a column of nothing else goes before any other. One of nothing but
    ``omit`` is left out.
    """

    title: str
    short: str
    priority: int
    text: Callable[[Row], str]
    right: bool = True
    shrink_to: int = 0
    hide: tuple[str, ...] = ()
    omit: tuple[str, ...] = ()
    key: str = ""  #: the name for ``--columns`` where it is not the title's words
    wanted: bool = False  #: somebody asked for it

    @property
    def name(self) -> str:
        """How ``--columns`` calls it: ``warp_instructions``."""
        return self.key or self.title.lower().replace(" ", "_").replace("-", "_")

    def asked(self, priority: int) -> Head:
        """The column as one that somebody asked for: it stays although all its rows are equal."""
        return replace(self, priority=priority, hide=(), wanted=True)


def rows_of(results: tuple[Result, ...]) -> tuple[Row, ...]:
    return tuple(Row(result, derived_values(result)) for result in results)


def status_word(result: Result) -> str:
    """``ok`` only for what was verified; what was compared with nothing ``ran``, and what only built says ``built``."""
    if result.status is not Status.OK:
        return STATUS_WORDS[result.status]
    if result.verification is None:
        return "built" if result.timing is None and result.counters is None else "ran"
    return result.verification.verdict


#: Rows that a column which says the same in every row is judged by: a variant that did not run has no values.
_WITH_VALUES = (Status.OK, Status.DIFFERS, Status.UNCHECKED)


def draw(heads: tuple[Head, ...], rows: tuple[Row, ...]) -> list[Column]:
    """The columns with their texts; those without any content at all are left out."""
    columns = []
    for head in heads:
        cells = tuple(head.text(row) for row in rows)
        said = set(cells) - {units.NOTHING}
        if said <= set(head.omit) and head.priority < ALWAYS:
            continue
        alive = [cell for cell, row in zip(cells, rows, strict=True) if row.result.status in _WITH_VALUES]
        equal = len(alive) > 1 and len(set(alive)) == 1 and len(said) == 1 and not head.wanted
        silent = (equal or said <= set(head.hide)) and head.priority < ALWAYS
        priority = 0 if silent else head.priority
        columns.append(Column(head.short, cells, priority, head.right, head.shrink_to, "".join(said) if silent else ""))
    return columns


def value_text(name: str, unit: str | None = None) -> Callable[[Row], str]:
    """The derived value of that name in its unit."""
    entry = describe(name)
    if entry is None:
        raise KeyError(name)
    chosen = unit or entry.unit
    return lambda row: units.show(row.values.get(name), chosen)


def _occupancy(row: Row) -> str:
    facts = row.result.occupancy
    if facts is None:
        return units.NOTHING
    limiter = "+".join(LIMITERS.get(part, part) for part in facts.limiter.split("+")) if facts.limiter else ""
    return f"{units.percent(facts.percent)} {limiter}".rstrip()


def _time(row: Row) -> str:
    timing = row.result.timing
    return units.NOTHING if timing is None else units.microseconds(timing.median_us)


def _interval(row: Row) -> str:
    timing = row.result.timing
    if timing is None or not timing.median_us:
        return units.NOTHING
    low, high = timing.interval_us
    return f"±{units.percent(50 * (high - low) / timing.median_us)}"


def _against_baseline(row: Row) -> str:
    timing = row.result.timing
    if row.result.same_code_as is not None:
        return "same code"
    if timing is None or timing.speedup is None:
        return units.NOTHING
    unclear = "?" if timing.comparison == "unclear" else "=" if timing.comparison == "same" else ""
    return units.times(timing.speedup) + unclear


def _blocks(row: Row) -> str:
    counters = row.result.counters
    if counters is None:
        return units.NOTHING
    if counters.blocks_run >= counters.blocks_total:
        return "all"
    return f"{counters.blocks_run:,} of {counters.blocks_total:,}"


def _peak(name: str) -> Callable[[Row], str]:
    return lambda row: units.show(row.result.modelled.get(name), "percent")


def _device(row: Row) -> str:
    return row.result.timing.device if row.result.timing is not None else units.NOTHING


VARIANT = Head("variant", "variant", ALWAYS, lambda row: row.result.variant, right=False, shrink_to=12)
STATUS = Head("status", "status", ALWAYS, lambda row: status_word(row.result), right=False, shrink_to=7)
REGISTERS = Head("registers", "regs", 80, value_text("registers"))
SPILLS = Head("spill bytes", "spill", 40, value_text("spill_bytes"), hide=("0",))
STACK = Head("local bytes per thread", "local\nbytes", 42, value_text("stack_bytes"), omit=("0",), key="stack_bytes")
SHARED = Head("shared bytes", "smem", 45, value_text("shared_bytes"), hide=("0",))
OCCUPANCY = Head("occupancy", "occupancy", 60, _occupancy)
#: Where a run used several GPUs: on which one a row was timed.
DEVICE = Head("device", "device", 88, _device, right=False)
MAX_ABS = Head("max |diff|", "max\n|diff|", 70, value_text("max_abs"), key="max_abs")

TIMED: tuple[Head, ...] = (
    VARIANT,
    STATUS,
    REGISTERS,
    SPILLS,
    STACK,
    SHARED,
    OCCUPANCY,
    Head("time", "time", 99, _time),
    Head("interval", "±", 30, _interval),
    Head("GFLOP/s", "GFLOP/s", 85, value_text("gflops"), key="gflops"),
    Head("GB/s", "GB/s", 75, value_text("gbps"), key="gbps"),
    Head("against baseline", "vs base", 90, _against_baseline, key="speedup"),
    Head("% of peak FLOP/s", "%peak\nflop", 50, _peak("percent_of_peak_flops"), key="percent_of_peak_flops"),
    Head(
        "% of peak bytes/s",
        "%peak\nbytes",
        50,
        _peak("percent_of_peak_bandwidth"),
        key="percent_of_peak_bandwidth",
    ),
    MAX_ABS,
)

COUNTED: tuple[Head, ...] = (
    VARIANT,
    STATUS,
    REGISTERS,
    SPILLS,
    STACK,
    SHARED,
    OCCUPANCY,
    Head("warp instructions", "warp\ninstr.", 90, value_text("warp_instructions", "short_count")),
    Head("FFMA share", "FFMA", 75, value_text("ffma_share"), hide=("0%",)),
    Head("load sectors per request", "ld\nsect", 86, value_text("load_sectors_per_request")),
    Head("store sectors per request", "st\nsect", 84, value_text("store_sectors_per_request")),
    Head("shared load ways", "ld\nways", 83, value_text("shared_load_ways")),
    Head("shared store ways", "st\nways", 82, value_text("shared_store_ways")),
    Head("local sectors", "local\nsectors", 72, value_text("local_sectors", "short_count"), omit=("0",)),
    Head("lane efficiency", "lanes\nactive", 78, value_text("lane_efficiency")),
    Head("lane efficiency pred on", "pred\non", 77, value_text("lane_efficiency_pred_on")),
    MAX_ABS,
    Head("blocks run", "blocks run", 55, _blocks, hide=("all",)),
)

#: The counters' own columns, below times in importance.
COUNTED_BESIDE_TIMES: tuple[Head, ...] = tuple(
    replace(head, priority=head.priority - 45) for head in COUNTED if head not in TIMED
)

SASS: tuple[Head, ...] = (
    Head("longest FFMA run", "FFMA\nrun", 95, value_text("ffma_longest_run"), key="ffma_longest_run"),
    Head("FFMA share hot loop", "FFMA in\nhot loop", 95, value_text("ffma_share_hot_loop")),
    Head("shared loads per FFMA", "LDS\n/FFMA", 95, value_text("shared_loads_per_ffma")),
    Head("predicated share", "pred-\nicated", 94, value_text("predicated_share")),
)

BUILT: tuple[Head, ...] = (VARIANT, STATUS, REGISTERS, SPILLS, STACK, SHARED, OCCUPANCY)
