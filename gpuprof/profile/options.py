"""What the flags of ``gpuprof run`` mean, as typed values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(frozen=True)
class TimingOptions:
    """How kernels are timed. ``iters`` fixes the number of samples; None leaves it to the stopping rule."""

    protocol: TimingProtocol = "cold"  #: ``cold`` or ``warm``
    batch: int = 1  #: launches per sample
    iters: int | None = None
    min_time: float = 0.1  #: seconds of sampled kernel time before noise may stop a variant
    max_noise: float = 0.005  #: relative standard deviation that is good enough
    timeout: float = 15.0  #: seconds of wall time after which a variant has had its share


@dataclass(frozen=True)
class RunOptions:
    """Everything that the command line may say about a run."""

    arch: str | None = None
    devices: tuple[str, ...] = ()  #: ``emulated``, ``none``, ``gpu``, ``gpu:N``; empty: a GPU if there is one
    timing: TimingOptions = field(default_factory=TimingOptions)
    seeds: int = 1
    jobs: int | None = None
    cuda_home: Path | None = None
    ccbin: str | None = None
    build_timeout: float = 300.0
    launch_timeout: float | None = None
    overlap: bool = True
    lock: bool = True  #: wait for other gpuprof runs on the same GPU
    variants: tuple[str, ...] = ()  #: labels, families or shell patterns; empty: all
    json: Path | None = None  #: written as rows end, at most every half second
    resume: bool = False
    save_outputs: Path | None = None
    emulate_budget: int | None = EMULATE_BUDGET
    compiled_budget: int | None = COMPILED_BUDGET  #: in place of it where the compiled engine runs
    engine: str | None = None  #: ``auto``, ``compiled``, ``numpy``; None: the environment's
    emulate_limit: int = EMULATE_LIMIT
    ncu: bool = False
    command: tuple[str, ...] = ()
