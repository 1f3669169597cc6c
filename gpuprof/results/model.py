"""Everything known of one run, as plain frozen data. The JSON (``results.json``) is exactly this.

The section gives the kind of a number: ``timing`` is measured, ``counters`` and ``sass`` are counted, what is
estimated is under ``modelled``. A value that does not exist is None, with a reason in ``missing``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuprof.errors import MissingToolError
from gpuprof.isa.counters import InstructionCounters, Number

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console, ConsoleOptions, RenderResult

SCHEMA_VERSION = 3


class Status(str, Enum):
    """How a variant ended."""

    OK = "ok"
    DIFFERS = "differs"
    BUILD_FAILED = "build_failed"
    LAUNCH_FAILED = "launch_failed"
    TIMED_OUT = "timed_out"
    UNCHECKED = "unchecked"  #: it ran, and what the reference has could not be compared
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Environment:
    """Where a run happened."""

    gpuprof: str
    python: str
    platform: str
    device: str  #: ``gpu`` or ``emulated`` or ``none``
    gpu: str | None = None
    gpu_uuid: str | None = None
    gpus: tuple[str, ...] = ()  #: where a run used several: the name of each, the first one's the same as ``gpu``
    compute_capability: str | None = None
    driver: str | None = None
    nvcc: str | None = None
    nvdisasm: str | None = None
    ncu: str | None = None
    clocks_mhz: Mapping[str, Number] = field(default_factory=dict)
    temperature_c: Number | None = None
    throttle_reasons: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  #: NVCC_APPEND_FLAGS and NVCC_PREPEND_FLAGS, where set


@dataclass(frozen=True)
class BuildFacts:
    """The build of the variant's main kernel."""

    command: tuple[str, ...]
    seconds: float
    cached: bool
    source_sha256: str
    cubin_sha256: str
    log: str
    registers: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    stack_bytes: int | None = None
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    arch: str = ""
    kernel: str = ""  #: demangled
    code_sha256: str = ""  #: of the kernel's machine code alone, without names, lines and padding


@dataclass(frozen=True)
class LaunchFacts:
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True)
class SassFacts:
    """Counted in the machine code. ``loops`` are plain mappings as ``gpuprof sass --json`` gives them."""

    instructions: int
    mix: Mapping[str, int]
    ffma_longest_run: int
    predicated: int
    ffma_share_hot_loop: float | None = None
    shared_loads_per_ffma: float | None = None
    loops: tuple[Mapping[str, object], ...] = ()
    finding: str = ""  #: the weightiest, as ``gpuprof sass`` says it


@dataclass(frozen=True)
class OccupancyFacts:
    blocks_per_sm: int
    warps_per_sm: int
    max_warps_per_sm: int
    percent: float
    limiter: str  #: ``registers``, ``shared memory``, ``warps``, ``blocks``, ``barriers``, joined by ``+``


@dataclass(frozen=True)
class Timing:
    """Measured on a GPU. Microseconds per timed pass; the interval is of the median, at 95 %."""

    samples_us: tuple[float, ...]
    median_us: float
    interval_us: tuple[float, float]
    min_us: float
    mean_us: float
    protocol: str  #: ``cold`` or ``warm``
    noise: float  #: relative standard deviation of the kept samples
    discarded: int = 0  #: samples dropped because the clock was throttled
    batch: int = 1
    gflops: float | None = None
    gbps: float | None = None
    speedup: float | None = None  #: baseline time / this time, median of paired ratios
    speedup_interval: tuple[float, float] | None = None
    comparison: str | None = None  #: ``faster``, ``slower``, ``same``, ``unclear``
    stopped_by: str = ""  #: ``samples``, ``noise``, ``plateau``, ``time``
    device: str = ""  #: ``gpu:1``; the baseline that it is compared with was timed there too
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counters:
    """Exact counts of one pass of the timed kernels, by Nsight Compute's metric names."""

    values: Mapping[str, Number]
    source: str  #: ``ncu`` or ``emulator``
    blocks_run: int
    blocks_total: int
    unavailable: Mapping[str, str] = field(default_factory=dict)
    per_instruction: tuple[InstructionCounters, ...] = ()  #: of the emulator; one for each of a step that ran
    printed: str = ""
    engine: str = ""  #: of the emulator: ``compiled``, ``numpy``, or both with a plus
    seconds: float | None = None  #: wall time that the emulator took for the pass


@dataclass(frozen=True)
class StepFacts:
    """One step of a variant that has several. ``kind``: ``kernel``, ``host`` or ``fill``; only kernels have facts.

    ``counters`` are of this step alone, in the last pass. ``sass`` is in the first step that launches the code.
    """

    name: str
    kind: str
    timed: bool
    once: bool = False
    build: BuildFacts | None = None
    launch: LaunchFacts | None = None
    sass: SassFacts | None = None
    occupancy: OccupancyFacts | None = None
    counters: Counters | None = None
    ncu: Counters | None = None
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """The first element that differs."""

    buffer: str
    index: tuple[int, ...]
    got: float | int | str
    expected: float | int | str


@dataclass(frozen=True)
class Verification:
    """``verdict``: ``ok``, ``differs``, ``unchecked`` (there is a reference, and the outputs could not be compared with
    it), ``ran`` (the YAML gives no reference) or ``reference`` (others are compared with it).

    ``why`` gives the source of the tolerance, or why nothing was compared.

    ``wrong`` includes the ``never_written`` elements: those that the reference has and no launch stored to.
    """

    verdict: str
    max_abs: float | None
    max_rel: float | None
    checked: int
    total: int
    why: str = ""
    wrong: int = 0
    where_wrong: str = ""  #: ``corner``, ``edge``, ``stripe``, ``all``, ``scattered`` ...
    picture: tuple[str, ...] = ()
    first_difference: Difference | None = None
    output_sha256: Mapping[str, str] = field(default_factory=dict)
    never_written: int = 0
    where_unwritten: str = ""
    read_unset: str = ""  #: of a wrong output: buffers that were read before anything was stored to them, and where
    notes: tuple[str, ...] = ()  #: what the check cannot see: a tolerance wider than a term


@dataclass(frozen=True)
class Result:
    """One variant in one run. ``missing`` gives, for a section or value that is None, the reason.

    Where a variant has several steps, ``build``, ``launch``, ``sass`` and ``occupancy`` are those of ``main_step``, of
    which ``main_step_share`` says how it was chosen; ``timing`` and ``counters`` are of all timed steps.
    """

    variant: str
    family: str
    parameters: Mapping[str, Number | str]
    sizes: Mapping[str, int | float]
    status: Status
    reason: str | None = None
    build: BuildFacts | None = None
    launch: LaunchFacts | None = None
    sass: SassFacts | None = None
    occupancy: OccupancyFacts | None = None
    timing: Timing | None = None
    counters: Counters | None = None
    ncu: Counters | None = None  #: when both devices counted
    verification: Verification | None = None
    modelled: Mapping[str, Number] = field(default_factory=dict)
    values: Mapping[str, Number] = field(default_factory=dict)  #: the YAML's own, by name
    work_flop: float | None = None
    work_bytes: float | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    same_code_as: str | None = None
    notes: tuple[str, ...] = ()  #: what the compiler said, and what the check cannot see
    steps: tuple[StepFacts, ...] = ()  #: empty where there is only one
    main_step: str | None = None
    main_step_share: str = ""  #: "97% of the warp instructions"
    fingerprint: str = ""  #: of code, inputs, checks and device: ``--resume`` keeps a row whose fingerprint still holds


@dataclass(frozen=True)
class ExpectationOutcome:
    expression: str
    variant: str | None
    held: bool | None  #: None: not decidable here (needs a GPU)
    detail: str = ""


@dataclass(frozen=True)
class Run:
    """A list of results plus the environment: what is stored, shown again and compared."""

    experiment: str
    description: str
    config: str  #: the YAML's path as given
    started: str  #: ISO 8601, UTC
    seconds: float
    environment: Environment
    results: tuple[Result, ...]
    baseline: str | None = None
    dropped: int = 0
    complete: bool = True
    expectations: tuple[ExpectationOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  #: the YAML's: which columns its table shows
    identifier: str = ""
    schema_version: int = SCHEMA_VERSION

    def __getitem__(self, label: str) -> Result:
        """The row of a variant by its label; raises KeyError."""
        for result in self.results:
            if result.variant == label:
                return result
        raise KeyError(label)

    def to_dataframe(self) -> DataFrame:
        """One row per variant with the columns of ``--csv``; needs pandas (extra ``notebook``)."""
        try:
            import pandas
        except ImportError:
            raise MissingToolError("to_dataframe needs pandas: pip install '.[notebook]'") from None
        head, rows = _display("run_rows")(self)
        return pandas.DataFrame(rows, columns=head)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _display("show_run")(self, console, options)

    def _repr_html_(self) -> str:
        page: str = _display("run_page")(self)
        return page


def _display(name: str) -> Any:
    """A function of the room above that shows values; looked up when a value is shown, so that data stays below."""
    return getattr(import_module("gpuprof.report.display"), name)
