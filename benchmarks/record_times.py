"""Record cold times of the bundled configs on a GPU, several sizes each: what the time model is held against.

    python benchmarks/record_times.py --out FOLDER [--seconds 330] [--only CONFIG ...] [--device gpu]

Every entry of ``RUNS`` is one ``gpuprof run`` with its own sizes, in rounds, so that when the time is over every config
has been there. Written after every entry:

    FOLDER/times.csv      one row per variant and size: median, interval, and hashes of the kernels' machine code
    FOLDER/machine.json   GPU, driver, nvcc, clocks; entries that failed or were not begun

``--device emulated`` tries the script without a GPU: rows without times are left out and counted.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

STRIDES = ",".join(map(str, (0, 1, 2, 3, 4, 8, 16, 24, 31, 32, 33)))


@dataclass(frozen=True)
class Sizes:
    """Sizes of one config, round by round; ``long`` takes 20 samples instead of 60."""

    config: str
    rounds: tuple[str, ...]
    long: frozenset[int] = field(default_factory=frozenset)


def _square(*sizes: int, more: str = "") -> tuple[str, ...]:
    return tuple(f"M={size} N={size} K={size}{more}" for size in sizes)


def _counts(*sizes: int) -> tuple[str, ...]:
    return tuple(f"COUNT={size}" for size in sizes)


#: Sizes that fill part of a GPU, all of it, and many times its caches.
RUNS = (
    Sizes("saxpy", _counts(1 << 20, 1 << 25, 1 << 23)),
    Sizes("vector_loads", _counts(1 << 20, 1 << 25, 1 << 23)),
    Sizes("bandwidth", _counts(1 << 21, 1 << 26, 1 << 23)),
    Sizes("coalescing", _counts(1 << 20, 1 << 22, 1 << 18)),
    Sizes(
        "transpose", tuple(f"ROWS={r} COLUMNS={c}" for r, c in ((2048, 2048), (4096, 4096), (1024, 1024), (1000, 3000)))
    ),
    Sizes("reduction", _counts(1 << 24, 1 << 20, 1 << 22)),
    Sizes("scan", _counts(1 << 20, 1 << 18)),
    Sizes("softmax", ("ROWS=512", "ROWS=16384", "ROWS=4096 COLUMNS=128,2048")),
    Sizes("layernorm", ("ROWS=512", "ROWS=16384", "ROWS=4096 COLUMNS=128,2048")),
    Sizes("gemv", ("M=1024 N=1024", "M=8192 N=8192", "M=4096 N=2048", "M=512 N=16384")),
    Sizes("histogram", _counts(1 << 20, 1 << 25, 1 << 23)),
    Sizes("stencil_1d", _counts(1 << 20, 1 << 24, 1 << 22)),
    Sizes("stencil_2d", tuple(f"ROWS={n} COLUMNS={n}" for n in (1000, 4096, 2048))),
    Sizes("divergence", _counts(1 << 16, 1 << 22, 1 << 20)),
    Sizes("occupancy", _counts(1 << 17, 1 << 24, 1 << 20)),
    Sizes(
        "bank_strides",
        tuple(f"STRIDE={STRIDES} BLOCKS={b} REPEATS={r}" for b, r in ((64, 16), (4224, 1024), (1056, 256))),
    ),
    Sizes("gemm_tiles", ("", *_square(1024))),
    Sizes("gemm_1024", _square(1024, 2048, 512)),
    Sizes("micro_gemm", _square(1024, 2048, 512)),
    Sizes("fp64_gemm", _square(256, 1024, 2048), frozenset({2})),
    Sizes("gemm_ladder", ("M=512 N=512 K=128", *_square(1024, 2048, 4096)), frozenset({3})),
    Sizes("gemm_pipelined", ("M=256 N=256 K=64", *_square(1024, 2048, 4096)), frozenset({3})),
    Sizes("hgemm", _square(256, 4096, 1024, 2048), frozenset({1})),
    Sizes("wmma", (*_square(256, more=" ITERS=2"), *_square(1024, more=" ITERS=2"), *_square(2048, more=" ITERS=2"))),
)
FIELDS = ("config", "sets", "variant", "us", "low_us", "high_us", "samples", "noise", "status", "registers", "code")


@dataclass(frozen=True)
class Row:
    """One variant at one size. ``code``: sha256 of each timed kernel's machine code, 16 digits, joined by ``+``."""

    config: str
    sets: str
    variant: str
    us: float
    low_us: float
    high_us: float
    samples: int
    noise: float
    status: str
    registers: int | str
    code: str


def plan(only: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """(config, sizes, whether it runs long), the first round of every config first."""
    for number in range(max(len(each.rounds) for each in RUNS)):
        for each in RUNS:
            if number < len(each.rounds) and (not only or each.config in only):
                yield each.config, each.rounds[number], number in each.long


def run_config(config: str, sets: str, long: bool, device: str, timeout: float) -> dict[str, Any]:
    """The run's JSON; raises RuntimeError with gpuprof's last line."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run.json"
        command = [sys.executable, "-m", "gpuprof", "run", f"configs/{config}.yaml", "--device", device, "--no-history"]
        command += ["--iters", "20" if long else "60", "--max-noise", "1", "--timeout", "3", "--json", str(target)]
        for each in sets.split():
            command += ["--set", each]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            if not target.exists():
                raise RuntimeError(f"not ended in {timeout:.0f} s") from None
        else:
            if not target.exists():
                raise RuntimeError((done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1])
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return found


def rows_of(run: Mapping[str, Any], config: str, sets: str) -> Iterator[Row]:
    """The rows of variants with kernels of their own that were timed."""
    for result in run["results"]:
        timing, build = result.get("timing"), result.get("build")
        if timing is None or build is None:
            continue
        steps = [step for step in result.get("steps") or () if step["kind"] == "kernel" and step["timed"]]
        builds = [step["build"] for step in steps if step.get("build")] or [build]
        yield Row(
            config,
            sets,
            result["variant"],
            timing["median_us"],
            *timing["interval_us"],
            len(timing["samples_us"]),
            round(timing["noise"], 5),
            result["status"],
            build.get("registers") or "",
            "+".join(each["code_sha256"][:16] for each in builds),
        )


def main() -> int:
    """Run the plan within the time; 0 where no entry failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=330.0, help="no entry begins after this time")
    parser.add_argument("--only", nargs="*", default=(), metavar="CONFIG")
    parser.add_argument("--device", default="gpu")
    flags = parser.parse_args()
    flags.out.mkdir(parents=True, exist_ok=True)
    ends, rows, failed, left = time.monotonic() + flags.seconds, [], [], []
    machine: dict[str, Any] = {}
    for config, sets, long in plan(flags.only):
        if time.monotonic() >= ends:
            left.append(f"{config} {sets}")
            continue
        started = time.monotonic()
        try:
            run = run_config(config, sets, long, flags.device, max(10.0, ends + 30 - time.monotonic()))
        except RuntimeError as error:
            failed.append(f"{config} {sets}: {error}")
            print(f"{config:16} {sets:36} failed: {error}", flush=True)
        else:
            machine = machine or {key: run["environment"][key] for key in ("gpu", "driver", "nvcc", "clocks_mhz")}
            found = list(rows_of(run, config, sets))
            rows += found
            print(f"{config:16} {sets[:36]:36} {len(found):3} rows, {time.monotonic() - started:5.1f} s", flush=True)
        _write(flags.out, rows, {**machine, "failed": failed, "not_begun": left})
    _write(flags.out, rows, {**machine, "failed": failed, "not_begun": left})
    print(f"{len(rows)} rows, {len(failed)} entries failed, {len(left)} not begun")
    return 1 if failed else 0


def _write(folder: Path, rows: Sequence[Row], machine: Mapping[str, Any]) -> None:
    with (folder / "times.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    (folder / "machine.json").write_text(json.dumps(machine, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
