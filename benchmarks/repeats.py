"""How far the ratio of two variants moves between runs.

python benchmarks/repeats.py RUN.json... [--variant tiled/TILE=32] [--limit 0.01]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from gpuprof.results.json import from_json


def main() -> None:
    """Print each run's times and ratio, then the spread; exit 1 when it is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--variant", default="tiled/TILE=32")
    parser.add_argument("--limit", type=float, default=0.01)
    options = parser.parse_args()
    ratios = []
    for path in sorted(options.runs):
        run = from_json(path.read_text(encoding="utf-8"))
        row = next(result for result in run.results if result.variant == options.variant)
        if row.timing is None or row.timing.speedup is None:
            sys.exit(f"{path}: {options.variant} has no ratio to the baseline")
        ratios.append(1 / row.timing.speedup)
        low, high = row.timing.speedup_interval or (0.0, 0.0)
        print(
            f"{path.name}: {row.timing.median_us:.2f} us, time/baseline {ratios[-1]:.4f}, speedup {low:.4f}-{high:.4f}"
        )
    middle = statistics.median(ratios)
    spread = (max(ratios) - min(ratios)) / middle
    furthest = max(abs(ratio / middle - 1) for ratio in ratios)
    print(
        f"{len(ratios)} runs: ratio {middle:.4f}, from {min(ratios):.4f} to {max(ratios):.4f}: "
        f"spread {spread:.2%} (limit {options.limit:.0%}), furthest from the median {furthest:.2%}"
    )
    sys.exit(int(spread > options.limit))


if __name__ == "__main__":
    main()
