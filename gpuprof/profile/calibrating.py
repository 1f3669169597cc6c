"""``gpuprof calibrate``: micro-kernels and the bundled experiments on the GPU that is there, and their constants."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuprof import experiment as experiments
from gpuprof.arch.gpu_constants import Constant, GpuConstants
from gpuprof.errors import GpuprofError, MissingDeviceError
from gpuprof.experiment.bundled import bundled_folder
from gpuprof.model.fit import fitted
from gpuprof.model.micro import Micro, constants_of
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions, TimingOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Run, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.model.launch_time import TracedLaunch

_MICRO = Path(__file__).with_name("calibration") / "calibration.yaml"
#: Samples of a variant: medians are then within a percent.
_SAMPLES = 20
#: Instructions of a timeline while constants are fitted.
_FIT_BUDGET = 150_000
_FIT_STEPS = 2
_SOURCE = "measured here by gpuprof calibrate"
_FITTED = "fitted here by gpuprof calibrate to the bundled experiments"


@dataclass(frozen=True)
class TimedRow:
    """A variant of a bundled experiment: its time here, and its traced launches."""

    family: str
    variant: str
    us: float
    launches: tuple[TracedLaunch, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """The constants, and the model's error on the bundled experiments with them."""

    gpu: GpuConstants
    rows: tuple[TimedRow, ...]
    modelled_us: tuple[float, ...]
    micro: Mapping[str, float]
    problems: tuple[str, ...]


def calibrate(
    base: GpuConstants,
    device: str,
    tell: Callable[[str], None],
    *,
    only: Sequence[str] = (),
    jobs: int | None = None,
    cuda_home: Path | None = None,
) -> Calibration:
    """Measure a GPU; ``base`` gives the constants that no micro-kernel tells. Raises MissingDeviceError."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gpuprof-calibrate-") as name:
        tell("micro-kernels")
        options = _options(device, cuda_home, save=Path(name))
        run = run_experiment(experiments.load(_MICRO), options, SilentObserver())
        problems += [
            f"{row.variant}: {row.reason}" for row in run.results if row.status not in (Status.OK, Status.UNCHECKED)
        ]
        gpu, micro = _from_micro(base, run, Path(name), problems)
    tell("bundled experiments")
    rows = list(_timed(device, cuda_home, only, tell, problems))
    tell("traces")
    rows = _traced(rows, gpu, jobs or len(os.sched_getaffinity(0)), cuda_home, problems)
    names = [name for name, each in gpu.constants.items() if each.fitted]
    tell(f"fit of {len(names)} constants to {len(rows)} times")
    with _Times([row.launches for row in rows], jobs or len(os.sched_getaffinity(0))) as times:
        gpu = fitted(
            partial(times.of, budget=_FIT_BUDGET),
            gpu,
            [row.us for row in rows],
            [row.family for row in rows],
            names,
            _FIT_STEPS,
        )
        gpu = replace(gpu, calibrated=True, constants=_sources(gpu, names))
        modelled = times.of(gpu, budget=1_000_000)
    return Calibration(gpu, tuple(rows), tuple(modelled.tolist()), micro, tuple(problems))


def _options(device: str, cuda_home: Path | None, save: Path | None = None) -> RunOptions:
    timing = TimingOptions(iters=_SAMPLES, max_noise=0.02, timeout=3.0)
    return RunOptions(devices=(device,), timing=timing, save_outputs=save, cuda_home=cuda_home)


def _from_micro(
    base: GpuConstants, run: Run, outputs: Path, problems: list[str]
) -> tuple[GpuConstants, dict[str, float]]:
    """The base with what the micro-kernels measured, and that alone."""
    environment = run.environment
    if environment.gpu is None:
        raise MissingDeviceError("gpuprof calibrate needs an NVIDIA GPU and pycuda or cuda-bindings")
    cycles = {row.variant: _cycles(outputs, row.variant) for row in run.results}
    clock = float(environment.clocks_mhz.get("sm_during") or base["clock_mhz"])
    micro = Micro(
        cycles={name: found for name, found in cycles.items() if found is not None},
        times_us={row.variant: row.timing.median_us for row in run.results if row.timing is not None},
        clock_mhz=clock,
        sms=int(base["sms"]),
        words=int(run.results[0].sizes["WORDS"]),
    )
    found: dict[str, float] = {"clock_mhz": clock}
    try:
        found |= constants_of(micro, base["l1_latency"], base["shared_latency"])
    except KeyError as error:
        problems.append(f"no result of the micro-kernel {error}: its constants stay those of {base.name}")
    known = {name: value for name, value in found.items() if name in base.constants}
    constants = dict(base.constants)
    for name, value in known.items():
        constants[name] = replace(constants[name], value=value, source=_SOURCE)
    return replace(base, name=environment.gpu, constants=constants), found


def _cycles(outputs: Path, variant: str) -> NDArray[np.int64] | None:
    path = outputs / variant.replace("/", "_") / "cycles.npy"
    return np.load(path) if path.is_file() else None


def _timed(
    device: str, cuda_home: Path | None, only: Sequence[str], tell: Callable[[str], None], problems: list[str]
) -> Iterator[TimedRow]:
    for path in sorted(bundled_folder("configs").glob("*.yaml")):
        if only and path.stem not in only:
            continue
        tell(f"  {path.stem}")
        run = run_experiment(experiments.load(path), _options(device, cuda_home), SilentObserver())
        for row in run.results:
            if row.timing is not None and row.build is not None and row.status is Status.OK:
                yield TimedRow(path.stem, row.variant, row.timing.median_us)
        problems += [f"{path.stem} {row.variant}: {row.reason}" for row in run.results if row.status in _BAD]


_BAD = (Status.BUILD_FAILED, Status.LAUNCH_FAILED, Status.DIFFERS, Status.TIMED_OUT)


def _traced(
    rows: Sequence[TimedRow],
    gpu: GpuConstants,
    jobs: int,
    cuda_home: Path | None,
    problems: list[str],
) -> list[TimedRow]:
    """The rows with their launches, without those that cannot be modelled."""
    wanted: dict[str, dict[str, TimedRow]] = {}
    for row in rows:
        wanted.setdefault(row.family, {})[row.variant] = row
    found: list[TimedRow] = []
    with _pool(jobs) as pool:
        work = partial(_trace_config, gpu=gpu, cuda_home=cuda_home)
        for traced, failed in pool.map(work, wanted.values()):
            found += traced
            problems += failed
    return found


def _trace_config(
    rows: Mapping[str, TimedRow], gpu: GpuConstants, cuda_home: Path | None
) -> tuple[list[TimedRow], list[str]]:
    from gpuprof.model.interval import check_range
    from gpuprof.profile.modelling import trace_variants

    family = next(iter(rows.values())).family
    experiment = experiments.load(bundled_folder("configs") / f"{family}.yaml")
    chosen = [variant for variant in experiment.variants if variant.label in rows]
    found, failed = [], []
    for variant, traced, _ in trace_variants(experiment, chosen, gpu, cuda_home=cuda_home):
        row = rows[variant.label]
        try:
            if isinstance(traced, GpuprofError):
                raise traced
            for launch in traced:
                check_range(launch)
        except GpuprofError as error:
            failed.append(f"{family} {variant.label}: not modelled: {error}")
        else:
            found.append(replace(row, launches=traced))
    return found, failed


def _pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that are forked: they find modules and launches in place."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"))


class _Times:
    """Modelled times of launches on several processes, which are forked with the launches in place."""

    def __init__(self, launches: Sequence[tuple[TracedLaunch, ...]], jobs: int) -> None:
        self._numbers = range(len(launches))
        _HELD.clear()
        _HELD.extend(launches)
        self._pool = _pool(jobs)

    def __enter__(self) -> _Times:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()
        _HELD.clear()

    def of(self, gpu: GpuConstants, budget: int) -> NDArray[np.float64]:
        """Microseconds, in the order of the launches."""
        work = partial(_time, gpu=gpu, budget=budget)
        return np.array(list(self._pool.map(work, self._numbers, chunksize=2)), np.float64)


#: What forked processes find: pickling it for every evaluation would take longer than the timelines.
_HELD: list[tuple[TracedLaunch, ...]] = []


def _time(number: int, gpu: GpuConstants, budget: int) -> float:
    from gpuprof.model.pass_time import pass_time

    return pass_time(_HELD[number], gpu, budget=budget).us


def _sources(gpu: GpuConstants, names: Sequence[str]) -> dict[str, Constant]:
    return {
        name: replace(each, value=float(f"{each.value:.5g}"), source=_FITTED) if name in names else each
        for name, each in gpu.constants.items()
    }
