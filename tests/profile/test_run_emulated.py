"""Whole runs on the emulator: the torture sweep, interruption, killing and resuming, all with real processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torture.make_config import BAD, build_cubin, write

from benchmarks.process_tree import descendants, folders_held_by, is_running
from gpuprof import experiment as experiments
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.history import History
from gpuprof.results.journal import read_run_and_journal
from gpuprof.results.json import from_json
from gpuprof.results.model import Result, Run, Status
from tests.waiting import PATIENCE_S, wait_until

GOOD = 200 - len(BAD)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torture")
    return write(folder, GOOD, build_cubin(folder / "cubin"))


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def rows(run: Run) -> dict[str, Result]:
    return {result.variant: result for result in run.results}


@pytest.mark.slow
def test_two_hundred_variants_of_which_nine_misbehave(config: Path) -> None:
    experiment = experiments.load(config)
    options = RunOptions(devices=("emulated",), emulate_limit=20_000)
    run = run_experiment(experiment, options, SilentObserver())
    table = rows(run)
    assert len(table) == 200
    good = [row for row in table.values() if row.family == "scale"]
    assert len(good) == GOOD
    assert {row.status for row in good} == {Status.OK}
    assert all(row.verification and row.verification.checked == 4096 for row in good)
    assert {row.counters.values["smsp__inst_executed.sum"] for row in good if row.counters} != {0}
    expected = {
        "does_not_build": (Status.BUILD_FAILED, ["undeclared_name", "does_not_build.cu:3"]),
        "out_of_bounds": (Status.LAUNCH_FAILED, ["out_of_bounds", "torture.cu:13", "thread (5, 0, 0)"]),
        "just_past_the_end": (Status.LAUNCH_FAILED, ["torture.cu:21", "y"]),
        "endless": (Status.LAUNCH_FAILED, ["20,000", "torture.cu"]),
        "leaves_some": (Status.DIFFERS, ["y: never written: 7 elements"]),
        "gives_nan": (Status.DIFFERS, ["1 of 4,096", "y[100]: got nan"]),
        "changes_its_input": (Status.DIFFERS, ["input x was changed, first at [3]"]),
        "out_of_memory": (Status.LAUNCH_FAILED, ["memory"]),
        "wrong_arguments": (Status.LAUNCH_FAILED, ["takes 4 parameters"]),
    }
    for name, (status, words) in expected.items():
        assert table[name].status is status, table[name]
        for word in words:
            assert word in (table[name].reason or ""), table[name].reason
    assert len({table[name].reason for name in BAD}) == len(BAD)


def command(config: Path, json_file: Path, *extra: str) -> list[str]:
    base = [sys.executable, "-m", "gpuprof", "run", str(config), "--device", "emulated", "--no-history"]
    # so many elements that a run takes seconds: rows reach the disk every half second only
    return [*base, "--set", "n=300000", "--variant", "scale/*", "--json", str(json_file), *extra]


def read(path: Path) -> Run:
    return from_json(path.read_text(encoding="utf-8"))


def wait_for_rows(path: Path, count: int, process: subprocess.Popen[str]) -> int:
    """Wait until the file holds ``count`` rows; how many it holds. What is on disk is whole at every moment."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists():
            json.loads(path.read_text(encoding="utf-8"))
            found = len(read_run_and_journal(path).results)
            if found >= count:
                return found
        time.sleep(0.005)
    raise AssertionError("the run ended, or never wrote its rows")


def start(config: Path, target: Path, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **variables}
    pipe = subprocess.PIPE
    return subprocess.Popen(command(config, target), stdout=pipe, stderr=pipe, text=True, env=environment)


def test_ctrl_c_shows_and_stores_what_is_done(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    process = start(config, target)
    wait_for_rows(target, 2, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    run = read(target)
    assert not run.complete
    assert 2 <= len(run.results) < GOOD
    assert "scale/F=1.0" in output  # the table of what is done


def test_a_killed_run_leaves_whole_json_and_resumes_with_the_rest(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    process = start(config, target)
    wait_for_rows(target, 3, process)
    process.kill()
    process.communicate()
    before = read_run_and_journal(target)
    assert not before.complete
    resumed = subprocess.run(command(config, target, "--resume"), capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    after = read(target)
    assert after.complete
    assert len(after.results) == GOOD
    assert f"{len(before.results)} rows were kept" in " ".join(after.notes)
    for label, row in rows(before).items():
        assert rows(after)[label] == row


def test_every_announced_row_of_a_killed_run_is_on_disk(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    process = start(config, target)
    wait_for_rows(target, 3, process)
    process.kill()
    _, announced = process.communicate()
    labels = set(re.findall(r"^done \d+/\d+: (\S+):", announced, re.M))
    kept = {row.variant for row in read_run_and_journal(target).results}
    assert len(labels) >= 3
    assert len(labels - kept) <= 1  # the last one may have been announced in the moment of the kill


def test_nothing_is_left_behind(config: Path, tmp_path: Path) -> None:
    """Neither folders nor processes outlive a killed run, without any later run."""
    target = tmp_path / "run.json"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = start(config, target, TMPDIR=str(scratch))
    wait_for_rows(target, 1, process)
    folders = folders_held_by(process.pid)
    children = descendants(process.pid)
    assert folders
    assert children
    process.kill()
    process.communicate()
    wait_until(lambda: not any(folder.exists() for folder in folders))
    wait_until(lambda: not any(is_running(child) for child in children))
    assert list(scratch.iterdir()) == []


def test_the_history_loses_no_announced_row_of_a_killed_run(config: Path, tmp_path: Path) -> None:
    """No other run is needed: who reads the history next finds the killed run there, once."""
    target, database = tmp_path / "run.json", tmp_path / "history.sqlite"
    stored = [part for part in command(config, target) if part != "--no-history"] + ["--history", str(database)]
    process = subprocess.Popen(stored, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_rows(target, 3, process)
    process.kill()
    _, announced = process.communicate()
    labels = re.findall(r"^done \d+/\d+: (\S+):", announced, re.M)
    for reader in (["show", "latest"], ["history"]):
        done = subprocess.run(
            [sys.executable, "-m", "gpuprof", *reader, "--history", str(database)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    (entry,) = History(database).list()
    assert not entry.complete
    kept = {row.variant for row in History(database).load(entry.identifier).results}
    assert len(labels) >= 3
    assert set(labels) - kept <= {labels[-1]}  # announced in the moment of the kill


def test_resume_without_an_earlier_run_says_so(config: Path, tmp_path: Path) -> None:
    done = subprocess.run(command(config, tmp_path / "none.json", "--resume"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "--resume: there is no earlier run" in done.stderr


def compilers(pid: int) -> set[int]:
    """The passes of nvcc that work below a process: they take a minute for the source of the test below."""
    names = {child: Path(f"/proc/{child}/comm") for child in descendants(pid)}
    return {child for child, name in names.items() if name.exists() and name.read_text().strip() in ("cicc", "ptxas")}


@pytest.mark.parametrize("interrupts", [1, 2])
def test_ctrl_c_while_nvcc_works_ends_at_once(tmp_path: Path, interrupts: int) -> None:
    lines = [f"__device__ float f{n}(float x) {{ return x * {n} + sinf(x) * cosf(x + {n}); }}" for n in range(4000)]
    body = "\n".join(f"  y[{n}] = f{n}(x[{n}]);" for n in range(4000))
    source = f'{chr(10).join(lines)}\nextern "C" __global__ void k(const float *x, float *y)\n{{\n{body}\n}}\n'
    (tmp_path / "slow.cu").write_text(source)
    (tmp_path / "slow.yaml").write_text(
        "sizes: {n: 4000}\n"
        "buffers: {x: {dtype: float32, shape: [n], fill: 1}, y: {dtype: float32, shape: [n], output: true}}\n"
        "variants: {k: {source: slow.cu, kernel: k, block: 1, grid: 1, args: [x, y]}}\n"
    )
    command = [sys.executable, "-m", "gpuprof", "run", "slow.yaml", "--device", "emulated", "--no-history"]
    environment = {**os.environ, "GPUPROF_CACHE_DIR": str(tmp_path / "cache")}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: compilers(process.pid) or process.poll() is not None)
    found = compilers(process.pid)
    assert found, process.communicate()[1]
    for _ in range(interrupts):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    _, errors = process.communicate(timeout=PATIENCE_S)
    # -2: the second one came while Python was leaving, and ended it as a shell's 130
    assert process.returncode in ((130,) if interrupts == 1 else (130, -signal.SIGINT)), errors
    assert not [pid for pid in found if is_running(pid)]
