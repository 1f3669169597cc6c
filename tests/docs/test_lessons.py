"""Every row of docs/lessons.md: its command runs as it stands there, and prints that number in that row and column."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

import pytest

from gpuprof.toolchain import find_tools
from tests.docs.doc_commands import ROOT

pytestmark = pytest.mark.skipif(
    find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm"
)


_ROW = re.compile(r"[\w/=.]+ +(ok|skipped)\b")


#: What the compiler's instructions decide: as on the page with the nvcc that the page names only.
PAGE_NVCC = "13.0."
OF_THE_COMPILER = ("warp instr.", "instr_over_naive", "pred on")


@dataclass(frozen=True)
class Lesson:
    """``row`` and ``column`` name a cell of the printed table; without them ``shows`` is in the text."""

    text: str
    command: str
    row: str
    column: str
    shows: str


def lessons() -> list[Lesson]:
    lines = (ROOT / "docs" / "lessons.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [Lesson(text, command.strip("`"), row, column, shows) for text, command, row, column, shows in rows[2:]]


@cache
def printed(command: str) -> str:
    """What the command prints on 100 columns, on a machine without a GPU, with nvcc's default architecture."""
    environment = {**os.environ, "COLUMNS": "100", "CUDA_VISIBLE_DEVICES": ""}
    words = [sys.executable, "-m", *shlex.split(command)]
    words += ["--no-history", "--device", "emulated", "--arch", "sm_89"] if words[3] == "run" else []
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    return done.stdout


def cell(text: str, row: str, column: str) -> str:
    """A cell of the run table. The parts of a head stand below each other: ``warps_``, ``with_``, ``work``."""
    lines = text.splitlines()
    rule = next(n for n, line in enumerate(lines) if line.startswith("──"))
    heads = lines[max(n for n in range(rule) if not lines[n].strip()) + 1 : rule]
    body = list(takewhile(_ROW.match, lines[rule + 1 :]))
    (found,) = [line for line in body if line.split()[0] == row]
    for start, end in spans([*heads, *body]):
        parts = [part for line in heads if (part := line[start:end].strip())]
        if column in ("".join(parts), " ".join(parts)):
            return found[start:end].strip()
    raise AssertionError(f"no column {column}:\n" + "\n".join([*heads, *body]))


def spans(lines: list[str]) -> list[tuple[int, int]]:
    """The ranges of characters in which some line has a character."""
    width = max(map(len, lines))
    filled = [any(n < len(line) and line[n] != " " for line in lines) for n in range(width)] + [False]
    edges = [n for n in range(width + 1) if filled[n] != (filled[n - 1] if n else False)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def test_the_table_is_read() -> None:
    assert len(lessons()) > 25
    assert {bool(lesson.column) for lesson in lessons()} == {True, False}


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(lesson, marks=[pytest.mark.slow] if lesson.column else [], id=f"{lesson.command} {lesson.row}")
        for lesson in lessons()
    ],
)
@pytest.mark.timeout(280)
def test_the_command_shows_the_number(lesson: Lesson) -> None:
    by_compiler = lesson.column in OF_THE_COMPILER or " sass " in lesson.command
    tool = find_tools().nvcc
    if by_compiler and tool is not None and not str(tool.version).startswith(PAGE_NVCC):
        pytest.skip(f"instructions of nvcc {PAGE_NVCC}x, not of {tool.version}")
    text = printed(lesson.command)
    if not lesson.column:
        assert lesson.shows in text
        return
    assert cell(text, lesson.row, lesson.column) == lesson.shows
