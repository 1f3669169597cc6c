"""How long gpuprof takes before it works: help, occupancy, and the second run of a config.

    python benchmarks/startup.py [--repeats N] [CONFIG]

Prints the fastest and the median wall time of each command, and the limit that it is held to.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

LIMITS_MS = {"gpuprof --help": 150, "gpuprof occupancy --block 32x32": 250}
SECOND_RUN_MS = 1000


def wall_ms(arguments: list[str], repeats: int) -> list[float]:
    """Wall times of a command in milliseconds; the first, which fills the disk's cache, is not among them."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "gpuprof", *arguments], check=True, capture_output=True)
        times.append((time.perf_counter() - started) * 1e3)
    return times[1:]


def report(name: str, times: list[float], limit: float) -> None:
    """One line."""
    print(f"{name:<48} min {min(times):7.0f} ms  median {statistics.median(times):7.0f} ms  limit {limit:.0f} ms")


def main() -> None:
    """Time every command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", default="gemm_1024")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for name, limit in LIMITS_MS.items():
        report(name, wall_ms(name.split()[1:], options.repeats), limit)
    # --device none stops where a device would start: what is left is start-up and analysis
    run = ["run", options.config, "--device", "none", "--no-history"]
    report(f"second gpuprof run {options.config}, before any device", wall_ms(run, options.repeats), SECOND_RUN_MS)


if __name__ == "__main__":
    main()
