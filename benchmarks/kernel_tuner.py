"""The same GEMM space with Kernel Tuner and with gpuprof: wall time, coverage, the best variant.

    python benchmarks/kernel_tuner.py [--out FOLDER] [--size N]... [--backend NAME]...

``--size`` is M, N and K; each size is a comparison of its own; 1024 unless some are named. ``--backend`` is
one of Kernel Tuner's: ``pycuda``, which is held to the limit, and ``nvcuda``, its default, for the record. The latter
compiles with NVRTC in its own process, which takes a fraction of what starting nvcc takes.

Needs a GPU, pycuda and kernel_tuner 1.5. All verify every variant against the same product in float64, all time 20
launches of each, and all start with empty caches (their own and the driver's) in a process of their own.

Both compile the same device function of ``tuner_gemm.cu`` with the same launch bounds: gpuprof as instances of a
template, of which one nvcc process makes several, Kernel Tuner through its own way, parameters as macros in a process
per variant. That the instances can share a process is gpuprof's doing and part of what is compared; a source whose
parameters are macros alone would cost gpuprof a process per variant too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONFIG = HERE / "tuner_gemm.yaml"
LIMIT = 0.2  #: gpuprof's share of the wall time of Kernel Tuner with LIMITED_BACKEND
LIMITED_BACKEND = "pycuda"
BACKENDS = ("pycuda", "nvcuda")


@dataclass(frozen=True)
class Outcome:
    """What a tool took and found. ``best`` is the parameters of the fastest variant."""

    tool: str
    seconds: float
    variants: int
    failed: int
    best: dict[str, int]
    best_us: float


def with_gpuprof(folder: Path, size: int) -> Outcome:
    """The command line, from an empty cache."""
    from gpuprof.results.json import from_json
    from gpuprof.results.model import Status

    target = folder / f"gpuprof_tuner_{size}.json"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "GPUPROF_CACHE_DIR": cache, "CUDA_CACHE_PATH": f"{cache}/driver"}
        sizes = [argument for name, value in sizes_of(size).items() for argument in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "gpuprof", "run", str(CONFIG), *sizes, "--json", str(target), "--no-history"]
        started = time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
    run = from_json(target.read_text(encoding="utf-8"))
    timed = [(result.timing.median_us, result) for result in run.results if result.timing is not None]
    best_us, best = min(timed, key=lambda pair: pair[0])
    failed = sum(result.status is not Status.OK for result in run.results)
    parameters = {name: int(value) for name, value in best.parameters.items()}
    return Outcome("gpuprof", seconds, len(run.results), failed, parameters, best_us)


def with_kernel_tuner(folder: Path, size: int, backend: str) -> Outcome:
    """A child, so that imports and the context count for both tools alike."""
    target = folder / f"kernel_tuner_{backend}_{size}.json"
    with tempfile.TemporaryDirectory() as cache:
        # pycuda's cache, and the driver's of what it compiles from PTX
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "CUDA_CACHE_PATH": f"{cache}/driver"}
        command = [sys.executable, __file__, "--tune", str(target), str(size), backend]
        started = time.perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
    rows: list[dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))
    good = [row for row in rows if isinstance(row["time"], float)]
    best = min(good, key=lambda row: float(row["time"]))
    names = ("block_size_x", "block_size_y", "TM", "TN", "BK")
    parameters = {name: int(best[name]) for name in names}
    tool = f"Kernel Tuner, {backend}"
    return Outcome(tool, seconds, len(rows), len(rows) - len(good), parameters, best["time"] * 1e3)


def sizes_of(size: int) -> dict[str, str]:
    """What ``--set`` gives to the YAML."""
    return dict.fromkeys(("M", "N", "K"), str(size))


def tune(target: Path, size: int, backend: str) -> None:
    """In the child: the same space, inputs, verification and number of launches."""
    import importlib

    import numpy as np
    import yaml

    from gpuprof import experiment as experiments
    from gpuprof.experiment.fills import materialize

    sys.path = [entry for entry in sys.path if Path(entry).resolve() != HERE.resolve()]  # this file has its name
    kernel_tuner: Any = importlib.import_module("kernel_tuner")
    if backend == "pycuda":
        plain_modules(importlib.import_module("kernel_tuner.backends.pycuda"))
    variants = experiments.load(CONFIG, overrides=sizes_of(size)).variants
    sizes, buffers = variants[0].sizes, variants[0].buffers
    a, b = materialize(buffers["A"]), materialize(buffers["B"])
    c = np.zeros(buffers["C"].shape, np.float32)
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    points = [{name: int(value) for name, value in variant.parameters.items()} for variant in variants]
    parameters = {name: sorted({point[name] for point in points}) for name in points[0]}
    where = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["variants"]["tuner_gemm"]["where"]
    restrictions = [condition.strip() for condition in where.split(" and ")]
    results, _ = kernel_tuner.tune_kernel(
        "tuner_gemm_point",
        str(HERE / "tuner_gemm.cu"),
        (sizes["N"], sizes["M"]),
        [np.int32(sizes["M"]), np.int32(sizes["N"]), np.int32(sizes["K"]), a, b, c],
        parameters,
        grid_div_x=["block_size_x", "TN"],
        grid_div_y=["block_size_y", "TM"],
        restrictions=restrictions,
        answer=[None, None, None, None, None, want],
        atol=1e-2,
        lang=backend,
        iterations=20,
    )
    target.write_text(json.dumps(results, default=str), encoding="utf-8")


def plain_modules(backend: Any) -> None:
    """Let Kernel Tuner load what nvcc compiles as it is.

    By itself it compiles relocatable code and links it with cudadevrt, which gives other machine code (88 registers
    where there would be 64, seen with nvcc 13.0) and takes longer: the two tools would not time the same kernels.
    """
    backend.DynamicSourceModule = backend.SourceModule


def side_by_side(outcomes: list[Outcome]) -> str:
    """A Markdown table."""
    lines = [
        "| tool | wall time, s | variants | failed | best | best, us |",
        "| :--- | ---: | ---: | ---: | :--- | ---: |",
    ]
    for outcome in outcomes:
        best = " ".join(f"{name}={value}" for name, value in outcome.best.items())
        lines.append(
            f"| {outcome.tool} | {outcome.seconds:.1f} | {outcome.variants} | {outcome.failed} | {best} "
            f"| {outcome.best_us:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print a table for every size, and whether gpuprof kept within its share."""
    if sys.argv[1:2] == ["--tune"]:
        tune(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--size", type=int, action="append", help="M, N and K; may be repeated")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="of Kernel Tuner; may be repeated")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pages, failed = [], False
    for size in options.size or [1024]:
        own = with_gpuprof(options.out, size)
        others = {name: with_kernel_tuner(options.out, size, name) for name in options.backend or BACKENDS}
        lines = [f"M = N = K = {size}", "", side_by_side([own, *others.values()]), ""]
        for backend, other in others.items():
            share, same = own.seconds / other.seconds, own.best == other.best
            lines.append(f"gpuprof took {share:.1%} of the time of {other.tool}; same best variant: {same}.")
            failed = failed or (backend == LIMITED_BACKEND and (share > LIMIT or not same))
        pages.append("\n".join(lines))
        print(pages[-1], end="\n\n", flush=True)
    pages.append(f"Limit: {LIMIT:.0%} of {LIMITED_BACKEND}'s time.")
    (options.out / "kernel_tuner.md").write_text("\n\n".join(pages) + "\n", encoding="utf-8")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
