"""Code and traces made by hand, small enough that their timelines can be computed on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprof.arch.gpu_constants import gpu_constants
from gpuprof.isa.pipes import Completion, Pipe
from gpuprof.model.code_table import CODE
from gpuprof.model.launch_trace import RUN, TIMED_ACCESS, LaunchTrace
from gpuprof.model.timeline import MACHINE, SmWork

#: Constants of round numbers; what is not named costs nothing.
ROUND = {
    "shared_latency": 20.0,
    "l1_latency": 30.0,
    "l2_latency": 200.0,
    "dram_latency": 500.0,
    "l2_bytes_per_cycle": 32.0,
    "dram_bytes_per_cycle": 16.0,
    "write_bytes_per_cycle": 32.0,
    "mio_entries": 8.0,
    "lg_entries": 8.0,
    "write_backlog_bytes": 1e9,
    "dram_backlog_bytes": 1e9,
    "barrier_latency": 10.0,
    "barrier_interval": 0.0,
    "l1_lines": 1024.0,
    "tlb_entries": 64.0,
    "page_sectors_log2": 16.0,
    "register_window": 3.0,
    "max_cycles": 1e6,
}


def machine(**changes: float) -> dict[str, float]:
    """Constants of a machine that a test can compute with."""
    return {name: changes.get(name, ROUND.get(name, 0.0)) for name in MACHINE}


def instruction(pipe: Pipe, stall: int, **fields: Any) -> np.void:
    """One entry of a code table, without scoreboards unless given."""
    entry = np.zeros(1, CODE)
    entry["pipe"], entry["stall"], entry["interval"] = (
        pipe,
        stall,
        gpu_constants("h200")[f"interval.{pipe.name.lower()}"],
    )
    entry["write_barrier"] = entry["read_barrier"] = entry["waits_for"] = -1
    for name, value in fields.items():
        entry[name] = value
    return entry[0]


LEAVE = instruction(Pipe.CONTROL, 1, completion=Completion.EXIT)


def trace(
    code: Sequence[np.void],
    warps: int = 1,
    blocks: int = 1,
    accesses: Sequence[tuple[int, int, int, Sequence[int]]] = (),
    runs: Sequence[tuple[int, int]] = (),
) -> LaunchTrace:
    """Every warp executes the same runs; accesses are (site, kind, passes, sectors), all in its first run."""
    own_runs = np.array(list(runs) or [(0, len(code))], RUN)
    count = warps * blocks
    sectors = [np.array(each[3], np.int64) for each in accesses]
    starts = np.cumsum([0, *(len(each) for each in sectors)])
    own = np.zeros(len(accesses), TIMED_ACCESS)
    for entry, (site, kind, passes, places), start in zip(own, accesses, starts, strict=False):
        entry["site"], entry["kind"], entry["passes"] = site, kind, passes
        entry["sectors"], entry["first_sector"] = len(places), start
    return LaunchTrace(
        blocks=np.arange(blocks, dtype=np.int64),
        warps=warps,
        runs=np.tile(own_runs, count),
        lanes=np.full(len(own_runs) * count, 32, np.int32),
        runs_of=np.arange(count + 1, dtype=np.int64) * len(own_runs),
        accesses=np.tile(own, count),
        accesses_of=np.arange(count + 1, dtype=np.int64) * len(own),
        bases=np.zeros(len(own) * count, np.int64),
        shapes=np.zeros(len(own) * count, np.uint32),
        sectors=np.concatenate(sectors) if sectors else np.zeros(0, np.int64),
    )


def work(code: Sequence[np.void], made: LaunchTrace, *, slots: int = 1, cold: bool = False) -> SmWork:
    """What the timeline gets; ``cold``: every sector comes from the DRAM at its own cost."""
    count = len(made.sectors)
    return SmWork(
        made,
        np.array(code, CODE),
        np.full(count, 32.0 if cold else 0.0, np.float32),
        np.full(count, int(cold), np.uint8),
        slots,
    )
