"""Arithmetic on 32-bit words that the rooms of the machine code share."""

from __future__ import annotations

MASK = 0xFFFFFFFF


def signed(value: int) -> int:
    """A 32-bit word as a signed number."""
    value &= MASK
    return value - (MASK + 1) if value >> 31 else value


def lut(table: int, a: int, b: int, c: int) -> int:
    """LOP3's result: bit by bit, the table's entry for the bits of the three words read as a number."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & MASK
