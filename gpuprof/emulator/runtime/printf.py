"""Device printf: C's format strings over the argument buffer that a kernel fills."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_SPECIFIER = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?)?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[a-zA-Z%])"
)
_EIGHT_BYTES = ("ll", "l", "j", "z", "t")
_SIGNED, _UNSIGNED, _FLOATS = "di", "ouxX", "fFeEgGaA"


class _Arguments:
    """Values of the buffer in order: each is at a multiple of its own size."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._offset = 0

    def take(self, layout: str) -> int | float:
        size = struct.calcsize(layout)
        self._offset = -(-self._offset // size) * size
        data = self._read(self._offset, size)
        self._offset += size
        value: int | float = struct.unpack("<" + layout, data)[0]
        return value


def format_printf(text: str, read: Callable[[int, int], bytes], string_at: Callable[[int], str]) -> str:
    """What ``printf(text, ...)`` prints. ``read(offset, size)`` gives bytes of the argument buffer."""
    arguments = _Arguments(read)
    return _SPECIFIER.sub(lambda match: _one(match, arguments, string_at), text)


def _one(match: re.Match[str], arguments: _Arguments, string_at: Callable[[int], str]) -> str:
    kind, length = match["kind"], match["length"] or ""
    if kind == "%":
        return "%"
    width = _number(match["width"], arguments)
    precision = _number(match["precision"], arguments) if "." in match[0] else None
    flags = match["flags"]
    if width is not None and width < 0:
        flags, width = flags + "-", -width
    spec = "%" + flags + ("" if width is None else str(width)) + ("" if precision is None else f".{precision}")
    wide = length in _EIGHT_BYTES
    if kind in _SIGNED:
        return (spec + "d") % arguments.take("q" if wide else "i")
    if kind in _UNSIGNED:
        return (spec + ("d" if kind == "u" else kind)) % arguments.take("Q" if wide else "I")
    if kind in _FLOATS:
        value = float(arguments.take("d"))
        return value.hex() if kind in "aA" else (spec + kind) % value
    if kind == "c":
        return (spec + "s") % chr(int(arguments.take("i")) & 0xFF)
    if kind == "s":
        return (spec + "s") % string_at(int(arguments.take("Q")))
    if kind == "p":
        return (spec + "s") % f"0x{int(arguments.take('Q')):x}"
    return match[0]


def _number(text: str | None, arguments: _Arguments) -> int | None:
    """A width or precision: digits, ``*`` (an argument), or nothing (a precision of 0 after a bare point)."""
    if text is None:
        return None
    return int(arguments.take("i")) if text == "*" else int(text)
