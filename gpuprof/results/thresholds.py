"""``--fail-on``: conditions on a comparison, for CI. ``slower > 3%``, ``registers > 64``, ``spill_bytes > 0``.

A name is a derived value of the second run (``registers``), its change (``registers.change``: after minus before, with
``%`` relative to before), or one of ``slower`` and ``faster`` (in percent of the old time; 0 where the interval of the
ratio holds 1, so that noise alone does not fail a build), ``failed`` (1 where the second run's variant failed and the
first one's did not, or is gone) and ``different`` (1 where the machine code differs).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpuprof.errors import UsageError
from gpuprof.results.compare import Comparison, VariantComparison
from gpuprof.results.derived import TABLE, no_value
from gpuprof.results.model import Status

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}

_CONDITION = re.compile(
    r"\s*([A-Za-z_][A-Za-z0-9_]*)(\.change)?\s*(>=|<=|==|!=|>|<)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*"
)


@dataclass(frozen=True)
class Threshold:
    """One condition; it *fails* a variant whose value fulfils it."""

    text: str
    name: str
    change: bool
    relative: bool
    comparison: str
    limit: float


@dataclass(frozen=True)
class Violation:
    """A variant that fulfilled a condition; ``value`` is what was found (in percent for slower and faster)."""

    variant: str
    threshold: Threshold
    value: float


def parse_threshold(text: str) -> Threshold:
    """The condition written in ``text``.

    Raises:
        UsageError: it is not of the form NAME OPERATOR NUMBER[%], or the name is unknown.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(f"--fail-on {text!r}: write NAME OPERATOR NUMBER, like 'slower > 3%' or 'registers > 64'")
    name, change, comparison, number, percent = match.groups()
    known = (*_SPECIAL, *(entry.name for entry in TABLE))
    if name not in known:
        raise UsageError(f"--fail-on {text!r}: {no_value(name, known)}")
    if change and name in _SPECIAL:
        raise UsageError(f"--fail-on {text!r}: {name} compares the two runs already: '{name} {comparison} ...'")
    if percent and not change and name not in _PERCENT:
        raise UsageError(
            f"--fail-on {text!r}: {name} is not in percent; its change is: '{name}.change {comparison} ...%'"
        )
    relative = bool(percent and change and name not in _PERCENT)
    return Threshold(text.strip(), name, change is not None, relative, comparison, float(number))


def violations(comparison: Comparison, thresholds: Sequence[Threshold]) -> tuple[Violation, ...]:
    """Every variant that a condition fails, by condition and then in the comparison's order.

    A variant that has no such value is not failed by it (``failed > 0`` fails what broke or vanished).
    """
    found = []
    for threshold in thresholds:
        for variant in comparison.variants:
            value = _value(variant, threshold)
            if value is not None and _OPERATORS[threshold.comparison](value, threshold.limit):
                found.append(Violation(variant.variant, threshold, value))
    return tuple(found)


def unjudged(comparison: Comparison, thresholds: Sequence[Threshold]) -> tuple[Threshold, ...]:
    """The conditions that no variant has a value for, such as ``slower`` where nothing was timed: they cannot fail."""
    return tuple(
        threshold
        for threshold in thresholds
        if all(_value(variant, threshold) is None for variant in comparison.variants)
    )


def _value(variant: VariantComparison, threshold: Threshold) -> float | None:
    special = _SPECIAL.get(threshold.name)
    if special is not None:
        return special(variant)
    pair = variant.values.get(threshold.name)
    if pair is None or pair.after is None:
        return None
    if not threshold.change:
        return pair.after
    if pair.before is None:
        return None
    difference = pair.after - pair.before
    if not threshold.relative:
        return difference
    if pair.before == 0:
        return math.copysign(math.inf, difference) if difference else 0.0
    return 100 * difference / abs(pair.before)


def _slower(variant: VariantComparison) -> float | None:
    """Percent by which it is slower; 0 where the interval holds 1 or the kernel got faster."""
    if variant.time_ratio is None:
        return None
    unsure = variant.time_interval is not None and variant.time_interval[0] <= 1
    return 0.0 if unsure else max(0.0, 100 * (variant.time_ratio - 1))


def _faster(variant: VariantComparison) -> float | None:
    """Percent of the old time that it saves; 0 where the interval holds 1 or the kernel got slower."""
    if variant.time_ratio is None:
        return None
    unsure = variant.time_interval is not None and variant.time_interval[1] >= 1
    return 0.0 if unsure else max(0.0, 100 * (1 - variant.time_ratio))


def _failed(variant: VariantComparison) -> float:
    ok_before = variant.before is None or variant.before.status is Status.OK
    ok_after = variant.after is not None and variant.after.status is Status.OK
    return float(ok_before and not ok_after)


def _different(variant: VariantComparison) -> float | None:
    return None if variant.code == "unknown" else float(variant.code == "different")


_SPECIAL: Mapping[str, Callable[[VariantComparison], float | None]] = {
    "slower": _slower,
    "faster": _faster,
    "failed": _failed,
    "different": _different,
}
_PERCENT = frozenset({"slower", "faster", "occupancy", "useful_bytes_percent"})
