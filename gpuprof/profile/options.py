"""What the flags of ``gpuprof run`` mean, as typed values; a field made by ``option`` is a flag of its name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gpuprof.device.jobs import TimingProtocol

#: Thread instructions of one launch above which the emulator runs a sample of the grid's blocks.
EMULATE_BUDGET = 100_000_000
#: The same for the compiled engine, which executes that many in the time that numpy takes for the other.
COMPILED_BUDGET = 10_000_000_000
#: Instructions of one warp above which the emulator calls a launch endless. No bundled experiment has a warp with a
#: hundredth of them, and an endless loop of a few instructions gets there within a minute.
EMULATE_LIMIT = 5_000_000
#: Seconds that a launch may take on a GPU, and on the emulator (some thousand times slower).
GPU_LAUNCH_TIMEOUT = 30.0
EMULATED_LAUNCH_TIMEOUT = 600.0


def option(
    default: Any,
    heading: str,
    text: str,
    *,
    minimum: float | None = None,
    metavar: str = "",
    changes_rows: bool = False,
) -> Any:
    """A field that ``gpuprof run`` offers as an option under ``heading``, with ``text`` as its help.

    The option's type is the field's; a bool is a flag, a Path a file or folder, a number at least ``minimum``.
    Where it ``changes_rows``, ``--resume`` keeps no row of another value.
    """
    metadata = {"heading": heading, "help": text, "minimum": minimum, "metavar": metavar, "changes_rows": changes_rows}
    return field(default=default, metadata=metadata)


def row_settings(options: RunOptions) -> tuple[object, ...]:
    """The values of the options that were declared to change rows."""
    return tuple(getattr(options, kind.name) for kind in fields(options) if kind.metadata.get("changes_rows"))


@dataclass(frozen=True)
class TimingOptions:
    """How kernels are timed. ``iters`` fixes the number of samples; None leaves it to the stopping rule."""

    protocol: TimingProtocol = "cold"  #: ``cold`` or ``warm``
    batch: int = option(1, "Timing", "Launches per sample, for kernels under 10 us.", minimum=1)
    iters: int | None = option(None, "Timing", "Samples per variant  [default: the YAML's, else by noise]", minimum=1)
    min_time: float = option(0.1, "Timing", "Minimum seconds of kernel time per variant.", minimum=0)
    max_noise: float = 0.005  #: relative standard deviation that is good enough
    timeout: float = option(15.0, "Timing", "Seconds of timing per variant at most.", minimum=0)


@dataclass(frozen=True)
class RunOptions:
    """Everything that the command line may say about a run."""

    arch: str | None = None
    devices: tuple[str, ...] = ()  #: ``emulated``, ``none``, ``gpu``, ``gpu:N``; empty: a GPU if there is one
    timing: TimingOptions = field(default_factory=TimingOptions)
    seeds: int = option(1, "Checks", "Number of random input seeds to check.", minimum=1, changes_rows=True)
    jobs: int | None = option(None, "Build", "nvcc processes at once  [default: CPU count]", minimum=1)
    cuda_home: Path | None = option(None, "Build", "CUDA toolkit directory.", metavar="DIR")
    ccbin: str | None = option(None, "Build", "Host compiler for nvcc.", metavar="PROGRAM")
    build_timeout: float = option(300.0, "Build", "Seconds per nvcc process.", minimum=0)
    launch_timeout: float | None = option(None, "Checks", "Seconds per launch  [default: 30; emulated 600]", minimum=0)
    overlap: bool = True
    lock: bool = True  #: wait for other gpuprof runs on the same GPU
    variants: tuple[str, ...] = ()  #: labels, families or shell patterns; empty: all
    json: Path | None = None  #: written as rows end, at most every half second
    resume: bool = option(False, "What to run", "Keep the rows of the last run that still hold; run the rest.")
    save_outputs: Path | None = option(None, "Output", "Write every output as .npy.", metavar="DIR")
    emulate_budget: int | None = EMULATE_BUDGET
    compiled_budget: int | None = None  #: in place of it where the compiled engine runs; None: the same
    engine: str | None = None  #: ``auto``, ``compiled``, ``numpy``; None: the environment's
    emulate_limit: int = option(
        EMULATE_LIMIT, "Emulator", "Instruction limit per warp (endless-loop guard).", minimum=1, metavar="N"
    )
    allow_python: bool = option(False, "Checks", "Call Python functions of `reference:` (runs their code).")
    predict: str | None = None  #: a GPU whose times are modelled: a bundled name, or a file of constants
    ncu: bool = False
    command: tuple[str, ...] = ()
