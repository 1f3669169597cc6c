"""The public functions: what the commands do, for a script or a notebook.

``import gpuprof`` offers them by name. Each takes plain values, returns frozen data and prints nothing; the values of
``Run``, ``Comparison`` and ``Analysis`` render themselves in a terminal (rich) and, a run, in a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpuprof.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpuprof.arch.occupancy import Occupancy
    from gpuprof.device.base import Handle
    from gpuprof.experiment.model import Experiment
    from gpuprof.profile.observer import Observer
    from gpuprof.results.compare import Comparison
    from gpuprof.results.model import Run
    from gpuprof.sass.analysis import Analysis
    from gpuprof.toolchain.model import Build

    Argument = NDArray[np.generic] | np.generic | int | float

Extent = int | Sequence[int]


@dataclass(frozen=True)
class Emulation:
    """What an emulated launch left: ``outputs`` are the array arguments after it, in order, each a new array.

    ``counters`` are exact counts under Nsight Compute's names; of a sampled grid they are scaled to all blocks.
    ``unavailable`` gives the reason for a counter that has no value, ``printed`` what the kernel's ``printf`` wrote.
    """

    outputs: tuple[NDArray[np.generic], ...]
    counters: Mapping[str, int | float]
    blocks_run: int
    blocks_total: int
    printed: str = ""
    unavailable: Mapping[str, str] = field(default_factory=dict)


def load(
    path: str | Path, *, overrides: Mapping[str, str | int | float] | None = None, arch: str | None = None
) -> Experiment:
    """Read, check and expand an experiment: a YAML file or the name of a bundled one. Builds nothing.

    ``overrides`` replace sizes and parameters, as ``--set`` does: ``{"M": 256, "TILE": "16,32"}``.

    Raises ConfigError with every mistake of the file, UsageError for a name that is nowhere.
    """
    from functools import partial

    from gpuprof.device.gpus import sm_count
    from gpuprof.experiment import find_config
    from gpuprof.results.expectations import load_experiment

    texts = {name: str(value) for name, value in (overrides or {}).items()}
    return load_experiment(find_config(str(path)), overrides=texts, arch=arch, sm_count=partial(sm_count, ()))


def run(
    experiment: str | Path | Experiment,
    *,
    overrides: Mapping[str, str | int | float] | None = None,
    variants: Sequence[str] = (),
    arch: str | None = None,
    device: str | Sequence[str] | None = None,
    seeds: int = 1,
    protocol: Literal["cold", "warm"] = "cold",
    iters: int | None = None,
    emulate_budget: int | Literal["default"] | None = "default",
    jobs: int | None = None,
    cuda_home: str | Path | None = None,
    json: str | Path | None = None,
    allow_python: bool = False,
    observer: Observer | None = None,
) -> Run:
    """Build, execute, verify and time (on a GPU) or count (on the emulator) every variant, as ``gpuprof run`` does.

    ``experiment`` is a YAML file, a bundled name, or what ``load`` returned; ``overrides`` go with the first two.
    ``device`` is ``"gpu"``, ``"gpu:N"``, ``"emulated"``, ``"none"`` or several GPUs; None takes a GPU where there is
    one. ``emulate_budget`` is in thread instructions, None executes whole grids. ``allow_python`` lets references that
    are Python functions run. A failing variant is a row.

    Raises ConfigError, UsageError, MissingToolError and MissingDeviceError where nothing can be run.
    """
    from gpuprof.arch.spelling import parse_arch
    from gpuprof.device.choice import parse_devices
    from gpuprof.experiment.model import Experiment
    from gpuprof.profile.observer import SilentObserver
    from gpuprof.profile.options import COMPILED_BUDGET, EMULATE_BUDGET, RunOptions, TimingOptions
    from gpuprof.profile.run import run_experiment

    if isinstance(experiment, Experiment):
        if overrides:
            raise UsageError("overrides belong to load(): the experiment is expanded already")
        loaded = experiment
    else:
        loaded = load(experiment, overrides=overrides, arch=arch)
    names = device if isinstance(device, str) or device is None else ",".join(device)
    options = RunOptions(
        arch=parse_arch(arch) if arch else None,
        devices=parse_devices(names) if names else (),
        timing=TimingOptions(protocol=protocol, iters=iters),
        seeds=seeds,
        jobs=jobs,
        cuda_home=None if cuda_home is None else Path(cuda_home),
        variants=tuple(variants),
        json=None if json is None else Path(json),
        allow_python=allow_python,
        emulate_budget=EMULATE_BUDGET if emulate_budget == "default" else emulate_budget,
        compiled_budget=COMPILED_BUDGET if emulate_budget == "default" else emulate_budget,
    )
    return run_experiment(loaded, options, observer or SilentObserver())


def build(
    source: str | Path,
    kernel: str | None = None,
    *,
    arch: str | None = None,
    defines: Mapping[str, str | int | float] | None = None,
    flags: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    cuda_home: str | Path | None = None,
) -> Build:
    """Compile one kernel with nvcc, or find the cubin that an earlier build left in the cache.

    ``source`` is a ``.cu`` file or the name of a bundled kernel; ``kernel`` a function or a template instance such as
    ``"f<float, 16>"`` and may be left out where the source holds one. The Build has the cubin's path, resources,
    the compiler's log and command. Raises BuildError, KernelNotFoundError, MissingToolError, UsageError.
    """
    from gpuprof.arch.spelling import DEFAULT_ARCH, parse_arch
    from gpuprof.targets.kernel import find_target
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    target = find_target(str(source), kernel, repair="name one with kernel=")
    request = BuildRequest(
        source=target.source,
        kernel=target.kernel,
        arch=parse_arch(arch or DEFAULT_ARCH),
        defines={name: str(value) for name, value in (defines or {}).items()},
        flags=tuple(flags),
        include=tuple(Path(folder).absolute() for folder in include),
    )
    return Builder(find_tools(None if cuda_home is None else Path(cuda_home))).build(request)


def sass(
    target: str | Path | Build,
    kernel: str | None = None,
    *,
    variant: str | None = None,
    arch: str | None = None,
    block: Extent | None = None,
    defines: Mapping[str, str | int | float] | None = None,
    flags: Sequence[str] = (),
    live: bool = False,
    cuda_home: str | Path | None = None,
) -> Analysis:
    """Read a kernel's machine code: instruction mix, loops, FFMA stream, predication, findings.

    ``target`` is a source, a bundled kernel's name, a cubin, an experiment (with ``variant``), a library, or a Build.
    ``live`` adds live registers. Raises UsageError where several kernels fit, and every error of building.
    """
    from gpuprof.targets.machine_code import Request, analysis_of, resolve
    from gpuprof.toolchain.model import Build

    built = isinstance(target, Build)
    request = Request(
        target=str(target.cubin if isinstance(target, Build) else target),
        kernel=target.symbol if isinstance(target, Build) else kernel,
        variant=variant,
        defines={name: str(value) for name, value in (defines or {}).items()},
        flags=tuple(flags),
        arch=None if built else arch,
        block=None if block is None else _extents(block),
        cuda_home=None if cuda_home is None else Path(cuda_home),
    )
    return analysis_of(resolve(request), live=live)


def emulate(
    kernel: Build | str | Path,
    grid: Extent,
    block: Extent,
    *arguments: Argument,
    shared_bytes: int = 0,
    budget: int | None = None,
    instruction_limit: int | None = None,
    cuda_home: str | Path | None = None,
) -> Emulation:
    """Launch a kernel on the emulator over numpy arrays and scalars; no GPU is needed.

    ``kernel`` is a Build, or a source or bundled kernel that ``build`` accepts. Arrays are copied to the device and
    back: the caller's stay as they are. A Python number takes the width of its parameter; a numpy scalar must have it.
    ``shared_bytes`` is dynamic shared memory; ``budget`` (thread instructions) lets a large grid run as a sample.

    Raises LaunchError for what the hardware would refuse, EmulationError and its kinds for a fault, with the source
    line, UsageError for arguments that do not fit the kernel's parameters.
    """
    import numpy as np

    from gpuprof.device.base import Launch, Pointer
    from gpuprof.device.emulated import EmulatedDevice
    from gpuprof.emulator.options import EmulationOptions
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.model import Build

    built = kernel if isinstance(kernel, Build) else build(kernel, cuda_home=cuda_home)
    parameters = built.resources.parameters
    if len(arguments) != len(parameters):
        raise UsageError(f"{built.demangled} takes {len(parameters)} arguments, not {len(arguments)}")
    options = EmulationOptions(budget=budget)
    if instruction_limit is not None:
        options = EmulationOptions(budget=budget, instruction_limit=instruction_limit)
    tools = find_tools(None if cuda_home is None else Path(cuda_home))
    room = sum(argument.nbytes for argument in arguments if isinstance(argument, np.ndarray))
    device = EmulatedDevice(options, tools, capacity_bytes=max(_MIN_CAPACITY_BYTES, 2 * room))
    try:
        held: list[tuple[Handle, NDArray[np.generic]]] = []
        values: list[Pointer | bytes] = []
        for number, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True)):
            if isinstance(argument, np.ndarray):
                handle = device.allocate(argument.nbytes)
                device.write(handle, argument)
                held.append((handle, argument))
                values.append(Pointer(handle))
            else:
                values.append(_packed(argument, parameter.size, number, built.demangled))
        counted = device.launch(
            Launch(built.cubin, built.symbol, _extents(grid), _extents(block), shared_bytes, tuple(values))
        )
        outputs = tuple(device.read(handle, array.dtype.str, array.shape) for handle, array in held)
    finally:
        device.close()
    return Emulation(
        outputs=outputs,
        counters=counted.counters,
        blocks_run=counted.blocks_run,
        blocks_total=counted.blocks_total,
        printed=counted.printed,
        unavailable=counted.unavailable,
    )


def occupancy(
    block: Extent,
    *,
    arch: str | None = None,
    registers: int = 32,
    static_shared_bytes: int = 0,
    dynamic_shared_bytes: int = 0,
    barriers: int = 1,
    carveout_percent: int | None = None,
) -> Occupancy:
    """Blocks and warps per SM of a block size, and what limits them (CUDA's occupancy calculator, exactly).

    ``registers`` per thread; shared memory is the user's bytes per block. Raises UsageError for a block that the
    architecture does not allow.
    """
    from gpuprof import arch as architectures
    from gpuprof.arch.occupancy import occupancy as calculate
    from gpuprof.arch.spelling import DEFAULT_ARCH, parse_arch

    facts = architectures.get(parse_arch(arch or DEFAULT_ARCH))
    x, y, z = _extents(block)
    if x * y * z > facts.max_threads_per_block:
        raise UsageError(f"{x * y * z} threads; at most {facts.max_threads_per_block} fit in a block")
    try:
        return calculate(
            facts,
            x * y * z,
            registers,
            static_shared_bytes,
            dynamic_shared_bytes,
            carveout_percent=carveout_percent,
            barriers=barriers,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def compare(before: Run | str | Path, after: Run | str | Path, *, history: str | Path | None = None) -> Comparison:
    """Two runs side by side, variant by variant: time ratios with intervals, resources, machine code, counters.

    A run is a Run, a JSON file, or a name that ``gpuprof show`` knows. Raises UsageError and StoreError.
    """
    from gpuprof.results.compare import compare_runs
    from gpuprof.results.model import Run
    from gpuprof.results.reference import load_run

    runs = [run if isinstance(run, Run) else load_run(str(run), history) for run in (before, after)]
    return compare_runs(runs[0], runs[1])


#: Device memory of an emulated launch at least: a kernel's ``malloc`` takes from it too.
_MIN_CAPACITY_BYTES = 64 << 20


def _extents(extents: Extent) -> tuple[int, int, int]:
    """Three extents of a grid or block, x first; raises UsageError."""
    given = (extents,) if isinstance(extents, int) else tuple(int(extent) for extent in extents)
    if not 1 <= len(given) <= 3 or min(given) < 1:
        raise UsageError(f"a grid or block has one to three extents of at least 1, not {extents!r}")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def _packed(value: np.generic | int | float, size: int, number: int, kernel: str) -> bytes:
    """A scalar argument as the bytes of its parameter."""
    import struct

    import numpy as np

    if isinstance(value, np.generic):
        data = value.tobytes()
        if len(data) != size:
            raise UsageError(f"argument {number} of {kernel} has {size} bytes, and a numpy.{value.dtype} {len(data)}")
        return data
    formats = {2: "<e", 4: "<f", 8: "<d"}
    try:
        if isinstance(value, float):
            return struct.pack(formats[size], value)
        return int(value).to_bytes(size, "little", signed=value < 0)
    except (KeyError, OverflowError, TypeError, ValueError):
        raise UsageError(f"argument {number} of {kernel} has {size} bytes, which {value!r} does not fit") from None
