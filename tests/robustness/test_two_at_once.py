"""Eight runs at once: the cache and the history stay whole, and every run is there with all of its rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gpuprof.results.history import History
from tests.robustness.test_full_disks import CONFIG, SOURCE

RUNS = 8


def test_cache_and_history_under_eight_runs(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG.replace("F: [2]", "F: [1, 2, 3]").replace("2 * x", "F * x"))
    (tmp_path / "k.cu").write_text(SOURCE)
    database = tmp_path / "history.sqlite"
    environment = {**os.environ, "GPUPROF_CACHE_DIR": str(tmp_path / "cache"), "XDG_DATA_HOME": str(tmp_path / "data")}
    command = [sys.executable, "-m", "gpuprof", "run", "c.yaml", "--device", "emulated", "--history", str(database)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    processes = [subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) for _ in range(RUNS)]
    printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * RUNS, printed
    entries = History(database).list()
    assert [(entry.variants, entry.failed, entry.complete) for entry in entries] == [(3, 0, True)] * RUNS
    left = [path.name for path in (tmp_path / "cache").rglob(".new-*")]
    assert left == []
