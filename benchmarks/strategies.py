"""Strategies of ``gpuprof tune`` replayed on recorded spaces, without a GPU, beside Kernel Tuner's if it is wanted.

    python benchmarks/strategies.py                      # the default strategy and random search, 50 seeds
    python benchmarks/strategies.py --strategy forest --strategy tpe --seeds 10
    python benchmarks/strategies.py --kernel-tuner       # and Kernel Tuner's strategies in its simulation mode
    python benchmarks/strategies.py --space other.csv.gz # a space of your own: parameters, and the cost last

Prints, for each space and as a mean over them, the mean over seeds of optimum / best so far after 25, 50, 100 and 200
trials. A failed point counts as a trial. Kernel Tuner (``pip install kernel-tuner``) is seeded alike and sees the same
points; its evaluations are counted by distinct points, in its order.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpuprof.search.recorded import RecordedSpace, read_space, replay
from gpuprof.search.strategy import DEFAULT, STRATEGIES, make_strategy

MARKS = (25, 50, 100, 200)
SPACES = sorted((Path(__file__).parent / "spaces").glob("*.csv.gz"))
KERNEL_TUNER = (
    "random_sample",
    "genetic_algorithm",
    "simulated_annealing",
    "diff_evo",
    "dual_annealing",
    "pso",
    "greedy_ils",
    "firefly_algorithm",
    "mls",
    "basinhopping",
)


@dataclass(frozen=True)
class Figure:
    """A strategy on a space: the mean over seeds at each mark, and its standard error."""

    tuner: str
    strategy: str
    space: str
    seeds: int
    means: tuple[float, ...]
    errors: tuple[float, ...]
    seconds: float


@lru_cache(maxsize=8)
def _space(path: Path) -> RecordedSpace:
    return read_space(path)


def own(path: Path, strategy: str, seed: int) -> list[float]:
    """optimum / best so far at each mark."""
    space = _space(path)
    best = replay(space, make_strategy(strategy, space.points, seed=seed, trials=MARKS[-1]), MARKS[-1])
    return [space.optimum / best[mark - 1] for mark in MARKS]


def kernel_tuners(path: Path, strategy: str, seed: int) -> list[float]:
    """The same of a strategy of Kernel Tuner."""
    import random
    import sys

    sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent]
    import kernel_tuner  # and not the script of that name beside this one
    from constraint import FunctionConstraint

    warnings.simplefilter("ignore")
    space = _space(path)
    names = [axis.name for axis in space.points.axes]
    values = {axis.name: list(axis.values) for axis in space.points.axes}
    valid = {_values(space, index) for index in range(len(space.points))}

    def restriction(*chosen: object) -> bool:
        return chosen in valid

    random.seed(seed)
    np.random.seed(seed)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        results, _ = kernel_tuner.tune_kernel(
            kernel_name=space.name,
            kernel_source="",
            problem_size=(1, 1),
            arguments=[],
            tune_params=values,
            cache=_cache_file(path),
            restrictions=[FunctionConstraint(restriction)],
            simulation_mode=True,
            strategy=strategy,
            strategy_options={"max_fevals": MARKS[-1]},
            quiet=True,
        )
    costs: dict[tuple[object, ...], float] = {}
    for result in results:
        if result is not None:
            taken = result["time"]
            costs.setdefault(tuple(result[name] for name in names), taken if isinstance(taken, float) else np.inf)
    best = np.minimum.accumulate(list(costs.values()))
    return [space.optimum / best[min(mark, len(best)) - 1] for mark in MARKS]


def _values(space: RecordedSpace, index: int) -> tuple[object, ...]:
    row = space.points.rows[index]
    return tuple(axis.values[number] for axis, number in zip(space.points.axes, row, strict=True))


@lru_cache(maxsize=8)
def _cache_file(path: Path) -> str:
    """The space as Kernel Tuner's cache file, which its simulation mode reads."""
    space = _space(path)
    names = [axis.name for axis in space.points.axes]
    entries = {}
    for index, cost in enumerate(space.costs):
        chosen = _values(space, index)
        taken = float(cost) if np.isfinite(cost) else "RuntimeFailedConfig"
        costs = dict.fromkeys(("compile_time", "verification_time", "benchmark_time"), 1)
        entries[",".join(map(str, chosen))] = {**dict(zip(names, chosen, strict=True)), "time": taken, **costs}
    head = {
        "device_name": "recorded",
        "kernel_name": space.name,
        "problem_size": [1, 1],
        "tune_params_keys": names,
        "tune_params": {axis.name: list(axis.values) for axis in space.points.axes},
        "objective": "time",
        "cache": entries,
    }
    file = Path(tempfile.mkdtemp(prefix="strategies-")) / f"{space.name}.json"
    file.write_text(json.dumps(head, separators=(",", ":")))
    return str(file)


def figure(pool: ProcessPoolExecutor, tuner: str, strategy: str, path: Path, seeds: int) -> Figure | None:
    """All seeds of one strategy on one space; None where the tuner cannot run it."""
    call = own if tuner == "gpuprof" else kernel_tuners
    started = time.monotonic()
    try:
        rows = np.array(list(pool.map(call, [path] * seeds, [strategy] * seeds, range(seeds))))
    except Exception as error:  # a strategy of the other tuner that lacks a package is left out, with its reason
        print(f"{tuner} {strategy} {path.name}: left out: {error}", flush=True)
        return None
    errors = rows.std(axis=0) / np.sqrt(seeds)
    name = path.name.split(".")[0]
    seconds = time.monotonic() - started
    return Figure(tuner, strategy, name, seeds, tuple(rows.mean(axis=0)), tuple(errors), seconds)


def _line(cells: list[str], values: tuple[float, ...] | np.ndarray, tail: str = "") -> str:
    return "| " + " | ".join([*cells, *(f"{value:.3f}" for value in values)]) + f" |{tail}"


def main() -> None:
    """Print a table, and write it with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", action="append", type=Path, help="a recorded space (default: those beside this)")
    parser.add_argument("--strategy", action="append", choices=list(STRATEGIES))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--kernel-tuner", action="store_true", help="Kernel Tuner's strategies too")
    parser.add_argument("--kernel-tuner-seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path, help="write the figures here, after each")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one seed per core
    spaces = options.space or SPACES
    wanted = [("gpuprof", name, options.seeds) for name in options.strategy or (DEFAULT, "random")]
    if options.kernel_tuner:
        wanted += [("kernel_tuner", name, options.kernel_tuner_seeds) for name in KERNEL_TUNER]
    print("| tuner | strategy | space | " + " | ".join(map(str, MARKS)) + " |\n|" + " --- |" * (3 + len(MARKS)))
    figures: list[Figure] = []
    best: dict[str, np.ndarray] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for tuner, strategy, seeds in wanted:
            found = [figure(pool, tuner, strategy, path, seeds) for path in spaces]
            whole = [each for each in found if each is not None]
            figures += whole
            for each in whole:
                print(_line([tuner, strategy, each.space], each.means), flush=True)
            if len(whole) == len(spaces):
                mean = np.mean([each.means for each in whole], axis=0)
                print(_line([tuner, strategy, f"mean of {len(spaces)}"], mean), flush=True)
                best[tuner] = np.maximum(best.get(tuner, mean), mean)
            if options.json:
                options.json.write_text(json.dumps([asdict(each) for each in figures], indent=1) + "\n")
    for tuner, means in best.items():
        print(_line([tuner, "best at each mark", f"mean of {len(spaces)}"], means))


if __name__ == "__main__":
    main()
