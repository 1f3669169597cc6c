"""What ``gpuprof kernels`` and ``gpuprof configs`` share: a name and one line each."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
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
    from gpuprof.report.console import make_console

    console = make_console()
    width = max((len(entry.name) for entry in listed), default=0)
    for entry in listed:
        text = entry.description if entry.bundled else f"(here) {entry.description}"
        console.print(f"{entry.name:<{width}}  {_cut(text, console.width - width - 2)}")


def _cut(text: str, width: int) -> str:
    """The text in one line of ``width``, cut between words where it is longer."""
    return text if len(text) <= width else textwrap.shorten(text, max(width, 8), placeholder=" ...")


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
    return re.split(r"(?<=\.)\s(?=[A-Z])", paragraph, maxsplit=1)[0]


def config_description(path: Path) -> str:
    """The ``description`` of an experiment, or what keeps it from being read."""
    from gpuprof.errors import ConfigError
    from gpuprof.experiment.document import read_document

    try:
        description = read_document(path).data.get("description", "")
    except ConfigError as error:
        return f"(wrong: {error.problems[0].message})"
    return " ".join(str(description).split())
