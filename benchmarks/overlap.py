"""Does building while timing disturb the times? The noise of gemm_1024's variants with and without overlap.

    python benchmarks/overlap.py [--repeats 3] [--out FOLDER]

Each repeat builds from an empty cache, so that nvcc works while the first variants are timed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gpuprof.results.json import from_json
from gpuprof.results.model import Run


def run(config: str, flags: list[str]) -> Run:
    """One run from an empty cache."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "GPUPROF_CACHE_DIR": str(folder / "cache")}
        target = folder / "run.json"
        command = [sys.executable, "-m", "gpuprof", "run", config, "--json", str(target), "--no-history", *flags]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return from_json(target.read_text(encoding="utf-8"))


def main() -> None:
    """One line per run: wall time, and each variant's median and noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/gemm_tiles.yaml")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for name, flags in (("overlap", []), ("--no-overlap", ["--no-overlap"])) * options.repeats:
        done = run(options.config, flags)
        timings = [result.timing for result in done.results if result.timing]
        if not timings:
            sys.exit("nothing was timed: this needs a GPU")
        noise = sorted(timing.noise for timing in timings)
        lines.append(
            f"{name:<14} {done.seconds:6.2f} s  median noise {noise[len(noise) // 2]:.3%}  worst {noise[-1]:.3%}  "
            + "  ".join(f"{timing.median_us:.2f}" for timing in timings)
        )
        print(lines[-1], flush=True)
    if options.out:
        (options.out / "overlap_lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
