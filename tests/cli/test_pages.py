"""``--html`` of the commands that read stored runs or machine code, and ``gpuprof report``."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpuprof.cli import main
from gpuprof.results.history import History
from gpuprof.results.json import from_json, read_run
from tests.report.browser import DATA


@pytest.fixture
def transpose(tmp_path: Path) -> str:
    file = tmp_path / "transpose.json"
    file.write_bytes(gzip.decompress((DATA / "transpose.json.gz").read_bytes()))
    return str(file)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def test_show_needs_nothing_but_the_json(transpose: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("show", transpose, "--html", str(page), "--columns", "registers,warp_instructions") == 0
    text = page.read_text(encoding="utf-8")
    assert "transpose_padded" in text
    assert 'data-name="warp_instructions"' in text
    assert 'data-name="occupancy"' not in text


def test_compare_and_report_write_one_page(transpose: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("compare", transpose, transpose, "--html", str(page)) == 0
    assert "Before and after" in page.read_text(encoding="utf-8")
    assert run("report", transpose, transpose, "--html", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert "<h1>2 runs</h1>" in text
    assert text.count("<article") == 2


def test_a_stored_run_is_shown_over_time(transpose: str, tmp_path: Path) -> None:
    database, page = tmp_path / "history.sqlite", tmp_path / "page.html"
    for _ in range(2):
        identifier = History(database).store(from_json(Path(transpose).read_text(encoding="utf-8")))
    assert run("show", identifier, "--history", str(database), "--html", str(page)) == 0
    assert "Over the stored runs" in page.read_text(encoding="utf-8")
    assert run("history", "--history", str(database), "--html", str(page)) == 0
    assert identifier in page.read_text(encoding="utf-8")


def test_report_says_what_it_does_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = str(tmp_path / "none.sqlite")
    assert run("report", "nothing", "--history", empty, "--html", str(tmp_path / "x.html")) == 2
    assert "'nothing'" in capsys.readouterr().err
    assert run("report", "nothing.yaml", "--html", str(tmp_path / "x.html")) == 2
    assert run("report", "--html", "x.html") == 2
    assert run("report", "transpose", "--html", str(tmp_path / "none" / "x.html")) == 1
    assert "cannot write" in capsys.readouterr().err


def test_sass_writes_source_beside_machine_code(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("sass", "copy", "--html", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert "LDG" in text
    assert "copy.cu" in text


@pytest.mark.slow
def test_a_run_s_page_has_the_lanes_of_its_accesses(tmp_path: Path) -> None:
    page, file = tmp_path / "page.html", tmp_path / "run.json"
    sizes = ("--set", "ROWS=64", "--set", "COLUMNS=64", "--device", "emulated", "--no-history")
    assert run("run", "transpose", *sizes, "--html", str(page), "--json", str(file)) == 0
    stored = read_run(file)
    costs = {
        result.variant: max((each.cost for each in result.accesses if each.space == "shared"), default=0)
        for result in stored.results
    }
    assert costs == {"plain": 0, "tiled": 32, "padded": 1, "swizzled": 1, "copy": 0, "memcpy": 0}
    assert "What the 32 lanes of a warp touch" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_report_runs_experiments(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code = run("report", "tests/report/wrong.yaml", "coalescing", "--device", "emulated", "--html", str(page))
    assert code == 1  # one of its variants is wrong
    text = page.read_text(encoding="utf-8")
    assert text.count("<article") == 2
    assert "checked elements differ" in text
