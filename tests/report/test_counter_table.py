"""The lists of counters: the whole kernel, by source line, and the emulator's beside ncu's."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.counters import InstructionCounters
from gpuprof.report.counter_exports import agreement_csv, agreement_markdown, counters_markdown
from gpuprof.report.counter_table import disagreements, render_agreement, render_counters
from gpuprof.results.json import read_run
from gpuprof.results.lines import by_line
from gpuprof.results.metric_sets import is_exact
from gpuprof.results.model import Counters, Run

DATA = Path(__file__).parent.parent / "results" / "data"


@pytest.fixture
def run() -> Run:
    return read_run(DATA / "emulated_run.json")


def render(run: Run, function: object, width: int = 100, **options: object) -> str:
    file = io.StringIO()
    function(run, Console(file=file, width=width, color_system=None, highlight=False), **options)
    return file.getvalue()


def words(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def test_every_counter_of_every_variant_is_listed_whole(run: Run) -> None:
    text = render(run, render_counters)
    assert text.count("smsp__inst_executed.sum ") == 3
    assert words(text, "smsp__inst_executed.sum") == ["smsp__inst_executed.sum", "154,664,960"]
    assert words(text, "bank_conflict_ways")[1] == "1"
    assert words(text, "load_sectors_per_request")[1] == "2"
    assert "64 of 4,096 blocks ran, scaled to the whole grid" in text
    assert "build failed: gemm_tiled.cu:14" in text
    assert "verdict: counted, not timed: 1.95-way bank conflicts" in text


def test_counters_that_are_zero_are_one_line_unless_asked_for(run: Run) -> None:
    first = run.results[0]
    assert first.counters is not None
    zero = "smsp__sass_inst_executed_op_shared_st.sum"
    counters = replace(first.counters, values={**first.counters.values, zero: 0, "a__b.sum": 0})
    zeros = sum(value == 0 for value in counters.values.values())
    alone = replace(run, results=(replace(first, counters=counters),))
    text = render(alone, render_counters)
    assert zero not in text
    assert f"{zeros} more counters are 0 (see --csv, --json)" in text
    assert words(render(alone, render_counters, columns=(zero,)), zero) == [zero, "0"]


@pytest.mark.parametrize("width", [70, 100, 140])
def test_no_line_is_wider_than_the_console(run: Run, width: int) -> None:
    assert max(cell_len(line.rstrip()) for line in render(run, render_counters, width).splitlines()) <= width


def entry(line: int | None, file: str = "a.cu", step: str = "main", **counts: int) -> InstructionCounters:
    names = {
        "inst": m.INSTRUCTIONS,
        "threads": m.THREAD_INSTRUCTIONS,
        "ld": m.requests("ld"),
        "sectors": m.sectors("ld"),
    }
    return InstructionCounters(0, "LDG", file, line, {names[k]: v for k, v in counts.items()}, step)


def test_lines_add_up_their_instructions_and_derive_like_a_kernel(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("first\n  float x = p[threadIdx.x];\nthird\n")
    name = str(source)
    lines = (
        entry(3, name, inst=5, threads=80),
        entry(2, name, inst=10, threads=320, ld=10, sectors=40),
        entry(2, name, inst=10, threads=160),
        entry(None, "", inst=1, threads=32),
    )
    counters = Counters({m.INSTRUCTIONS: 26}, "emulator", 1, 1, per_instruction=lines)
    second, third, unknown = by_line(counters)
    assert (second.line, second.instructions, second.counters[m.INSTRUCTIONS]) == (2, 2, 20)
    assert second.values["lane_efficiency"] == 480 / (32 * 20)
    assert second.values["load_sectors_per_request"] == 4.0
    assert (third.line, unknown.line) == (3, None)
    text = render(replace(run, results=(replace(run.results[0], counters=counters),)), render_counters, lines=True)
    assert "float x = p[threadIdx.x];" in text
    row = words(text, "a.cu:2")
    assert row[-3:] == ["20", "75%", "4"]
    assert "(no line)" in text


def test_steps_keep_their_lines_apart() -> None:
    lines = (entry(2, step="two", inst=1), entry(2, step="one", inst=2))
    counters = Counters({}, "emulator", 1, 1, per_instruction=lines)
    assert [(line.step, line.counters[m.INSTRUCTIONS]) for line in by_line(counters)] == [("one", 2), ("two", 1)]


def with_ncu(run: Run, **changes: float) -> Run:
    values = {**run.results[2].counters.values, **changes}
    whole = replace(run.results[2], ncu=Counters(values, "ncu", 1024, 1024, {"a__b.sum": "not on this chip"}))
    sampled = replace(run.results[1], ncu=replace(run.results[1].counters, source="ncu"))
    return replace(run, results=(whole, sampled, run.results[3], run.results[0]))


def test_all_equal_is_said_per_variant_and_in_sum(run: Run) -> None:
    text = render(with_ncu(run), render_agreement)
    exact = sum(is_exact(name) for name in run.results[2].counters.values)
    others = len(run.results[2].counters.values) - exact
    assert others == 6  # l1tex__t_requests and l1tex__t_sectors of loads, stores and reductions
    assert f"{exact} exact counters equal, 0 different; 6 hardware counters equal" in text
    assert f"2 variants: {2 * exact} exact counters equal, 0 different; 12 hardware counters equal" in text
    assert "differences are expected" in text  # the sampled one
    assert "emulator: build failed" in text
    assert "ncu: nothing was counted" in text
    assert disagreements(with_ncu(run)) == 0


def test_a_difference_is_named_with_both_values(run: Run) -> None:
    different = with_ncu(run, **{m.INSTRUCTIONS: 7})
    assert words(render(different, render_agreement), m.INSTRUCTIONS)[1:] == ["exact", "90,000,000", "7", "differs"]
    assert disagreements(different) == 1


def test_a_hardware_counter_may_lose_a_thousandth(run: Run) -> None:
    """An H200 once counted 134,173,468 of 134,217,728 sectors: 0.033 % too few; 0.2 % would be a difference."""
    name = m.sectors("ld")
    counted = run.results[2].counters.values[name]
    near = with_ncu(run, **{name: round(counted * 134_173_468 / 134_217_728)})
    text = render(near, render_agreement)
    assert "within 0.1 % (hardware counter)" in text
    assert "5 hardware counters equal, 1 within 0.1 %" in text
    assert disagreements(near) == 0
    far = with_ncu(run, **{name: round(counted * 0.998)})
    assert "5 hardware counters equal, 1 different" in render(far, render_agreement)
    assert disagreements(far) == 1


def test_markdown_has_a_column_per_variant_and_the_verdicts(run: Run) -> None:
    text = counters_markdown(run)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert table[0] == "| counter | naive | tiled/TILE=16 | tiled/TILE=32 |"
    row = next(line for line in table if "smsp\\_\\_inst\\_executed.sum" in line)
    assert row.endswith("| 154,664,960 | 96,000,000 | 90,000,000 |")
    assert "- tiled/TILE=32: counted, not timed: 1.95-way bank conflicts" in text


def test_agreement_exports(run: Run) -> None:
    both = with_ncu(run, **{m.INSTRUCTIONS: 7})
    rows = list(csv.DictReader(io.StringIO(agreement_csv(both))))
    found = next(row for row in rows if row["variant"] == "tiled/TILE=32" and row["counter"] == m.INSTRUCTIONS)
    assert (found["emulated"], found["ncu"], found["equal"], found["sampled"]) == ("90000000", "7", "differs", "False")
    assert "| exact | 90,000,000 | 7 | differs |" in agreement_markdown(both)
