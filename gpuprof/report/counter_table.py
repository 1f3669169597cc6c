"""Counters of each variant: the full list, by source line, or the emulator's beside ncu's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.report import units
from gpuprof.report.columns import status_word
from gpuprof.report.headlines import headlines
from gpuprof.report.instruction_table import Order, print_instructions
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns
from gpuprof.report.verdict import verdict
from gpuprof.results.agreement import DIFFERS, EQUAL, NEAR, Agreement, agreement
from gpuprof.results.derived import TABLE, counters_of, derived_values
from gpuprof.results.lines import LineCounters, by_line
from gpuprof.results.model import Counters, Result, Run, Status

if TYPE_CHECKING:
    from rich.console import Console

#: Derived values that come from counters; the others are in the run table.
COUNTER_NAMES = tuple(
    entry.name
    for entry in TABLE
    if entry.name
    in {"ffma", "ffma_share", "flop_counted", "flop_per_byte", "useful_bytes_percent", "divergent_branches"}
    or entry.name.endswith(("_per_request", "_ways", "_efficiency", "_pred_on", "_sectors"))
)


@dataclass(frozen=True)
class ByInstruction:
    """``--by-instruction``: in which order, and how many."""

    order: Order = "address"
    most: int | None = None


def render_counters(
    run: Run,
    console: Console,
    *,
    lines: bool = False,
    instructions: ByInstruction | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Print every variant's counters, or those of each source line, or of each instruction.

    ``columns`` (``--columns``) chooses among the counters.

    Raises:
        UsageError: ``columns`` has a name that nothing was counted under.
    """
    from rich.text import Text

    for result in run.results:
        console.print(Text(result.variant, style="bold"), Text(_origin(result), style="dim"))
        counters = counters_of(result)
        if counters is None:
            console.print(Text(_why_none(result), style="red"))
        elif instructions is not None:
            print_instructions(counters, console, order=instructions.order, most=instructions.most)
        elif lines:
            _print_lines(counters, console)
        else:
            shown = chosen_counters(counters, {**derived_values(result)}, columns)
            if columns:
                print_columns(counter_columns(shown), console)
            else:
                _print_nonzero(shown, console)
                _print_reading(result, counters, console)
        console.print()


def _print_nonzero(counters: Counters, console: Console) -> None:
    """The counters that counted something, and how many more are 0."""
    from rich.text import Text

    nonzero = {name: value for name, value in counters.values.items() if value}
    print_columns(counter_columns(replace(counters, values=nonzero)), console)
    zeros = len(counters.values) - len(nonzero)
    if zeros:
        console.print(Text(f"{zeros} more counters are 0 (see --csv, --json)", style="dim"))


def _origin(result: Result) -> str:
    counters = counters_of(result)
    if counters is None:
        return status_word(result)
    if counters.source == "ncu":
        return "counted by Nsight Compute"
    text = f"counted on the emulator, {status_word(result)}"
    if counters.blocks_run < counters.blocks_total:
        return f"{text}: {counters.blocks_run:,} of {counters.blocks_total:,} blocks ran, scaled to the whole grid"
    return f"{text}: {counters.blocks_total:,} blocks"


def _why_none(result: Result) -> str:
    missing = result.missing
    why = result.reason or missing.get("counters") or missing.get("ncu") or "nothing was counted"
    return f"{status_word(result)}: {why}" if result.status is not Status.OK else why


def chosen_counters(counters: Counters, values: Mapping[str, float], names: Sequence[str]) -> Counters:
    """The counters (and derived values) that ``names`` choose: just these, or with ``+`` and ``-`` more and fewer.

    Raises:
        UsageError: a name that nothing was counted under.
    """
    from gpuprof.errors import UsageError
    from gpuprof.results.derived import no_value

    if not names:
        return counters
    known = {**values, **counters.values}
    chosen = dict(counters.values) if all(name[0] in "+-" for name in names) else {}
    for name in names:
        bare = name.lstrip("+-")
        if bare not in known:
            raise UsageError(f"--columns {name}: {no_value(bare, sorted(known))}")
        if name.startswith("-"):
            chosen.pop(bare, None)
        else:
            chosen[bare] = known[bare]
    return replace(counters, values=chosen)


def counter_columns(counters: Counters) -> list[Column]:
    """Metric and value."""
    names = sorted(counters.values)
    return [
        Column("counter", tuple(names), ALWAYS, right=False, shrink_to=30),
        Column("value", tuple(_plain(counters.values[name]) for name in names), ALWAYS),
    ]


def _plain(value: float) -> str:
    """A count whole, a rate or percentage to six digits."""
    return units.significant(value, 6) if isinstance(value, float) else units.count(value)


def _print_reading(result: Result, counters: Counters, console: Console) -> None:
    """What the counters say: derived values, ncu's headlines, the verdict, and what has no value."""
    from rich.text import Text

    values = derived_values(result)
    known = [entry for entry in TABLE if entry.name in COUNTER_NAMES and entry.name in values]
    if known:
        console.print()
        print_columns(
            [
                Column("derived", tuple(entry.name for entry in known), ALWAYS, right=False),
                Column("value", tuple(units.show(values[entry.name], entry.unit) for entry in known), ALWAYS),
                Column("meaning", tuple(entry.meaning for entry in known), 50, right=False),
            ],
            console,
        )
    for line in headlines(counters):
        console.print(Text(line))
    found = verdict(result)
    if found is not None:
        console.print(Text(f"verdict: {found.text}", style="bold"))
    for why in dict.fromkeys(counters.unavailable.values()):
        console.print(Text(f"no value: {why}", style="yellow"))


LINE_VALUES: Sequence[tuple[str, str, str, int]] = (
    ("warp instr.", "warp_instructions", "short_count", ALWAYS),
    ("lanes", "lane_efficiency", "share", 80),
    ("pred. on", "lane_efficiency_pred_on", "share", 45),
    ("FFMA", "ffma", "short_count", 60),
    ("loads/req", "load_sectors_per_request", "ratio", 75),
    ("stores/req", "store_sectors_per_request", "ratio", 74),
    ("ways", "bank_conflict_ways", "ways", 76),
    ("divergent", "divergent_branches", "short_count", 65),
)


def line_columns(lines: Sequence[LineCounters], sources: SourceTexts) -> list[Column]:
    """Line, source text, instructions, and what was counted there."""
    columns = [
        Column("line", tuple(_place(line) for line in lines), ALWAYS, right=False),
        Column("source", tuple(sources.text(line) for line in lines), 82, right=False),
        Column("code", tuple(str(line.instructions) for line in lines), 40),
    ]
    for head, name, unit, priority in LINE_VALUES:
        cells = tuple(units.show(line.values.get(name) or None, unit) for line in lines)
        if any(cell != units.NOTHING for cell in cells):
            columns.append(Column(head, cells, priority))
    return columns


def _place(line: LineCounters) -> str:
    name = Path(line.file).name if line.file else "(no line)"
    return name if line.line is None else f"{name}:{line.line}"


class SourceTexts:
    """The text of source lines, shortened; empty where the file is not there. Reads each file once."""

    WIDTH = 36

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def text(self, line: LineCounters) -> str:
        if not line.file or line.line is None:
            return ""
        if line.file not in self._files:
            try:
                text = Path(line.file).read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._files[line.file] = text.splitlines()
        lines = self._files[line.file]
        text = lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""
        return text if len(text) <= self.WIDTH else text[: self.WIDTH - 1] + "…"


def _print_lines(counters: Counters, console: Console) -> None:
    from rich.text import Text

    lines = by_line(counters)
    if not lines:
        console.print(Text("no counts by instruction were kept (build with -lineinfo; ncu gives none here)"))
        return
    print_columns(line_columns(lines, SourceTexts()), console)


def render_agreement(run: Run, console: Console) -> None:
    """Print the emulator's counters beside ncu's, variant by variant, and the sums of equal and different ones."""
    from rich.text import Text

    found: list[Agreement] = []
    for result in run.results:
        compared = agreement(result)
        console.print(Text(result.variant, style="bold"))
        if compared is None:
            console.print(Text(_why_not_compared(result), style="red"))
        else:
            found.append(compared)
            styles = {"": {"equal": "green", "differs": "red", NEAR: "yellow"}}
            print_columns(agreement_columns(compared), console, styles)
            console.print(Text(agreement_line(compared), style="red" if _is_wrong(compared) else "green"))
        judged = verdict(result) if result.ncu is not None else None
        if judged is not None and judged.side:
            console.print(Text(f"verdict: {judged.text}", style="bold"))
        console.print()
    console.print(Text(f"{len(found)} variants: {_tally(found)}", style="bold"))


def _tally(found: Sequence[Agreement]) -> str:
    """``213 exact counters equal, 0 different; 26 hardware counters equal, 1 within 0.1 %``."""

    def total(word: str, *, exact: bool) -> int:
        return sum(entry.count(word, exact=exact) for entry in found)

    near, wrong = total(NEAR, exact=False), total(DIFFERS, exact=False)
    text = f"{total(EQUAL, exact=True)} exact counters equal, {total(DIFFERS, exact=True)} different"
    text += f"; {total(EQUAL, exact=False)} hardware counters equal"
    return text + (f", {near} within 0.1 %" if near else "") + (f", {wrong} different" if wrong else "")


def _why_not_compared(result: Result) -> str:
    if result.counters is None:
        return f"emulator: {_why_none(result)}"
    return f"ncu: {result.missing.get('ncu', 'nothing was counted')}"


def _is_wrong(compared: Agreement) -> bool:
    return compared.different > 0 and not compared.scaled


def agreement_columns(compared: Agreement) -> list[Column]:
    """Counter, its kind, both values, and the word."""
    return [
        Column("counter", tuple(pair.name for pair in compared.pairs), ALWAYS, right=False, shrink_to=30),
        Column("kind", tuple(pair.kind for pair in compared.pairs), 50, right=False),
        Column("emulated", tuple(units.show(pair.emulated, "count") for pair in compared.pairs), ALWAYS),
        Column("ncu", tuple(units.show(pair.ncu, "count") for pair in compared.pairs), ALWAYS),
        Column("", tuple(pair.word for pair in compared.pairs), ALWAYS, right=False),
    ]


def agreement_line(compared: Agreement) -> str:
    """``27 exact counters equal, 0 different; 6 hardware counters equal``, and what the numbers are worth."""
    silent = sum(1 for pair in compared.pairs if pair.equal is None)
    text = _tally([compared])
    if silent:
        text += f", {silent} without a value in ncu"
    if compared.scaled:
        text += "; the emulator ran a sample of the blocks and scaled: differences are expected (--emulate-budget all)"
    return text


def disagreements(run: Run) -> int:
    """How many counters differ, in whole runs only."""
    compared = [entry for result in run.results if (entry := agreement(result)) is not None]
    return sum(entry.different for entry in compared if not entry.scaled)
