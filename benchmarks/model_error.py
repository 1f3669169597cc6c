"""Hold the time model against recorded times, and fit its free constants.

    python benchmarks/model_error.py TIMES.csv [--gpu h200] [--traces FOLDER] [--jobs 2] [--only CONFIG ...]
        [--fit STEPS] [--leave-out] [--rows] [--set NAME=VALUE] [--write FILE.json] [--markdown FILE]

TIMES.csv is what ``benchmarks/record_times.py`` wrote. Every row's kernels are traced once (FOLDER keeps the traces);
then the timelines run. ``--fit`` changes the constants that are marked as fitted by so many Gauss-Newton steps in which
every family weighs the same; ``--leave-out`` fits them for each family to all others and reports the error on the
family that was left out, which is the error to expect on a kernel that no constant was fitted to.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import pickle
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from gpuprof import experiment as experiments
from gpuprof.arch.gpu_constants import Constant, GpuConstants, as_json, gpu_constants
from gpuprof.errors import GpuprofError, ModelError
from gpuprof.experiment.model import KernelStep, Variant
from gpuprof.experiment.naming import select_all
from gpuprof.model.launch_time import TracedLaunch
from gpuprof.model.pass_time import pass_time
from gpuprof.profile.modelling import trace_variants
from gpuprof.toolchain.elf import read_cubin
from gpuprof.toolchain.model import Build

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
#: Configs of one family of kernels, by the family.
FAMILIES = {
    "gemm_1024": "plain gemm",
    "gemm_tiles": "plain gemm",
    "micro_gemm": "plain gemm",
    "fp64_gemm": "fp64 gemm",
    "gemm_ladder": "gemm ladder",
    "gemm_pipelined": "gemm ladder",
    "hgemm": "tensor cores",
    "wmma": "tensor cores",
}
#: Configs whose variants are swept for each value of their last parameter on its own.
BY_LAST_PARAMETER = ("gemm_tiles", "softmax", "layernorm")
#: Instructions of one timeline during a fit.
FIT_BUDGET = 250_000
#: Errors below this count like it: they are within what repeats of a measurement differ by.
NOISE = 0.02


@dataclass(frozen=True)
class Row:
    """One recorded time and, once traced, what the model needs."""

    config: str
    sets: str
    variant: str
    us: float
    code: str
    launches: tuple[TracedLaunch, ...] = ()
    reason: str = ""

    @property
    def family(self) -> str:
        return FAMILIES.get(self.config, self.config)

    @property
    def sweep(self) -> str:
        own = self.variant.rsplit("/", 1)[-1] if self.config in BY_LAST_PARAMETER else ""
        return f"{self.config} {self.sets} {own}".strip()


def read_rows(paths: Iterable[Path], only: Sequence[str]) -> list[Row]:
    """The rows that verified, several recordings of one averaged."""
    found: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            for cells in csv.DictReader(file):
                if cells["status"] == "ok" and (not only or cells["config"] in only):
                    key = (cells["config"], cells["sets"], cells["variant"])
                    found.setdefault(key, []).append((float(cells["us"]), cells["code"]))
    return [Row(*key, float(np.mean([us for us, _ in each])), each[0][1]) for key, each in found.items()]


# -- traces ---------------------------------------------------------------------------------------------------------
def trace_rows(rows: Sequence[Row], gpu: GpuConstants, folder: Path, configs: Path, jobs: int) -> list[Row]:
    """The rows with their traces, from the folder or made anew, an experiment at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.config, row.sets), []).append(row)
    missing = [group for group in groups.values() if any(not _file(folder, row).exists() for row in group)]
    missing.sort(key=lambda group: -len(group[0].sets))
    if missing:
        with ProcessPoolExecutor(jobs) as pool:
            for text in pool.map(partial(_trace_group, gpu=gpu, folder=folder, configs=configs), missing):
                print(text, file=sys.stderr, flush=True)
    return [_with_trace(row, folder) for row in rows]


def _file(folder: Path, row: Row) -> Path:
    name = hashlib.sha256(f"{row.config}|{row.sets}|{row.variant}".encode()).hexdigest()[:24]
    return folder / f"{name}.pickle"


def _with_trace(row: Row, folder: Path) -> Row:
    try:
        launches, reason = pickle.loads(_file(folder, row).read_bytes())
    except OSError:
        return replace(row, reason="not traced")
    return replace(row, launches=launches, reason=reason)


def code_of(variant: Variant, builds: Mapping[str, Build]) -> str:
    """Hashes of the timed kernels' machine code, as ``record_times.py`` has them."""
    steps = [each for each in variant.steps if isinstance(each, KernelStep) and each.timed]
    made = (builds[step.name] for step in steps)
    return "+".join(hashlib.sha256(read_cubin(b.cubin).code(b.symbol)).hexdigest()[:16] for b in made)


def _trace_group(group: Sequence[Row], gpu: GpuConstants, folder: Path, configs: Path) -> str:
    started, first = time.monotonic(), group[0]
    overrides = dict(each.split("=", 1) for each in first.sets.split())
    experiment = experiments.load(configs / f"{first.config}.yaml", overrides=overrides)
    wanted = {row.variant: row for row in group}
    chosen = [each for each in select_all(experiment.variants, ()) if each.label in wanted]
    for variant, traced, builds in trace_variants(experiment, chosen, gpu):
        row = wanted[variant.label]
        content: tuple[tuple[TracedLaunch, ...], str]
        if isinstance(traced, GpuprofError):
            content = ((), str(traced))
        elif row.code and row.code != code_of(variant, builds):
            content = ((), "it was recorded with other code")
        else:
            content = (traced, "")
        _file(folder, wanted[variant.label]).write_bytes(pickle.dumps(content))
    return f"traced {first.config} {first.sets}: {len(chosen)} variants in {time.monotonic() - started:.1f} s"


# -- predictions and the fit ------------------------------------------------------------------------------------------
class Predictor:
    """Modelled times of rows for any constants, on several processes that hold the rows."""

    def __init__(self, rows: Sequence[Row], jobs: int, budget: int) -> None:
        global _ROWS
        _ROWS = rows
        self._budget, self._count = budget, len(rows)
        self._pool = ProcessPoolExecutor(jobs)

    def times(self, gpu: GpuConstants) -> np.ndarray:
        numbers = range(self._count)
        return np.array(list(self._pool.map(partial(_predict, gpu=gpu, budget=self._budget), numbers, chunksize=4)))

    def close(self) -> None:
        self._pool.shutdown()


_ROWS: Sequence[Row] = ()


def _predict(number: int, gpu: GpuConstants, budget: int) -> float:
    try:
        return pass_time(_ROWS[number].launches, gpu, budget=budget).us
    except ModelError:
        return float("nan")


#: How far a fitted constant is moved to see what it does, as a share of itself, and by how much at least.
STEP_SHARE, MIN_STEP = 0.08, 0.02


@dataclass(frozen=True)
class Linear:
    """Log times around one set of constants: ``times`` there, and how they change per step of each constant."""

    names: tuple[str, ...]
    start: Mapping[str, float]
    steps: np.ndarray
    times: np.ndarray
    slopes: np.ndarray  #: (rows, constants)


def linearised(predictor: Predictor, gpu: GpuConstants, names: tuple[str, ...]) -> Linear:
    base = np.log(predictor.times(gpu))
    steps, columns = [], []
    for name in names:
        step = max(abs(gpu[name]) * STEP_SHARE, MIN_STEP)
        steps.append(step)
        columns.append(np.log(predictor.times(gpu.changed({name: gpu[name] + step}))) - base)
        print(f"  {name}", file=sys.stderr, flush=True)
    return Linear(names, {name: gpu[name] for name in names}, np.array(steps), base, np.array(columns).T)


def solved(linear: Linear, measured: np.ndarray, weights: np.ndarray, rows: np.ndarray) -> dict[str, float]:
    """Constants that bring the chosen rows near what was measured: absolute errors, held back by a weak prior."""
    residual = (measured - linear.times)[rows]
    slopes, weight = linear.slopes[rows], weights[rows]
    moved = np.zeros(len(linear.names))
    for _ in range(40):
        left = residual - slopes @ moved
        own = weight / np.maximum(np.abs(left), NOISE)
        normal = slopes.T @ (slopes * own[:, None]) + 0.02 * np.eye(len(linear.names))
        moved = np.clip(np.linalg.solve(normal, slopes.T @ (own * residual)), -4, 4)
    return {
        name: max(linear.start[name] + float(by * step), 0.0)
        for name, by, step in zip(linear.names, moved, linear.steps, strict=True)
    }


def family_weights(rows: Sequence[Row]) -> np.ndarray:
    """Between equal rows and equal families."""
    counts = {row.family: sum(other.family == row.family for other in rows) for row in rows}
    return np.array([1 / np.sqrt(counts[row.family]) for row in rows])


def left_out(rows: Sequence[Row], linear: Linear) -> tuple[np.ndarray, dict[str, dict[str, float]]]:
    """Times by constants that were fitted without the row's family, and those constants by family."""
    measured, weights = np.log([row.us for row in rows]), family_weights(rows)
    times, constants = np.zeros(len(rows)), {}
    for family in dict.fromkeys(row.family for row in rows):
        own = np.array([row.family == family for row in rows])
        constants[family] = solved(linear, measured, weights, ~own)
        moved = np.array([constants[family][name] - linear.start[name] for name in linear.names]) / linear.steps
        times[own] = np.exp(linear.times[own] + linear.slopes[own] @ moved)
    return times, constants


# -- errors ---------------------------------------------------------------------------------------------------------
def ranks(values: Sequence[float]) -> np.ndarray:
    return np.argsort(np.argsort(np.asarray(values), kind="stable"), kind="stable").astype(float)


@dataclass(frozen=True)
class Sweep:
    """How well variants of one config and size are told apart. ``lost``: the picked one's time over the fastest's."""

    name: str
    count: int
    spearman: float | None
    lost: float


def sweeps_of(rows: Sequence[Row], times: np.ndarray) -> Iterator[Sweep]:
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row.sweep, []).append(number)
    for name, numbers in groups.items():
        if len(numbers) < 2:
            continue
        measured, modelled = np.array([rows[each].us for each in numbers]), times[numbers]
        spearman = None
        if len(numbers) >= 3:
            close = np.round(np.log(measured) / 0.01) * 0.01  # recorded times within 1 % are equal
            spearman = float(np.corrcoef(_average_ranks(close), _average_ranks(modelled))[0, 1])
        yield Sweep(name, len(numbers), spearman, float(measured[np.argmin(modelled)] / measured.min()))


def _average_ranks(values: np.ndarray) -> np.ndarray:
    order = ranks(values)
    for value in np.unique(values):
        same = values == value
        order[same] = order[same].mean()
    return order


def family_errors(rows: Sequence[Row], times: np.ndarray) -> dict[str, tuple[int, float, float, float, float]]:
    """Family -> rows, mean, median, 90th percentile, and bias of the relative error."""
    error = times / np.array([row.us for row in rows]) - 1
    found = {}
    for family in sorted({row.family for row in rows}):
        own = error[[row.family == family for row in rows]]
        size = np.abs(own)
        found[family] = (
            len(own),
            float(size.mean()),
            float(np.median(size)),
            float(np.quantile(size, 0.9)),
            float(np.median(own)),
        )
    return found


def report(rows: Sequence[Row], times: np.ndarray, title: str) -> str:
    """The errors as Markdown."""
    size = np.abs(times / np.array([row.us for row in rows]) - 1)
    lines = [
        f"### {title}",
        "",
        "| family | rows | mean | median | 90 % | bias |",
        "| :--- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for family, (count, mean, median, high, bias) in family_errors(rows, times).items():
        lines.append(f"| {family} | {count} | {mean:.1%} | {median:.1%} | {high:.1%} | {bias:+.1%} |")
    lines.append(f"| all | {len(rows)} | {size.mean():.1%} | {np.median(size):.1%} | {np.quantile(size, 0.9):.1%} | |")
    found = list(sweeps_of(rows, times))
    rhos = [each.spearman for each in found if each.spearman is not None and np.isfinite(each.spearman)]
    near = sum(each.lost <= 1.02 for each in found)
    worst = sorted(found, key=lambda each: -each.lost)[:5]
    lines += [
        "",
        f"{len(found)} sweeps: the picked variant is within 2 % of the fastest in {near}; "
        f"Spearman within a sweep {np.mean(rhos):.3f} on the mean of {len(rhos)}. "
        f"Worst: {'; '.join(f'{each.name} {each.lost - 1:.1%}' for each in worst)}.",
        f"The largest error is {size.max():.0%}.",
    ]
    return "\n".join(lines)


# -- the command ----------------------------------------------------------------------------------------------------
def main() -> int:
    """Trace, predict, and with ``--fit`` change the constants; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", nargs="+", type=Path)
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--traces", type=Path, default=Path("/tmp/gpuprof-traces"))
    parser.add_argument(
        "--configs", type=Path, default=CONFIGS, help="the YAML files that the times were recorded with"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--fit", type=int, default=0, metavar="STEPS")
    parser.add_argument("--names", nargs="*", help="constants to fit in place of those marked as fitted")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--budget", type=int, default=0)
    flags = parser.parse_args()
    gpu = gpu_constants(flags.gpu).changed({k: float(v) for k, v in (each.split("=", 1) for each in flags.set)})
    rows = trace_rows(read_rows(flags.times, flags.only), gpu, flags.traces, flags.configs, flags.jobs)
    for row in rows:
        if not row.launches:
            print(f"no time for {row.config} {row.sets} {row.variant}: {row.reason}", file=sys.stderr)
    rows = [row for row in rows if row.launches]
    predictor = Predictor(rows, flags.jobs, flags.budget or (FIT_BUDGET if flags.fit or flags.leave_out else 1_000_000))
    names = tuple(flags.names or [name for name, each in gpu.constants.items() if each.fitted])
    measured, weights = np.log([row.us for row in rows]), family_weights(rows)
    for number in range(flags.fit):
        linear = linearised(predictor, gpu, names)
        values = solved(linear, measured, weights, np.ones(len(rows), bool))
        gpu = gpu.changed(values)
        shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        print(
            f"step {number + 1}: {np.abs(np.exp(linear.times) / np.exp(measured) - 1).mean():.2%} before; {shown}",
            flush=True,
        )
    times = predictor.times(gpu)
    texts = [report(rows, times, "Fitted to all families")]
    if flags.leave_out:
        out, constants = left_out(rows, linearised(predictor, gpu, names))
        texts.append(report(rows, out, "Each family by constants fitted to the others"))
        texts.append("\n".join(_spread(names, gpu, constants)))
        errors = {family: (mean, high) for family, (_, mean, _, high, _) in family_errors(rows, out).items()}
        gpu = replace(gpu, errors={name: (round(mean, 4), round(high, 4)) for name, (mean, high) in errors.items()})
    predictor.close()
    if flags.rows:
        for row, us in zip(rows, times, strict=True):
            name = f"{row.config:15} {row.sets[:34]:34} {row.variant[:36]:36}"
            print(f"{name} {row.us:10.2f} {us:10.2f} {us / row.us - 1:+7.1%}")
    print("\n\n".join(texts))
    if flags.markdown:
        flags.markdown.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    if flags.write:
        rounded = {name: replace(each, value=_short(each)) for name, each in gpu.constants.items()}
        flags.write.write_text(json.dumps(as_json(replace(gpu, constants=rounded)), indent=1) + "\n", encoding="utf-8")
    return 0


def _short(constant: Constant) -> float:
    return float(f"{constant.value:.5g}") if constant.fitted else constant.value


def _spread(names: Sequence[str], gpu: GpuConstants, constants: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for name in names:
        values = [each[name] for each in constants.values()]
        yield f"- {name}: {gpu[name]:.4g}, over the folds {min(values):.4g} to {max(values):.4g}"


if __name__ == "__main__":
    sys.exit(main())
