"""What a page shows, as plain values: the templates only lay them out."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Cell:
    """``value`` orders rows and is compared with by the filter; None where the text is no number."""

    text: str
    value: float | None = None
    mark: str = ""  #: ``good``, ``bad``, ``warn``


@dataclass(frozen=True)
class ColumnHead:
    name: str  #: how the filter calls it
    title: str
    meaning: str = ""
    number: bool = True


@dataclass(frozen=True)
class TableRow:
    """``name`` heads the row."""

    name: str
    cells: tuple[Cell, ...]
    mark: str = ""  #: ``baseline``, ``best``


@dataclass(frozen=True)
class Table:
    """``first`` is the head of the column of names."""

    identifier: str
    caption: str
    first: str
    columns: tuple[ColumnHead, ...]
    rows: tuple[TableRow, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture as inline SVG. ``text`` says in words what it shows, for those who cannot see it."""

    title: str
    caption: str
    svg: Markup
    wide: bool = False
    lanes: bool = False  #: cells with numbers in them: never drawn smaller than they can be read


@dataclass(frozen=True)
class Note:
    """A line below the table; ``kind`` is ``key``, ``bad``, ``warn`` or empty."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class CodeRow:
    """An instruction. ``place`` is ``file:line`` of its source as the two sides know it, empty without one."""

    address: str
    bracket: str
    control: str
    stall: str
    guard: str
    text: str
    kind: str
    place: str
    values: tuple[Cell, ...]
    heats: str  #: by heat choice, 0 to 9, one digit each
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceRow:
    number: int
    place: str
    html: Markup
    heats: str
    known: bool  #: some instruction is of this line
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    name: str
    rows: tuple[SourceRow, ...]


@dataclass(frozen=True)
class CodeView:
    """A kernel's code: source and machine code side by side."""

    identifier: str
    title: str
    kernel: str
    summary: str
    columns: tuple[ColumnHead, ...]  #: of ``CodeRow.values``
    heats: tuple[str, ...]  #: what the code can be coloured by
    rows: tuple[CodeRow, ...]
    files: tuple[SourceFile, ...]
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fact:
    name: str
    text: str
    code: bool = False


@dataclass(frozen=True)
class AccessGroup:
    """One kind of access, a picture for each pattern."""

    title: str
    figures: tuple[Figure, ...]
    note: str = ""


@dataclass(frozen=True)
class PageView:
    """One subject's part of a page: a run, a comparison, a kernel's code. What it lacks is left out."""

    identifier: str
    title: str
    description: str = ""
    origin: tuple[str, ...] = ()
    table: Table | None = None
    notes: tuple[Note, ...] = ()
    further: tuple[Table, ...] = ()  #: below the table, each closed at first
    figures: tuple[Figure, ...] = ()
    accesses: tuple[AccessGroup, ...] = ()
    codes: tuple[CodeView, ...] = ()
    code_note: str = ""
    checks: Table | None = None
    differences: tuple[Figure, ...] = ()
    expectations: Table | None = None
    environment: tuple[Fact, ...] = ()
    heading: str = "Results"  #: above the table

    @property
    def contents(self) -> list[tuple[str, str]]:
        """(name, title) of the parts that are there, in their order."""
        parts = (
            ("results", self.heading, self.table),
            ("pictures", "Pictures", self.figures),
            ("lanes", "Lanes", self.accesses),
            ("code", "Code", self.codes),
            ("checks", "Checks", self.checks or self.expectations),
            ("environment", "Environment", self.environment),
        )
        return [(name, title) for name, title, content in parts if content]
