"""Which columns a table has: ``--columns`` on the command line and ``columns:`` in the YAML.

``NAME,NAME`` names them all, ``+NAME`` adds to the usual ones and ``-NAME`` takes away. A name is a column's own, a
value of ``docs/values.md``, a value of the YAML, a size, a parameter or a counter's full name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuprof.errors import UsageError
from gpuprof.report import units
from gpuprof.report.columns import STATUS, VARIANT, ColumnSpec, Row, value_text
from gpuprof.report.label_columns import HEAD_WIDTH, broken
from gpuprof.report.layout import ALWAYS
from gpuprof.results.derived import TABLE, counters_of, describe, no_value

#: Columns that somebody asked for stay as long as any but the row's name.
ASKED = ALWAYS - 1


def parse_columns(text: str | None) -> tuple[str, ...]:
    """``--columns`` as names; None: no choice was made."""
    return tuple(name for part in (text or "").split(",") if (name := part.strip()))


def check_names(names: Sequence[str], known: Sequence[ColumnSpec], others: Iterable[str]) -> None:
    """Raise UsageError for a name that no column, no value and none of ``others`` (sizes, parameters) has.

    What looks like a counter (``smsp__inst_executed.sum``) is left for the run to know.
    """
    every = {*(spec.name for spec in known), *(entry.name for entry in TABLE), *others}
    for name in names:
        bare = name.lstrip("+-")
        if bare not in every and "__" not in bare:
            raise UsageError(f"--columns {name}: {no_value(bare, sorted(every))}")


def choose(
    usual: Sequence[ColumnSpec],
    known: Sequence[ColumnSpec],
    names: Sequence[str],
    rows: Sequence[Row],
    *,
    strict: bool = True,
) -> tuple[ColumnSpec, ...]:
    """``usual`` as ``names`` change them; ``known`` are all heads that have names of their own.

    Without ``strict`` a name that nothing has here is left out: a counter of a YAML where only times were taken.

    Raises:
        UsageError: a name that no column or value has.
    """
    if not names:
        return tuple(usual)
    whole = any(name[0] not in "+-" for name in names)
    specs = [VARIANT, STATUS] if whole else list(usual)
    by_name = {spec.name: spec for spec in reversed((*usual, *known))}
    for name in names:
        bare = name.lstrip("+-")
        try:
            spec = by_name.get(bare) or _spec(bare, rows, by_name)
        except UsageError:
            if strict:
                raise
            continue
        specs = [other for other in specs if other.name != spec.name or (other is VARIANT and not name.startswith("-"))]
        if not name.startswith("-") and spec is not VARIANT:
            specs.insert(_place(spec, specs), spec.asked(ASKED))
    return tuple(specs)


def _place(spec: ColumnSpec, specs: Sequence[ColumnSpec]) -> int:
    """Behind the column that it belongs to, else at the end."""
    return next((n for n, other in enumerate(specs, 1) if spec.beside and other.name == spec.beside), len(specs))


def _spec(name: str, rows: Sequence[Row], known: Iterable[str]) -> ColumnSpec:
    """A column for a value that the usual tables have none for."""
    short = broken(name, HEAD_WIDTH)
    if describe(name) is not None:
        return ColumnSpec(name, short, ASKED, value_text(name))
    if any(name in row.result.values for row in rows):
        return ColumnSpec(name, short, ASKED, lambda row: units.show(row.result.values.get(name), "ratio"))
    if any(name in _given(row) for row in rows):
        return ColumnSpec(name, name, ASKED, lambda row: str(_given(row).get(name, units.NOTHING)))
    if any(name in _counted(row) for row in rows):
        return ColumnSpec(name, broken(name, 20), ASKED, lambda row: units.show(_counted(row).get(name), "short_count"))
    if any(name in row.result.missing for row in rows):
        return ColumnSpec(name, short, ASKED, lambda row: units.NOTHING)
    own = {value for row in rows for value in (*row.result.values, *_given(row))}
    names = sorted({*known, *(entry.name for entry in TABLE), *own})
    raise UsageError(f"--columns {name}: {no_value(name, names)}")


def _given(row: Row) -> Mapping[str, float | int | str]:
    return {**row.result.sizes, **row.result.parameters}


def _counted(row: Row) -> Mapping[str, float]:
    counters = counters_of(row.result)
    return counters.values if counters else {}
