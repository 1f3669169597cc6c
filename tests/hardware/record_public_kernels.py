"""Run the public-style kernels on a GPU with both drivers: ``python -m tests.hardware.record_public_kernels DIR``.

Needs a GPU, nvcc and at least one of pycuda and cuda-bindings. Every experiment of tests/public_kernels runs once per
driver with three launches a variant; DIR/public_kernels.json has, per driver and experiment, every variant's status,
reason and largest difference, and is written after each. No new experiment begins after ``--seconds`` (default 240).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "public_kernels"
DRIVERS = ("pycuda", "cuda")
#: Seconds that one experiment may take with one driver.
EXPERIMENT_SECONDS = 60.0


def run_experiment(config: Path, driver: str, folder: Path) -> dict[str, Any]:
    """Status, reason and largest difference by variant, or why there are none."""
    stored = folder / f"{config.stem}_{driver}.json"
    command = [sys.executable, "-m", "gpuprof", "run", str(config), "--device", os.environ.get("RECORD_DEVICE", "gpu")]
    command += ["--driver", driver, "--iters", "3", "--allow-python", "--json", str(stored)]
    paths = [str(ROOT), *(path for path in (os.environ.get("PYTHONPATH"),) if path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=environment, cwd=FOLDER, capture_output=True, text=True, timeout=EXPERIMENT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {EXPERIMENT_SECONDS:.0f} s"}
    found: dict[str, Any] = {"returncode": done.returncode, "seconds": round(time.perf_counter() - started, 1)}
    if not stored.exists():
        return {**found, "failed": (done.stderr or done.stdout)[-2000:]}
    run = json.loads(stored.read_text(encoding="utf-8"))
    stored.unlink()
    found["gpu"] = run["environment"].get("gpu")
    found["variants"] = {result["variant"]: summary(result) for result in run["results"]}
    return found


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a variant."""
    timing, verification = result.get("timing") or {}, result.get("verification") or {}
    kept = {"status": result["status"], "reason": result.get("reason"), "notes": result.get("notes") or None}
    kept |= {"max_abs": verification.get("max_abs"), "median_us": timing.get("median_us")}
    return {name: value for name, value in kept.items() if value is not None}


def main() -> None:
    """All experiments, the two drivers in turn."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 240.0
    started = time.monotonic()
    found: dict[str, dict[str, Any]] = {driver: {} for driver in DRIVERS}
    for config in sorted(FOLDER.glob("*.yaml")):
        for driver in DRIVERS:
            if time.monotonic() - started > seconds:
                found[driver][config.stem] = {"failed": f"not begun within {seconds:.0f} s"}
            else:
                found[driver][config.stem] = run_experiment(config, driver, folder)
            (folder / "public_kernels.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
