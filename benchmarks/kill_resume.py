"""kill -9 at random moments of a run: no announced row is lost, nothing is left behind, --resume does the rest.

python benchmarks/kill_resume.py [--kills 30] [--config configs/gemm_tiles.yaml] [--device emulated] [--lanes 1]

Each kill is one run, killed, looked at and resumed. Counted: rows that were announced more than a second before the
kill and are not on disk, processes and folders that outlive it by ten seconds, rows of the resumed table that differ
from an undisturbed one (status, verification, registers, counters; times where they were kept). Several lanes do it
side by side, each with its own JSON and history.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from process_tree import descendants, folders_held_by, is_running

from gpuprof.results.journal import journal_beside, read_run_and_journal
from gpuprof.results.model import Result

#: Seconds that what a killed run started may take to end.
GRACE_SECONDS = 10.0
#: A row announced within this time of the kill may be lost.
JOURNAL_SECONDS = 1.0


@dataclass(frozen=True)
class Kill:
    """What one kill did: ``lost`` rows had been announced for a second, ``left`` outlived it, ``wrong`` differ."""

    moment: float
    announced: int
    kept: int
    run: int
    lost: tuple[str, ...]
    left: tuple[str, ...]
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        words = f"killed after {self.moment:5.2f} s: {self.announced} announced, {self.kept} kept, {self.run} run"
        faults = [f"{name} {', '.join(found)}" for name in ("lost", "left", "wrong") if (found := getattr(self, name))]
        return "; ".join([words, *faults])


def command(config: str, json: Path, history: Path, extra: Sequence[str]) -> list[str]:
    """One run."""
    base = [sys.executable, "-m", "gpuprof", "run", config, "--json", str(json), "--history", str(history)]
    return [*base, *extra]


def facts(result: Result) -> tuple[object, ...]:
    """What of a row does not depend on the moment: everything but times and seconds."""
    counters = None if result.counters is None else dict(result.counters.values)
    registers = None if result.build is None else result.build.registers
    verdict = None if result.verification is None else (result.verification.verdict, result.verification.max_abs)
    return result.status, registers, verdict, counters


def kill_once(config: str, folder: Path, moment: float, extra: Sequence[str], whole: Mapping[str, Result]) -> Kill:
    """One killed run and its resumption."""
    json, history = folder / "run.json", folder / "history.sqlite"
    json.unlink(missing_ok=True)
    journal_beside(json).unlink(missing_ok=True)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    process = subprocess.Popen(
        command(config, json, history, extra),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
    )
    announced: dict[str, float] = {}
    reader = threading.Thread(target=note_rows, args=(process, announced))
    reader.start()
    time.sleep(moment)
    held, started = folders_held_by(process.pid), descendants(process.pid)
    killed = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.wait()
    reader.join(GRACE_SECONDS)
    left = outliving(started, held, scratch)
    known = json.exists() or journal_beside(json).exists()
    before = {row.variant: row for row in read_run_and_journal(json).results} if known else {}
    old = {label for label, when in announced.items() if when < killed - JOURNAL_SECONDS}
    resume = ["--resume"] if before else []
    finished = subprocess.run(command(config, json, history, [*extra, *resume]), capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr[-2000:]
    after = {row.variant: row for row in read_run_and_journal(json).results}
    wrong = [label for label, row in whole.items() if label not in after or facts(after[label]) != facts(row)]
    wrong += [f"{label} (repeated)" for label, row in before.items() if after[label].timing != row.timing]
    return Kill(
        moment, len(announced), len(before), len(after) - len(before), tuple(old - before.keys()), left, tuple(wrong)
    )


def note_rows(process: subprocess.Popen[str], announced: dict[str, float]) -> None:
    """In a thread: when each row was announced."""
    assert process.stderr is not None
    for line in process.stderr:
        match = re.match(r"done \d+/\d+: (\S+):", line)
        if match:
            announced[match[1]] = time.monotonic()


def outliving(processes: set[int], folders: set[Path], scratch: Path) -> tuple[str, ...]:
    """What of a killed run is there after the grace time. A GPU's lock file stays: it is where runs meet, and free."""
    ends = time.monotonic() + GRACE_SECONDS
    while True:
        found = [f"process {pid}" for pid in processes if is_running(pid)]
        found += [str(path) for path in (*folders, *scratch.iterdir()) if path.exists() and path.suffix != ".lock"]
        if not found or time.monotonic() > ends:
            return tuple(found)
        time.sleep(0.1)


def kill_in_turn(
    config: str, folder: Path, moments: Sequence[float], extra: Sequence[str], whole: Mapping[str, Result]
) -> list[Kill]:
    """One lane: its kills one after the other, with one history."""
    folder.mkdir()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    kills = []
    for moment in moments:
        kills.append(kill_once(config, folder, moment, extra, whole))
        print(kills[-1], flush=True)
    return kills


def main() -> None:
    """Kill and resume, many times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--config", default="configs/gemm_tiles.yaml")
    parser.add_argument("--device")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=1, help="kills at once")
    options = parser.parse_args()
    extra = ["--device", options.device] if options.device else []
    extra += [part for text in options.overrides for part in ("--set", text)]
    generator = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        undisturbed = [folder / f"whole{lane}.json" for lane in range(options.lanes)]
        commands = [command(options.config, path, folder / "history.sqlite", extra) for path in undisturbed]
        subprocess.run(commands[0], check=True, capture_output=True)  # fills the cache of builds
        started = time.monotonic()
        beside = [subprocess.Popen(one, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for one in commands]
        assert [process.wait() for process in beside] == [0] * options.lanes
        length = time.monotonic() - started
        whole = {row.variant: row for row in read_run_and_journal(undisturbed[0]).results}
        print(f"an undisturbed run of {len(whole)} rows takes {length:.1f} s, {options.lanes} at once", flush=True)
        moments = [generator.uniform(0.0, length) for _ in range(options.kills)]
        lanes = [moments[lane :: options.lanes] for lane in range(options.lanes)]
        with ThreadPoolExecutor(options.lanes) as pool:
            running = [
                pool.submit(kill_in_turn, options.config, folder / f"lane{n}", lane, extra, whole)
                for n, lane in enumerate(lanes)
            ]
            kills = [kill for future in running for kill in future.result()]
    totals = {name: sum(len(getattr(kill, name)) for kill in kills) for name in ("lost", "left", "wrong")}
    announced = sum(kill.announced for kill in kills)
    print(f"{len(kills)} kills, {announced} rows announced: " + ", ".join(f"{n} {name}" for name, n in totals.items()))
    sys.exit(int(any(totals.values())))


if __name__ == "__main__":
    main()
