"""``gpuprof history``: the stored runs."""

from __future__ import annotations

import click

from gpuprof.cli.export_options import export_options, history_option, takes_stdout, targets_of


@click.command()
@click.argument("experiment", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=30, show_default=True, help="At most N runs.")
@history_option
@export_options("json", "csv", "markdown", "html")
def command(experiment: str | None, limit: int, history_file: str | None, **exports: str | None) -> None:
    """List the stored runs, newest first; of one EXPERIMENT if it is named."""
    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_text
    from gpuprof.report.history_exports import HISTORY_EXPORTERS, history_html
    from gpuprof.report.history_table import render_history
    from gpuprof.results.history import History, history_path
    from gpuprof.results.pending import store_killed_runs

    targets = targets_of(exports)
    path = history_path(history_file)
    store_killed_runs(History(path))
    entries = History(path).list(experiment, limit=limit)
    if not takes_stdout(targets):
        if entries:
            render_history(entries, make_console())
        else:
            click.echo(f"no runs{f' of {experiment}' if experiment else ''} in {path}")
    if "html" in targets:
        write_text(history_html(entries, str(path)), targets.pop("html"))
    for kind, target in targets.items():
        write_text(HISTORY_EXPORTERS[kind](entries), target)
