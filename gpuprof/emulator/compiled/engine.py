"""Running blocks of a launch in compiled code, on as many threads as there are cores.

Where the code stops (a fault, or anything that the translation left to numpy), memory is put back as it was before the
launch, and the numpy engine runs it from the start: its error is the one that users see.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.compiled.build import kernel_library
from gpuprof.emulator.compiled.library import (
    COUNTER_PLACES,
    COUNTERS,
    NONE,
    UNKNOWN_PLACE,
    LaunchRecord,
    StopRecord,
    entries,
    runtime,
)
from gpuprof.emulator.compiled.translate import Translation, translate
from gpuprof.emulator.counting.counters import Counters
from gpuprof.emulator.trace import ACCESS, RUN, Trace
from gpuprof.isa.machine import CONSTANT_BANK_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.state.launch import LaunchContext

    Blocks = NDArray[np.int64]

#: Blocks that a thread takes at a time: enough that starting costs nothing, few enough that all end together.
_PIECES = 8
_BANKS = 5


class Stopped(Exception):
    """The compiled code gave up: the numpy engine has to run the launch."""

    def __init__(self, record: StopRecord) -> None:
        super().__init__(f"stopped at instruction {record.site} for reason {record.fault}")
        self.fault = int(record.fault)
        self.site = int(record.site)
        self.block, self.warp, self.lane = int(record.block), int(record.warp), int(record.lane)


class CompiledEngine:
    """Implements ``contract.Engine`` for one launch."""

    name = "compiled"

    def __init__(self, context: LaunchContext, image: KernelImage, translation: Translation, workers: int) -> None:
        self._context = context
        self._image = image
        self._translation = translation
        self._workers = workers
        self._kept: list[NDArray[np.generic]] = []
        self._stopped = False
        self._record = self._launch_record()

    def run(self, blocks: Blocks) -> Counters:
        """Run these blocks; raises Stopped."""
        workers = max(1, min(self._workers, len(blocks)))
        if workers == 1:
            counted = [self._run_blocks(blocks)]
        else:
            pieces = [blocks[number :: workers * _PIECES] for number in range(min(workers * _PIECES, len(blocks)))]
            with ThreadPoolExecutor(workers) as pool:
                counted = list(pool.map(self._run_blocks, pieces))
        counters = self._counters(counted)
        counters.blocks = len(blocks)
        counters.launched_warps = len(blocks) * self._context.warps
        return counters

    def _run_blocks(self, blocks: Blocks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        numbers = np.ascontiguousarray(blocks, np.int64)
        counters = np.zeros((self._translation.places, COUNTER_PLACES), np.int64)
        executed = np.zeros((len(self._translation.segments), 2), np.int64)
        stop = StopRecord()
        if self._stopped:
            return counters, executed
        runtime().gp_run(
            ctypes.byref(self._record),
            numbers.ctypes.data,
            len(numbers),
            counters.ctypes.data,
            executed.ctypes.data,
            ctypes.byref(stop),
        )
        if stop.fault != NONE:
            self._stopped = True
            raise Stopped(stop)
        return counters, executed

    def trace(self, blocks: Blocks, limit: int) -> Trace:
        """Run these blocks one after another and record what they execute; raises Stopped.

        ``limit``: runs, and accesses, at most.
        """
        numbers = np.ascontiguousarray(blocks, np.int64)
        counters = np.zeros((self._translation.places, COUNTER_PLACES), np.int64)
        executed = np.zeros((len(self._translation.segments), 2), np.int64)
        stop, library = StopRecord(), runtime()
        handle = library.gp_trace_new(limit)
        try:
            library.gp_run_traced(
                ctypes.byref(self._record),
                numbers.ctypes.data,
                len(numbers),
                counters.ctypes.data,
                executed.ctypes.data,
                ctypes.byref(stop),
                handle,
            )
            if stop.fault != NONE:
                raise Stopped(stop)
            counts = np.zeros(3, np.int64)
            library.gp_trace_counts(handle, counts.ctypes.data)
            runs = np.zeros(int(counts[0]), RUN)
            accesses = np.zeros(int(counts[1]), ACCESS)
            sectors = np.zeros(int(counts[2]), np.uint32)
            library.gp_trace_copy(handle, runs.ctypes.data, accesses.ctypes.data, sectors.ctypes.data)
        finally:
            library.gp_trace_free(handle)
        segments = np.array(
            [(segment.first, segment.last) for segment in self._translation.segments], np.int32
        ).reshape(-1, 2)
        return Trace(numbers, self._context.warps, segments, runs, accesses, sectors)

    def _counters(self, counted: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Counters:
        counters = np.sum([each for each, _ in counted], axis=0)
        executed = np.sum([each for _, each in counted], axis=0)
        result = Counters.zeros(self._translation.places)
        for number, name in enumerate(COUNTERS):
            getattr(result, name)[:] = counters[:, number].tolist()
        for segment in self._translation.segments:
            warps, lanes = executed[segment.number].tolist()
            for index in range(segment.first, segment.last):
                result.warps[index] += warps
                result.threads[index] += lanes
        return result

    def _launch_record(self) -> LaunchRecord:
        context, translation, arena = self._context, self._translation, self._context.arena
        path = kernel_library(translation.forms, translation.text)
        starts, ends = arena.bounds()
        rounds = _rounds(context)
        record = LaunchRecord(
            entries=entries(path),
            places=translation.places,
            segments=len(translation.segments),
            registers=translation.registers,
            warps=context.warps,
            threads=context.threads,
            shared_bytes=context.shared_bytes,
            local_bytes=context.local_bytes,
            limit=context.options.instruction_limit,
            dynamic_shared=context.dynamic_shared_bytes,
            arena=arena.bytes.ctypes.data,
            written=arena.written.ctypes.data,
            arena_bytes=arena.bytes.size,
            starts=self._keep(starts),
            ends=self._keep(ends),
            regions=len(starts),
            reserved_bytes=context.reserved_shared_bytes,
            poison=context.options.poison,
            round=self._keep(rounds),
            rounds=len(rounds),
        )
        for axis in range(3):
            record.grid[axis], record.block[axis] = context.grid[axis], context.block[axis]
        for bank in range(_BANKS):
            data = np.zeros(CONSTANT_BANK_BYTES, np.uint8)
            content = context.constants.banks.get(bank, b"")[:CONSTANT_BANK_BYTES]
            data[: len(content)] = np.frombuffer(content, np.uint8)
            record.banks[bank] = self._keep(data)
        return record

    def _keep(self, array: NDArray[np.generic]) -> int:
        """The address of an array that lives as long as this object."""
        self._kept.append(array)
        return int(array.ctypes.data)


def _rounds(context: LaunchContext) -> NDArray[np.int64]:
    """(pairs, 2): a BAR and an EXIT that a thread reaches only by going round it (``control.barrier_rules``)."""
    from gpuprof.emulator.control.barrier_rules import went_round

    instructions = context.program.function.instructions
    bars = [index for index, instruction in enumerate(instructions) if instruction.opcode == "BAR"]
    leaves = [index for index, instruction in enumerate(instructions) if instruction.opcode == "EXIT"]
    pairs = [(bar, end) for bar in bars for end in leaves if went_round(context.program, bar * 16, end * 16)]
    return np.array(pairs, np.int64).reshape(-1, 2)


def prepare(image: KernelImage, context: LaunchContext, workers: int) -> CompiledEngine:
    """Translate and compile a kernel for one launch; raises Untranslatable and CannotCompile."""
    return CompiledEngine(context, image, translation_of(image, context), workers)


def translation_of(image: KernelImage, context: LaunchContext) -> Translation:
    """A kernel's translation, made once per loaded kernel."""
    known = image.program.__dict__.get("translation")
    if known is None:
        known = image.program.__dict__["translation"] = translate(
            image.program, context.constants.banks, frozenset(image.program.jumped_to)
        )
    assert isinstance(known, Translation)
    return known


__all__ = ["UNKNOWN_PLACE", "CompiledEngine", "Stopped", "prepare", "translation_of"]
