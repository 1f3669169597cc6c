"""One formatter per unit: every table, page and export that shows text uses these.

A value that does not exist is ``-``. Printers format and never compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

NOTHING = "-"

_LARGE = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def significant(value: float, digits: int = 4) -> str:
    """Plain decimal digits with at most ``digits`` significant ones (never fewer than the integer part)."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    text = f"{value:,.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(value: float) -> str:
    """A whole number with separators: ``154,664,960``. A fraction (a scaled count) keeps two decimals."""
    if not math.isfinite(value):
        return significant(value)
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"


def short_count(value: float) -> str:
    """A number in four digits or so: ``154.7M``; small ones whole."""
    if not math.isfinite(value):
        return significant(value)
    for factor, letter in _LARGE:
        if abs(value) >= factor * (10 if letter == "k" else 1):
            return significant(value / factor, 4) + letter
    return count(value)


def bytes_(value: float) -> str:
    """Bytes in binary units: ``8K`` for whole ones, ``1,120`` where that is short, else three digits: ``33.9K``."""
    for shift, letter in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if abs(value) >= 1 << shift:
            scaled = value / (1 << shift)
            return count(value) if shift == 10 and scaled < 10 and scaled % 1 else significant(scaled, 3) + letter
    return count(value)


def microseconds(value: float) -> str:
    """A time given in microseconds: ``873.4 µs``, ``12.35 ms``, ``1.204 s``."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if abs(value) >= factor:
            return f"{_fixed_digits(value / factor)} {unit}"
    return f"{_fixed_digits(value)} µs"


def seconds(value: float) -> str:
    """A wall time given in seconds: ``2.4 s``, ``3 min 20 s``."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def _fixed_digits(value: float) -> str:
    """Four significant digits, zeros kept, so that a column of times lines up by precision."""
    if not math.isfinite(value):
        return significant(value)
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    return f"{value:,.{min(6, max(0, 3 - magnitude))}f}"


def percent(value: float) -> str:
    """A percentage (0 to 100): ``66.7%``."""
    return f"{significant(value, 3)}%"


def share(value: float) -> str:
    """A fraction (0 to 1), shown in percent."""
    return percent(100 * value)


def ratio(value: float) -> str:
    """A quotient without a unit: ``5``, ``1.25``."""
    return significant(value, 3)


def times(value: float) -> str:
    """A speed-up: ``2.31x``."""
    return f"{value:.2f}x" if math.isfinite(value) else significant(value)


def rate(value: float) -> str:
    """GFLOP/s or GB/s."""
    return significant(value, 4)


def difference(value: float) -> str:
    """An absolute or relative difference: ``0``, ``1.19e-07``, ``12.5``."""
    if value == 0 or not math.isfinite(value) or 1e-3 <= abs(value) < 1e5:
        return significant(value, 3)
    return f"{value:.2e}"


#: unit (as ``results.derived`` names it) -> formatter.
FORMATTERS: Mapping[str, Callable[[float], str]] = {
    "count": count,
    "short_count": short_count,
    "bytes": bytes_,
    "us": microseconds,
    "percent": percent,
    "share": share,
    "ratio": ratio,
    "ways": ratio,
    "times": times,
    "GFLOP/s": rate,
    "GB/s": rate,
    "difference": difference,
    "flop/byte": ratio,
}


def show(value: float | None, unit: str) -> str:
    """``value`` in its unit, or ``-``."""
    return NOTHING if value is None else FORMATTERS[unit](value)
