"""``--json``, ``--csv``, ``--markdown``, ``--html``: the same words on every command that prints a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_HELP = {
    "json": "Write JSON to FILE (- for standard output).",
    "csv": "Write CSV to FILE.",
    "markdown": "Write Markdown to FILE (>> $GITHUB_STEP_SUMMARY takes it too).",
    "html": "Write one self-contained HTML page to FILE.",
}


def export_options(*kinds: str) -> Callable[[Command], Command]:
    """Add an option per kind; the function receives ``json_file``, ``csv_file`` ..., each a name or None."""

    def decorate(function: Command) -> Command:
        for kind in reversed(kinds):
            function = click.option(f"--{kind}", f"{kind}_file", metavar="FILE", help=_HELP[kind])(function)
        return function

    return decorate


def targets_of(options: Mapping[str, str | None]) -> dict[str, str]:
    """``{"json": FILE, ...}`` of those that were given; at most one may be standard output.

    Raises:
        UsageError: two of them are ``-``.
    """
    given = {name.removesuffix("_file"): target for name, target in options.items() if target is not None}
    on_stdout = [f"--{kind}" for kind, target in given.items() if target == "-"]
    if len(on_stdout) > 1:
        from gpuprof.errors import UsageError

        raise UsageError(f"{' and '.join(on_stdout)} cannot both be written to standard output")
    return given


def takes_stdout(targets: Mapping[str, str]) -> bool:
    """Whether an export is standard output, and the table has to stay away from it."""
    return "-" in targets.values()


sort_option = click.option(
    "--sort", metavar="VALUE", help="Order the rows by time, registers, gflops ...; -VALUE: largest first."
)
history_option = click.option(
    "--history", "history_file", metavar="FILE", help="The history's file [default: the user's data folder]."
)
columns_option = click.option(
    "--columns",
    metavar="NAME,...",
    help="Columns of the table: names of values, sizes, parameters or counters; +NAME adds, -NAME removes.",
)
