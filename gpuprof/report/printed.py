"""What kernels wrote with ``printf``, under the table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuprof.results.model import Run

#: Lines shown of each variant, and characters of each line; the JSON holds all.
SHOWN_LINES = 20
SHOWN_CHARACTERS = 400
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printed_lines(run: Run) -> Iterator[tuple[str, str]]:
    """(style, line): a head per text, with the variants that printed it, and its first lines."""
    texts: dict[str, list[str]] = {}
    for result in run.results:
        if result.counters is not None and result.counters.printed:
            texts.setdefault(result.counters.printed, []).append(result.variant)
    for text, variants in texts.items():
        yield "", f"{_names(variants)} printed:"
        lines = text.splitlines()
        for line in lines[:SHOWN_LINES]:
            yield "", f"    {_harmless(line)}"
        if len(lines) > SHOWN_LINES:
            yield "dim", f"    and {len(lines) - SHOWN_LINES:,} further lines (all of them: --json)"


def _names(variants: list[str]) -> str:
    shown = ", ".join(variants[:3])
    return shown if len(variants) <= 3 else f"{shown} and {len(variants) - 3} others"


def _harmless(line: str) -> str:
    r"""The line with control characters as ``\x1b``, cut to a readable length."""
    escaped = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", line.expandtabs(4))
    return escaped if len(escaped) <= SHOWN_CHARACTERS else f"{escaped[:SHOWN_CHARACTERS]}..."
