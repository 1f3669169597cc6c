"""Running a launch: blocks to batches, batches to processes, counts to a report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.certainty import doubts
from gpuprof.emulator.contract import WARP
from gpuprof.emulator.control.batch import Batch
from gpuprof.emulator.control.scheduler import run_batch
from gpuprof.emulator.counting.counters import Counters
from gpuprof.emulator.counting.metrics import Code, instruction_metrics, metric_names, unavailable_metrics
from gpuprof.emulator.engines import ChosenEngine
from gpuprof.emulator.launching import open_launch
from gpuprof.emulator.loader import KernelImage
from gpuprof.emulator.options import EmulationOptions, EmulationReport
from gpuprof.emulator.sampling import BlockClass, block_classes, choose_more
from gpuprof.emulator.state.launch import LaunchContext
from gpuprof.emulator.workers import can_fork, share
from gpuprof.isa.counters import InstructionCounters
from gpuprof.isa.machine import Dim3
from gpuprof.isa.ncu_metrics import WARPS_LAUNCHED
from gpuprof.isa.opcodes import Space, names_where
from gpuprof.sass.model import Instruction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.memory.arena import Arena

    Blocks = NDArray[np.int64]


#: Lanes of one batch: enough that numpy's calls are cheap per lane, few enough that arrays stay in the caches.
BATCH_LANES = 16384
#: Shared memory of one batch at most.
_BATCH_SHARED_BYTES = 32 << 20
#: A grid of so few blocks is not worth sampling.
_MAX_UNSAMPLED_BLOCKS = 27
#: Opcodes by which blocks can talk to each other.
_GLOBAL_ATOMICS = names_where(lambda row: row.is_atomic and row.space in (Space.GLOBAL, Space.GENERIC))


@dataclass
class _Stratum:
    """Blocks that ran as representatives of ``size`` blocks, and what they counted.

    ``stored`` are the bytes of each watched buffer that they were the first to store to.
    """

    size: int
    counters: Counters
    stored: NDArray[np.int64] | None = None


def emulate(
    image: KernelImage,
    arena: Arena,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    dynamic_shared_bytes: int = 0,
    options: EmulationOptions | None = None,
) -> EmulationReport:
    """Execute a launch and count.

    ``parameters`` is the parameter block of the cubin's layout (``loader.pack_parameters``). With a budget the grid
    may be sampled; then ``scaled`` stands for all blocks. Raises EmulationError and its kinds.
    """
    options = options or EmulationOptions()
    context = open_launch(image, arena, grid, block, parameters, dynamic_shared_bytes, options)
    total = grid[0] * grid[1] * grid[2]
    numpy_engine = _Engine(context, image)
    engine = ChosenEngine(context, image, numpy_engine, numpy_engine.workers, total)
    talks = image.program.uses(_GLOBAL_ATOMICS) or options.cooperative
    if options.budget is None or total <= _MAX_UNSAMPLED_BLOCKS or talks:
        strata = [_Stratum(total, engine.run(np.arange(total, dtype=np.int64)))]
    else:
        coverage = _Coverage(arena, options.watched)
        started = time.monotonic()
        strata = _sample(engine, grid, coverage)
        warnings = _over_budget(strata, engine.budget, time.monotonic() - started)
        if sum(stratum.counters.blocks for stratum in strata) < total:
            report = _report(image, context, engine, strata, total)
            return replace(report, expected_bytes=coverage.expected(strata), warnings=(*warnings, *report.warnings))
    return _report(image, context, engine, strata, total)


def emulate_blocks(
    image: KernelImage,
    arena: Arena,
    grid: Dim3,
    block: Dim3,
    parameters: bytes,
    dynamic_shared_bytes: int,
    options: EmulationOptions,
    blocks: Blocks,
) -> Counters:
    """Execute these blocks of a launch, in this order, and count; as ``emulate``, without a budget."""
    context = open_launch(image, arena, grid, block, parameters, dynamic_shared_bytes, options)
    return _Engine(context, image).run(blocks)


class _Coverage:
    """How much of the watched buffers is stored to, stratum by stratum."""

    def __init__(self, arena: Arena, watched: Sequence[tuple[int, int]]) -> None:
        self._arena = arena
        self._watched = watched
        self._before = self._first = self._count()

    def _count(self) -> NDArray[np.int64]:
        counts = [self._arena.count_written(address, nbytes) for address, nbytes in self._watched]
        return np.array(counts, dtype=np.int64)

    def take(self) -> NDArray[np.int64]:
        """Bytes per buffer that were first stored to since the last call."""
        before, self._before = self._before, self._count()
        return self._before - before

    def expected(self, strata: Sequence[_Stratum]) -> tuple[float, ...]:
        """Bytes per buffer if every block of a class stores to as many as those that ran."""
        total = self._first.astype(np.float64)
        for stratum in strata:
            if stratum.stored is not None:
                total += stratum.stored * (stratum.size / stratum.counters.blocks)
        return tuple(float(value) for value in total)


def _sample(engine: ChosenEngine, grid: Dim3, coverage: _Coverage) -> list[_Stratum]:
    """One block of each class, then the whole rest when the budget allows it, else more of the largest class.

    The first blocks count too, the largest class's first: classes for which the budget has nothing left are taken for
    the largest one. So at most one block is executed beyond the budget.
    """
    classes = block_classes(grid)[::-1]
    strata: list[_Stratum] = []
    spent = most = 0
    for number, group in enumerate(classes):
        if number and spent + most > engine.budget_for(spent + most):
            strata[0] = replace(strata[0], size=strata[0].size + sum(rest.size for rest in classes[number:]))
            return strata
        strata.append(_Stratum(group.size, engine.run(np.array([group.pilot])), coverage.take()))
        cost = sum(strata[-1].counters.threads)
        spent, most = spent + cost, max(most, cost)
    expected = sum(sum(stratum.counters.threads) * stratum.size for stratum in strata)
    if expected <= engine.budget_for(expected):
        return _finish(engine, classes, strata)
    first = strata[0]
    more = choose_more(classes[0], max(0, (engine.budget - spent) // max(sum(first.counters.threads), 1)))
    first.counters.add(engine.run(more))
    first.stored = coverage.take() + (0 if first.stored is None else first.stored)
    return strata


def _over_budget(strata: Sequence[_Stratum], budget: int, seconds: float) -> tuple[str, ...]:
    """A sentence where one block alone was over the budget: what it took, and what would fit."""
    blocks = strata[0].counters.blocks
    cost = sum(strata[0].counters.threads)
    if blocks > 1 or cost <= budget:
        return ()
    total = sum(stratum.size for stratum in strata)
    share = budget / cost
    return (
        f"one block executes {cost:,} thread instructions, over the budget of {budget:,}: only it ran, in "
        f"{seconds:.1f} s; a loop of {share:.0%} of its length fits, and all {total:,} blocks would take about "
        f"{seconds * total:,.0f} s (--emulate-budget {cost * total:.1e})",
    )


def _finish(engine: ChosenEngine, classes: tuple[BlockClass, ...], strata: list[_Stratum]) -> list[_Stratum]:
    """Run every block that was no pilot; the counts are then exact and need no scaling."""
    everything = np.sort(np.concatenate([group.blocks for group in classes]))
    pilots = np.array([group.pilot for group in classes])
    counters = engine.run(np.setdiff1d(everything, pilots, assume_unique=True))
    for stratum in strata:
        counters.add(stratum.counters)
    return [_Stratum(len(everything), counters)]


class _Engine:
    """Runs sets of blocks of one launch."""

    def __init__(self, context: LaunchContext, image: KernelImage) -> None:
        self._context = context
        self._image = image
        observer = context.options.observer
        self._program = image.program if observer is None else image.program.observed_by(observer)
        self.workers = 1 if observer is not None else _worker_count(context.options.threads, image)

    def run(self, blocks: Blocks) -> Counters:
        """Run these blocks, in batches on several processes; returns what they counted."""
        batches = list(self._batches(blocks))
        workers = min(self.workers, len(batches)) if self._context.deadline is None else 1
        counters = share(self._run_batches, batches, workers) if workers > 1 else self._run_batches(batches)
        counters.blocks += len(blocks)
        counters.launched_warps += len(blocks) * self._context.warps
        return counters

    def _run_batches(self, batches: Sequence[Blocks]) -> Counters:
        counters = Counters.zeros(len(self._image.program.instructions))
        with np.errstate(all="ignore"):
            for blocks in batches:
                batch = Batch.of_blocks(self._context, blocks, counters)
                batch.start(0)
                run_batch(batch, self._program)
        return counters

    def _batches(self, blocks: Blocks) -> Iterable[Blocks]:
        size = self._batch_size()
        for first in range(0, len(blocks), size):
            yield blocks[first : first + size]

    def batch_count(self, blocks: int) -> int:
        """Into how many batches that many blocks fall."""
        return -(-blocks // self._batch_size())

    def _batch_size(self) -> int:
        """Blocks per batch: whole rows of the grid or equal parts of one, since blocks of a row share values."""
        context = self._context
        if context.options.cooperative:
            return context.grid[0] * context.grid[1] * context.grid[2]
        most = max(1, BATCH_LANES // (context.warps * WARP))
        if context.shared_bytes:
            most = max(1, min(most, _BATCH_SHARED_BYTES // context.shared_bytes))
        row = context.grid[0]
        if most >= row:
            return most // row * row
        return -(-row // -(-row // most))


def _worker_count(wanted: int | None, image: KernelImage) -> int:
    """Processes to use; one where the order of blocks can be seen in the result."""
    if not can_fork() or image.program.uses(_GLOBAL_ATOMICS) or image.system_functions:
        return 1
    if wanted is not None:
        return max(1, wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _report(
    image: KernelImage, context: LaunchContext, engine: ChosenEngine, strata: list[_Stratum], total: int
) -> EmulationReport:
    names = metric_names(image.arch)
    exact, estimate = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    lines: dict[int, dict[str, float]] = {}
    for stratum in strata:
        weight = stratum.size / stratum.counters.blocks
        exact[WARPS_LAUNCHED] += stratum.counters.launched_warps
        estimate[WARPS_LAUNCHED] += stratum.counters.launched_warps * weight
        code = Code(stratum.counters, image.program.instructions)
        for index, warps in enumerate(stratum.counters.warps):
            if warps:
                own = lines.setdefault(index, {})
                for name, value in instruction_metrics(code, index).items():
                    exact[name] += value
                    estimate[name] += value * weight
                    own[name] = own.get(name, 0) + value * weight
    unavailable = unavailable_metrics(image.program.instructions[index].opcode for index in lines)
    per_instruction = tuple(
        _counted(
            image.program.instructions[index],
            {name: round(value) for name, value in lines[index].items() if name not in unavailable},
        )
        for index in sorted(lines)
    )
    return EmulationReport(
        counters={name: value for name, value in exact.items() if name not in unavailable},
        scaled={name: round(value) for name, value in estimate.items() if name not in unavailable},
        unavailable=unavailable,
        blocks_run=sum(stratum.counters.blocks for stratum in strata),
        blocks_total=total,
        per_instruction=per_instruction if context.options.per_instruction else (),
        printed=context.runtime.text,
        engine=engine.name,
        engine_note=engine.note,
        unset_reads={} if context.unset_reads is None else dict(context.unset_reads.found),
        warnings=doubts(image.arch, (image.program.instructions[index] for index in lines)),
    )


def _counted(instruction: Instruction, counters: Mapping[str, int]) -> InstructionCounters:
    source = instruction.source.of_user if instruction.source else None
    return InstructionCounters(
        address=instruction.address,
        text=instruction.text,
        file=source.file if source else "",
        line=source.line if source else None,
        counters=counters,
    )
