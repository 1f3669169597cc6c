"""CSV, Markdown and JSON of a run and of a comparison, read back by the readers people use."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.errors import StoreError
from gpuprof.report.compare_exports import compare_csv, compare_json, compare_markdown
from gpuprof.report.exports import escape_markdown, run_csv, run_markdown, write_exports
from gpuprof.results.compare import compare_runs
from gpuprof.results.json import from_json, read_run
from gpuprof.results.model import Run
from gpuprof.results.thresholds import parse_threshold, violations

DATA = Path(__file__).parent.parent / "results" / "data"


@pytest.fixture
def emulated() -> Run:
    return read_run(DATA / "emulated_run.json")


@pytest.fixture
def gpu() -> Run:
    return read_run(DATA / "gpu_run.json")


def test_csv_has_unrounded_values_and_every_counter(emulated: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run_csv(emulated))))
    assert [row["variant"] for row in rows] == ["naive", "tiled/TILE=16", "tiled/TILE=32", "tiled/TILE=64"]
    naive, failed = rows[0], rows[3]
    assert float(naive["ffma_share"]) == 1_073_741_824 / 4_942_987_264
    assert naive["smsp__inst_executed.sum"] == "154664960"
    assert (naive["blocks_run"], naive["blocks_total"]) == ("64", "4096")
    assert (naive["param:TILE"], rows[1]["param:TILE"], naive["size:M"]) == ("", "16", "1024")
    assert failed["status"] == "build_failed"
    assert "too much shared data" in failed["reason"]
    assert failed["registers"] == ""


def test_csv_survives_commas_quotes_and_newlines(emulated: Run) -> None:
    reason = 'a.cu:1: "x, y"\nand more'
    run = replace(emulated, results=(replace(emulated.results[3], reason=reason),))
    (row,) = csv.DictReader(io.StringIO(run_csv(run)))
    assert row["reason"] == reason


def test_markdown_is_one_table_with_a_row_per_variant(gpu: Run) -> None:
    lines = run_markdown(gpu).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "timed cold on NVIDIA H200" in run_markdown(gpu)
    assert any(line.startswith("- tiled/TILE=64: build failed") for line in lines)


def test_markdown_escapes_what_would_be_markup() -> None:
    assert escape_markdown("a|b <i>*x*_y_`z`[l](u)\nc") == "a\\|b &lt;i&gt;\\*x\\*\\_y\\_\\`z\\`\\[l\\](u) c"


def test_exports_write_every_kind_that_was_asked(tmp_path: Path, gpu: Run, capsys: pytest.CaptureFixture[str]) -> None:
    write_exports(
        gpu, {"json": str(tmp_path / "a b.json"), "csv": "-", "html": str(tmp_path / "ü.html"), "markdown": None}
    )
    assert from_json((tmp_path / "a b.json").read_text(encoding="utf-8")) is not None
    assert (tmp_path / "ü.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out.startswith("variant,family,status")
    with pytest.raises(StoreError, match="cannot write"):
        write_exports(gpu, {"json": str(tmp_path / "none" / "a.json")})


def test_comparison_exports(emulated: Run, gpu: Run) -> None:
    comparison = compare_runs(gpu, emulated)
    failed = violations(comparison, [parse_threshold("registers > 39")])
    data = json.loads(compare_json(comparison, failed))
    assert data["violations"] == [{"variant": "naive", "condition": "registers > 39", "value": 40.0}]
    assert data["variants"][0]["values"]["warp_instructions"] == {"before": None, "after": 154664960.0}
    rows = list(csv.DictReader(io.StringIO(compare_csv(comparison, failed))))
    assert (rows[0]["registers.before"], rows[0]["registers.after"], rows[0]["failed_on"]) == (
        "40.0",
        "40.0",
        "registers > 39",
    )
    assert rows[1]["failed_on"] == ""
    assert "fails on registers &gt; 39" in compare_markdown(comparison, failed)


def test_a_step_summary_is_added_to(tmp_path: Path, gpu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(2):
        write_exports(gpu, {"markdown": str(summary)})
    assert summary.read_text(encoding="utf-8") == 2 * run_markdown(gpu)
