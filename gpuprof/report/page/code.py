"""A kernel's source and machine code side by side, with what was counted of each instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gpuprof.isa.counters import InstructionCounters
from gpuprof.isa.listing import FindingFacts, ListedInstruction, Listing
from gpuprof.isa.opcodes import opcode
from gpuprof.report import units
from gpuprof.report.page.highlight import highlighted
from gpuprof.report.page.model import Cell, CodeRow, CodeView, ColumnHead, SourceFile, SourceRow
from gpuprof.results.derived import counters_of
from gpuprof.results.model import Counters, Result, Run

#: Views in one page; a row of a view is some 400 bytes.
MAX_VIEWS = 12
#: Of a longer file the lines around those with code are shown.
MAX_LINES = 400
MARGIN_LINES = 6
HEATS = ("cost", "executed", "sectors", "bank conflicts", "lanes off", "stall")
LANES = 32

Places = Mapping[tuple[str, int | None], str]


@dataclass(frozen=True)
class _Counted:
    """An instruction with its counts."""

    listed: ListedInstruction
    counts: InstructionCounters | None

    @property
    def executed(self) -> float:
        return float(self.counts.executed) if self.counts else 0.0

    @property
    def stall(self) -> int | None:
        """The last part of ``B------:R-:W-:-:S02``."""
        _, _, text = self.listed.control.rpartition(":S")
        return int(text) if text.isdigit() else None


def code_views(run: Run) -> tuple[tuple[CodeView, ...], str]:
    """A view for each kernel of each variant, up to ``MAX_VIEWS``, and a sentence of those left out."""
    wanted: list[tuple[str, Result, str]] = []
    seen: set[object] = set()
    for result in run.results:
        for step, digest in _kernels(run, result):
            key = (digest, _counts_key(counters_of(result), step))
            if key not in seen:
                seen.add(key)
                wanted.append((step, result, digest))
    views: list[CodeView] = []
    for step, result, digest in wanted[:MAX_VIEWS]:
        views.append(_view(run, result, step, digest, f"code-{len(views) + 1}"))
    left = len(wanted) - len(views)
    note = f"{left} further kernels are not shown here: gpuprof sass has each." if left > 0 else ""
    return tuple(view for view in views if view.rows), note


def _kernels(run: Run, result: Result) -> Iterator[tuple[str, str]]:
    """(step, digest) of a row: each different code once, by the first step that launches it."""
    steps = [(step.name, step.build) for step in result.steps if step.build is not None]
    if not steps and result.build is not None:
        steps = [("", result.build)]
    known: set[str] = set()
    for name, build in steps:
        if (
            build is not None
            and (build.code_sha256 in run.code or counters_of(result))
            and build.code_sha256 not in known
        ):
            known.add(build.code_sha256)
            yield name, build.code_sha256


def _counts_key(counters: Counters | None, step: str) -> object:
    if counters is None:
        return None
    return tuple(entry.executed for entry in counters.per_instruction), tuple(counters.values.items())


def _view(run: Run, result: Result, step: str, digest: str, identifier: str) -> CodeView:
    counters = counters_of(result)
    entries = counters.per_instruction if counters else ()
    if step:
        entries = tuple(entry for entry in entries if entry.step == step)
    listing = run.code.get(digest)
    rows = _joined(listing, entries)
    title = f"{result.variant}: {step}" if step and len(result.steps) > 1 else result.variant
    kernel = listing.kernel if listing else result.build.kernel if result.build else ""
    return code_view(identifier, title, kernel, listing, rows, run.sources)


def code_view(
    identifier: str,
    title: str,
    kernel: str,
    listing: Listing | None,
    rows: Sequence[_Counted],
    sources: Mapping[str, str],
) -> CodeView:
    """The two sides; ``sources`` is file -> text."""
    findings = listing.findings if listing else ()
    files = [file for file in dict.fromkeys(row.listed.file for row in rows) if file]
    places: Places = {
        (row.listed.file, row.listed.line): f"{files.index(row.listed.file)}:{row.listed.line}"
        for row in rows
        if row.listed.line is not None
    }
    counted = any(row.counts for row in rows)
    columns = _columns(rows) if counted else ()
    heats = _Heats(rows)
    brackets = _brackets(listing, rows)
    total = sum(row.executed for row in rows)
    code = tuple(
        _code_row(row, columns, places, heats.of_row(number), brackets[number], findings, total)
        for number, row in enumerate(rows)
    )
    return CodeView(
        identifier=identifier,
        title=title,
        kernel=kernel,
        summary=_summary(rows, listing, total),
        columns=columns,
        heats=heats.names,
        rows=code,
        files=tuple(
            _source_file(file, sources.get(file, ""), rows, places, heats, findings)
            for file in files
            if sources.get(file)
        ),
        findings=tuple(_finding_text(finding) for finding in findings),
    )


def of_listing(listing: Listing) -> list[_Counted]:
    """The rows of code that nothing was counted of."""
    return [_Counted(row, None) for row in listing.rows]


def _joined(listing: Listing | None, entries: Sequence[InstructionCounters]) -> list[_Counted]:
    """The listing with counts by address; without a listing what was executed."""
    if listing is None:
        return [
            _Counted(ListedInstruction(entry.address, "", entry.text, entry.file, entry.line), entry)
            for entry in entries
        ]
    by_address = {entry.address: entry for entry in entries}
    return [_Counted(row, by_address.get(row.address)) for row in listing.rows]


def _summary(rows: Sequence[_Counted], listing: Listing | None, total: float) -> str:
    parts = [f"{len(rows)} instructions"]
    if listing is not None:
        parts.append(listing.arch)
        if listing.loops:
            parts.append(f"{len(listing.loops)} loop{'s' if len(listing.loops) > 1 else ''}")
    if total:
        parts.append(f"{units.short_count(total)} executed by warps")
    return ", ".join(parts)


_COLUMNS = (
    ColumnHead("executed", "executed", "executions by warps"),
    ColumnHead("share", "%", "share of all executions"),
    ColumnHead("lanes", "lanes", "lanes with the predicate on per execution"),
    ColumnHead("sectors", "sectors", "32-byte sectors per execution"),
    ColumnHead("ways", "ways", "shared-memory wavefronts over the conflict-free number"),
)


def _columns(rows: Sequence[_Counted]) -> tuple[ColumnHead, ...]:
    """Those that have a value in some row."""
    return tuple(head for head in _COLUMNS if any(_cell(head.name, row, 1.0).value is not None for row in rows))


def _cell(name: str, row: _Counted, total: float) -> Cell:
    counts = row.counts
    if counts is None:
        return Cell("")
    if name == "executed":
        return Cell(units.short_count(counts.executed), float(counts.executed))
    if name == "share":
        share = 100 * row.executed / total if total else None
        return Cell(units.show(share, "percent") if share is not None else "", share)
    value = {"lanes": counts.lanes_on, "sectors": counts.sectors, "ways": counts.ways}[name]
    return Cell(units.show(value, "ratio") if value is not None else "", value)


def _code_row(
    row: _Counted,
    columns: Sequence[ColumnHead],
    places: Places,
    heats: str,
    bracket: str,
    findings: Sequence[FindingFacts],
    total: float,
) -> CodeRow:
    text = row.listed.text
    guard, rest = ("", text)
    if text.startswith("@"):
        guard, _, rest = text.partition(" ")
    return CodeRow(
        address=f"{row.listed.address:04x}",
        bracket=bracket,
        control=row.listed.control.rpartition(":S")[0],
        stall="" if row.stall is None else str(row.stall),
        guard=guard,
        text=rest.lstrip(),
        kind=_kind(rest.lstrip()),
        place=places.get((row.listed.file, row.listed.line), ""),
        values=tuple(_cell(head.name, row, total) for head in columns),
        heats=heats,
        findings=tuple(_finding_text(each) for each in findings if each.address == row.listed.address),
    )


def _kind(text: str) -> str:
    return opcode(text.split(" ")[0].split(".")[0]).kind.value


def _finding_text(finding: FindingFacts) -> str:
    saving = f" Saves {finding.saving}." if finding.saving else ""
    return f"{finding.sentence}.{saving} Typical fix: {finding.fix}."


def _brackets(listing: Listing | None, rows: Sequence[_Counted]) -> list[str]:
    """``┌│└`` for each loop around an instruction, the outermost first; loops that end where they begin too."""
    loops = sorted(listing.loops, key=lambda loop: (loop[1], -loop[2])) if listing else []
    marks = []
    for row in rows:
        text = ""
        for _, start, end in loops:
            at = row.listed.address
            text += "┌" if at == start else "└" if at == end - 16 else "│" if start < at < end else " "
        marks.append(text.rstrip())
    return marks


class _Heats:
    """By what code can be coloured, and a digit from 0 to 9 per choice for rows and lines."""

    def __init__(self, rows: Sequence[_Counted]) -> None:
        measured = {name: [_heat(name, row) for row in rows] for name in HEATS}
        self.names = tuple(name for name, values in measured.items() if any(values))
        self._rows = {name: measured[name] for name in self.names}
        self._tops = {name: max(values) for name, values in self._rows.items()}

    def of_row(self, number: int) -> str:
        return "".join(_digit(self._rows[name][number], self._tops[name]) for name in self.names)

    def of_line(self, numbers: Sequence[int]) -> str:
        """The hottest of the line's instructions."""
        if not numbers:
            return ""
        return "".join(
            _digit(max(self._rows[name][number] for number in numbers), self._tops[name]) for name in self.names
        )


def _heat(name: str, row: _Counted) -> float:
    """What colours a row: totals over the launch, so that the hottest is what costs most."""
    if name == "stall":
        return float(row.stall or 0)
    counts = row.counts
    if counts is None:
        return 0.0
    if name == "cost":
        return counts.cost
    if name == "executed":
        return row.executed
    if name == "sectors":
        return row.executed * (counts.sectors or 0.0)
    if name == "bank conflicts":
        return row.executed * max(0.0, (counts.ways or 1.0) - 1.0)
    return row.executed * (LANES - (counts.lanes_on or 0.0)) if counts.lanes_on is not None else 0.0


def _digit(value: float, top: float) -> str:
    return str(min(9, round(9 * value / top))) if top else "0"


def _source_file(
    file: str,
    text: str,
    rows: Sequence[_Counted],
    places: Places,
    heats: _Heats,
    findings: Sequence[FindingFacts],
) -> SourceFile:
    by_line: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        if row.listed.file == file and row.listed.line is not None:
            by_line.setdefault(row.listed.line, []).append(number)
    lines = highlighted(text, file)
    shown = _shown(len(lines), by_line)
    return SourceFile(
        PurePath(file).name,
        tuple(
            SourceRow(
                number=number,
                place=places.get((file, number), ""),
                html=lines[number - 1],
                heats=heats.of_line(by_line.get(number, ())),
                known=number in by_line,
                findings=tuple(_finding_text(each) for each in findings if each.file == file and each.line == number),
            )
            for number in shown
        ),
    )


def _shown(count: int, with_code: Iterable[int]) -> list[int]:
    if count <= MAX_LINES:
        return list(range(1, count + 1))
    near = {line + step for line in with_code for step in range(-MARGIN_LINES, MARGIN_LINES + 1)}
    return sorted(number for number in near if 1 <= number <= count)
