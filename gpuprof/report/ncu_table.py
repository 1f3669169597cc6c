"""What Nsight Compute says of a run's variants: its headline values, a row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.counters import Number
from gpuprof.report import units
from gpuprof.report.headlines import top_stalls
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.results.metric_sets import STALL_REASONS
from gpuprof.results.model import Run

Values = Mapping[str, Number]


def _rate(name: str) -> Callable[[Values], str]:
    return lambda values: units.show(values.get(name), "percent")


def _time(values: Values) -> str:
    return units.microseconds(values[m.TIME] / 1000) if m.TIME in values else units.NOTHING


def _warps(values: Values) -> str:
    """``93.6% of 100%``."""
    achieved, theoretical = values.get(m.WARPS_ACTIVE_PERCENT), values.get(m.WARPS_THEORETICAL_PERCENT)
    if achieved is None:
        return units.NOTHING
    of = "" if theoretical is None else f" of {units.percent(theoretical)}"
    return f"{units.percent(achieved)}{of}"


def _stall(values: Values) -> str:
    return next((STALL_REASONS[reason] for reason, _ in top_stalls(values)), units.NOTHING)


#: ColumnSpec, cell, priority; in ncu's order: Speed Of Light, throughput, occupancy, scheduler, warp state.
_HEADS: Sequence[tuple[str, Callable[[Values], str], int]] = (
    ("compute", _rate(m.COMPUTE_PERCENT), ALWAYS),
    ("memory", _rate(m.MEMORY_PERCENT), ALWAYS),
    ("DRAM", _rate(m.DRAM_PERCENT), 90),
    ("L2", _rate(m.L2_PERCENT), 85),
    ("L1", _rate(m.L1_PERCENT), 80),
    ("shared\nwavefronts", _rate(m.SHARED_PIPE_PERCENT), 70),
    ("warps resident", _warps, 88),
    ("issue\nslots", _rate(m.ISSUE_PERCENT), 75),
    ("most often", _stall, 60),
    ("time,\ncold caches", _time, 65),
)


def ncu_columns(run: Run) -> list[Column]:
    """One row per variant with rates by ncu; no columns where there are none. Columns without values are left out."""
    rated = [
        (result.variant, result.ncu.values)
        for result in run.results
        if result.ncu is not None and m.COMPUTE_PERCENT in result.ncu.values
    ]
    if not rated:
        return []
    columns = [Column("% of peak", tuple(variant for variant, _ in rated), ALWAYS, right=False, shrink_to=16)]
    for head, cell, priority in _HEADS:
        cells = tuple(cell(values) for _, values in rated)
        if any(text != units.NOTHING for text in cells):
            columns.append(Column(head, cells, priority, right=head != "most often"))
    return columns
