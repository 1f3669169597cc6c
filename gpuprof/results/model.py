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
from gpuprof.isa.access_sample import AccessSample
from gpuprof.isa.counters import InstructionCounters, Number
from gpuprof.isa.listing import Listing

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
class PeakFacts:
    """Ceilings of the run's GPU; ``source``: ``measured`` by ``gpuprof peaks``, or of the ``datasheet``."""

    gpu: str  #: the GPU's name
    fp32_gflops: float  #: 10^9 FP32 operations per second
    tensor_gflops: float  #: 10^9 FP16 operations per second of the tensor cores, FP32 sums
    dram_gbps: float  #: 10^9 bytes per second of device memory
    source: str  #: ``measured`` or ``datasheet``


@dataclass(frozen=True)
class Environment:
    """Where a run happened."""

    gpuprof: str  #: gpuprof's version
    python: str  #: Python's version
    platform: str  #: operating system and processor
    device: str  #: ``gpu`` or ``emulated`` or ``none``
    gpu: str | None = None  #: the GPU's name; None on the emulator
    gpu_uuid: str | None = None  #: the driver's name for that one GPU
    gpus: tuple[str, ...] = ()  #: where a run used several: the name of each, the first one's the same as ``gpu``
    compute_capability: str | None = None  #: of the GPU: ``sm_90``
    driver: str | None = None  #: version of the GPU's driver
    nvcc: str | None = None  #: version of the compiler
    nvdisasm: str | None = None  #: version of the disassembler
    ncu: str | None = None  #: version of Nsight Compute, where it counted
    #: NVML's, in MHz: ``sm_before``, ``sm_during`` (median), ``sm_after``, ``sm_highest``, ``memory``
    clocks_mhz: Mapping[str, Number] = field(default_factory=dict)
    temperature_c: Number | None = None  #: of the GPU after the run, in degrees Celsius
    throttle_reasons: tuple[str, ...] = ()  #: why the driver lowered the clocks during the run, by NVML's names
    command: tuple[str, ...] = ()  #: the command line, word by word
    modelled_gpu: str | None = None  #: whose times the rows' ``modelled`` are
    peaks: PeakFacts | None = None  #: ceilings that percentages of peak refer to
    variables: Mapping[str, str] = field(default_factory=dict)  #: NVCC_APPEND_FLAGS and NVCC_PREPEND_FLAGS, where set


@dataclass(frozen=True)
class BuildFacts:
    """The build of the variant's main kernel."""

    command: tuple[str, ...]  #: the call of nvcc, word by word; empty for a stored cubin
    seconds: float  #: wall time of nvcc; of a cached build, what it took then
    cached: bool  #: whether an earlier build was used
    source_sha256: str  #: of the source file
    cubin_sha256: str  #: of the cubin that ran
    log: str  #: all that nvcc wrote
    registers: int | None = None  #: per thread
    spill_store_bytes: int | None = None  #: per thread, stored because registers did not suffice (ptxas)
    spill_load_bytes: int | None = None  #: per thread, loaded again (ptxas)
    stack_bytes: int | None = None  #: local memory per thread
    static_shared_bytes: int | None = None  #: shared memory per block that the source declares
    dynamic_shared_bytes: int | None = None  #: shared memory per block that the launch adds
    arch: str = ""  #: what it was built for: ``sm_89``
    kernel: str = ""  #: demangled
    code_sha256: str = ""  #: of the kernel's machine code alone, without names, lines and padding


@dataclass(frozen=True)
class LaunchFacts:
    """How a kernel is launched."""

    grid: tuple[int, int, int]  #: blocks in x, y, z
    block: tuple[int, int, int]  #: threads per block in x, y, z


@dataclass(frozen=True)
class SassFacts:
    """Counted in the machine code. ``loops`` are plain mappings as ``gpuprof sass --json`` gives them."""

    instructions: int  #: in the kernel's code, without fillers after its end
    mix: Mapping[str, int]  #: instructions by opcode
    ffma_longest_run: int  #: FFMA that follow each other without another instruction between
    predicated: int  #: instructions with a guard
    ffma_share_hot_loop: float | None = None  #: FFMA among the instructions of the hottest loop, 0 to 1
    shared_loads_per_ffma: float | None = None  #: in the hottest loop, else in the whole kernel
    loops: tuple[Mapping[str, object], ...] = ()  #: outermost first, as ``gpuprof sass --json`` gives them
    finding: str = ""  #: the weightiest, as ``gpuprof sass`` says it


@dataclass(frozen=True)
class OccupancyFacts:
    """What fits on one SM at once, by NVIDIA's occupancy rules."""

    blocks_per_sm: int  #: resident at once on one SM
    warps_per_sm: int  #: resident at once on one SM
    max_warps_per_sm: int  #: what the architecture allows
    percent: float  #: ``warps_per_sm`` of ``max_warps_per_sm``
    limiter: str  #: ``registers``, ``shared memory``, ``warps``, ``blocks``, ``barriers``, joined by ``+``


@dataclass(frozen=True)
class Timing:
    """Measured on a GPU. Microseconds per timed pass; the interval is of the median, at 95 %."""

    samples_us: tuple[float, ...]  #: kept samples in the order in which they were taken
    median_us: float  #: of the samples
    interval_us: tuple[float, float]  #: of the median, at 95 %: (lower, upper)
    min_us: float  #: the shortest sample
    mean_us: float  #: of the samples
    protocol: str  #: ``cold`` or ``warm``
    noise: float  #: relative standard deviation of the kept samples
    discarded: int = 0  #: samples dropped because the clock was throttled
    batch: int = 1  #: passes per sample (``--batch``)
    gflops: float | None = None  #: 10^9 operations per second, of the YAML's ``work.flop``
    gbps: float | None = None  #: 10^9 bytes per second, of the YAML's ``work.bytes``
    speedup: float | None = None  #: baseline time / this time, median of paired ratios
    speedup_interval: tuple[float, float] | None = None  #: of the speedup, at 95 %: (lower, upper)
    comparison: str | None = None  #: ``faster``, ``slower``, ``same``, ``unclear``
    stopped_by: str = ""  #: ``samples``, ``noise``, ``plateau``, ``time``
    device: str = ""  #: ``gpu:1``; the baseline that it is compared with was timed there too
    warnings: tuple[str, ...] = ()  #: what is doubtful in these samples: noise, drift, two levels, a throttled clock


@dataclass(frozen=True)
class Counters:
    """Exact counts of one pass of the timed kernels, by Nsight Compute's metric names."""

    values: Mapping[str, Number]  #: by Nsight Compute's metric names; of a sampled grid scaled to all blocks
    source: str  #: ``ncu`` or ``emulator``
    blocks_run: int  #: blocks that were executed
    blocks_total: int  #: blocks of the grid; more than ``blocks_run``: a sample ran
    unavailable: Mapping[str, str] = field(default_factory=dict)  #: for a metric without a value, the reason
    per_instruction: tuple[InstructionCounters, ...] = ()  #: of the emulator; one for each of a step that ran
    printed: str = ""  #: what the kernels' ``printf`` wrote
    engine: str = ""  #: of the emulator: ``compiled``, ``numpy``, or both with a plus
    seconds: float | None = None  #: wall time that the emulator took for the pass


@dataclass(frozen=True)
class StepFacts:
    """One step of a variant that has several. ``kind``: ``kernel``, ``host`` or ``fill``; only kernels have facts.

    ``counters`` are of this step alone, in the last pass. ``sass`` is in the first step that launches the code.
    """

    name: str  #: from the YAML, else of the kernel or function
    kind: str  #: ``kernel``, ``host`` or ``fill``
    timed: bool  #: whether it is part of a timed pass
    once: bool = False  #: whether it runs once, before the passes
    build: BuildFacts | None = None  #: of its kernel
    launch: LaunchFacts | None = None  #: of its kernel
    sass: SassFacts | None = None  #: of its kernel, in the first step that launches the code
    occupancy: OccupancyFacts | None = None  #: of its kernel
    counters: Counters | None = None  #: of this step alone, in the last pass
    ncu: Counters | None = None  #: the same from Nsight Compute, when both devices counted
    missing: Mapping[str, str] = field(default_factory=dict)  #: for a section that is None, the reason


@dataclass(frozen=True)
class Difference:
    """The first element that differs."""

    buffer: str  #: the output's name
    index: tuple[int, ...]  #: of the element, per dimension
    got: float | int | str  #: what the variant stored
    expected: float | int | str  #: what the reference has


@dataclass(frozen=True)
class Verification:
    """``verdict``: ``ok``, ``differs``, ``unchecked`` (there is a reference, and the outputs could not be compared with
    it), ``ran`` (the YAML gives no reference) or ``reference`` (others are compared with it).

    ``why`` gives the source of the tolerance, or why nothing was compared.

    ``wrong`` includes the ``never_written`` elements: those that the reference has and no launch stored to.
    """

    verdict: str  #: ``ok``, ``differs``, ``unchecked``, ``ran`` or ``reference``
    max_abs: float | None  #: largest absolute difference of a compared element
    max_rel: float | None  #: largest relative difference, over elements whose reference is not 0
    checked: int  #: elements that were compared
    total: int  #: elements of all outputs
    why: str = ""  #: source of the tolerance, or why nothing was compared
    wrong: int = 0  #: elements outside of the tolerance, ``never_written`` ones among them
    where_wrong: str = ""  #: ``corner``, ``edge``, ``stripe``, ``all``, ``scattered`` ...
    picture: tuple[str, ...] = ()  #: the wrong elements of one output, as rows of characters
    first_difference: Difference | None = None  #: the first wrong element
    output_sha256: Mapping[str, str] = field(default_factory=dict)  #: of each output's bytes
    never_written: int = 0  #: elements that the reference has and no launch stored to
    where_unwritten: str = ""  #: as ``where_wrong``, of the elements never written
    read_unset: str = ""  #: of a wrong output: buffers that were read before anything was stored to them, and where
    notes: tuple[str, ...] = ()  #: what the check cannot see: a tolerance wider than a term


@dataclass(frozen=True)
class Result:
    """One variant in one run. ``missing`` gives, for a section or value that is None, the reason.

    Where a variant has several steps, ``build``, ``launch``, ``sass`` and ``occupancy`` are those of ``main_step``, of
    which ``main_step_share`` says how it was chosen; ``timing`` and ``counters`` are of all timed steps.
    """

    variant: str  #: its label: the family and the parameters that vary
    family: str  #: its name in the YAML
    parameters: Mapping[str, Number | str]  #: the variant's parameters, by name
    sizes: Mapping[str, int | float]  #: the sizes that it ran with, by name
    #: how it ended: ``ok``, ``differs``, ``build_failed``, ``launch_failed``, ``timed_out``, ``unchecked``, ``skipped``
    status: Status
    reason: str | None = None  #: in a sentence, where the status is not ``ok``
    build: BuildFacts | None = None  #: compiler, resources; None for a variant without a kernel of its own
    launch: LaunchFacts | None = None  #: grid and block
    sass: SassFacts | None = None  #: what was counted in the machine code
    occupancy: OccupancyFacts | None = None  #: calculated from resources and block
    timing: Timing | None = None  #: measured on a GPU; None on the emulator
    counters: Counters | None = None  #: of all timed steps, from the emulator or ncu
    ncu: Counters | None = None  #: when both devices counted
    verification: Verification | None = None  #: outputs against the reference
    #: estimates: ``percent_of_peak_flops``, ``percent_of_peak_bandwidth``; of ``run --predict`` also ``time_us`` with
    #: ``time_low_us`` and ``time_high_us`` (an assumed interval), and its ``speedup``, ``gflops``, ``gbps``
    modelled: Mapping[str, Number] = field(default_factory=dict)
    values: Mapping[str, Number] = field(default_factory=dict)  #: the YAML's own, by name
    work_flop: float | None = None  #: floating-point operations of one timed pass, by the YAML's ``work``
    work_bytes: float | None = None  #: bytes of one timed pass, by the YAML's ``work``
    missing: Mapping[str, str] = field(default_factory=dict)  #: for a section or value that is None, the reason
    same_code_as: str | None = None  #: an earlier variant that executes the same instructions in the same launches
    notes: tuple[str, ...] = ()  #: what the compiler said, and what the check cannot see
    steps: tuple[StepFacts, ...] = ()  #: empty where there is only one
    main_step: str | None = None  #: the step that ``build``, ``launch``, ``sass`` and ``occupancy`` are of
    main_step_share: str = ""  #: "97% of the warp instructions"
    accesses: tuple[AccessSample, ...] = ()  #: where a page was written: of a block of each launch, on the emulator
    fingerprint: str = ""  #: of code, inputs, checks and device: ``--resume`` keeps a row whose fingerprint still holds


@dataclass(frozen=True)
class ExpectationOutcome:
    """What became of one line of ``expect:``."""

    expression: str  #: as the YAML has it
    variant: str | None  #: the variant that it was evaluated for; None: for the run
    held: bool | None  #: None: not decidable here (needs a GPU)
    detail: str = ""  #: the values it was decided by, or why it was not


@dataclass(frozen=True)
class SearchFacts:
    """How ``gpuprof tune`` came to its rows. Costs are values of ``objective``; smaller is better."""

    strategy: str  #: its name, as ``--strategy`` takes it
    objective: str  #: an expression of values
    basis: str  #: ``measured`` or ``counted``
    points: int  #: valid points of the space
    trials: int  #: points that were tried
    seed: int  #: of the strategy's random choices
    order: tuple[str, ...] = ()  #: labels of the trials, in the order in which they were chosen
    costs: Mapping[str, float] = field(default_factory=dict)  #: by label; a trial without one failed
    best: str | None = None  #: the label with the least cost
    runner_up: str | None = None  #: the label with the next cost
    comparison: str | None = None  #: best against runner-up, timed in turn: ``faster``, ``same``, ``unclear``
    speedup: float | None = None  #: runner-up time / best time, median of paired ratios
    speedup_interval: tuple[float, float] | None = None  #: of the median, 95 %
    importance: Mapping[str, float] = field(default_factory=dict)  #: of each parameter for the costs, adding up to 1
    stopped_by: str = ""  #: ``trials``, ``minutes``, ``points`` (all were tried), ``interrupted``


@dataclass(frozen=True)
class Run:
    """A list of results plus the environment: what is stored, shown again and compared."""

    experiment: str  #: its name: the YAML's ``name``, else the file's
    description: str  #: the YAML's
    config: str  #: the YAML's path as given
    started: str  #: ISO 8601, UTC
    seconds: float  #: wall time of the run
    environment: Environment  #: versions, device, clocks
    results: tuple[Result, ...]  #: one per variant, in the YAML's order
    baseline: str | None = None  #: the label that speedups refer to
    dropped: int = 0  #: points that ``where`` removed
    complete: bool = True  #: False: the run was interrupted, and variants are missing
    expectations: tuple[ExpectationOutcome, ...] = ()  #: each line of ``expect:``
    notes: tuple[str, ...] = ()  #: what concerns the whole run
    columns: tuple[str, ...] = ()  #: the YAML's: which columns its table shows
    search: SearchFacts | None = None  #: of ``gpuprof tune``
    code: Mapping[str, Listing] = field(default_factory=dict)  #: each kernel once, by ``code_sha256`` of its build
    sources: Mapping[str, str] = field(default_factory=dict)  #: text of the files that ``code`` names, without headers
    identifier: str = ""  #: what the history calls it
    schema_version: int = SCHEMA_VERSION  #: of this layout

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

    def _repr_html_(self) -> str | None:
        page: str | None = _display("run_page")(self)
        return page


def _display(name: str) -> Any:
    """A function of the room above that shows values; looked up when a value is shown, so that data stays below."""
    return getattr(import_module("gpuprof.report.display"), name)
