"""Bytes that the threads themselves ask for, from the counts of single instructions.

A global load or store moves its width for every enabled lane, whether lanes share sectors or not: what a kernel would
move without caches and coalescing, and what a textbook's arithmetic intensity is counted in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import Access, Space, names_where
from gpuprof.results.model import Counters

#: Width modifiers of a memory instruction in bytes per lane; without one it is 4.
WIDTHS: Mapping[str, int] = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
DEFAULT_WIDTH = 4

_SPACES = (Space.GLOBAL, Space.GENERIC)
_LOADS = names_where(lambda row: row.access in (Access.LOAD, Access.COPY) and row.space in _SPACES)
_STORES = names_where(lambda row: row.access is Access.STORE and row.space in _SPACES)
_INSTRUCTION = re.compile(r"(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z0-9_]+)(?P<modifiers>[.\w]*)")


def requested_bytes(counters: Counters) -> float | None:
    """Bytes of the enabled lanes of all global loads, stores and copies; None where no instruction was counted alone.

    A generic access counts whole where any of its requests went to global memory.
    """
    return _total(counters, _LOADS | _STORES)


def requested_load_bytes(counters: Counters) -> float | None:
    """As ``requested_bytes``, without the stores."""
    return _total(counters, _LOADS)


def _total(counters: Counters, opcodes: frozenset[str]) -> float | None:
    total, known = 0.0, False
    for entry in counters.per_instruction:
        counts = entry.counters
        known = known or m.SOURCE_THREADS_ON in counts
        width = _width(entry.text, opcodes)
        if width and m.GLOBAL_SECTORS in counts:
            total += width * float(counts.get(m.SOURCE_THREADS_ON, 0))
    return total if known and total else None


def _width(text: str, opcodes: frozenset[str]) -> int:
    """Bytes per lane of an access by one of ``opcodes``; 0 for any other instruction."""
    match = _INSTRUCTION.match(text)
    if match is None or match["opcode"] not in opcodes:
        return 0
    return next((WIDTHS[name] for name in match["modifiers"].split(".") if name in WIDTHS), DEFAULT_WIDTH)
