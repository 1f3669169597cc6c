"""Record where warps stall, by instruction, as Nsight Compute samples it: what the model's stall shares are held to.

    python benchmarks/record_stalls.py --out FOLDER [--seconds 240] [--only CONFIG ...]

Needs a GPU with permission for its counters and ncu. Every entry of ``KERNELS`` is one ``gpuprof run --ncu`` with the
section SourceCounters; its report is read back as ``ncu --page source --csv``. FOLDER/stalls.json is written after
every entry: config, sizes, variants and ncu's text, or why there is none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: (config, sizes, patterns of variants): kernels of different kinds, at sizes that fill the GPU.
KERNELS = (
    ("gemm_1024", "", ("*",)),
    ("transpose", "", ("plain", "tiled", "padded", "swizzled", "copy")),
    (
        "gemm_ladder",
        "M=1024 N=1024 K=1024",
        ("micro_4x4", "micro_8x8", "padded", "warp_tiled", "pipelined*", "cp_async"),
    ),
    ("saxpy", "COUNT=8388608", ("*",)),
    ("hgemm", "M=1024 N=1024 K=1024", ("wmma", "wmma_shared")),
    ("softmax", "ROWS=16384 COLUMNS=1000", ("*",)),
    ("layernorm", "ROWS=16384 COLUMNS=1000", ("*",)),
    ("stencil_1d", "COUNT=4194304", ("*",)),
    ("stencil_2d", "ROWS=2048 COLUMNS=2048", ("*",)),
    ("bank_strides", "BLOCKS=1056 REPEATS=256 STRIDE=1,32", ("*",)),
    ("divergence", "COUNT=1048576", ("by_lane/SPLIT=16/ROUNDS=256", "by_warp/ROUNDS=256")),
    ("gemv", "M=8192 N=8192", ("*",)),
    ("histogram", "COUNT=8388608", ("shared",)),
    ("occupancy", "COUNT=1048576", ("block/BLOCK=256", "chains/ILP=16", "shared/BYTES=98304")),
    ("fp64_gemm", "M=1024 N=1024 K=1024", ("naive", "tiled/TILE=32")),
    ("reduction", "COUNT=4194304", ("v0", "v2", "v3")),
)


def record(config: str, sets: str, variants: Sequence[str], ncu: str, timeout: float) -> dict[str, Any]:
    """One entry: ncu's source page, or ``error``."""
    entry: dict[str, Any] = {"config": config, "sets": sets, "variants": list(variants)}
    with tempfile.TemporaryDirectory() as folder:
        report, run = Path(folder) / "report.ncu-rep", Path(folder) / "run.json"
        command = [sys.executable, "-m", "gpuprof", "run", f"configs/{config}.yaml", "--device", "gpu", "--no-history"]
        command += ["--iters", "3", "--ncu", "gpu__time_duration.sum", "--ncu-section", "SourceCounters"]
        command += ["--ncu-section", "WarpStateStats", "--ncu-report", str(report), "--json", str(run)]
        for each in sets.split():
            command += ["--set", each]
        for each in variants:
            command += ["--variant", each]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
            entry["order"] = [each["variant"] for each in json.loads(run.read_text(encoding="utf-8"))["results"]]
            pages = {path.name: _source_page(ncu, path) for path in sorted(Path(folder).glob("*.ncu-rep"))}
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            return {**entry, "error": str(error)[:500]}
        if not pages:
            return {**entry, "error": (done.stderr or done.stdout)[-500:]}
        return {**entry, "pages": pages}


def _source_page(ncu: str, report: Path) -> str:
    base = [ncu, "--import", str(report), "--page", "source", "--csv", "--print-units", "base"]
    for more in (["--print-source", "sass"], []):
        done = subprocess.run([*base, *more], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 0 and "Source" in done.stdout:
            return done.stdout
    return f"error: {done.stdout[-300:]}{done.stderr[-300:]}"


def main() -> int:
    """Record every entry within the time; 0 where none failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0, help="no entry begins after this time")
    parser.add_argument("--only", nargs="*", default=(), metavar="CONFIG")
    flags = parser.parse_args()
    ncu = shutil.which("ncu") or next(iter(map(str, sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu")))), None)
    if ncu is None:
        parser.error("no ncu on PATH")
    flags.out.mkdir(parents=True, exist_ok=True)
    ends, entries = time.monotonic() + flags.seconds, []
    for config, sets, variants in KERNELS:
        if (flags.only and config not in flags.only) or time.monotonic() >= ends:
            continue
        started = time.monotonic()
        entry = record(config, sets, variants, ncu, max(20.0, ends + 20 - time.monotonic()))
        entries.append(entry)
        print(f"{config:14} {time.monotonic() - started:5.1f} s  {entry.get('error', 'recorded')}", flush=True)
        (flags.out / "stalls.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return 1 if any("error" in entry for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
