"""``gpuprof compare``: two runs, variant by variant."""

from __future__ import annotations

import sys

import click

from gpuprof.cli.export_options import columns_option, export_options, history_option, takes_stdout, targets_of


@click.command()
@click.argument("before", metavar="RUN|FILE.json")
@click.argument("after", metavar="RUN|FILE.json")
@click.option(
    "--fail-on",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 1 if it holds for a variant: 'slower > 3%', 'registers > 64', 'spill_bytes > 0', 'failed > 0', "
    "'warp_instructions.change > 1%'. May be given several times.",
)
@click.option("--allow-undecided", is_flag=True, help="Do not end with 2 where --fail-on had nothing to judge.")
@columns_option
@history_option
@export_options("json", "csv", "markdown", "html")
def command(
    before: str,
    after: str,
    conditions: tuple[str, ...],
    allow_undecided: bool,
    columns: str | None,
    history_file: str | None,
    **exports: str | None,
) -> None:
    """Compare two runs: time ratio with its interval and verdict, resources, machine code, counters.

    A run is named as for gpuprof show.
    """
    from gpuprof.report.column_choice import parse_columns
    from gpuprof.report.compare_exports import COMPARE_EXPORTERS, comparison_html
    from gpuprof.report.compare_table import render_comparison
    from gpuprof.report.console import make_console
    from gpuprof.report.exports import write_text
    from gpuprof.results.compare import compare_runs
    from gpuprof.results.reference import load_run
    from gpuprof.results.thresholds import parse_threshold, unjudged, violations

    targets = targets_of(exports)
    thresholds = [parse_threshold(text) for text in conditions]
    comparison = compare_runs(load_run(before, history_file), load_run(after, history_file))
    failed = violations(comparison, thresholds)
    if not takes_stdout(targets):
        render_comparison(comparison, make_console(), failed, parse_columns(columns))
    for kind, target in targets.items():
        if kind == "html":
            write_text(comparison_html(comparison, failed, parse_columns(columns)), target)
        else:
            write_text(COMPARE_EXPORTERS[kind](comparison, failed), target)
    undecided = unjudged(comparison, thresholds)
    for threshold in undecided:
        hint = "" if allow_undecided else "; --allow-undecided lets that pass"
        click.echo(
            f"--fail-on '{threshold.text}': no variant has this value; the condition was not evaluated{hint}", err=True
        )
    if failed:
        sys.exit(1)
    if undecided and not allow_undecided:
        sys.exit(2)
