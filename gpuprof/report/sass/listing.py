"""The listing of ``gpuprof sass``: instructions with addresses, control bits, source lines, and where branches go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.report.sass.format import KIND_STYLES, address
from gpuprof.sass.analysis import Analysis
from gpuprof.sass.cfg import call_name, is_jump, target_address
from gpuprof.sass.code_listing import control_text
from gpuprof.sass.model import Instruction, SourceLine
from gpuprof.sass.opcodes import guarded, kind_of

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True)
class ListingOptions:
    """``grep`` is a regular expression over the instruction's text."""

    control: bool = True
    source: bool = False
    hex: bool = False
    live: bool = False
    grep: str = ""


def listing(analysis: Analysis, indices: Sequence[int], options: ListingOptions) -> Iterator[Text]:
    """One line per instruction (and per label and source line), plain where the console has no colour."""
    from rich.text import Text

    pattern = re.compile(options.grep, re.IGNORECASE) if options.grep else None
    sources = SourceTexts()
    code = analysis.function.instructions
    previous_source: SourceLine | None = None
    previous_index: int | None = None
    for index in indices:
        instruction = code[index]
        if pattern is not None and not pattern.search(instruction.text):
            continue
        if previous_index is not None and index != previous_index + 1 and pattern is None:
            yield Text("      ...", style="dim")
        previous_index = index
        if options.source and instruction.source is not None and instruction.source != previous_source:
            yield from _source_lines(sources, instruction.source)
        previous_source = instruction.source or previous_source
        if pattern is None:
            yield from (Text(f"{label}:", style="bold") for label in instruction.labels)
        yield _line(analysis, index, options)


def _line(analysis: Analysis, index: int, options: ListingOptions) -> Text:
    from rich.text import Text

    instruction = analysis.function.instructions[index]
    line = Text()
    line.append(f"  {address(instruction.address)}  ", style="dim")
    if options.live and analysis.live is not None:
        peak = index == analysis.live.peak_index
        line.append(f"{analysis.live.counts[index]:3d}{'*' if peak else ' '} ", style="bold red" if peak else "dim")
    if options.control:
        line.append(f"{control_text(instruction.control)}  ", style="dim")
    line.append_text(instruction_text(instruction))
    note = _note(analysis, instruction)
    if note:
        line.append(f"  {note}", style="italic")
    if options.hex:
        low, high = instruction.encoding & (1 << 64) - 1, instruction.encoding >> 64
        line.pad_right(max(1, 80 - line.cell_len))
        line.append(f"/* 0x{low:016x} 0x{high:016x} */", style="dim")
    return line


def instruction_text(instruction: Instruction) -> Text:
    """The instruction in the colour of its kind, its guard apart; a line that did not parse is marked ``??``."""
    from rich.text import Text

    if not instruction.understood:
        return Text(f"?? {instruction.text}", style="reverse")
    style = KIND_STYLES[kind_of(instruction)]
    if not guarded(instruction):
        return Text(instruction.text, style=style)
    guard, _, rest = instruction.text.partition(" ")
    return Text.assemble((f"{guard} ", "magenta"), (rest.lstrip(), style))


def _note(analysis: Analysis, instruction: Instruction) -> str:
    """Where a branch goes, and what a call calls."""
    name = call_name(instruction)
    if name is not None:
        return f"calls {name}"
    if instruction.targets:
        return "-> " + ", ".join(instruction.targets)
    target = target_address(instruction) if is_jump(instruction) else None
    if target is None:
        return ""
    heads = {loop.start: loop.number for loop in analysis.loops}
    arrow = "↑" if target <= instruction.address else "↓"
    again = f" loop {heads[target]}" if target in heads and target <= instruction.address else ""
    return f"{arrow} {address(target)}{again}"


def _source_lines(sources: SourceTexts, source: SourceLine) -> Iterable[Text]:
    from rich.text import Text

    text = sources.line(source)
    name = source.file.rsplit("/", 1)[-1]
    inlined = "".join(f" < {caller.file.rsplit('/', 1)[-1]}:{caller.line}" for caller in source.inlined_at)
    yield Text(f"// {name}:{source.line}{inlined}{'  ' + text if text else ''}", style="bright_black")


def source_texts(analysis: Analysis) -> dict[str, str]:
    """file -> text of the user's files that the code names and that are there."""
    lines = (instruction.source.of_user for instruction in analysis.function.body if instruction.source is not None)
    found = {}
    for file in dict.fromkeys(line.file for line in lines):
        with suppress(OSError):
            found[file] = Path(file).read_text(encoding="utf-8", errors="replace")
    return found


class SourceTexts:
    """Lines of source files, each file read once; empty where it is not there any more."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def line(self, source: SourceLine) -> str:
        """The line's text, stripped."""
        if source.file not in self._files:
            try:
                text = Path(source.file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._files[source.file] = text.splitlines()
        lines = self._files[source.file]
        return lines[source.line - 1].strip() if 0 < source.line <= len(lines) else ""
