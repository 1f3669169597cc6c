"""One launch, run as often as its checks need, and what they found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.emulator.engine import emulate_blocks
from gpuprof.emulator.options import EmulationOptions, Order
from gpuprof.errors import (
    BarrierDeadlockError,
    BarrierRuleError,
    EmulationError,
    InstructionLimitError,
    MemoryFaultError,
)
from gpuprof.sanitizer.access_forms import UNWATCHED
from gpuprof.sanitizer.block_choice import Choice, choose_blocks
from gpuprof.sanitizer.findings import Finding, Tool
from gpuprof.sanitizer.initialisation import LastStore, PoisonFlipper
from gpuprof.sanitizer.memory_state import MemoryState
from gpuprof.sanitizer.races import RaceJudge
from gpuprof.sanitizer.recorder import Recorder
from gpuprof.sanitizer.warp_masks import MaskRules
from gpuprof.sanitizer.wording import Wording, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Observer
    from gpuprof.emulator.counting.counters import Counters
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.memory.arena import Arena, Region

Dim3 = tuple[int, int, int]

#: Two poisons that no program stores by chance: as integers of both signs, as floats ordinary numbers.
POISON_WORDS = (0xB5A7C3D1, 0x5A3C6E71)
#: Loads of poison whose value is followed, one run each.
FOLLOWED_LOADS = 12
#: Thread instructions of one run, above which a part of the blocks runs.
BUDGET = 100_000_000


@dataclass(frozen=True)
class LaunchRequest:
    """A launch to check. ``unset`` are buffers that hold nothing before a launch stores to them."""

    image: KernelImage
    arena: Arena
    grid: Dim3
    block: Dim3
    parameters: bytes
    dynamic_shared_bytes: int = 0
    unset: tuple[Region, ...] = ()
    floats: tuple[Region, ...] = ()  #: buffers of 32-bit floats, whose rounding may depend on the order

    def run(self, options: EmulationOptions, blocks: NDArray[np.int64]) -> Counters:
        """Execute these blocks (numbers in the grid) on memory as it is; raises EmulationError and its kinds."""
        return emulate_blocks(
            self.image,
            self.arena,
            self.grid,
            self.block,
            self.parameters,
            self.dynamic_shared_bytes,
            options,
            blocks,
        )


@dataclass(frozen=True)
class SanitizerSettings:
    """What is checked. ``budget``: thread instructions of one run; None: always all blocks."""

    tools: frozenset[Tool] = frozenset(Tool)
    budget: int | None = BUDGET
    orders: int = 0
    seed: int = 0
    instruction_limit: int = 5_000_000


@dataclass(frozen=True)
class LaunchFindings:
    """What one launch's checks found. With ``blocks_run < blocks_total`` a sample ran."""

    findings: tuple[Finding, ...]
    blocks_run: int
    blocks_total: int
    notes: tuple[str, ...] = ()


def sanitize_launch(request: LaunchRequest, settings: SanitizerSettings | None = None) -> LaunchFindings:
    """Run the launch several times and judge it. Global memory is left as one run in the usual order leaves it."""
    return _Checks(request, settings or SanitizerSettings()).run()


class _Checks:
    """The runs of one launch."""

    def __init__(self, request: LaunchRequest, settings: SanitizerSettings) -> None:
        self._request, self._settings = request, settings
        self._start = MemoryState.of(request.arena)
        self._wording = Wording(request.image, request.grid, request.block)
        self._found: list[Finding] = []
        self._notes: list[str] = []
        unwatched = sorted(opcode for opcode in UNWATCHED if request.image.program.uses(frozenset((opcode,))))
        if unwatched:
            kinds = "tensor copies and warpgroup products"
            self._notes.append(f"accesses of {kinds} are not looked at ({', '.join(unwatched)})")
        self._limit = settings.instruction_limit
        self._choice = Choice(np.zeros(0, np.int64), 0)
        self._warps = -(-request.block[0] * request.block[1] * request.block[2] // 32)

    def run(self) -> LaunchFindings:
        try:
            self._choice = self._choose()
            self._judge()
        except EmulationError as error:
            self._found.append(self._fault(error))
        total = self._request.grid[0] * self._request.grid[1] * self._request.grid[2]
        wanted = tuple(finding for finding in self._found if finding.tool in self._settings.tools)
        return LaunchFindings(grouped(wanted), len(self._choice.blocks), total, tuple(self._notes))

    def _choose(self) -> Choice:
        total = self._request.grid[0] * self._request.grid[1] * self._request.grid[2]
        everything = np.arange(total, dtype=np.int64)
        if self._settings.budget is None or total <= 8:
            return Choice(everything, total)
        return choose_blocks(self._request, self._settings.budget, lambda blocks: self._execute(blocks=blocks))

    def _execute(
        self,
        poison: int = POISON_WORDS[0],
        observer: Observer | None = None,
        order: Order | None = None,
        blocks: NDArray[np.int64] | None = None,
    ) -> Counters:
        """One run from the memory before the launch."""
        self._start.restore(poison, self._request.unset)
        options = EmulationOptions(instruction_limit=self._limit, poison=poison, observer=observer, order=order)
        return self._request.run(options, self._choice.blocks if blocks is None else blocks)

    def _judge(self) -> None:
        other = self._execute(POISON_WORDS[1])
        self._limit = min(self._limit, 10_000 + 8 * sum(other.warps) // max(1, other.launched_warps))
        second = MemoryState.of(self._request.arena)
        written = self._start.written_since()
        masks = MaskRules(self._request.image.warp_collectives) if Tool.SYNCCHECK in self._settings.tools else None
        races = Tool.RACECHECK in self._settings.tools
        recorder = Recorder(self._warps * 32, written, POISON_WORDS[0], masks, races=races)
        counted = self._execute(POISON_WORDS[0], recorder)
        first = MemoryState.of(self._request.arena)
        if masks is not None:
            self._found += [self._wording.mask(fault) for fault in masks.faults.values()]
        if Tool.INITCHECK in self._settings.tools:
            self._initialisation(recorder, first, second, counted.threads != other.threads, counted)
        if recorder.suspects.any:
            judge = RaceJudge(recorder.suspects, self._warps, self._request.image.warp_collectives)
            self._execute(POISON_WORDS[0], judge)
            self._found += [self._wording.race(race) for race in judge.real_races()]
        for number in range(self._settings.orders):
            self._reorder(first, number)
        first.restore()

    def _initialisation(
        self, recorder: Recorder, first: MemoryState, second: MemoryState, other_ways: bool, counted: Counters
    ) -> None:
        changed = next(first.differences(second), None)
        if changed is None and not other_ways:
            return
        named = False
        for index, place in sorted(recorder.unset_loads.items())[:FOLLOWED_LOADS]:
            try:
                counters = self._execute(POISON_WORDS[0], PoisonFlipper(index, POISON_WORDS[0]))
                matters = counters.threads != counted.threads or not MemoryState.of(self._request.arena).equals(first)
            except EmulationError:
                matters = True
            if matters:
                named = True
                self._found.append(self._wording.unset_read(index, place))
        if not named and changed is not None:
            region, words = changed
            last = LastStore((region.start >> 2) + int(words[0]))
            self._execute(POISON_WORDS[0], last)
            if last.found is not None:
                where = region.start + 4 * int(words[0])
                self._found.append(self._wording.unset_variable(last.found[0], last.found[1:], where))

    def _reorder(self, usual: MemoryState, number: int) -> None:
        """Another order of blocks and warps; each number gives the same one every time."""
        seed = self._settings.seed + number
        blocks = np.random.default_rng(seed).permutation(self._choice.blocks)
        self._execute(POISON_WORDS[0], order=Order(seed), blocks=blocks)
        for region, words in MemoryState.of(self._request.arena).differences(usual):
            data = next(data for part, data, _ in usual.parts if part == region)
            got = self._request.arena.words[region.start >> 2 : (region.start >> 2) + len(data) // 4][words]
            want = data[: len(data) // 4 * 4].view(np.uint32)[words]
            rounding = region in self._request.floats and bool(
                np.allclose(got.view(np.float32), want.view(np.float32), rtol=1e-3, atol=1e-6, equal_nan=True)
            )
            last = LastStore((region.start >> 2) + int(words[0]))
            self._execute(POISON_WORDS[0], last)
            self._found.append(
                self._wording.order(last.found, region.start + 4 * int(words[0]), len(words), seed, rounding=rounding)
            )

    def _fault(self, error: EmulationError) -> Finding:
        kinds: tuple[tuple[type[EmulationError], str], ...] = (
            (MemoryFaultError, "out of bounds"),
            (BarrierRuleError, "divergent barrier"),
            (BarrierDeadlockError, "barrier that never completes"),
            (InstructionLimitError, "endless"),
        )
        kind = next((name for cls, name in kinds if isinstance(error, cls)), None)
        if kind is None:
            raise error
        return self._wording.fault(kind, error)
