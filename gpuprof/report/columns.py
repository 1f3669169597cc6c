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
class ColumnSpec:
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
    beside: str = ""  #: the name of the column that it follows where that is shown

    @property
    def name(self) -> str:
        """How ``--columns`` calls it: ``warp_instructions``."""
        return self.key or self.title.lower().replace(" ", "_").replace("-", "_")

    def asked(self, priority: int) -> ColumnSpec:
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


def draw(specs: tuple[ColumnSpec, ...], rows: tuple[Row, ...]) -> list[Column]:
    """The columns with their texts; those without any content at all are left out."""
    columns = []
    for spec in specs:
        cells = tuple(spec.text(row) for row in rows)
        texts = set(cells) - {units.NOTHING}
        if texts <= set(spec.omit) and spec.priority < ALWAYS:
            continue
        alive = [cell for cell, row in zip(cells, rows, strict=True) if row.result.status in _WITH_VALUES]
        equal = len(alive) > 1 and len(set(alive)) == 1 and len(texts) == 1 and not spec.wanted
        silent = (equal or texts <= set(spec.hide)) and spec.priority < ALWAYS
        priority = 0 if silent else spec.priority
        columns.append(
            Column(spec.short, cells, priority, spec.right, spec.shrink_to, "".join(texts) if silent else "")
        )
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


def _modelled(name: str, unit: str) -> Callable[[Row], str]:
    return lambda row: units.show(row.result.modelled.get(name), unit)


def _modelled_interval(row: Row) -> str:
    values = row.result.modelled
    if "time_high_us" not in values:
        return units.NOTHING
    return f"±{units.percent(100 * (values['time_high_us'] / values['time_us'] - 1))}"


def _modelled_ratio(row: Row) -> str:
    if row.result.same_code_as is not None:
        return "same code"
    ratio = row.result.modelled.get("speedup")
    return units.NOTHING if ratio is None else units.times(float(ratio))


def _device(row: Row) -> str:
    return row.result.timing.device if row.result.timing is not None else units.NOTHING


VARIANT = ColumnSpec("variant", "variant", ALWAYS, lambda row: row.result.variant, right=False, shrink_to=12)
STATUS = ColumnSpec("status", "status", ALWAYS, lambda row: status_word(row.result), right=False, shrink_to=7)
REGISTERS = ColumnSpec("registers", "regs", 80, value_text("registers"))
SPILLS = ColumnSpec("spill bytes", "spill", 40, value_text("spill_bytes"), hide=("0",))
STACK = ColumnSpec(
    "local bytes per thread", "local\nbytes", 42, value_text("stack_bytes"), omit=("0",), key="stack_bytes"
)
SHARED = ColumnSpec("shared bytes", "smem", 45, value_text("shared_bytes"), hide=("0",))
OCCUPANCY = ColumnSpec("occupancy", "occupancy", 60, _occupancy)
#: Where a run used several GPUs: on which one a row was timed.
DEVICE = ColumnSpec("device", "device", 88, _device, right=False)
MAX_ABS = ColumnSpec("max |diff|", "max\n|diff|", 70, value_text("max_abs"), key="max_abs")

TIMED: tuple[ColumnSpec, ...] = (
    VARIANT,
    STATUS,
    REGISTERS,
    SPILLS,
    STACK,
    SHARED,
    OCCUPANCY,
    ColumnSpec("time", "time", 99, _time),
    ColumnSpec("interval", "±", 30, _interval),
    ColumnSpec("GFLOP/s", "GFLOP/s", 85, value_text("gflops"), key="gflops"),
    ColumnSpec("GB/s", "GB/s", 75, value_text("gbps"), key="gbps"),
    ColumnSpec("against baseline", "vs base", 90, _against_baseline, key="speedup"),
    ColumnSpec("% of peak FLOP/s", "%peak\nflop", 50, _peak("percent_of_peak_flops"), key="percent_of_peak_flops"),
    ColumnSpec(
        "% of peak bytes/s",
        "%peak\nbytes",
        50,
        _peak("percent_of_peak_bandwidth"),
        key="percent_of_peak_bandwidth",
    ),
    MAX_ABS,
)

#: Beside a modelled time every figure that follows from it has its star.
MODELLED: tuple[ColumnSpec, ...] = (
    VARIANT,
    STATUS,
    REGISTERS,
    SPILLS,
    STACK,
    SHARED,
    OCCUPANCY,
    ColumnSpec("time modelled", "time*", 99, _modelled("time_us", "us")),
    ColumnSpec("interval modelled", "±*", 92, _modelled_interval),
    ColumnSpec("GFLOP/s modelled", "GFLOP/s*", 85, _modelled("gflops", "GFLOP/s"), key="gflops_modelled"),
    ColumnSpec("GB/s modelled", "GB/s*", 75, _modelled("gbps", "GB/s"), key="gbps_modelled"),
    ColumnSpec("against baseline modelled", "vs base*", 90, _modelled_ratio, key="speedup_modelled"),
    ColumnSpec(
        "% of peak FLOP/s modelled", "%peak*\nflop", 50, _peak("percent_of_peak_flops"), key="peak_flops_modelled"
    ),
    ColumnSpec(
        "% of peak bytes/s modelled", "%peak*\nbytes", 50, _peak("percent_of_peak_bandwidth"), key="peak_bytes_modelled"
    ),
    MAX_ABS,
)

COUNTED: tuple[ColumnSpec, ...] = (
    VARIANT,
    STATUS,
    REGISTERS,
    SPILLS,
    STACK,
    SHARED,
    OCCUPANCY,
    ColumnSpec("warp instructions", "warp\ninstr.", 90, value_text("warp_instructions", "short_count")),
    ColumnSpec("FFMA share", "FFMA", 75, value_text("ffma_share"), hide=("0%",)),
    ColumnSpec("load sectors per request", "ld\nsect", 86, value_text("load_sectors_per_request")),
    ColumnSpec("store sectors per request", "st\nsect", 84, value_text("store_sectors_per_request")),
    ColumnSpec("shared load ways", "ld\nways", 83, value_text("shared_load_ways")),
    ColumnSpec("shared store ways", "st\nways", 82, value_text("shared_store_ways")),
    ColumnSpec("local sectors", "local\nsectors", 72, value_text("local_sectors", "short_count"), omit=("0",)),
    ColumnSpec("lane efficiency", "lanes\nactive", 78, value_text("lane_efficiency")),
    ColumnSpec("lane efficiency pred on", "pred\non", 77, value_text("lane_efficiency_pred_on")),
    MAX_ABS,
    ColumnSpec("blocks run", "blocks run", 55, _blocks, hide=("all",)),
)

#: The counters' own columns, below times in importance.
COUNTED_BESIDE_TIMES: tuple[ColumnSpec, ...] = tuple(
    replace(spec, priority=spec.priority - 45) for spec in COUNTED if spec not in TIMED
)

SASS: tuple[ColumnSpec, ...] = (
    ColumnSpec("longest FFMA run", "FFMA\nrun", 95, value_text("ffma_longest_run"), key="ffma_longest_run"),
    ColumnSpec("FFMA share hot loop", "FFMA in\nhot loop", 95, value_text("ffma_share_hot_loop")),
    ColumnSpec("shared loads per FFMA", "LDS\n/FFMA", 95, value_text("shared_loads_per_ffma")),
    ColumnSpec("predicated share", "pred-\nicated", 94, value_text("predicated_share")),
)

#: No table has these by itself.
ON_REQUEST: tuple[ColumnSpec, ...] = (
    ColumnSpec(
        "time over baseline",
        "time\n/base",
        90,
        value_text("time_over_baseline"),
        key="time_over_baseline",
        beside="speedup",
    ),
)

BUILT: tuple[ColumnSpec, ...] = (VARIANT, STATUS, REGISTERS, SPILLS, STACK, SHARED, OCCUPANCY)
