"""The ``gpuprof`` command lines of README.md and docs/, as a reader would type them.

In a fenced block a command begins its line (a shell's ``$`` may stand before it); two blanks begin a remark. In running
text a command is what stands between single backticks; a word in capitals is a placeholder there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
_IN_TEXT = re.compile(r"(?<!\\)`gpuprof ([^`]+)`")  # an escaped one is printed text
_PLACEHOLDER = re.compile(r"(?:FILE|NAME)(?:\.\w+)?|CONFIG|KERNEL|configs/NAME\.yaml")


@dataclass(frozen=True)
class DocCommand:
    """``arguments`` without the program's name; ``remark`` is what the line says about it."""

    page: str
    line: int
    arguments: tuple[str, ...]
    remark: str
    fenced: bool

    @property
    def placeholders(self) -> bool:
        return any(_PLACEHOLDER.fullmatch(argument) for argument in self.arguments)


def doc_commands() -> Iterator[DocCommand]:
    """Every command of every page, in order; the same text twice on a page is given twice."""
    for page in PAGES:
        fenced = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("```"):
                fenced = not fenced
                continue
            for text in _commands(line, fenced):
                command, _, remark = text.partition("  ")
                yield DocCommand(
                    str(page.relative_to(ROOT)), number, tuple(shlex.split(command)), remark.strip(), fenced
                )


def _commands(line: str, fenced: bool) -> list[str]:
    if not fenced:
        return _IN_TEXT.findall(line)
    begun = line.removeprefix("$ ")
    return [begun.removeprefix("gpuprof ")] if begun.startswith("gpuprof ") else []
