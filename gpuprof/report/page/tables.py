"""The tables of a page: the run's own, the checks, the expectations, and what other tables of the terminal have."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuprof.report import units
from gpuprof.report.columns import STATUS, VARIANT, ColumnSpec, Row, draw, rows_of
from gpuprof.report.layout import Column
from gpuprof.report.page.model import Cell, ColumnHead, Table, TableRow
from gpuprof.report.run_table import specs_for
from gpuprof.results.agreement import DIFFERS, EQUAL, agreement
from gpuprof.results.best import best_of
from gpuprof.results.derived import counters_of, describe
from gpuprof.results.lookup import is_baseline
from gpuprof.results.model import Run, Verification

#: Words of a status or verdict -> how it is marked.
MARKS = {"ok": "good", "built": "", "ran": "", "reference": "", "unchecked": "warn", "skipped": "warn"}


#: Variants whose counters stand side by side.
MAX_COUNTED = 24


def run_table(run: Run, columns: Sequence[str] = ()) -> Table | None:
    """Every column that says something; what is equal in all rows is told in the note."""
    if not run.results:
        return None
    rows = rows_of(run.results)
    shown: list[tuple[ColumnSpec, Column]] = []
    equal: list[str] = []
    for spec in specs_for(run, columns=columns):
        for column in draw((spec,), rows) if spec.name != VARIANT.name else ():
            if column.silent:
                equal.append(f"{spec.title} {column.silent}")
            else:
                shown.append((spec, column))
    best = best_of(run)
    bases = [is_baseline(run, result) for result in run.results]
    return Table(
        identifier="variants",
        caption="Variants",
        first="variant",
        columns=tuple(_column_head(spec) for spec, _ in shown),
        rows=tuple(
            TableRow(
                row.result.variant,
                tuple(_cell(spec, row, column.cells[number]) for spec, column in shown),
                "best"
                if best and best.result is row.result
                else "baseline"
                if bases[number] and not all(bases)
                else "",
            )
            for number, row in enumerate(rows)
        ),
        note=f"Equal in every row: {', '.join(equal)}." if equal else "",
    )


def _column_head(spec: ColumnSpec) -> ColumnHead:
    entry = describe(spec.name)
    title = "".join(part if part.endswith(("_", "-")) else f"{part} " for part in spec.short.split("\n")).strip()
    return ColumnHead(spec.name, title, entry.meaning if entry else spec.title, spec.right)


def _cell(spec: ColumnSpec, row: Row, text: str) -> Cell:
    if spec.name == STATUS.name:
        return Cell(text, None, MARKS.get(text, "bad"))
    return Cell(text, _value(spec, row))


def _value(spec: ColumnSpec, row: Row) -> float | None:
    """What orders the rows by this column."""
    result = row.result
    known = {**result.sizes, **result.parameters, **row.values}
    if spec.name == "time":
        return row.values.get("time_us")
    if spec.name == "interval" and result.timing is not None:
        return (result.timing.interval_us[1] - result.timing.interval_us[0]) / result.timing.median_us
    if spec.name == "blocks_run" and result.counters is not None:
        return result.counters.blocks_run / max(1, result.counters.blocks_total)
    value = known.get(spec.name, result.modelled.get(spec.name))
    return float(value) if isinstance(value, int | float) else None


def checks_table(run: Run) -> Table | None:
    """What was verified of each variant, and how."""
    rows = []
    for result in run.results:
        check = result.verification
        if check is None:
            word = result.reason or result.missing.get("verification") or "not run"
            rows.append(TableRow(result.variant, (Cell("-"), Cell("-"), Cell("-"), Cell("-"), Cell(word))))
            continue
        rows.append(
            TableRow(
                result.variant,
                (
                    Cell(check.verdict, None, MARKS.get(check.verdict, "bad")),
                    Cell(_coverage(check), check.checked),
                    Cell(units.show(check.max_abs, "difference"), check.max_abs),
                    Cell(units.show(check.max_rel, "difference"), check.max_rel),
                    Cell("; ".join((check.why, *check.notes)).strip("; ")),
                ),
            )
        )
    columns = (
        ColumnHead("verdict", "verdict", number=False),
        ColumnHead("checked", "elements checked"),
        ColumnHead("max_abs", "max |diff|", "largest absolute difference"),
        ColumnHead("max_rel", "max relative", "largest relative difference"),
        ColumnHead("how", "how", number=False),
    )
    return Table("checks", "What was verified, and how", "variant", columns, tuple(rows)) if rows else None


def _coverage(check: Verification) -> str:
    if check.checked == check.total:
        return f"all {check.total:,}"
    return f"{check.checked:,} of {check.total:,}"


def expectations_table(run: Run) -> Table | None:
    """The YAML's expectations with their outcome."""
    words = {
        True: Cell("holds", None, "good"),
        False: Cell("failed", None, "bad"),
        None: Cell("undecided", None, "warn"),
    }
    rows = tuple(
        TableRow(outcome.expression, (Cell(outcome.variant or "all"), words[outcome.held], Cell(outcome.detail)))
        for outcome in run.expectations
    )
    columns = tuple(ColumnHead(name, name, number=False) for name in ("variant", "outcome", "detail"))
    return Table("expectations", "Expectations of the YAML", "expectation", columns, rows) if rows else None


def counters_table(run: Run) -> Table | None:
    """Every counter of every variant, by Nsight Compute's names; None for a sweep too wide to read (the CSV has it)."""
    counted = [(result.variant, counters) for result in run.results if (counters := counters_of(result)) is not None]
    if len(counted) > MAX_COUNTED:
        return None
    names = sorted({name for _, counters in counted for name in counters.values})
    rows = tuple(
        TableRow(
            name,
            tuple(
                Cell(units.show(value, "count"), value)
                for value in (counters.values.get(name) for _, counters in counted)
            ),
        )
        for name in names
    )
    columns = tuple(ColumnHead(variant, variant) for variant, _ in counted)
    return Table("counters", "Every counter", "counter", columns, rows) if rows else None


def agreement_tables(run: Run) -> list[Table | None]:
    """The emulator's counters beside Nsight Compute's, of each variant that both counted."""
    columns = (
        ColumnHead("kind", "kind", number=False),
        ColumnHead("emulated", "emulated"),
        ColumnHead("ncu", "ncu"),
        ColumnHead("word", "equal", number=False),
    )
    tables: list[Table | None] = []
    for number, result in enumerate(run.results, 1):
        found = agreement(result)
        if found is not None:
            rows = tuple(
                TableRow(
                    pair.name,
                    (
                        Cell(pair.kind),
                        Cell(units.show(pair.emulated, "count"), pair.emulated),
                        Cell(units.show(pair.ncu, "count"), pair.ncu),
                        Cell(pair.word, None, "bad" if pair.word == DIFFERS else "good" if pair.word == EQUAL else ""),
                    ),
                )
                for pair in found.pairs
            )
            caption = f"Emulator beside Nsight Compute: {found.variant}"
            tables.append(Table(f"agreement-{number}", caption, "counter", columns, rows))
    return tables


def plain_table(identifier: str, caption: str, columns: Sequence[Column]) -> Table | None:
    """A table of the terminal as it is: its first column names the rows."""
    if not columns or not columns[0].cells:
        return None
    first, *others = columns
    return Table(
        identifier,
        caption,
        first.head.replace("\n", " "),
        tuple(
            ColumnHead(column.head.replace("\n", "_"), column.head.replace("\n", " "), number=column.right)
            for column in others
        ),
        tuple(
            TableRow(name, tuple(Cell(column.cells[number], number_in(column.cells[number])) for column in others))
            for number, name in enumerate(first.cells)
        ),
    )


_QUANTITY = re.compile(r"[±+]?(-?[\d,]*\.?\d+)\s*(%|x|µs|ms|s|k|K|M|G|T|P)?(?![\w.])")
_FACTORS = {"ms": 1e3, "s": 1e6, "k": 1e3, "K": 1024, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def number_in(text: str) -> float | None:
    """What orders a cell that ``report.units`` wrote; None where it does not begin with a number."""
    found = _QUANTITY.match(text)
    return float(found[1].replace(",", "")) * _FACTORS.get(found[2], 1) if found else None
