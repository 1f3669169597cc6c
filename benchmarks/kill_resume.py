"""kill -9 at random moments of a run: the JSON and the history stay readable, and --resume does the rest and only it.

python benchmarks/kill_resume.py [--kills 30] [--config configs/gemm_tiles.yaml] [--device emulated] [--lanes 1]

Several lanes do it side by side, each with its own JSON and history.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpuprof.results.history import History
from gpuprof.results.json import from_json
from gpuprof.results.model import Run


def command(config: str, json: Path, history: Path, extra: Sequence[str]) -> list[str]:
    """One run."""
    base = [sys.executable, "-m", "gpuprof", "run", config, "--json", str(json), "--history", str(history)]
    return [*base, *extra]


def read(path: Path) -> Run | None:
    """The run in a file; None where there is no file yet. Raises StoreError for half a file."""
    return from_json(path.read_text(encoding="utf-8"), origin=str(path)) if path.exists() else None


def kill_once(config: str, folder: Path, moment: float, extra: Sequence[str]) -> str:
    """One killed run and its resumption; a line about it. Raises AssertionError or StoreError when something broke."""
    json, history = folder / "run.json", folder / "history.sqlite"
    json.unlink(missing_ok=True)
    process = subprocess.Popen(
        command(config, json, history, extra), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = read(json)
    done = {} if before is None else {result.variant: result for result in before.results}
    resume = ["--resume"] if before is not None else []
    finished = subprocess.run(command(config, json, history, [*extra, *resume]), capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr[-2000:]
    after = read(json)
    assert after is not None
    assert after.complete
    for result in after.results:
        kept = done.get(result.variant)
        assert kept is None or result.timing == kept.timing, f"{result.variant} was repeated"
    kept_note = f"{len(done)} rows were kept" if done else ""
    assert kept_note in " ".join(after.notes), after.notes
    assert History(history).latest() is not None
    return f"killed after {moment:5.2f} s: {len(done)} rows kept, {len(after.results) - len(done)} run"


def kill_in_turn(config: str, folder: Path, moments: Sequence[float], extra: Sequence[str]) -> None:
    """One lane: its kills one after the other, with one history."""
    folder.mkdir()
    for moment in moments:
        print(kill_once(config, folder, moment, extra), flush=True)


def main() -> None:
    """Kill and resume, many times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--config", default="configs/gemm_tiles.yaml")
    parser.add_argument("--device")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=1, help="so many at once")
    options = parser.parse_args()
    extra = ["--device", options.device] if options.device else []
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        started = time.monotonic()
        whole = command(options.config, folder / "whole.json", folder / "history.sqlite", extra)
        subprocess.run(whole, check=True, capture_output=True)
        length = time.monotonic() - started
        print(f"a whole run takes {length:.1f} s")
        moments = [generator.uniform(0.0, length) for _ in range(options.kills)]
        lanes = [moments[lane :: options.lanes] for lane in range(options.lanes)]
        with ThreadPoolExecutor(options.lanes) as pool:
            running = [
                pool.submit(kill_in_turn, options.config, folder / f"lane{n}", lane, extra)
                for n, lane in enumerate(lanes)
            ]
            for future in running:
                future.result()
    print(f"{options.kills} kills survived")


if __name__ == "__main__":
    main()
