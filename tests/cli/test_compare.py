"""show, history and compare from the command line: exit codes, output, and messages."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.results.history import History
from gpuprof.results.json import from_json, read_run, to_json, write_whole

DATA = Path(__file__).parent.parent / "results" / "data"
GPU, EMULATED = DATA / "gpu_run.json", DATA / "emulated_run.json"


@pytest.fixture
def gpuprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUPROF_HISTORY", str(tmp_path / "h.sqlite"))
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gpuprof", *arguments], capture_output=True, text=True, check=False
        )

    call.history = History(tmp_path / "h.sqlite")
    return call


def test_show_prints_the_table_of_a_file(gpuprof) -> None:
    shown = gpuprof("show", str(GPU))
    assert shown.returncode == 0
    assert "timed cold on NVIDIA H200" in shown.stdout
    assert "873.4 µs" in shown.stdout


def test_show_finds_runs_of_the_history(gpuprof) -> None:
    identifier = gpuprof.history.store(read_run(GPU))
    by_name, by_letters = gpuprof("show", "gemm_1024"), gpuprof("show", identifier[:5])
    assert by_name.returncode == 0
    assert by_name.stdout == by_letters.stdout


def test_show_writes_exports_and_keeps_standard_output_for_them(gpuprof, tmp_path: Path) -> None:
    shown = gpuprof("show", str(GPU), "--json", "-", "--csv", str(tmp_path / "a.csv"))
    assert from_json(shown.stdout).experiment == "gemm_1024"
    assert len(list(csv.DictReader((tmp_path / "a.csv").open()))) == 4
    assert gpuprof("show", str(GPU), "--json", "-", "--csv", "-").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "nothing"), 2, "no run 'nothing'"),
        (("show", "nothing.json"), 1, "cannot read nothing.json"),
        (("show", str(Path(__file__))), 1, "is not valid JSON"),
        (("compare", str(GPU), str(GPU), "--fail-on", "speed > 3"), 2, "no value 'speed'"),
        (("compare", str(GPU), str(GPU), "--fail-on", "slower.change > 3%"), 2, "slower compares the two runs already"),
    ],
)
def test_mistakes_are_one_message(gpuprof, arguments: tuple[str, ...], code: int, message: str) -> None:
    failed = gpuprof(*arguments)
    assert failed.returncode == code
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


def test_history_lists_newest_first(gpuprof) -> None:
    assert "no runs in" in gpuprof("history").stdout
    for n, name in enumerate("ab"):
        gpuprof.history.store(replace(read_run(GPU), experiment=name, started=f"2026-11-2{n}T00:00:00Z"))
    lines = gpuprof("history").stdout.splitlines()
    assert [line.split()[1] for line in lines[2:4]] == ["b", "a"]
    assert [row["experiment"] for row in csv.DictReader(io.StringIO(gpuprof("history", "--csv", "-").stdout))] == [
        "b",
        "a",
    ]
    assert [entry["experiment"] for entry in json.loads(gpuprof("history", "a", "--json", "-").stdout)] == ["a"]
    assert gpuprof("history", "-n", "1", "--markdown", "-").stdout.count("\n") == 3


def test_a_damaged_history_is_one_message(gpuprof) -> None:
    gpuprof.history.path.write_text("hello" * 1000)
    failed = gpuprof("history")
    assert failed.returncode == 1
    assert "is damaged or no SQLite database" in failed.stderr


def slower_run(tmp_path: Path) -> Path:
    run = read_run(GPU)
    naive = run.results[0]
    slow = replace(
        naive.timing, median_us=1.1 * naive.timing.median_us, samples_us=tuple(1.1 * s for s in naive.timing.samples_us)
    )
    path = tmp_path / "slow run.json"
    write_whole(to_json(replace(run, results=(replace(naive, timing=slow), *run.results[1:]))), path)
    return path


def test_compare_says_slower_and_fails_when_told_to(gpuprof, tmp_path: Path) -> None:
    slow = str(slower_run(tmp_path))
    plain = gpuprof("compare", str(GPU), slow)
    assert plain.returncode == 0
    row = next(line for line in plain.stdout.splitlines() if line.startswith("naive"))
    assert "1.100" in row
    assert "slower" in row
    failed = gpuprof("compare", str(GPU), slow, "--fail-on", "slower > 3%", "--fail-on", "spill_bytes > 0")
    assert failed.returncode == 1
    assert "naive: fails on slower > 3% (it is 10%)" in failed.stdout
    assert "spill_bytes" not in failed.stdout.partition("fails on")[2]
    assert gpuprof("compare", str(GPU), slow, "--fail-on", "slower > 12%").returncode == 0


def test_compare_works_for_emulated_runs(gpuprof) -> None:
    same = gpuprof("compare", str(EMULATED), str(EMULATED), "--fail-on", "warp_instructions.change > 0")
    assert same.returncode == 0
    assert "all equal" in same.stdout
    assert "judged" not in same.stderr


def test_a_condition_that_judges_nothing_says_so(gpuprof) -> None:
    """Nothing is timed on the emulator, so that no kernel can be found slower there."""
    same = gpuprof("compare", str(EMULATED), str(EMULATED), "--fail-on", "slower > 3%")
    assert same.returncode == 2
    assert "--fail-on 'slower > 3%': no variant has this value; the condition was not evaluated" in same.stderr


def test_compare_writes_json(gpuprof) -> None:
    data = json.loads(gpuprof("compare", str(EMULATED), str(GPU), "--json", "-").stdout)
    assert data["variants"][0]["code"] == "same"


def test_a_terminal_without_the_letters_gets_others(monkeypatch: pytest.MonkeyPatch, gpuprof) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    shown = gpuprof("show", str(GPU))
    assert shown.returncode == 0, shown.stderr
    assert "873.4 ?s" in shown.stdout
