"""Which engine executes a launch: compiled lanes where they pay, numpy for everything else.

numpy is the definition. The compiled engine needs a translation of the kernel and a second or so of g++, so by default
(``auto``) one block runs in numpy first; only a launch that would take numpy longer than about a second is compiled.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpuprof.emulator.compiled.build import CannotCompile
from gpuprof.emulator.compiled.engine import CompiledEngine, Stopped, prepare
from gpuprof.emulator.compiled.library import ENDLESS, UNKNOWN_PLACE
from gpuprof.emulator.compiled.translate import Untranslatable
from gpuprof.emulator.contract import Engine
from gpuprof.emulator.control.scheduler import OutOfTime, endless_message
from gpuprof.emulator.state.faults import code_location
from gpuprof.errors import InstructionLimitError
from gpuprof.isa.machine import INSTRUCTION_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.counting.counters import Counters
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.emulator.state.launch import LaunchContext

    Blocks = NDArray[np.int64]

#: A launch that numpy is expected to end within this time is not compiled.
WORTH_S = 1.0
#: How long the first block may run in numpy before the launch is taken for a long one.
PILOT_S = 0.5
#: How many times longer a full batch takes numpy than a single block (measured: 3 to 5).
BATCH_COST = 4.0
#: Buffers above this are not kept aside: a launch that stops is then run again on memory that it changed.
MAX_KEPT_BYTES = 1 << 30


class NumpyRunner(Engine, Protocol):
    """The numpy engine, which also says into how many batches blocks fall."""

    def batch_count(self, blocks: int) -> int: ...


class Kept:
    """The contents of all buffers before a launch, to be put back when it has to run again."""

    def __init__(self, context: LaunchContext) -> None:
        self._arena = context.arena
        starts, ends = self._arena.bounds()
        self._copies: list[tuple[int, NDArray[np.uint8]]] = []
        if int((ends - starts).sum()) <= MAX_KEPT_BYTES:
            places = zip(starts.tolist(), ends.tolist(), strict=True)
            self._copies = [(start, self._arena.bytes[start:end].copy()) for start, end in places]

    def put_back(self) -> None:
        for start, data in self._copies:
            self._arena.bytes[start : start + len(data)] = data


class ChosenEngine:
    """Runs a launch's blocks with the engine that is asked for, or that suits.

    ``name`` is the engine that ran last; ``note`` says why it is not the compiled one.
    """

    def __init__(
        self, context: LaunchContext, image: KernelImage, numpy_engine: NumpyRunner, workers: int, expected: int
    ) -> None:
        self._context = context
        self._image = image
        self._numpy = numpy_engine
        self._workers = workers
        self._expected = expected
        self._compiled: CompiledEngine | None = None
        self._earlier: list[Blocks] = []
        self._kept: Kept | None = None
        self.note = why_numpy(context, image)
        self._decided = bool(self.note) or context.options.engine != "auto"
        self._may_compile = not self._decided and (context.options.compiled_budget or 0) > (context.options.budget or 0)
        if context.options.engine == "compiled" and not self.note:
            self._compile()

    @property
    def name(self) -> str:
        return "compiled" if self._compiled is not None else "numpy"

    @property
    def budget(self) -> int:
        """Thread instructions that a sample may take with the engine that runs now."""
        options = self._context.options
        if self._compiled is not None and options.compiled_budget is not None:
            return options.compiled_budget
        return options.budget or 0

    def budget_for(self, needed: int) -> int:
        """``budget`` for a launch of ``needed`` thread instructions.

        Where they are more than numpy may take, the kernel is compiled if it can be, so that whether a grid runs whole
        or as a sample never depends on how fast the first block was.
        """
        if self._may_compile and self._compiled is None and needed > (self._context.options.budget or 0):
            self._may_compile = False
            self._compile()
        return self.budget

    def run(self, blocks: Blocks) -> Counters:
        """Run these blocks; raises EmulationError and its kinds."""
        if not self._decided and len(blocks):
            return self._run_first(blocks)
        if self._compiled is None:
            if self._may_compile:
                self._earlier.append(blocks)
            return self._numpy.run(blocks)
        try:
            counters = self._compiled.run(blocks)
        except Stopped as stopped:
            return self._run_again(blocks, stopped)
        self._earlier.append(blocks)
        return counters

    def _run_first(self, blocks: Blocks) -> Counters:
        """The first block in numpy: how long it takes decides."""
        self._decided = True
        if (
            not _loops(self._context)
            and self._numpy.batch_count(self._expected) * len(self._context.program.function.instructions) < _STRAIGHT
        ):
            self.note = "a short launch"
            if self._may_compile:
                self._kept = Kept(self._context)
            return self.run(blocks)
        if "translation" in self._image.program.__dict__:  # compiled for a launch before: nothing is left to weigh
            self._compile()
            return self.run(blocks)
        self._kept = Kept(self._context)
        self._context.deadline = time.perf_counter() + PILOT_S
        start = time.perf_counter()
        try:
            counters = self._numpy.run(blocks[:1])
        except OutOfTime:
            self._context.deadline = None
            self._kept.put_back()
            self._compile()
            return self.run(blocks)
        self._context.deadline = None
        seconds = time.perf_counter() - start
        self._earlier.append(blocks[:1])
        batches = self._numpy.batch_count(self._expected)
        cost = BATCH_COST if self._expected > 1 else 1.0
        if seconds * cost * batches / min(self._workers, max(batches, 1)) > WORTH_S and self._expected > 1:
            self._compile()
        else:
            self.note = "a short launch"
        if len(blocks) > 1:
            counters.add(self.run(blocks[1:]))
        return counters

    def _compile(self) -> None:
        try:
            self._compiled = prepare(self._image, self._context, self._workers)
        except (Untranslatable, CannotCompile) as reason:
            self.note = str(reason)
        else:
            self._kept = self._kept or Kept(self._context)

    def _run_again(self, blocks: Blocks, stopped: Stopped) -> Counters:
        """Start the launch anew in numpy, whose errors are the ones to show, up to the end of these blocks."""
        if stopped.fault == ENDLESS:
            raise self._endless(stopped)
        assert self._kept is not None
        self._kept.put_back()
        if stopped.fault == UNKNOWN_PLACE:
            self._image.program.jumped_to.add(stopped.site)
            self._image.program.__dict__.pop("translation", None)
            self._compile()
        else:
            place = self._image.program.location(stopped.site)
            self.note = f"the compiled code stopped at {place.instruction!r}"
            self._compiled = None
        earlier, self._earlier = self._earlier, []
        for each in earlier:
            self.run(each)
        return self.run(blocks)

    def _endless(self, stopped: Stopped) -> InstructionLimitError:
        program, limit = self._image.program, self._context.options.instruction_limit
        instruction = program.instructions[program.run_at(stopped.site * INSTRUCTION_BYTES).last - 1]
        block, thread = self._context.name_thread(stopped.block, stopped.warp, stopped.lane)
        return InstructionLimitError(
            endless_message(limit, 1, self._context.grid),
            code_location(self._context.kernel, instruction, block, thread),
        )


#: Instructions times batches up to which code without a loop is left to numpy.
_STRAIGHT = 20_000


#: Options that only the numpy engine has, with the reason.
_NUMPY_ALONE = {"observer": "an observer watches the launch", "order": "the order of warps is given"}


def why_numpy(context: LaunchContext, image: KernelImage) -> str:
    """Why only the numpy engine can run this launch; empty where either can."""
    options = context.options
    if options.engine == "numpy":
        return "asked for"
    for name, reason in _NUMPY_ALONE.items():
        if getattr(options, name, None) is not None:
            return reason
    if options.cooperative:
        return "a cooperative launch: its blocks run side by side"
    if context.unset_reads is not None:
        return "reads of buffers that nothing was stored to are watched"
    if image.system_functions:
        return f"calls of the device runtime ({', '.join(sorted(set(image.system_functions.values())))})"
    return ""


def _loops(context: LaunchContext) -> bool:
    """Whether the kernel's own code branches backwards, or somewhere that is not known."""
    for instruction in context.program.function.body:
        if instruction.opcode in ("BRX", "JMX", "CALL", "RET"):
            return True
        if instruction.opcode in ("BRA", "JMP") and instruction.operands:
            target = instruction.operands[-1].value
            if target is None or int(target) <= instruction.address:
                return True
    return False
