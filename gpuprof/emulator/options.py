"""What goes into an emulated launch and what comes out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuprof.errors import CodeLocation, UsageError
from gpuprof.isa.counters import InstructionCounters

if TYPE_CHECKING:
    from gpuprof.emulator.contract import Observer


@dataclass(frozen=True)
class Order:
    """Warps of a block run one at a time, each until it waits or ends.

    ``seed`` None: the highest (or the lowest) of those that can run goes first. Else a random one does, and gives way
    now and then.
    """

    seed: int | None = None
    lowest_first: bool = False


#: What can execute a launch: numpy, compiled lanes, or the one that suits it.
ENGINES = ("auto", "compiled", "numpy")
#: Names the engine where nothing else does: auto, compiled or numpy.
ENGINE_VARIABLE = "GPUPROF_ENGINE"


def default_engine() -> str:
    """The engine of the environment, else ``auto``; raises UsageError."""
    name = os.environ.get(ENGINE_VARIABLE) or "auto"
    if name not in ENGINES:
        raise UsageError(f"{ENGINE_VARIABLE}={name}: the engines are {', '.join(ENGINES)}")
    return name


@dataclass(frozen=True)
class EmulationOptions:
    """Limits and budgets. ``budget`` is thread instructions of a launch, above which a sample of blocks runs."""

    budget: int | None = None  #: None: always the whole grid
    instruction_limit: int = 5_000_000  #: per warp; above it the launch is called endless
    heap_bytes: int = 8 << 20
    printf_bytes: int = 1 << 20
    threads: int | None = None  #: processes that share the blocks; None: the cores of this process
    per_instruction: bool = True
    engine: str = field(default_factory=default_engine)  #: ``compiled``, ``numpy``, or by what suits the launch
    compiled_budget: int | None = None  #: in place of ``budget`` where the compiled engine runs; None: the same
    watched: tuple[tuple[int, int], ...] = ()  #: (address, bytes) of buffers whose coverage by a sample is estimated
    #: (address, bytes) of buffers of which the first load before any store is looked for; None: nobody looks
    unset: tuple[tuple[int, int], ...] | None = None
    poison: int = 0xFFFFFFFF  #: word that shared and local memory and unset registers begin with
    observer: Observer | None = None  #: watches every instruction; then one process runs all blocks
    cooperative: bool = False  #: all blocks run side by side and may wait for one another
    order: Order | None = None  #: of the warps of a block; None: those at the lowest program counter go on together


@dataclass(frozen=True)
class EmulationReport:
    """Counters by Nsight Compute's names, exact for ``blocks_run``; ``scaled`` holds them for ``blocks_total``."""

    counters: Mapping[str, int]
    scaled: Mapping[str, int]
    blocks_run: int
    blocks_total: int
    per_instruction: tuple[InstructionCounters, ...] = ()
    printed: str = ""
    unavailable: Mapping[str, str] = field(default_factory=dict)  #: metric that was not counted -> the reason
    warnings: tuple[str, ...] = field(default_factory=tuple)
    engine: str = "numpy"  #: that executed the launch: ``numpy`` or ``compiled``
    engine_note: str = ""  #: why it was not the compiled one
    #: Of a sample: per watched buffer, the bytes that the whole grid would have stored to, by the classes of blocks.
    expected_bytes: tuple[float, ...] = ()
    #: By position in ``EmulationOptions.unset``: where bytes were read that no store had reached.
    unset_reads: Mapping[int, CodeLocation] = field(default_factory=dict)
