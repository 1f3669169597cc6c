"""How the fields of a state pass to a part of it: chosen warps of a batch, one per row, with the memories of the whole.

Every field says so where it is declared, so that none can be forgotten: ``part_of`` knows no other way to fill one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

State = TypeVar("State")

_RULE = "part"


class Rule(Enum):
    """What a part gets of a field."""

    SAME = "the same object: memories, counters, what belongs to the launch"
    WARPS = "an array: the values of the chosen warps"
    FILE = "a list of arrays: the values of the chosen warps, of each"
    TABLE = "arrays by name: the values of the chosen warps, of each"
    FRESH = "its default: nothing runs, waits or is remembered yet"
    OWN = "given by who makes the part: its size and its place in the whole"


def same(**options: Any) -> Any:
    """A field that a part shares with the whole."""
    return field(metadata={_RULE: Rule.SAME}, **options)


def per_warp(**options: Any) -> Any:
    """An array with the axes of the lanes."""
    return field(metadata={_RULE: Rule.WARPS}, **options)


def file_of_registers(**options: Any) -> Any:
    """A list of arrays with the axes of the lanes; what a part writes there goes back to the whole."""
    return field(metadata={_RULE: Rule.FILE}, **options)


def table(**options: Any) -> Any:
    """Arrays with the axes of the lanes, by name."""
    return field(metadata={_RULE: Rule.TABLE}, **options)


def fresh(default: Callable[[], Any] | Any) -> Any:
    """A field that begins anew in a part: a value, or what makes one."""
    made = {"default_factory": default} if callable(default) else {"default": default}
    return field(metadata={_RULE: Rule.FRESH}, **made)


def own(**options: Any) -> Any:
    """A field whose value the maker of a part names."""
    return field(metadata={_RULE: Rule.OWN}, **options)


def rules(state: Any) -> dict[str, Rule]:
    """Field -> rule, of a state or its class; raises KeyError for a field that was declared without one."""
    return {entry.name: entry.metadata[_RULE] for entry in fields(state)}


def part_of(state: State, rows: Array, warps: Array, own_values: Mapping[str, Any]) -> State:
    """A state of the warps (rows[i], warps[i]), one per row. ``own_values`` are the fields declared ``own``."""
    values = dict(own_values)
    for each in fields(state):  # type: ignore[arg-type]
        rule = each.metadata[_RULE]
        if rule is Rule.OWN and each.name not in values:
            raise TypeError(f"a part needs its own {each.name}")
        if rule is Rule.FRESH:
            made = each.default_factory
            values[each.name] = each.default if made is MISSING else made()
        elif rule is not Rule.OWN:
            values[each.name] = _TAKE[rule](getattr(state, each.name), rows, warps)
    return type(state)(**values)


def files(state: Any) -> dict[str, list[Array]]:
    """The lists of arrays of a state, by name."""
    return {name: getattr(state, name) for name, rule in rules(state).items() if rule is Rule.FILE}


def take(value: Array, rows: Array, warps: Array) -> Array:
    """The chosen warps' values as (chosen, 1, lanes), or ``value`` where it is the same for all."""
    if value.shape[0] == 1 and value.shape[1] == 1:
        return value
    row = rows if value.shape[0] > 1 else np.zeros_like(rows)
    warp = warps if value.shape[1] > 1 else np.zeros_like(warps)
    return value[row, warp][:, None, :]


def _take_file(file: list[Array], rows: Array, warps: Array) -> list[Array]:
    """``take`` of a whole file; registers that share an array still do."""
    known: dict[int, Array] = {}
    for value in file:
        if id(value) not in known:
            known[id(value)] = take(value, rows, warps)
    return [known[id(value)] for value in file]


def _take_table(values: Mapping[str, Array], rows: Array, warps: Array) -> dict[str, Array]:
    return {name: take(value, rows, warps) for name, value in values.items()}


_TAKE: Mapping[Rule, Callable[[Any, Array, Array], Any]] = {
    Rule.SAME: lambda value, rows, warps: value,
    Rule.WARPS: take,
    Rule.FILE: _take_file,
    Rule.TABLE: _take_table,
}
