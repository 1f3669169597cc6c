"""What ``gpuprof kernels`` and ``gpuprof configs`` share: a name and one line each."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

HEAD_BYTES = 4096


@dataclass(frozen=True)
class Entry:
    """One line of a listing."""

    name: str
    description: str
    path: str
    bundled: bool


def entries(paths: Iterable[Path], describe: Callable[[Path], str]) -> list[Entry]:
    """An entry per file, in the order given."""
    from gpuprof.experiment.bundled import is_bundled

    return [Entry(path.stem, describe(path), str(path.resolve()), is_bundled(path)) for path in paths]


def show(listed: list[Entry], as_json: bool) -> None:
    """Print entries as JSON or as a table; those of the current folder are marked."""
    if as_json:
        click.echo(json.dumps([asdict(entry) for entry in listed], indent=2))
        return
    from rich.table import Table

    from gpuprof.report.console import make_console

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for entry in listed:
        table.add_row(entry.name, entry.description if entry.bundled else f"{entry.description} (here)".strip())
    make_console().print(table)


def head_comment(path: Path) -> str:
    """The first sentence of the source's head comment, or nothing where it has none."""
    try:
        with path.open("rb") as file:
            text = file.read(HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
    block = re.match(r"\s*(?:/\*(.*?)\*/|((?:[ \t]*//[^\n]*\n?)+))", text, re.DOTALL)
    if block is None:
        return ""
    lines = (re.sub(r"^\s*(//+|\*+)?", "", line).strip() for line in (block[1] or block[2]).splitlines())
    paragraph = " ".join(itertools.takewhile(bool, itertools.dropwhile(lambda line: not line, lines)))
    return re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0]


def config_description(path: Path) -> str:
    """The ``description`` of an experiment, or what keeps it from being read."""
    from gpuprof.errors import ConfigError
    from gpuprof.experiment.document import read_document

    try:
        description = read_document(path).data.get("description", "")
    except ConfigError as error:
        return f"(wrong: {error.problems[0].message})"
    return " ".join(str(description).split())
