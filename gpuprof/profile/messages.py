"""What the parent asks a worker, and what it answers. Plain frozen values; see ``worker`` and ``lane``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuprof.device.base import DeviceDescription
from gpuprof.device.jobs import Job, TimingProtocol
from gpuprof.experiment.model import Tolerance
from gpuprof.profile.verification.tolerance import Sums
from gpuprof.results.model import Counters, Verification


@dataclass(frozen=True)
class Open:
    """Open a device: ``emulated`` or ``gpu:N``."""

    device: str
    arch: str | None
    budget: int | None
    instruction_limit: int
    threads: int | None = None
    cuda_home: Path | None = None
    compiled_budget: int | None = None
    engine: str | None = None


@dataclass(frozen=True)
class Opened:
    """The device is open."""

    description: DeviceDescription


@dataclass(frozen=True)
class Support:
    """The cubin of ``support.cu``: without it a GPU neither times nor compares."""

    cubin: Path


@dataclass(frozen=True)
class Check:
    """Run a variant once per seed and compare. ``jobs`` and ``references`` go together, one per seed."""

    jobs: tuple[Job, ...]
    references: tuple[Mapping[str, Path], ...]  #: per seed: output name -> .npy; empty: nothing to compare with
    tolerance: Tolerance | None
    sums: tuple[Mapping[str, Sums], ...]  #: per seed: output name -> what it sums, for the default tolerance
    poison: int
    why_not_compared: str = ""
    save: tuple[Path, ...] = ()  #: per seed: a folder for the outputs as .npy
    aside: bool = False  #: a pass over other inputs: not what is timed later
    unreferenced: tuple[str, ...] = ()  #: outputs of a variant with references that have none themselves
    is_reference: bool = False  #: others are compared with its outputs, so that all of them must be written


@dataclass(frozen=True)
class Checked:
    """The verdict over all seeds, and what was counted in the last pass. ``damage``: what must not have changed.

    ``context`` says in which further pass something was found; empty: in the first. ``wide`` says of which output the
    tolerance could hide a missing term; empty: of none. ``step_counters`` are of each kernel step alone.
    """

    verification: Verification
    counters: Counters | None
    damage: str | None = None
    context: str = ""
    wide: str = ""
    step_counters: Mapping[str, Counters] = field(default_factory=dict)


@dataclass(frozen=True)
class Load:
    """Prepare a job for timing in a fresh worker, without checking it again."""

    job: Job


@dataclass(frozen=True)
class Sample:
    """Time a loaded variant ``count`` times."""

    label: str
    protocol: TimingProtocol
    count: int
    batch: int


@dataclass(frozen=True)
class Sampled:
    """Microseconds per pass; the SM clock (MHz) around them where NVML gives it; what the device had to say.

    ``seconds`` is the wall time that they took in the worker.
    """

    samples_us: tuple[float, ...]
    seconds: float
    clock_mhz: float | None = None
    throttle_reasons: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drop:
    """Forget a loaded variant."""

    label: str


@dataclass(frozen=True)
class Predict:
    """Model the time of a job on a GPU: a bundled name or a file of constants."""

    job: Job
    gpu: str


@dataclass(frozen=True)
class Predicted:
    """Modelled microseconds of a pass with their interval, and what bounds it; ``reason``: why there is none."""

    us: float = 0.0
    low_us: float = 0.0
    high_us: float = 0.0
    kind: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """Done, with nothing to say."""


Request = Open | Support | Check | Load | Sample | Predict | Drop
