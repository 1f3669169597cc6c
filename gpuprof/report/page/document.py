"""Whole pages: of runs, of a comparison, of a kernel's code, of the stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuprof.report.compare_table import compare_columns, compare_lines, run_title
from gpuprof.report.history_table import history_columns
from gpuprof.report.page.code import code_view, of_listing
from gpuprof.report.page.model import Note, PageView
from gpuprof.report.page.pictures.changes import changes
from gpuprof.report.page.render import render
from gpuprof.report.page.tables import plain_table
from gpuprof.report.page.view import KINDS, run_view
from gpuprof.report.sass.format import KernelHead
from gpuprof.report.sass.kernel import head_lines, loop_columns, predication_lines, stream_lines
from gpuprof.results.compare import Comparison
from gpuprof.results.history import HistoryEntry, PastResult
from gpuprof.results.model import Run
from gpuprof.results.thresholds import Violation
from gpuprof.sass.analysis import Analysis
from gpuprof.sass.code_listing import listing_of


def runs_page(
    runs: Sequence[Run], columns: Sequence[str] = (), past: Mapping[str, Sequence[PastResult]] | None = None
) -> str:
    """One page of one run or of several; ``past`` is earlier results by experiment, oldest first.

    Raises MissingToolError without the extra ``report``, UsageError for a column that no run has.
    """
    views = [
        run_view(run, f"run-{number}", columns, (past or {}).get(run.experiment, ()))
        for number, run in enumerate(runs, 1)
    ]
    return _page(views)


def comparison_page(comparison: Comparison, violations: Sequence[Violation] = (), columns: Sequence[str] = ()) -> str:
    """Two runs, variant by variant."""
    picture = changes(comparison)
    view = PageView(
        identifier="comparison",
        title=f"{comparison.after.experiment}: comparison",
        origin=(f"before: {run_title(comparison.before)}", f"after: {run_title(comparison.after)}"),
        table=plain_table("variants", "Variants of both runs", compare_columns(comparison, columns)),
        notes=tuple(Note(line, KINDS.get(style, "")) for style, line in compare_lines(comparison, violations) if line),
        figures=(picture,) if picture else (),
    )
    return _page([view])


def code_page(head: KernelHead, analysis: Analysis, sources: Mapping[str, str]) -> str:
    """A kernel's machine code beside its source; ``sources`` is file -> text."""
    listing = listing_of(analysis, head.name)
    first, *facts = head_lines(head, analysis)
    notes = [
        *facts,
        *(stream_lines(analysis.stream) if analysis.stream is not None else ()),
        *predication_lines(analysis),
    ]
    loops = (
        plain_table("loops", "Loops (own code per iteration)", loop_columns(analysis.loops)) if analysis.loops else None
    )
    view = PageView(
        identifier="kernel",
        title=head.name,
        origin=(first,),
        table=loops,
        notes=tuple(Note(line.strip()) for line in notes),
        heading="Loops and instructions",
        codes=(code_view("code-1", head.name, head.name, listing, of_listing(listing), sources),),
    )
    return _page([view])


def history_page(entries: Sequence[HistoryEntry], where: str) -> str:
    """The stored runs, newest first."""
    view = PageView(
        identifier="history",
        title="Stored runs",
        origin=(where,),
        table=plain_table("runs", "Stored runs", history_columns(entries)),
    )
    return _page([view])


def _page(views: Sequence[PageView]) -> str:
    titles = list(dict.fromkeys(view.title for view in views))
    return render("page.html.j2", title=", ".join(titles), runs=list(views))
