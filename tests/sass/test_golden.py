"""What ``gpuprof sass`` prints for a stored kernel, at 100 columns: plain, in colour, and as a comparison.

The stored text is nvdisasm 13.5's of ``kernels/micro_gemm_4x4.cu`` built by nvcc 13.0 for sm_89, so that the pictures
do not depend on the compiler at hand. ``pytest --write-golden`` writes them anew.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gpuprof.report.sass.diff import print_difference
from gpuprof.report.sass.format import KernelHead
from gpuprof.report.sass.kernel import print_analysis, print_listing
from gpuprof.report.sass.listing import ListingOptions
from gpuprof.report.sass.overview import print_overview, row_of
from gpuprof.sass.analysis import Analysis, analyse
from gpuprof.sass.diff import compare_code
from gpuprof.sass.parse import parse_disassembly
from tests.conftest import Golden
from tests.sass.sass_tools import analysed, stored

GOLDEN = Path(__file__).parent / "golden"
PARAMETERS = ((0, 4), (4, 4), (8, 4), (12, 4), (16, 8), (24, 8), (32, 4), (40, 8))
HEAD = KernelHead(
    name="micro_gemm_4x4",
    arch="sm_89",
    origin="micro_gemm_4x4.cu",
    compiler="nvcc 13.0.88",
    registers=64,
    spill_bytes=0,
    stack_bytes=0,
    static_shared_bytes=0,
    dynamic_shared_bytes=8192,
    occupancy="occupancy at block 16x16: 66.7%, 32 of 48 warps (4 blocks per SM), limited by registers",
)


def gemm(live: bool = False) -> Analysis:
    code = parse_disassembly(stored("micro_gemm_4x4.sm_89.sass"))
    function = code.functions["micro_gemm_4x4"]
    return analyse(function, code.arch, block=(16, 16, 1), parameters=PARAMETERS, spill_bytes=0, with_live=live)


def printed(draw: Callable[[Console], None], *, colour: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file,
        width=100,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    draw(console)
    return file.getvalue()


def draw_kernel(analysis: Analysis, options: ListingOptions, console: Console) -> None:
    print_analysis(HEAD, analysis, console)
    assert analysis.hot_loop is not None
    number = analysis.hot_loop.number
    print_listing(f"Loop {number}", analysis, analysis.loop_indices(number), options, console)


def test_a_kernel_in_plain_text(golden: Golden) -> None:
    text = printed(lambda console: draw_kernel(gemm(), ListingOptions(), console))
    golden(GOLDEN / "micro_gemm_4x4.txt", text)
    assert "8 k-steps x 16 FFMA = 128 per iteration: fully unrolled" in text
    assert "\x1b" not in text


def test_a_kernel_in_colour(golden: Golden) -> None:
    text = printed(lambda console: draw_kernel(gemm(), ListingOptions(), console), colour=True)
    golden(GOLDEN / "micro_gemm_4x4.ansi", text)
    assert "\x1b[32mFFMA" in text


def test_listing_with_hex_live_and_grep(golden: Golden) -> None:
    facts = gemm(live=True)
    options = ListingOptions(hex=True, live=True, grep="LDS|BAR|BRA")
    text = printed(lambda console: print_listing("LDS|BAR|BRA", facts, range(facts.instructions), options, console))
    golden(GOLDEN / "micro_gemm_4x4.grep.txt", text)
    assert text.count("LDS.128") == 16


def test_the_peak_of_live_registers_is_marked_once() -> None:
    facts = gemm(live=True)
    assert facts.live is not None
    assert 50 <= facts.live.peak <= 64  # of the 64 registers that the kernel is given
    options = ListingOptions(live=True)
    text = printed(lambda console: print_listing("all", facts, range(facts.instructions), options, console))
    assert sum(f"{facts.live.peak}*" in line for line in text.splitlines()) == 1


def test_a_comparison(golden: Golden) -> None:
    code = stored("micro_gemm_4x4.sm_89.sass")
    changed = code.replace("LDS.128 R8, [R7.X4+0x400]", "LDS.128 R8, [R7.X4+0x420]")
    second = analyse(parse_disassembly(changed).functions["micro_gemm_4x4"], "sm_89", block=(16, 16, 1))
    difference = compare_code(gemm(), second)
    other = replace(HEAD, origin="changed", registers=63)
    golden(GOLDEN / "diff.txt", printed(lambda console: print_difference(HEAD, other, difference, console)))
    assert len([line for line in difference.lines if line.sign != " "]) == 2


def test_an_overview_of_many_functions(golden: Golden) -> None:
    facts = gemm()
    small = analysed("FFMA R0, R1, R2, R0\nEXIT")
    rows = [row_of("small(float*)", 8, small), row_of("micro_gemm_4x4", 64, facts)]
    text = printed(lambda console: print_overview("library.so", rows, console, 40, ["b.cubin is damaged"]))
    golden(GOLDEN / "overview.txt", text)
    assert text.index("micro_gemm_4x4") < text.index("small")


def test_a_line_that_did_not_parse_is_marked() -> None:
    facts = analysed("MOV R1, R2\n?? odd line\nEXIT")
    text = printed(lambda console: print_listing("all", facts, range(3), ListingOptions(), console))
    assert "?? ?? odd line" in text
    head = printed(lambda console: print_analysis(replace(HEAD, occupancy=""), facts, console))
    assert "1 line not understood, from 0010" in head


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_above_the_listing_is_wider_than_the_console(width: int) -> None:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, highlight=False, markup=False)
    print_analysis(HEAD, gemm(), console)
    assert max(len(line) for line in file.getvalue().splitlines()) <= width
