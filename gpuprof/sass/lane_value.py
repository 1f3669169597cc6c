"""A value as the lanes of a block's warps have it: what is a number per lane, and what all lanes of a warp share.

Arrays are (warps, 32) of int64. A value is ``known`` + the sum of ``scaled`` lanes times run-time values (a row pitch,
say) + a part that is the same in all lanes of a warp, dropped unless the value is ``exact``. Of the dropped part only
the power of two is kept that divides it: masks, shifts and alignment need no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa.machine import WARP_LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Lanes = NDArray[np.int64]

#: A pointer that a kernel is given: the driver's allocations are aligned to 256 bytes and more.
POINTER_ALIGNMENT = 256
_ANY = 1 << 31
_WORD = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Value:
    """``known + sum(scaled[name] * name) + (a multiple of align that a warp shares, when not exact)``."""

    known: Lanes
    scaled: tuple[tuple[str, Lanes], ...] = ()
    exact: bool = True  #: nothing was dropped: ``known`` is the whole value
    align: int = _ANY  #: a power of two
    pointer: bool = False  #: ``align`` comes from a pointer, and is none of a multiple of it
    by_block: bool = False  #: taken from a block of unknown shape, with threadIdx.x running over the lanes

    @property
    def uniform(self) -> bool:
        """Whether the lanes of each warp share the value."""
        return not self.scaled and is_uniform(self.known)

    @property
    def plain(self) -> bool:
        return self.exact and not self.scaled


def is_uniform(lanes: Lanes) -> bool:
    """Whether each warp's lanes are equal."""
    return bool((lanes == lanes[:, :1]).all())


def number(value: int, warps: int) -> Value:
    """A constant, taken as a signed word."""
    return Value(np.full((warps, WARP_LANES), signed_word(value), np.int64))


def signed_word(value: int) -> int:
    value &= _WORD
    return value - (1 << 32) if value >> 31 else value


def shared(warps: int, align: int = 1, *, pointer: bool = False) -> Value:
    """Something that the lanes of a warp share and that is not known."""
    return Value(np.zeros((warps, WARP_LANES), np.int64), exact=False, align=align, pointer=pointer)


def add(first: Value, second: Value) -> Value:
    names = dict(first.scaled)
    for name, lanes in second.scaled:
        names[name] = names[name] + lanes if name in names else lanes
    scaled = tuple((name, lanes) for name, lanes in sorted(names.items()) if not is_uniform(lanes))
    exact = first.exact and second.exact and len(scaled) == len(names)
    align = min(_alignment(first), _alignment(second)) if len(scaled) == len(names) else 1
    return Value(
        first.known + second.known, scaled, exact, align,
        pointer=not exact and (first.pointer or second.pointer), by_block=first.by_block or second.by_block,
    )  # fmt: skip


def _alignment(value: Value) -> int:
    return _ANY if value.exact else value.align


def times(value: Value, factor: int) -> Value:
    """A multiple; ``factor`` is the same in all lanes."""
    if factor == 0:
        return Value(np.zeros_like(value.known))
    low = factor & -factor
    align = min(_ANY, (1 if value.pointer and abs(factor) != 1 else value.align) * low)
    scaled = tuple((name, lanes * factor) for name, lanes in value.scaled)
    return Value(
        value.known * factor, scaled, value.exact, align, value.pointer and abs(factor) == 1, value.by_block
    )  # fmt: skip


def product(first: Value, second: Value, name: str) -> Value | None:
    """Two numbers per lane, or one side that a warp shares: a number, or a run-time value that is called ``name``."""
    by_block = first.by_block or second.by_block
    if first.plain and second.plain:
        return Value(first.known * second.known, by_block=by_block)
    for one, other in ((first, second), (second, first)):
        if one.plain and one.uniform:
            factors = one.known[:, :1]
            if (factors == factors[0, 0]).all():
                return times(other, int(factors[0, 0]))
            return None
    for one, other in ((first, second), (second, first)):
        if one.uniform and not other.scaled:
            lanes = other.known - other.known[:, :1]
            align = min(_ANY, (1 if one.pointer else one.align) * (1 if other.pointer else _alignment(other)))
            if is_uniform(lanes):
                return Value(lanes, exact=False, align=max(1, align), by_block=by_block)
            return Value(np.zeros_like(lanes), ((name, lanes),), exact=False, by_block=by_block)
    return None


def shift_right(value: Value, amount: int, *, signed: bool) -> Value | None:
    if value.scaled:
        return None
    if value.exact:
        known = value.known if signed else value.known & _WORD
        return Value(known >> amount, by_block=value.by_block)
    if signed and amount == 31:  # the sign of an index: taken as positive
        return Value(np.zeros_like(value.known), by_block=value.by_block)
    if value.align >> amount and not value.pointer:
        return Value(value.known >> amount, exact=False, align=value.align >> amount, by_block=value.by_block)
    return None


def logic(table: int, values: list[Value]) -> Value | None:
    """A three-input table, bit by bit. Of a value that is not exact the low bits are known, where the dropped part is
    a multiple of a power of two, and the bits above are shared where those of ``known`` are."""
    if any(value.scaled for value in values):
        return None
    open_ones = [value for value in values if not value.exact]
    by_block = any(value.by_block for value in values)
    low = min((value.align for value in open_ones), default=_ANY)
    words = [value.known & _WORD for value in values]
    if not open_ones:
        return Value(_signed(_lut(table, words)), by_block=by_block)
    mask = low - 1
    for value, word in zip(values, words, strict=True):
        if not value.exact and not is_uniform(word & ~np.int64(mask)):
            return None
    fixed = _high_bits(table, values, words, mask)
    if fixed is not None:
        return Value(_signed(fixed | (_lut(table, words) & mask)), by_block=by_block)
    if any(not is_uniform(word & ~np.int64(mask)) for word in words):
        return None
    return Value(_lut(table, words) & mask, exact=False, align=low, by_block=by_block)


def _high_bits(table: int, values: list[Value], words: list[Lanes], mask: int) -> Lanes | None:
    """The result above the mask, where it is the same whatever the open values hold there."""
    results = []
    for choice in range(8):
        tried = [
            word if value.exact else np.full_like(word, _WORD if choice >> place & 1 else 0)
            for place, (value, word) in enumerate(zip(values, words, strict=True))
        ]
        results.append(_lut(table, tried) & ~np.int64(mask) & _WORD)
    return results[0] if all(np.array_equal(results[0], other) for other in results[1:]) else None


def _lut(table: int, words: list[Lanes]) -> Lanes:
    a, b, c = words
    result = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & _WORD


def _signed(words: Lanes) -> Lanes:
    return (words ^ 0x80000000) - 0x80000000


def same_shape(first: Value, second: Value) -> bool:
    """Whether the lanes' distances are equal, whatever they share."""
    names = [name for name, _ in first.scaled] == [name for name, _ in second.scaled]
    return (
        names
        and np.array_equal(first.known - first.known[:, :1], second.known - second.known[:, :1])
        and all(
            np.array_equal(one - one[:, :1], other - other[:, :1])
            for (_, one), (_, other) in zip(first.scaled, second.scaled, strict=True)
        )
    )


def same(first: Value, second: Value) -> bool:
    """Whether two values are known to be equal."""
    return first.plain and second.plain and np.array_equal(first.known, second.known)
