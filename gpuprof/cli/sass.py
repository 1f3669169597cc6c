"""``gpuprof sass``: a kernel's machine code, read the way an expert does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuprof.cli.export_options import export_options
from gpuprof.cli.option_groups import read_flags
from gpuprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuprof.report.sass.listing import ListingOptions
    from gpuprof.sass.analysis import Analysis
    from gpuprof.targets.machine_code import Request, Subject

_MAX_OVERVIEW_ROWS = 40


@dataclass(frozen=True)
class _View:
    """What of the listing to show, and how."""

    everything: bool
    loop: int | None
    listing: ListingOptions
    findings: int


@dataclass(frozen=True)
class SassFlags:
    """The flags of ``gpuprof sass``."""

    kernel: str | None
    variant: str | None
    defines: tuple[str, ...]
    nvcc_flags: tuple[str, ...]
    arch: str | None
    block_text: str | None
    everything: bool
    loop: int | None
    grep: str | None
    source: bool
    with_hex: bool
    control: bool
    live: bool
    findings: int
    diff: str | None
    as_json: bool
    cuda_home: Path | None
    ccbin: str | None
    html_file: str | None


@click.command()
@click.argument("target")
@click.option("--kernel", metavar="NAME", help="The kernel in TARGET, where it has several.")
@click.option("--variant", metavar="LABEL", help="TARGET is an experiment: this variant of it.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="A define for nvcc.")
@click.option("--nvcc-flag", "nvcc_flags", multiple=True, metavar="FLAG", help="A further flag for nvcc.")
@click.option("--arch", metavar="ARCH", help="sm_90, 8.9, native ...  [default: sm_89]")
@click.option("--block", "block_text", metavar="16x16", help="Threads per block, for occupancy and lane addresses.")
@click.option("--all", "everything", is_flag=True, help="List the whole kernel, not only the hottest loop.")
@click.option("--loop", type=click.IntRange(1), metavar="N", help="List loop N.")
@click.option("--grep", metavar="PATTERN", help="List only instructions that match, of the whole kernel.")
@click.option("--source/--no-source", default=False, help="CUDA lines between the instructions.")
@click.option("--hex", "with_hex", is_flag=True, help="Show each instruction's encoding.")
@click.option(
    "--control/--no-control", default=True, help="Control bits: scoreboards, yield, stall.", show_default=True
)
@click.option("--live", is_flag=True, help="Live registers at each instruction, the peak marked.")
@click.option("--findings", type=click.IntRange(0), default=3, show_default=True, help="How many findings to show.")
@click.option(
    "--diff",
    metavar="B",
    help="Compare with B: another target, a variant, an arch (sm_90), a flag (--use_fast_math), NAME=VALUE, or the "
    "folder of another CUDA toolkit.",
)
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON on stdout (with --all the listing too).")
@click.option(
    "--cuda-home", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="CUDA toolkit directory."
)
@click.option("--ccbin", metavar="PROGRAM", help="Host compiler for nvcc.")
@export_options("html")
def command(target: str, **parsed: Any) -> None:
    """Show what the compiler made of a kernel: loops, the FFMA stream, predication, findings, and the hottest loop.

    \b
    gpuprof sass micro_gemm_4x4
    gpuprof sass my.cu --kernel scale -D N=4 --arch sm_90 --all --source
    gpuprof sass configs/gemm_tiles.yaml --variant tiled/TILE=32
    gpuprof sass a.cubin --grep 'LDS|BAR'
    gpuprof sass micro_gemm_4x4 --diff micro_gemm_padded

    The listing's control bits read B012345:R0:W0:Y:S04: scoreboards awaited, the scoreboard that a read or a write
    sets, Y when the scheduler may switch warps, and the stall count in cycles.
    """
    from gpuprof.targets.machine_code import analysis_of, holds_many, other_side, resolve

    flags = read_flags(SassFlags, parsed)
    request = _request(target, flags)
    if flags.html_file is not None:
        if flags.diff or flags.as_json:
            raise UsageError("--html writes the page of one kernel: leave out --diff and --json")
        _write_page(resolve(request), flags)
        return
    view = _view(flags)
    if flags.diff:
        second = other_side(request, flags.diff)
        _print_difference(resolve(request), resolve(second), view, as_json=flags.as_json)
        return
    subject = _overview(request, as_json=flags.as_json) if holds_many(request) else resolve(request)
    if subject is None:
        return
    analysis = analysis_of(subject, live=flags.live)
    if flags.as_json:
        _print_json(_data(subject, analysis, listing=view.everything))
        return
    _print_kernel(subject, analysis, view)


def _request(target: str, flags: SassFlags) -> Request:
    from gpuprof.cli.occupancy import parse_block
    from gpuprof.targets.kernel import read_defines
    from gpuprof.targets.machine_code import Request

    return Request(
        target=target,
        kernel=flags.kernel,
        variant=flags.variant,
        defines=read_defines(flags.defines),
        flags=flags.nvcc_flags,
        arch=flags.arch,
        block=parse_block(flags.block_text) if flags.block_text else None,
        cuda_home=flags.cuda_home,
        ccbin=flags.ccbin,
    )


def _view(flags: SassFlags) -> _View:
    import re

    from gpuprof.report.sass.listing import ListingOptions

    try:
        re.compile(flags.grep or "")
    except re.error as error:
        raise UsageError(f"--grep {flags.grep}: not a regular expression: {error}") from None
    options = ListingOptions(flags.control, flags.source, flags.with_hex, flags.live, flags.grep or "")
    return _View(flags.everything, flags.loop, options, flags.findings)


def _write_page(subject: Subject, flags: SassFlags) -> None:
    """The kernel's page; nothing is printed."""
    from gpuprof.report.page.render import require_report_extra

    require_report_extra()
    from gpuprof.report.exports import write_text
    from gpuprof.report.page.document import code_page
    from gpuprof.report.sass.listing import source_texts
    from gpuprof.targets.machine_code import analysis_of, head_of

    assert flags.html_file is not None
    analysis = analysis_of(subject)
    write_text(code_page(head_of(subject), analysis, source_texts(analysis)), flags.html_file)


def _print_kernel(subject: Subject, analysis: Analysis, view: _View) -> None:
    from gpuprof.report.console import make_console
    from gpuprof.report.sass.kernel import print_analysis, print_listing
    from gpuprof.targets.machine_code import head_of

    console = make_console()
    title, indices = _part(analysis, view)
    print_analysis(head_of(subject), analysis, console, findings=view.findings)
    print_listing(title, analysis, indices, view.listing, console)
    for note in subject.notes:
        console.print(f"note: {note}", style="yellow", markup=False, highlight=False)


def _part(analysis: Analysis, view: _View) -> tuple[str, Sequence[int]]:
    """Which instructions to list."""
    whole = range(analysis.instructions)
    if view.listing.grep:
        return f"Instructions that match '{view.listing.grep}'", whole
    if view.loop is not None:
        if view.loop > len(analysis.loops):
            raise UsageError(f"--loop {view.loop}: the kernel has {len(analysis.loops)} loops")
        return f"Loop {view.loop}", analysis.loop_indices(view.loop)
    if view.everything or analysis.hot_loop is None:
        return "The whole kernel", whole
    number = analysis.hot_loop.number
    return f"Loop {number}, the hottest (--all lists the whole kernel)", analysis.loop_indices(number)


def _data(subject: Subject, analysis: Analysis, *, listing: bool) -> dict[str, object]:
    from dataclasses import asdict

    from gpuprof.sass.as_json import analysis_data
    from gpuprof.targets.machine_code import head_of

    head = asdict(head_of(subject))
    return {**head, "block": subject.block, **analysis_data(analysis, listing=listing)}


def _print_json(data: object) -> None:
    import json

    click.echo(json.dumps(data, indent=2))


def _overview(request: Request, *, as_json: bool) -> Subject | None:
    """Print a row per kernel of a file that holds many, one at a time in memory; a lone kernel is returned instead."""
    from itertools import chain, islice

    from gpuprof.targets.machine_code import analysis_of, subjects

    unreadable: list[str] = []
    found = subjects(request, unreadable)
    first = list(islice(found, 2))
    if not first:
        at = f" for {request.arch}" if request.arch else ""
        raise UsageError(unreadable[0] if unreadable else f"{request.target} holds no machine code{at}")
    if len(first) == 1 and not unreadable:
        return first[0]
    if as_json:
        kernels = [_data(subject, analysis_of(subject), listing=False) for subject in chain(first, found)]
        _print_json({"kernels": kernels, "unreadable": unreadable})
        return None
    _print_rows(Path(request.target).name, chain(first, found), unreadable)
    return None


def _print_rows(name: str, subjects: Iterable[Subject], unreadable: Sequence[str]) -> None:
    from gpuprof.report.console import make_console
    from gpuprof.report.sass.overview import print_overview, row_of
    from gpuprof.targets.machine_code import analysis_of

    rows = []
    for subject in subjects:
        resources = subject.resources
        registers = resources.registers if resources is not None else None
        rows.append(row_of(subject.demangled, registers, analysis_of(subject)))
    print_overview(name, rows, make_console(), _MAX_OVERVIEW_ROWS, unreadable)


def _print_difference(first: Subject, second: Subject, view: _View, *, as_json: bool) -> None:
    from gpuprof.report.console import make_console
    from gpuprof.report.sass.diff import difference_data, print_difference
    from gpuprof.sass.diff import compare_code
    from gpuprof.targets.machine_code import analysis_of, head_of

    ours, theirs = analysis_of(first), analysis_of(second)
    difference = compare_code(ours, theirs)
    if as_json:
        sides = {"a": _data(first, ours, listing=False), "b": _data(second, theirs, listing=False)}
        _print_json({**sides, **difference_data(difference)})
        return
    print_difference(head_of(first), head_of(second), difference, make_console(), everything=view.everything)
