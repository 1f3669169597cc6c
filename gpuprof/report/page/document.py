"""Whole pages."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprof.report.page.render import render
from gpuprof.report.page.view import run_view
from gpuprof.results.model import Run


def runs_page(runs: Sequence[Run], columns: Sequence[str] = ()) -> str:
    """One page of one run or of several. Raises MissingToolError without the extra ``report``."""
    views = [run_view(run, f"run-{number}", columns) for number, run in enumerate(runs, 1)]
    titles = list(dict.fromkeys(view.title for view in views))
    return render("page.html.j2", title=", ".join(titles), runs=views)
