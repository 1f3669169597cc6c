"""The rules of ``__syncthreads()``: every thread that still lives reaches the same one.

The hardware counts arrivals and forgives much: threads that exited are not waited for, and two barriers at different
instructions are one to it. CUDA's guide (``__syncthreads``) allows one in a branch or loop only when all threads of
the block take it alike. A thread that has ended is let off, so an early ``return`` is allowed; one that went round the
barrier and on in the same code broke the rule, whether or not it had ended by the time the others were released.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.state.faults import code_location, first_lane
from gpuprof.errors import BarrierRuleError
from gpuprof.isa.machine import INSTRUCTION_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch
    from gpuprof.sass.cfg import Graph

    Bool = NDArray[np.bool_]
    Waits = Sequence[tuple[int, Bool, int]]

#: Instructions that only lead to an EXIT.
_LEADS = frozenset(("BRA", "BSYNC", "BSSY", "NOP", "EXIT", "YIELD", "WARPSYNC", "ERRBAR", "BREAK"))


def check_release(batch: Batch, waits: Waits, done: Bool) -> None:
    """Look at a generation of a barrier without a count; raises BarrierRuleError.

    ``waits`` are (program counter after the barrier, lanes, steps), ``done`` (blocks, warps, 1) who is released.
    """
    places = sorted({pc for pc, _, _ in waits})
    if len(places) > 1:
        _check_places(batch, waits, done, places)
    if batch.exits:
        _check_skipped(batch, waits, done)


def _check_places(batch: Batch, waits: Waits, done: Bool, places: Sequence[int]) -> None:
    blocks = {
        pc: np.logical_or.reduce(
            [
                np.asarray(np.logical_and(mask, done).any(axis=(1, 2), keepdims=True))
                for at, mask, _ in waits
                if at == pc
            ]
        )
        for pc in places
    }
    for number, first in enumerate(places):
        for second in places[number + 1 :]:
            both = np.logical_and(blocks[first], blocks[second])
            if both.any():
                mask = next(np.logical_and(mask, both) for pc, mask, _ in waits if pc == second)
                raise _broken(
                    batch,
                    second,
                    mask,
                    f"threads of one block wait at different barriers, this one and {_place(batch, first)}; "
                    "all threads of the block must reach the same __syncthreads(): move it out of the branch",
                )


def _check_skipped(batch: Batch, waits: Waits, done: Bool) -> None:
    blocks = np.asarray(done.any(axis=1, keepdims=True))
    for exit_pc, lanes in batch.exits.items():
        gone = np.logical_and(lanes, blocks)
        if not gone.any():
            continue
        for pc, mask, _ in waits:
            here = np.logical_and(mask, np.asarray(gone.any(axis=(1, 2), keepdims=True)))
            if here.any() and went_round(batch.launch.program, pc - 16, exit_pc):
                count = int(np.count_nonzero(np.broadcast_to(gone, _shape(batch))[first_lane(batch, here)[0]]))
                raise _broken(
                    batch,
                    pc,
                    here,
                    f"{count} threads of the block went round this barrier and on to the end of the kernel; "
                    "all threads must reach a __syncthreads(): move it out of the branch, or give loops with one the "
                    "same number of rounds",
                )


def went_round(program: Any, barrier_pc: int, exit_pc: int) -> bool:
    """Whether a thread that ended at ``exit_pc`` did something in code that lies after the barrier alone."""
    length = len(program.function.instructions) * INSTRUCTION_BYTES
    if barrier_pc >= length or exit_pc >= length:
        return False
    graph: Graph = program.graph
    barrier, leaving = barrier_pc // 16, exit_pc // 16
    source, target = graph.block_of[barrier], graph.block_of[leaving]
    start = graph.blocks[target].start
    if source == target:
        start = barrier + 1
    if all(instruction.opcode in _LEADS for instruction in program.function.instructions[start:leaving]):
        return False
    if source == target:
        return barrier < leaving
    return target in _reachable(graph, source) and source not in _reachable(graph, target)


def _reachable(graph: Graph, source: int) -> set[int]:
    found: set[int] = set()
    waiting = deque([source])
    while waiting:
        for following in graph.blocks[waiting.popleft()].successors:
            if following not in found:
                found.add(following)
                waiting.append(following)
    return found


def _place(batch: Batch, pc: int) -> str:
    """A barrier by the program counter after it, as ``f.cu:12``."""
    source = batch.launch.program.instructions[pc // INSTRUCTION_BYTES - 1].source
    return f"{source.file}:{source.line}" if source else f"the one at 0x{pc - 16:04x}"


def _broken(batch: Batch, pc: int, mask: Bool, message: str) -> BarrierRuleError:
    block, thread = batch.launch.name_lane(batch, first_lane(batch, mask))
    instruction = batch.launch.program.instructions[pc // INSTRUCTION_BYTES - 1]
    return BarrierRuleError(message, code_location(batch.launch.kernel, instruction, block, thread))


def _shape(batch: Batch) -> tuple[int, int, int]:
    return batch.block_count, batch.warp_count, 32
