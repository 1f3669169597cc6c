"""``gpuprof show``: a stored run, or a JSON file, as the table that it was."""

from __future__ import annotations

import click

from gpuprof.cli.export_options import (
    columns_option,
    export_options,
    history_option,
    sort_option,
    takes_stdout,
    targets_of,
)


@click.command()
@click.argument("run", metavar="RUN|FILE.json")
@click.option("--sass", is_flag=True, help="Add the columns of the machine code.")
@click.option("--steps", is_flag=True, help="Show each step of variants that have several.")
@sort_option
@columns_option
@history_option
@export_options("json", "csv", "markdown", "html")
def command(
    run: str,
    sass: bool,
    steps: bool,
    sort: str | None,
    columns: str | None,
    history_file: str | None,
    **exports: str | None,
) -> None:
    """Print a stored run again.

    RUN is an identifier of gpuprof history (its first letters do), an experiment's name for its newest run,
    NAME~1 for the one before, or latest.
    """
    from gpuprof.cli.pages import past_of
    from gpuprof.report.column_choice import parse_columns
    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_exports
    from gpuprof.report.run_table import render_run
    from gpuprof.results.lookup import parse_order
    from gpuprof.results.reference import load_run

    targets = targets_of(exports)
    names = parse_columns(columns)
    order = parse_order(sort) if sort else None
    found = load_run(run, history_file)
    found = order.of(found) if order else found
    if not takes_stdout(targets):
        render_run(found, make_console(), sass=sass, steps=steps, columns=names)
    past = past_of(found, history_file) if "html" in targets else ()
    write_exports(found, targets, columns=names, past=past)
