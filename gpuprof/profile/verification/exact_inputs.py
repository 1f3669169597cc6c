"""Small whole numbers for inputs, so that every partial sum is exact in any order and a missing term must show.

Used where the tolerance for the experiment's own inputs could hide a term.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import replace

from gpuprof.experiment.element_types import kind_of
from gpuprof.experiment.model import Buffer, Fill, Variant

#: The multiplier of Knuth's multiplicative hash (The Art of Computer Programming, vol. 3, section 6.4): signs and sizes
#: follow no pattern that a kernel's indexing could have.
_HASH = "((i + {start}) * 2654435761 % 4294967296 // {bit} % 2)"
#: Largest magnitudes to try: 1 to 2 where the sums stay exact, else 1.
MAGNITUDES = (2, 1)


def with_small_integers(variant: Variant, nonnegative: frozenset[str], largest: int) -> Variant | None:
    """The variant with the floating-point inputs of its reference replaced; None where there is none to replace.

    No value is 0. ``nonnegative`` are buffers that hold nothing below 0, and do not then either.
    """
    used = {word for text in variant.reference.expressions.values() for word in re.findall(r"[A-Za-z_]\w*", text)}
    buffers = {
        name: _filled(buffer, name not in nonnegative, largest) if name in used and _may_be_replaced(buffer) else buffer
        for name, buffer in variant.buffers.items()
    }
    return replace(variant, buffers=buffers) if buffers != dict(variant.buffers) else None


def _may_be_replaced(buffer: Buffer) -> bool:
    return kind_of(buffer.dtype) == "f" and buffer.fill.kind in ("random", "expression")


def _filled(buffer: Buffer, signed: bool, largest: int) -> Buffer:
    start = zlib.crc32(buffer.name.encode()) % 1000
    sign = f"(1 - 2 * {_HASH.format(start=start, bit=262144)})" if signed else "1"
    size = f"(1 + {_HASH.format(start=start, bit=1048576)})" if largest > 1 else "1"
    return replace(buffer, fill=Fill(kind="expression", expression=f"{sign} * {size}"))
