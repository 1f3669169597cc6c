"""Reading what ``ncu --csv`` prints: every layout since 2020, any locale, whatever is around it.

Two layouts exist. The *raw* page has one row per launch and one column per metric, with a row of units under the
head. The *details* page has one row per metric, with the columns "Metric Name", "Metric Unit", "Metric Value". Both
start with columns that differ between versions ("Kernel Time" until 2022, "Block Size", "Grid Size", "Device", "CC"
since), so columns are found by name. Lines before the head (``==PROF==``, the program's own output) and after the
table are skipped. The text is not trusted: a damaged one raises ProfilerError and nothing else.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuprof.errors import ProfilerError

Number = int | float

#: More output than this is not read: 10,000 launches of 1,000 metrics stay below.
MAX_CHARACTERS = 256 << 20

#: Columns that describe a launch and are no metrics.
IDENTITY = frozenset(
    {
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Section Name", "Rule Name", "Rule Type", "Rule Description"),
        *("Estimated Speedup Type", "Estimated Speedup", "Estimated Savings"),
    }
)

_DETAILS = ("Metric Name", "Metric Unit", "Metric Value")
_HEAD = re.compile(r'^\ufeff?"?ID"?,.*"?Kernel Name"?,')


@dataclass(frozen=True)
class NcuLaunch:
    """One profiled launch. ``values`` are numbers in base units by metric name, ``texts`` what is not a number.

    ``units`` names the base unit by metric; ``block`` and ``grid`` are None where the version does not print them.
    """

    identifier: str
    kernel: str
    block: tuple[int, int, int] | None
    grid: tuple[int, int, int] | None
    values: Mapping[str, Number]
    texts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def parse_ncu_csv(text: str) -> tuple[NcuLaunch, ...]:
    """The launches in ncu's output, in their order; none if it holds no table.

    Raises:
        ProfilerError: the text is too long, or the table is damaged.
    """
    if len(text) > MAX_CHARACTERS:
        raise ProfilerError(f"ncu printed {len(text):,} characters; at most {MAX_CHARACTERS:,} are read")
    lines = text.replace("\x00", "").splitlines()
    start = next((n for n, line in enumerate(lines) if _HEAD.match(line)), None)
    if start is None:
        return ()
    head, rows = _table(lines[start:])
    if "Metric Name" in head:
        return _read_details(head, rows)
    return _read_raw(head, rows)


@dataclass(frozen=True)
class NcuRule:
    """What one of ncu's own rules says of a launch. ``kind`` is ncu's (``OPT``, ``INF``, ``WRN``)."""

    identifier: str
    kernel: str
    section: str
    rule: str
    kind: str
    text: str


def parse_ncu_rules(text: str) -> tuple[NcuRule, ...]:
    """The rules' results on a details page, in their order.

    Raises:
        ProfilerError: the table is damaged.
    """
    lines = text.replace("\x00", "").splitlines()
    start = next((n for n, line in enumerate(lines) if _HEAD.match(line)), None)
    if start is None:
        return ()
    head, rows = _table(lines[start:])
    if "Rule Name" not in head:
        return ()
    entries = [dict(zip(head, row, strict=True)) for row in rows]
    return tuple(
        NcuRule(
            identifier=entry["ID"],
            kernel=entry["Kernel Name"],
            section=entry.get("Section Name", ""),
            rule=entry["Rule Name"],
            kind=entry.get("Rule Type", ""),
            text=entry.get("Rule Description", ""),
        )
        for entry in entries
        if entry["Rule Name"]
    )


def _table(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows. Lines that are no row (messages, program output) are left out; a torn row is an error.

    On a details page the rows of metrics end in one comma where the columns of rules begin: they are filled up.
    """
    relevant = [lines[0].lstrip("\ufeff"), *(line for line in lines[1:] if line.startswith('"'))]
    if any(line.count('"') % 2 for line in relevant):
        raise ProfilerError("ncu's output is damaged: a row ends within a field: was it cut short?")
    try:
        records = list(csv.reader(relevant))
    except csv.Error as error:
        raise ProfilerError(f"ncu's output is damaged: {error}") from None
    if len(records) != len(relevant):
        raise ProfilerError("ncu's output is damaged: quotes do not match")
    head = [name.strip() for name in records[0]]
    least = head.index("Metric Value") + 2 if "Metric Value" in head else len(head)
    rows = []
    for line, row in zip(relevant[1:], records[1:], strict=True):
        open_ended = len(row) >= least and line.rstrip().endswith(",")
        if len(row) != len(head) and not (open_ended and len(row) < len(head)):
            widths = f"a row has {len(row)} fields where the head has {len(head)}"
            raise ProfilerError(f"ncu's output is damaged: {widths}: was it cut short?")
        rows.append(row + [""] * (len(head) - len(row)))
    return head, rows


def _read_raw(head: list[str], rows: list[list[str]]) -> tuple[NcuLaunch, ...]:
    units: dict[str, str] = {}
    if rows and not rows[0][head.index("ID")]:
        units = {name: unit for name, unit in zip(head, rows[0], strict=True) if unit}
        rows = rows[1:]
    metrics = [(n, name) for n, name in enumerate(head) if name not in IDENTITY]
    style = number_style(row[n] for row in rows for n, _ in metrics)
    return tuple(_launch(head, row, {name: row[n] for n, name in metrics}, units, style) for row in rows)


def _read_details(head: list[str], rows: list[list[str]]) -> tuple[NcuLaunch, ...]:
    missing = [name for name in _DETAILS if name not in head]
    if missing:
        raise ProfilerError(f"ncu's output is damaged: no column {missing[0]!r}")
    name_at, unit_at, value_at = (head.index(name) for name in _DETAILS)
    style = number_style(row[value_at] for row in rows)
    by_launch: dict[str, list[list[str]]] = {}
    for row in rows:
        by_launch.setdefault(row[head.index("ID")], []).append(row)
    launches = []
    for group in by_launch.values():
        named = [row for row in group if row[name_at]]
        units = {row[name_at]: row[unit_at].strip() for row in named if row[unit_at].strip()}
        launches.append(_launch(head, group[0], {row[name_at]: row[value_at] for row in named}, units, style))
    return tuple(launches)


def _launch(
    head: list[str], row: list[str], cells: Mapping[str, str], units: Mapping[str, str], style: NumberStyle
) -> NcuLaunch:
    values: dict[str, Number] = {}
    texts: dict[str, str] = {}
    for name, cell in cells.items():
        number = style.read(cell)
        if number is not None:
            factor, base = _BASE_UNITS.get(units.get(name, ""), (1, None))
            values[name] = number if factor == 1 else number * factor
            units = {**units, name: base} if base else units
        elif cell.strip() and cell.strip().lower() not in _ABSENT:
            texts[name] = cell
    field_of = dict(zip(head, row, strict=True))
    missing = [name for name in ("ID", "Kernel Name") if name not in field_of]
    if missing:
        raise ProfilerError(f"ncu's output has no column '{missing[0]}': it is damaged, or of another page than raw")
    return NcuLaunch(
        identifier=field_of["ID"],
        kernel=field_of["Kernel Name"],
        block=_dim3(field_of.get("Block Size", "")),
        grid=_dim3(field_of.get("Grid Size", "")),
        values=values,
        texts=texts,
        units=dict(units),
    )


#: What ncu prints where it has no value.
_ABSENT = frozenset({"n/a", "nan", "-nan", "(!) n/a", "-nan(ind)"})

#: Units that are no base units, for output made without ``--print-units base``: factor and base unit. Times in
#: seconds too: the base of ``gpu__time_duration.sum`` is the nanosecond ("ns", "nsecond" before 2023).
_BASE_UNITS: Mapping[str, tuple[Number, str | None]] = {
    "nsecond": (1, "ns"),
    "usecond": (1_000, "ns"),
    "us": (1_000, "ns"),
    "msecond": (1_000_000, "ns"),
    "ms": (1_000_000, "ns"),
    "second": (1_000_000_000, "ns"),
    "s": (1_000_000_000, "ns"),
    "Kbyte": (1_000, "byte"),
    "Mbyte": (1_000_000, "byte"),
    "Gbyte": (1_000_000_000, "byte"),
    "Kbyte/second": (1e3, "byte/second"),
    "Mbyte/second": (1e6, "byte/second"),
    "Gbyte/second": (1e9, "byte/second"),
    "Tbyte/second": (1e12, "byte/second"),
    "Kbyte/s": (1e3, "byte/second"),
    "Mbyte/s": (1e6, "byte/second"),
    "Gbyte/s": (1e9, "byte/second"),
    "Tbyte/s": (1e12, "byte/second"),
    "Kbyte/block": (1e3, "byte/block"),
    "cycle/nsecond": (1e9, "cycle/second"),
    "cycle/usecond": (1e6, "cycle/second"),
    "Ghz": (1e9, "hz"),
    "GHz": (1e9, "hz"),
    "Mhz": (1e6, "hz"),
    "MHz": (1e6, "hz"),
}

_DIM3 = re.compile(r"\(?\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)?")


def _dim3(text: str) -> tuple[int, int, int] | None:
    match = _DIM3.fullmatch(text.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


_BLANKS = str.maketrans("", "", " \u00a0\u202f'\u2019")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d{1,3})?")


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written in one output: the decimal character and the one between thousands."""

    decimal: str = "."
    thousands: str = ","

    def read(self, text: str) -> Number | None:
        """The number, an int where it is written without decimals; None if the text is none."""
        plain = text.strip().translate(_BLANKS)
        if not _NUMBER.fullmatch(plain) or len(plain) > 400:
            return None
        plain = plain.replace(self.thousands, "").replace(self.decimal, ".")
        try:
            value = float(plain)
            return int(plain) if plain.lstrip("+-").isdigit() else value if math.isfinite(value) else None
        except ValueError:
            return None


def number_style(cells: Iterable[str]) -> NumberStyle:
    """Whether a comma or a point is the decimal character, from all numbers of an output.

    A character that comes twice in a number is between thousands, as does the first of two different ones; one
    that is not followed by exactly three digits is the decimal one. Where nothing decides, as in English.
    """
    for cell in cells:
        plain = cell.strip().translate(_BLANKS)
        if not _NUMBER.fullmatch(plain):
            continue
        mantissa = re.split("[eE]", plain)[0]
        last = max(mantissa.rfind(","), mantissa.rfind("."))
        if last < 0:
            continue
        decided = _decimal_of(mantissa, last)
        if decided is not None:
            return NumberStyle() if decided == "." else NumberStyle(",", ".")
    return NumberStyle()


def _decimal_of(mantissa: str, last: int) -> str | None:
    """The decimal character that this number shows, or None where it is ambiguous."""
    character = mantissa[last]
    other = "." if character == "," else ","
    if other in mantissa:
        return character
    if mantissa.count(character) > 1:
        return other
    whole, digits = mantissa[:last].lstrip("+-"), len(mantissa) - last - 1
    grouped = digits == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0")
    return None if grouped else character
