"""The run table: golden renders at fixed widths without colour, and what must hold of any run.

``pytest --write-golden`` writes the golden files anew; read the difference before committing.
"""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from gpuprof.isa import ncu_metrics as metrics
from gpuprof.report.console import make_console
from gpuprof.report.run_table import render_run
from gpuprof.results.json import from_json, read_run, to_json
from gpuprof.results.model import Counters, Difference, Result, Run, Status, Verification
from tests.conftest import Golden

HERE = Path(__file__).parent
DATA = HERE.parent / "results" / "data"
GOLDEN = HERE / "golden"
CASES = list(itertools.product(("emulated_run", "gpu_run"), (60, 100, 140), (False, True)))


def render(run: Run, width: int, *, sass: bool = False) -> str:
    file = io.StringIO()
    render_run(run, Console(file=file, width=width, color_system=None, highlight=False), sass=sass)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def golden_file(name: str, width: int, sass: bool) -> Path:
    return GOLDEN / f"{name}_{width}{'_sass' if sass else ''}.txt"


@pytest.mark.parametrize(("name", "width", "sass"), CASES)
def test_golden_render(name: str, width: int, sass: bool, golden: Golden) -> None:
    golden(golden_file(name, width, sass), render(read_run(DATA / f"{name}.json"), width, sass=sass))


@pytest.mark.parametrize("name", ["emulated_run", "gpu_run"])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
@pytest.mark.parametrize("sass", [False, True])
def test_no_line_is_wider_than_the_console(name: str, width: int, sass: bool) -> None:
    lines = render(read_run(DATA / f"{name}.json"), width, sass=sass).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_the_same_table_comes_from_the_json_alone() -> None:
    run = read_run(DATA / "gpu_run.json")
    assert render(from_json(to_json(run)), 100) == render(run, 100)


def sweep(run: Run, labels: list[str]) -> Run:
    """The run with a timed row for each label, the first the slowest."""
    row = run.results[0]
    assert row.timing is not None
    rows = [
        replace(row, variant=label, family=label.split("/")[0], timing=replace(row.timing, median_us=100.0 - n))
        for n, label in enumerate(labels)
    ]
    return replace(run, results=tuple(rows), baseline=None)


TILES = [f"tiles/block_size_x={x}/block_size_y=16/TM={m}/TN=8/UNROLL=16" for x in (8, 16, 32) for m in (1, 2, 4, 8)]


def test_labels_that_are_too_long_become_columns_of_their_values() -> None:
    text = render(sweep(read_run(DATA / "gpu_run.json"), TILES), 100)
    lines = text.splitlines()
    assert "variants of tiles" in lines
    head = next(n for n, line in enumerate(lines) if "TM" in line.split())
    assert lines[head].split()[:5] == ["size_x", "size_y", "TM", "TN", "UNROLL"]
    rows = [line.split()[:5] for line in lines[head + 2 : head + 14]]
    assert rows == [[x, "16", m, "8", "16"] for x in ("8", "16", "32") for m in "1248"]


def test_families_keep_their_names_and_lack_the_values_that_they_have_not() -> None:
    run = sweep(read_run(DATA / "gpu_run.json"), ["naive", *TILES])
    lines = render(run, 100).splitlines()
    head = next(n for n, line in enumerate(lines) if "TM" in line.split())
    assert lines[head + 2].split()[:2] == ["naive", "ok"]
    assert lines[head + 3].split()[:7] == ["tiles", "8", "16", "1", "8", "16", "ok"]


def test_labels_that_fit_or_have_another_form_stay_whole() -> None:
    run = read_run(DATA / "gpu_run.json")
    assert "tiles/TM=1" in render(sweep(run, ["tiles/TM=1", "tiles/TM=2"]), 100)
    odd = sweep(run, [f"a name that somebody wrote, long as it is/{n}" for n in range(3)])
    assert "a name that somebody wrote" in render(odd, 100)


def test_the_fastest_of_a_long_sweep_are_named() -> None:
    lines = render(sweep(read_run(DATA / "gpu_run.json"), TILES), 160).splitlines()
    assert any(line.startswith(f"fastest: {TILES[-1]}, 89.00 µs") for line in lines)
    three = f"fastest three: {TILES[-1]} 89.00 µs, {TILES[-2]} 90.00 µs, {TILES[-3]} 91.00 µs"
    assert three in " ".join(lines)
    short = render(sweep(read_run(DATA / "gpu_run.json"), TILES[:9]), 160)
    assert "fastest three" not in short


def test_several_gpus_are_named_and_each_row_says_where_it_was_timed() -> None:
    run = sweep(read_run(DATA / "gpu_run.json"), ["a", "b"])
    rows = [
        replace(row, timing=replace(row.timing, device=f"gpu:{n}")) for n, row in enumerate(run.results) if row.timing
    ]
    run = replace(run, results=tuple(rows), environment=replace(run.environment, gpus=("NVIDIA H200",) * 2))
    text = render(run, 100)
    assert "timed cold on 2 NVIDIA H200" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line[2] for line in lines if line[:1] in (["a"], ["b"])] == ["gpu:0", "gpu:1"]
    mixed = replace(run, environment=replace(run.environment, gpus=("NVIDIA H200", "NVIDIA L4")))
    assert "timed cold on NVIDIA H200 and NVIDIA L4" in render(mixed, 100)


def test_a_difference_is_told_once_and_drawn() -> None:
    run = read_run(DATA / "gpu_run.json")
    first = Difference("C", (3, 4), 1.0, 2.0)
    check = Verification("differs", 1.0, 1.0, 64, 64, wrong=8, where_wrong="bottom edge", picture=("..", "xx"))
    row = replace(run.results[0], status=Status.DIFFERS, verification=replace(check, first_difference=first))
    reason = "8 of 64 checked elements differ (bottom edge), first C[3, 4]: got 1.0, expected 2.0"
    told = render(replace(run, results=(replace(row, reason=reason),)), 140)
    assert told.count("checked elements differ") == told.count("C[3, 4]") == 1
    assert "    xx" in told
    other = render(replace(run, results=(replace(row, reason="input A was changed"),)), 140)
    assert "first at C[3, 4]: got 1.0, expected 2.0" in other
    assert "8 of 64 checked elements differ (bottom edge)" in other


def test_many_failures_are_told_in_full_ten_times_and_then_by_kind() -> None:
    run = sweep(read_run(DATA / "gpu_run.json"), [f"v/N={n}" for n in range(40)])
    rows = [
        replace(row, status=Status.DIFFERS if n % 2 else Status.BUILD_FAILED, reason=f"{n} of 64 differ\nmore of it")
        for n, row in enumerate(run.results)
    ]
    text = render(replace(run, results=tuple(rows)), 200)
    assert text.count("more of it") == 10
    assert "15 of 40 variants (v/N=10, v/N=12, v/N=14, v/N=16 and 11 more): build failed: 10 to 38 of 64 differ" in text
    assert "v/N=17 and 11 more): differs: 11 to 39 of 64 differ" in text


def test_a_run_without_a_good_row_does_not_say_that_it_built() -> None:
    run = read_run(DATA / "gpu_run.json")
    row = replace(run.results[0], timing=None, counters=None, ncu=None, status=Status.BUILD_FAILED, reason="no")
    assert "no variant ran to its end" in render(replace(run, results=(row,)), 100)
    built = replace(row, status=Status.OK, reason=None)
    assert "built only: nothing was launched" in render(replace(run, results=(row, built)), 100)


def test_coverages_of_many_kinds_are_one_line() -> None:
    run = sweep(read_run(DATA / "gpu_run.json"), TILES)
    check = run.results[0].verification
    assert check is not None
    rows = [replace(row, verification=replace(check, checked=10 + n, total=100)) for n, row in enumerate(run.results)]
    text = render(replace(run, results=tuple(rows)), 100)
    assert "verified 10% to 21% of the output elements of 12 variants" in text
    assert text.count("output elements") == 1


def test_a_long_label_folds_and_keeps_the_numbers() -> None:
    run = read_run(DATA / "gpu_run.json")
    label = "tiled/BM=128,BN=128,BK=16,TM=8,TN=8,STAGES=3,VECTOR=4,SWIZZLE=1,UNROLL=16,WARPS=8"
    text = render(replace(run, results=(replace(run.results[0], variant=label),)), 100)
    assert "873.4 µs" in text
    assert "2,459" in text  # GFLOP/s
    table = text[text.index("─\n") + 2 : text.index("not shown")]
    first = [line.split(" ")[0] for line in table.splitlines()]
    assert "".join(first) == label


def test_rows_in_words() -> None:
    run = read_run(DATA / "gpu_run.json")
    naive = run.results[0]
    cases = {
        "unchecked": replace(naive, verification=Verification("unchecked", None, None, 0, 9, "no reference")),
        "timed out": replace(naive, status=Status.TIMED_OUT, timing=None, reason="30 s"),
        "failed": replace(naive, status=Status.LAUNCH_FAILED, timing=None, reason="illegal address"),
        "skipped": replace(naive, status=Status.SKIPPED, timing=None, reason="needs a GPU"),
        "same code": replace(naive, same_code_as="tiled"),
        "0.50x?": replace(naive, timing=replace(naive.timing, speedup=0.5, comparison="unclear")),
    }
    for words, result in cases.items():
        assert words in render(replace(run, results=(run.results[1], result)), 100)


def test_times_and_ncus_counters_stand_in_one_table() -> None:
    run = read_run(DATA / "gpu_run.json")
    rates = {metrics.COMPUTE_PERCENT: 20.0, metrics.MEMORY_PERCENT: 93.0, metrics.DRAM_PERCENT: 93.0}
    counts = {metrics.INSTRUCTIONS: 154_664_960, metrics.sectors("ld"): 8, metrics.requests("ld"): 2}
    counted = replace(run.results[0], ncu=Counters({**rates, **counts}, "ncu", 4096, 4096))
    refused = replace(run.results[1], missing={"ncu": "no permission for the GPU's counters"})
    text = render(replace(run, results=(counted, refused)), 140)
    row = next(line for line in text.splitlines() if line.startswith("naive"))
    assert "873.4 µs" in row
    assert "154.7M" in row
    assert "counted by Nsight Compute" in text
    assert "naive: bound by DRAM bandwidth (93% of peak)" in text
    assert "tiled/TILE=16: no counters by ncu: no permission" in text


def test_ncus_headline_values_are_a_table_of_their_own() -> None:
    """Values of a 1024-cubed tiled GEMM as an H200's ncu gave them; a variant without rates has no row."""
    run = read_run(DATA / "gpu_run.json")
    rates = {
        metrics.TIME: 279_000,
        metrics.COMPUTE_PERCENT: 69.2,
        metrics.MEMORY_PERCENT: 88.4,
        metrics.L1_PERCENT: 90.6,
        metrics.SHARED_PIPE_PERCENT: 76.1,
        metrics.WARPS_ACTIVE_PERCENT: 90.8,
        metrics.WARPS_THEORETICAL_PERCENT: 100.0,
    }
    tiled = replace(run.results[1], ncu=Counters(rates, "ncu", 4096, 4096))
    counted = replace(run.results[0], ncu=Counters({metrics.INSTRUCTIONS: 5}, "ncu", 1, 1))
    text = render(replace(run, results=(counted, tiled)), 100)
    table = text[text.index("% of peak  ") : text.index("tiled/TILE=16: bound by L1 throughput (91% of peak)")]
    rows = [line for line in table.splitlines() if line.startswith(("naive", "tiled"))]
    assert [row.split() for row in rows] == [
        ["tiled/TILE=16", "69.2%", "88.4%", "90.6%", "76.1%", "90.8%", "of", "100%", "279.0", "µs"]
    ]
    assert "DRAM" not in table


def test_nothing_was_run() -> None:
    run = read_run(DATA / "gpu_run.json")
    text = render(replace(run, results=()), 100)
    assert "0 variants" in text
    failed = Result("v", "v", {}, {}, Status.BUILD_FAILED, "a.cu:1: error: [bold]x[/bold] is not declared")
    assert "v: build failed: a.cu:1: error: [bold]x[/bold] is not declared" in render(
        replace(run, results=(failed,)), 100
    )


def test_an_interrupted_run_says_so() -> None:
    run = replace(read_run(DATA / "gpu_run.json"), complete=False)
    assert "this run was interrupted" in render(run, 100)


def test_a_file_gets_100_columns_and_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    file = io.StringIO()
    console = make_console(file)
    assert console.width == 100
    render_run(read_run(DATA / "gpu_run.json"), console)
    assert "\x1b" not in file.getvalue()


def test_no_color_is_obeyed_where_colour_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def colours() -> bool:
        file = io.StringIO()
        console = make_console(file)
        render_run(read_run(DATA / "gpu_run.json"), console)
        return "\x1b[3" in file.getvalue()

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours()
