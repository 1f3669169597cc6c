"""What ``gpuprof sass A --diff B`` prints: numbers side by side, then the lines that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuprof.report.layout import Column
from gpuprof.report.sass.format import KernelHead, address, plural
from gpuprof.report.sass.listing import instruction_text
from gpuprof.report.tables import print_columns
from gpuprof.sass.diff import CodeDifference, Line, Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTEXT = 2
_VERDICTS = {
    "identical": "identical code",
    "registers": "the same instructions in the same order: only register names, addresses or control bits differ",
}
_SIGN_STYLES = {"-": "red", "+": "green", " ": "dim"}


def print_difference(
    first: KernelHead, second: KernelHead, difference: CodeDifference, console: Console, *, everything: bool = False
) -> None:
    """Both heads, the table, the changed lines (all lines with ``everything``)."""
    from rich.text import Text

    for letter, head in (("A", first), ("B", second)):
        origin = ", ".join(part for part in (head.arch, head.compiler, head.origin) if part)
        console.print(Text.assemble((f"{letter}  {head.name}", "bold"), f"  {origin}"), soft_wrap=True)
    console.print()
    rows = [*head_rows(first, second), *difference.rows]
    shown = [row for row in rows if not row.same or row.section != "mix"]
    print_columns(difference_columns(shown), console, exports="--json")
    same = sum(row.same for row in rows if row.section == "mix")
    if same:
        console.print(Text(f"{plural(same, 'opcode')} with equal counts not shown", style="dim"))
    console.print()
    if difference.verdict in _VERDICTS:
        console.print(Text(_VERDICTS[difference.verdict], style="bold green"))
        return
    removed = sum(line.sign == "-" for line in difference.lines)
    added = sum(line.sign == "+" for line in difference.lines)
    scope = "" if difference.scope == "all" else " in the hot loops"
    words = (
        f"{plural(removed, 'instruction')} only in A, {added} only in B{scope} (register names and addresses ignored)"
    )
    console.print(Text(words, style="bold"))
    for text in _listing(difference.lines, everything):
        console.print(text, soft_wrap=True)


def difference_data(difference: CodeDifference) -> dict[str, object]:
    """The verdict, the compared numbers and the changed lines, as JSON data."""
    return {
        "verdict": difference.verdict,
        "scope": difference.scope,
        "rows": [
            {"section": row.section, "name": row.name, "a": row.first, "b": row.second} for row in difference.rows
        ],
        "changed": [
            {"side": "a" if line.sign == "-" else "b", "address": one.address, "text": one.text}
            for line in difference.lines
            if line.sign != " " and (one := line.first or line.second) is not None
        ],
    }


def head_rows(first: KernelHead, second: KernelHead) -> list[Row]:
    """The resources of both heads."""
    pairs = (
        ("registers", first.registers, second.registers),
        ("spilled bytes", first.spill_bytes, second.spill_bytes),
        ("static shared bytes", first.static_shared_bytes, second.static_shared_bytes),
        ("dynamic shared bytes", first.dynamic_shared_bytes, second.dynamic_shared_bytes),
    )
    return [Row("resources", *pair) for pair in pairs if pair[1:] != (None, None) and pair[1:] != (0, 0)]


def difference_columns(rows: Sequence[Row]) -> list[Column]:
    """section, name, A, B, difference."""
    sections = [row.section if n == 0 or rows[n - 1].section != row.section else "" for n, row in enumerate(rows)]
    return [
        Column("", tuple(sections), 90, right=False),
        Column("", tuple(row.name for row in rows), 100, right=False),
        Column("A", tuple(_cell(row.first) for row in rows), 100),
        Column("B", tuple(_cell(row.second) for row in rows), 100),
        Column("B - A", tuple(_change(row) for row in rows), 95),
    ]


def _cell(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _change(row: Row) -> str:
    if row.same:
        return "="
    if isinstance(row.first, int | float) and isinstance(row.second, int | float):
        return f"{round(row.second - row.first, 1):+,}"
    return "differs"


def _listing(lines: Sequence[Line], everything: bool) -> Iterator[Text]:
    from rich.text import Text

    shown = set(range(len(lines))) if everything else _near_changes(lines)
    previous = -1
    for number in sorted(shown):
        if number != previous + 1:
            yield Text("  ...", style="dim")
        previous = number
        yield _line(lines[number])


def _near_changes(lines: Sequence[Line]) -> set[int]:
    near: set[int] = set()
    for number, line in enumerate(lines):
        if line.sign != " ":
            near.update(range(max(0, number - _CONTEXT), min(len(lines), number + _CONTEXT + 1)))
    return near


def _line(line: Line) -> Text:
    from rich.text import Text

    instruction = line.first or line.second
    assert instruction is not None
    ours = address(line.first.address) if line.first is not None else "    "
    theirs = address(line.second.address) if line.second is not None else "    "
    text = Text.assemble((f"{line.sign} {ours:>5} {theirs:>5}  ", _SIGN_STYLES[line.sign]))
    text.append_text(instruction_text(instruction) if line.sign == " " else Text(instruction.text))
    if line.sign != " ":
        text.stylize(_SIGN_STYLES[line.sign])
    return text
