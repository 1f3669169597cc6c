"""``gpuprof tune`` on the emulator: rows, reasons, resuming, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.cli import main

SOURCE = """
#if UNROLL == 3
#error "three is refused"
#endif
extern "C" __global__ void sum(const float* x, float* y) {
    float total = 0;
    #pragma unroll 1
    for (int i = 0; i < 64 / STEP; ++i) total += x[threadIdx.x + i];
    y[threadIdx.x] = WRONG ? 1 : total;
}
"""
CONFIG = """
buffers:
  x: {dtype: float32, shape: [128], fill: "1"}
  y: {dtype: float32, shape: [32], output: true}
reference: {y: "0 * y + 64 / 4"}
variants:
  sum:
    source: sum.cu
    kernel: sum
    params: {STEP: [1, 2, 4], UNROLL: [1, 3], WRONG: [0, 1], threads: [32, 2048]}
    where: STEP == 4 or WRONG == 0 and threads == 32
    block: threads
    grid: 1
    args: [x, y]
search: {strategy: exhaustive, trials: 50}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "sum.cu").write_text(SOURCE)
    path = tmp_path / "sum.yaml"
    path.write_text(CONFIG.replace('{y: "0 * y + 64 / 4"}', '{y: "full(16, 32)"}'))
    return path


def tune(config: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_DATA_HOME": str(config.parent / "data"), "COLUMNS": "100"}
    command = [sys.executable, "-m", "gpuprof", "tune", str(config), "--device", "emulated", *flags]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=250)


@pytest.mark.slow
def test_every_trial_is_a_row_with_its_cost_or_its_reason_and_a_search_goes_on(config: Path) -> None:
    file = config.parent / "out.json"
    first = tune(config, "--trials", "6", "--json", str(file))
    assert first.returncode == 0, first.stderr
    assert len(json.loads(file.read_text())["results"]) == 6
    done = tune(config, "--resume", "--json", str(file))
    assert done.returncode == 0, done.stderr
    run = json.loads(file.read_text())
    rows = {row["variant"]: row for row in run["results"]}
    search = run["search"]
    assert search["order"] == list(rows)
    assert (search["points"], search["trials"], search["stopped_by"]) == (12, 12, "points")
    assert (search["objective"], search["basis"]) == ("sm_cycles", "counted")
    good = "sum/STEP=4/UNROLL=1/WRONG=0/threads=32"
    assert search["best"] == good
    assert search["costs"] == {good: rows[good]["values"]["objective"]}
    assert rows["sum/STEP=1/UNROLL=1/WRONG=0/threads=32"]["status"] == "differs"
    assert rows["sum/STEP=4/UNROLL=1/WRONG=1/threads=32"]["status"] == "differs"
    assert "three is refused" in rows["sum/STEP=2/UNROLL=3/WRONG=0/threads=32"]["reason"]
    assert rows["sum/STEP=4/UNROLL=1/WRONG=0/threads=2048"]["reason"] == (
        "variants.sum.block: block x is 2048, over the limit of 1024"
    )
    assert "11 of 12 trials failed" in done.stdout
    assert f"best: {good}" in done.stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--objective", "time"), "'time' is measured, and there is no GPU here"),
        (("--objective", "cycels"), "'cycels' reads cycels, and no value of a row"),
        (("--strategy", "tabu"), "'tabu': there are forest, random"),
        (("--variant", "summ"), "names no family; there are sum"),
        (("--resume",), "there is no earlier run"),
    ],
)
def test_what_cannot_be_searched_is_one_line(
    config: Path,
    flags: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(config.parent / "data"))
    with pytest.raises(SystemExit) as ended:
        main(["tune", str(config), "--device", "emulated", *flags])
    assert ended.value.code in (1, 2, 3)
    assert message in capsys.readouterr().err.replace("\n", " ")
