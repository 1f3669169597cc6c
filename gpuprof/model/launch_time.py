"""The time of one launch: its blocks traced, one SM's timeline, and what was left out continued."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.arch import facts as arch_facts
from gpuprof.arch.occupancy import next_carveout, occupancy
from gpuprof.emulator.tracing import BlockTracer
from gpuprof.errors import ModelError
from gpuprof.isa.machine import WARP_LANES, Dim3
from gpuprof.model.code_table import check_code, code_table
from gpuprof.model.launch_trace import (
    LaunchTrace,
    Loop,
    is_global,
    kept_accesses,
    launch_trace,
    main_loop,
    only_block,
    shortened,
)
from gpuprof.model.sharing import Costs, Footprint, SharedSectors, footprint, neighbours, replicated
from gpuprof.model.timeline import MACHINE, SmTime, SmWork, run_timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpuprof.arch.gpu_constants import GpuConstants
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.options import EmulationOptions
    from gpuprof.sass.model import Instruction

#: Warp instructions that are traced of one SM, and that one timeline runs.
TRACED_INSTRUCTIONS = 6_000_000
TIMED_INSTRUCTIONS = 1_000_000
#: Waves of resident blocks that are traced where all blocks of an SM are too many.
_WAVES = 3
#: Turns of a loop that are kept at least.
_FEWEST_TURNS = 6
#: L1 that a kernel without shared memory leaves to shared memory.
_MIN_CARVEOUT = 8192


@dataclass(frozen=True)
class LaunchRequest:
    """A launch whose time is asked for. ``shared_bytes`` is dynamic shared memory."""

    image: KernelImage
    arena: Arena
    grid: Dim3
    block: Dim3
    parameters: bytes
    shared_bytes: int
    registers: int
    options: EmulationOptions


@dataclass(frozen=True, eq=False)
class TracedLaunch:
    """All that a launch's time depends on, apart from the GPU's constants."""

    kernel: str
    instructions: Sequence[Instruction]
    trace: LaunchTrace
    loop: Loop | None
    costs: Costs
    slots: int  #: blocks resident together on an SM
    blocks_per_sm: int  #: on the SM with most
    total_blocks: int
    l1_bytes: int
    loops: Mapping[int, str]  #: instruction -> name of the innermost loop that it is in
    irregular: float  #: share of accesses whose addresses depend on data or are not affine in the block's index


@dataclass(frozen=True)
class LaunchTime:
    """Modelled cycles of a launch on the SM with most blocks. ``continued``: waves or turns of a loop were left out."""

    cycles: float
    continued: bool
    sm: SmTime
    timed_share: float  #: of the SM's warp instructions that the timeline ran


def trace_launch(request: LaunchRequest, gpu: GpuConstants) -> TracedLaunch:
    """Execute what the model needs of a launch. Global memory changes. Raises ModelError with the reason."""
    image, grid = request.image, request.grid
    total = grid[0] * grid[1] * grid[2]
    threads = request.block[0] * request.block[1] * request.block[2]
    facts = arch_facts.get(gpu.arch)
    fits = occupancy(facts, threads, request.registers, image.static_shared_bytes, request.shared_bytes)
    sms = int(gpu["sms"])
    blocks_per_sm = -(-total // sms)
    tracer = BlockTracer(
        image, request.arena, grid, request.block, request.parameters, request.shared_bytes, request.options
    )
    instructions = image.program.instructions
    near = launch_trace(tracer.trace(neighbours(grid)[2]), instructions)
    code = code_table(instructions, gpu)
    found = footprint(near, grid, code)
    blocks = _blocks_of_sm(total, sms, blocks_per_sm, fits.blocks_per_sm, found.instructions_per_block)
    if found.alike and found.irregular == 0 and found.instructions_per_block * len(blocks) > TIMED_INSTRUCTIONS:
        trace, loop = _replicated(near, found, blocks)
    else:
        trace = launch_trace(tracer.trace(blocks), instructions)
        loop = main_loop(trace)
    check_code(code, trace.executed(len(instructions)) > 0, instructions)
    return TracedLaunch(
        kernel=image.symbol,
        instructions=instructions,
        trace=trace,
        loop=loop,
        costs=SharedSectors(found, trace, code).costs(fits.blocks_per_sm * sms, gpu["l2_bytes"] * gpu["l2_share"]),
        slots=fits.blocks_per_sm,
        blocks_per_sm=blocks_per_sm,
        total_blocks=total,
        l1_bytes=facts.l1_and_shared_bytes
        - (
            next_carveout(facts, fits.shared_bytes_per_block * min(fits.blocks_per_sm, blocks_per_sm))
            if image.static_shared_bytes + request.shared_bytes
            else _MIN_CARVEOUT
        ),
        loops=_loops(image),
        irregular=found.irregular,
    )


def _blocks_of_sm(total: int, sms: int, blocks_per_sm: int, slots: int, instructions: float) -> list[int]:
    """Numbers of the blocks that one SM in the middle of the GPU gets, as many as are traced."""
    first = sms // 2 if sms // 2 + sms * (blocks_per_sm - 1) < total else 0
    if total <= sms:
        first = min(total - 1, total // 2)
    wanted = blocks_per_sm
    if blocks_per_sm * instructions > TIMED_INSTRUCTIONS:
        wanted = min(blocks_per_sm, max(slots * _WAVES, int(TIMED_INSTRUCTIONS / max(instructions, 1))))
    most = max(1, min(slots, blocks_per_sm), int(TRACED_INSTRUCTIONS / max(instructions, 1)))
    return [first + sms * number for number in range(min(wanted, most))]


def _loops(image: KernelImage) -> dict[int, str]:
    """The innermost loop of each instruction of the kernel's own section: ``loop 2 (depth 2, from 0x0350)``."""
    graph = image.program.graph
    found = {}
    for loop in graph.loops:
        start = graph.function.instructions[graph.blocks[loop.header].start].address
        name = f"loop {loop.number} (depth {loop.depth}, from 0x{start:04x})"
        found.update(dict.fromkeys(graph.indices(graph.own_blocks(loop)), name))
    return found


def _replicated(near: LaunchTrace, found: Footprint, blocks: list[int]) -> tuple[LaunchTrace, Loop | None]:
    """The middle block as all of the SM's blocks; with as many turns of its loop as a timeline will run."""
    middle, strides = only_block(near, 0), found.strides
    loop = main_loop(middle)
    if loop is not None:
        share, cost = _loop_share(middle, loop), middle.instructions * len(blocks)
        turns = max(_FEWEST_TURNS, int(loop.turns * (TIMED_INSTRUCTIONS * 1.3 / cost - (1 - share)) / max(share, 1e-9)))
        if turns < loop.turns:
            strides = strides[kept_accesses(middle, loop, turns)]
            middle = shortened(middle, loop, turns)
            loop = replace(loop, turns=turns)
        loop = replace(loop, starts=loop.starts * len(blocks))
    return replicated(middle, found, strides, blocks), loop


def machine_of(launch: TracedLaunch, gpu: GpuConstants, *, warm: bool = False) -> dict[str, float]:
    """The constants of the timeline: one SM's part of what those SMs share that have blocks."""
    sms = min(int(gpu["sms"]), launch.total_blocks)
    port = gpu["l2_port_bytes_per_cycle"]
    shares = {
        "l2_bytes_per_cycle": min(port, gpu["l2_bytes_per_cycle"] / sms),
        "dram_bytes_per_cycle": min(port, gpu["dram_bytes_per_cycle"] / sms),
        "write_bytes_per_cycle": min(gpu["write_port_bytes_per_cycle"], gpu["write_bytes_per_cycle"] / sms),
        "l1_lines": launch.l1_bytes / 128 * gpu["l1_share"],
        "page_sectors_log2": math.log2(gpu["page_bytes"] / 32),
        "max_cycles": 4e9,
    }
    values = {name: shares[name] if name in shares else gpu[name] for name in MACHINE}
    return {**values, "tlb_latency": 0.0} if warm else values


def launch_time(
    launch: TracedLaunch,
    gpu: GpuConstants,
    *,
    warm: bool = False,
    budget: int = TIMED_INSTRUCTIONS,
    stalls: bool = False,
    machine: dict[str, float] | None = None,
) -> LaunchTime:
    """The launch's cycles by the timeline. ``warm``: an earlier launch of the same pass left its data in the L2.

    ``machine`` takes the place of ``machine_of``, for what-if questions. Raises ModelError.
    """
    values = machine or machine_of(launch, gpu, warm=warm)
    costs = launch.costs
    dram, cold = costs.dram_bytes, costs.cold
    if warm:
        dram, cold = np.where(cold > 0, 0, dram).astype(np.float32), np.zeros_like(cold)
    dram = _with_local(launch, dram, gpu)
    work = SmWork(launch.trace, code_table(launch.instructions, gpu), dram, cold, launch.slots)
    per_block = launch.trace.instructions / len(launch.trace.blocks)
    plan = _plan(launch, per_block, budget)
    runs = {
        (turns, blocks): run_timeline(
            work
            if launch.loop is None or turns == launch.loop.turns
            else replace(work, trace=shortened(launch.trace, launch.loop, turns)),
            blocks,
            values,
            stalls=stalls and (turns, blocks) == (plan.turns[-1], plan.blocks[-1]),
        )
        for turns in plan.turns
        for blocks in plan.blocks
    }
    by_blocks = [
        _continued(plan.turns, [runs[turns, blocks].cycles for turns in plan.turns], plan.whole)
        for blocks in plan.blocks
    ]
    last = runs[plan.turns[-1], plan.blocks[-1]]
    return LaunchTime(
        cycles=_continued(plan.blocks, by_blocks, launch.blocks_per_sm),
        continued=len(runs) > 1,
        sm=last,
        timed_share=min(1.0, last.issued / max(per_block * launch.blocks_per_sm, 1)),
    )


@dataclass(frozen=True)
class _Plan:
    """Numbers of turns of the loop, and of blocks, for which the timeline runs; ``whole``: all turns."""

    turns: tuple[int, ...]
    blocks: tuple[int, ...]
    whole: int


def _plan(launch: TracedLaunch, per_block: float, budget: int) -> _Plan:
    """One timeline of everything where the budget allows it; else fewer blocks, then also fewer turns."""
    all_blocks, slots, loop = launch.blocks_per_sm, launch.slots, launch.loop
    turns, whole = (loop.turns, loop.all_turns) if loop else (1, 1)
    if per_block * all_blocks <= budget * 1.3 and turns == whole:
        return _Plan((turns,), (all_blocks,), whole)
    most = slots * max(_WAVES, int(budget / max(per_block * slots, 1)))
    blocks = (all_blocks,) if all_blocks <= most * 1.3 else (slots * max(1, most // slots // 2), most)
    cost = per_block * max(blocks)
    if loop is None or (cost <= budget * 1.3 and turns == whole):
        return _Plan((turns,), blocks, whole)
    in_loop = _loop_share(launch.trace, loop)
    left = (budget / cost - (1 - in_loop)) / in_loop if in_loop > 0 else 1.0
    kept = min(turns, max(_FEWEST_TURNS, int(turns * left)))
    if kept >= whole * 0.8:
        return _Plan((turns,), blocks, whole)
    return _Plan((max(3, kept // 2), kept), blocks, whole)


def _loop_share(trace: LaunchTrace, loop: Loop) -> float:
    """The loop's part of the first warp's instructions."""
    runs = trace.runs[: trace.runs_of[1]]
    lengths = runs["last"] - runs["first"]
    inside = lengths[loop.starts[0] : loop.starts[0] + loop.period * loop.turns].sum()
    return float(inside / max(lengths.sum(), 1))


def _continued(points: tuple[int, ...], values: list[float], end: int) -> float:
    """The line through the last two points, at ``end``."""
    if len(points) == 1 or points[-1] == end:
        return values[-1]
    return values[-1] + (end - points[-1]) * (values[-1] - values[-2]) / (points[-1] - points[-2])


def _with_local(launch: TracedLaunch, dram: NDArray[np.float32], gpu: GpuConstants) -> NDArray[np.float32]:
    """Local memory goes to the DRAM as far as that of all resident warps does not fit half of the L2."""
    if not launch.costs.local_bytes_per_block:
        return dram
    resident = launch.costs.local_bytes_per_block * min(launch.slots, launch.blocks_per_sm) * gpu["sms"]
    spilled = max(0.0, 1 - 0.5 * gpu["l2_bytes"] / resident)
    return np.where(is_global(launch.trace.sectors), dram, np.float32(32.0 * spilled)).astype(np.float32)


def warp_count(block: Dim3) -> int:
    """Warps of a block."""
    return -(-block[0] * block[1] * block[2] // WARP_LANES)


__all__ = ["LaunchRequest", "LaunchTime", "ModelError", "TracedLaunch", "launch_time", "machine_of", "trace_launch"]
