"""Values that show themselves: what rich and notebooks ask of a run, a comparison or an analysis.

The classes are in rooms below this one and find these functions by name when they are shown.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from gpuprof.results.compare import Comparison
    from gpuprof.results.model import Run
    from gpuprof.sass.analysis import Analysis


def show_run(run: Run, console: Console, options: ConsoleOptions) -> RenderResult:
    """The table of ``gpuprof run``."""
    from gpuprof.report.run_table import render_run

    yield _printed(lambda inner: render_run(run, inner), console, options)


def show_comparison(comparison: Comparison, console: Console, options: ConsoleOptions) -> RenderResult:
    """The table of ``gpuprof compare``."""
    from gpuprof.report.compare_table import render_comparison

    yield _printed(lambda inner: render_comparison(comparison, inner), console, options)


def show_analysis(analysis: Analysis, console: Console, options: ConsoleOptions) -> RenderResult:
    """What ``gpuprof sass`` prints of a function, without the facts of its build."""
    from gpuprof.report.sass.format import KernelHead
    from gpuprof.report.sass.kernel import print_analysis

    head = KernelHead(
        name=analysis.function.symbol,
        arch=analysis.arch,
        origin="",
        compiler="",
        registers=analysis.function.registers,
        spill_bytes=None,
        stack_bytes=None,
        static_shared_bytes=None,
        dynamic_shared_bytes=0,
        occupancy="",
    )
    yield _printed(lambda inner: print_analysis(head, analysis, inner), console, options)


def run_page(run: Run) -> str | None:
    """The run's HTML page in a frame of its own, so that its style stays its own in a notebook.

    None without the extra ``report``: the notebook then shows the text.
    """
    from html import escape

    from gpuprof.errors import MissingToolError
    from gpuprof.report.exports import run_html

    try:
        page = escape(run_html(run), quote=True)
    except MissingToolError:
        return None
    height = min(900, 320 + 34 * len(run.results))
    frame = f'sandbox="allow-scripts" style="width: 100%; height: {height}px; border: 0"'
    return f'<iframe srcdoc="{page}" title="gpuprof: {escape(run.experiment, quote=True)}" {frame}></iframe>'


def run_rows(run: Run) -> tuple[list[str], list[list[Any]]]:
    """Column names and one row per variant: what ``--csv`` writes, as values."""
    from gpuprof.report.exports import run_table

    head, *rows = run_table(run)
    return [str(name) for name in head], [list(row) for row in rows]


def _printed(draw: Callable[[Console], None], console: Console, options: ConsoleOptions) -> Any:
    """What ``draw`` prints at this width, as one renderable."""
    from rich.console import Console
    from rich.text import Text

    inner = Console(
        file=io.StringIO(),
        width=options.max_width,
        force_terminal=console.is_terminal,
        color_system=console.color_system if console.is_terminal else None,  # type: ignore[arg-type]
        highlight=False,
        emoji=False,
        markup=False,
    )
    draw(inner)
    assert isinstance(inner.file, io.StringIO)
    return Text.from_ansi(inner.file.getvalue().rstrip("\n"), no_wrap=True, end="\n")
