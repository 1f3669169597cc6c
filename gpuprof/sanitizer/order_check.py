"""Whether the result of a launch depends on the order of warps: a look at a few blocks, in every emulated run.

A few blocks run once with their accesses logged. Where no two threads of a block touched a word without a barrier
between, no order of warps can change a result, and that is all. Else the same blocks run again, highest warp first,
each alone to its next barrier, and lowest first; when other values come out, the exact judge names the two lines.
Memory is put back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.options import EmulationOptions, Order
from gpuprof.errors import EmulationError, UnknownInstructionError
from gpuprof.sanitizer.access_forms import before_global_stores
from gpuprof.sanitizer.block_choice import spread_blocks, talks
from gpuprof.sanitizer.findings import Severity
from gpuprof.sanitizer.races import RaceJudge
from gpuprof.sanitizer.recorder import Recorder
from gpuprof.sanitizer.wording import Wording, grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Decoded, Observer, Step
    from gpuprof.emulator.memory.arena import Arena, Region
    from gpuprof.sanitizer.access_forms import AccessForm
    from gpuprof.sanitizer.findings import Finding
    from gpuprof.sanitizer.launch import LaunchRequest

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: Blocks that are looked at: corners, and neighbours of the first and the middle one.
BLOCKS = 5
#: Instructions of a warp after which the look ends: what it saw until then counts.
INSTRUCTIONS = 20_000


def order_dependence(request: LaunchRequest, outputs: Sequence[Region], poison: int) -> str | None:
    """Why the result depends on the order of warps; None where it does not, or where that cannot be said.

    Kernels by which blocks can talk, and those that call the device runtime, are left out: a few of their blocks
    alone may wait for the others for ever.
    """
    image = request.image
    threads = request.block[0] * request.block[1] * request.block[2]
    if threads <= 32 or image.system_functions or talks(image.program) or not _meets(request):
        return None
    blocks = spread_blocks(request.grid, BLOCKS)
    look = _Look(request, blocks, poison)
    warps = -(-threads // 32)
    recorder = Recorder(warps * 32, outputs, poison, None, loads=False)
    usual = look.run(recorder)
    if usual is None or not recorder.suspects.any:
        return None
    others = (look.run(None, order) for order in (Order(), Order(lowest_first=True)))
    if all(other is None or other == usual for other in others):
        return None
    judge = RaceJudge(recorder.suspects, warps, image.warp_collectives)
    look.run(judge)
    wording = Wording(image, request.grid, request.block)
    races = [wording.race(race) for race in judge.real_races()]
    worst = [finding for finding in grouped(races) if finding.severity is not Severity.NOTE]
    return None if not worst else _message(worst)


def _meets(request: LaunchRequest) -> bool:
    """Whether threads can meet in memory: shared memory, or a barrier that a block needs for global memory."""
    return any(each.opcode in ("STS", "ATOMS", "LDGSTS", "BAR") for each in request.image.program.instructions)


def _message(findings: Sequence[Finding]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more pairs of lines: gpuprof sanitize)" if len(findings) > 1 else ""
    return f"depends on the order of warps: {first.message}{more}; {first.repair}"


class _Look:
    """Runs of a few blocks that leave no trace in global memory."""

    def __init__(self, request: LaunchRequest, blocks: Array, poison: int) -> None:
        self._request = request
        self._blocks = blocks
        self._options = EmulationOptions(poison=poison, instruction_limit=INSTRUCTIONS, per_instruction=False)

    def run(self, observer: Observer | None, order: Order | None = None) -> dict[int, int] | None:
        """What the blocks stored, by word of the arena; None where they did not come to an end in time."""
        log = UndoLog(self._request.arena, observer)
        ended = True
        try:
            self._request.run(replace(self._options, observer=log, order=order), self._blocks)
        except UnknownInstructionError:
            ended = False
        except EmulationError:
            ended = order is not None  # what faults in another order alone depends on it
        stored = log.stored()
        log.undo()
        return stored if ended else None


class UndoLog:
    """Implements ``emulator.contract.Observer`` around another: keeps what stores to global memory replace."""

    def __init__(self, arena: Arena, inner: Observer | None) -> None:
        self._arena = arena
        self._inner = inner
        self._log: list[tuple[Array, Array, Array]] = []  #: words, their values and marks before

    def stored(self) -> dict[int, int]:
        """Every word that was stored to, with what is there now."""
        if not self._log:
            return {}
        words = np.unique(np.concatenate([each[0] for each in self._log]))
        return dict(zip(words.tolist(), self._arena.words[words].tolist(), strict=True))

    def undo(self) -> None:
        """Put everything back."""
        for words, values, marks in reversed(self._log):
            self._arena.words[words] = values
            self._arena.written[words] = marks
        self._log.clear()

    def begin(self, batch: Batch) -> None:
        if self._inner is not None:
            self._inner.begin(batch)

    def end(self, batch: Batch) -> None:
        if self._inner is not None:
            self._inner.end(batch)

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        if self._inner is not None:
            self._inner.barrier(batch, number, arrived, leaving)

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        if self._inner is not None:
            self._inner.warp_barrier(batch, lanes, pc)

    def phase(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        if self._inner is not None:
            self._inner.phase(batch, addresses, lanes)

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        if self._inner is not None:
            step = self._inner.bind(decoded, index, step)
        return before_global_stores(decoded, index, step, self._keep)

    def _keep(self, batch: Batch, form: AccessForm, places: Array, mask: Bool) -> None:
        shape = np.broadcast_shapes(places.shape, mask.shape)
        here = np.broadcast_to(places, shape)[np.broadcast_to(mask, shape)]
        words = np.unique((here >> 2)[:, None] + np.arange(form.words)).astype(np.int64)
        words = words[(words >= 0) & (words < len(self._arena.words))]
        self._log.append((words, self._arena.words[words].copy(), self._arena.written[words].copy()))
