"""Every example runs as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: script -> a part of what it prints
PRINTED = {
    "run_experiment": "naive: ok, 16,384 of 16,384 elements checked",
    "emulate_kernel": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "bank_conflicts": "rows of 32 floats: 32 wavefronts for one load of a column",
    "read_machine_code": "FFMA stream",
    "occupancy_table": "sm_90: occupancy in percent",
    "sweep_to_dataframe": "tiled/TILE=32     ok",
    "compare_runs": "machine code differs",
    "find_a_fault": "fill.cu:4",
}


def test_every_script_is_known_and_in_the_page() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == set(PRINTED)
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"`{path.name}`" in page for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb"))


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_a_script(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(EXAMPLES / "first_steps.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("text/html" in output.get("data", {}) for output in shown)
