"""The arithmetic of atomics: many lanes, one after another, on memory cells that they may share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Combine = Callable[..., Array]


@dataclass(frozen=True)
class Operation:
    """``combine(old, value[, value])`` in ``dtype``; ``ufunc`` where numpy can fold it over equal places."""

    name: str
    dtype: Any
    width: int
    combine: Combine
    ufunc: Any = None


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, 0, old + np.uint32(1)).astype(old.dtype)


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - np.uint32(1)).astype(old.dtype)


def _exchange(old: Array, value: Array) -> Array:
    return value


def _compare_and_swap(old: Array, compare: Array, value: Array) -> Array:
    return np.where(old == compare, value, old)


def _add_halves(old: Array, value: Array) -> Array:
    total = np.ascontiguousarray(old).view(np.float16) + np.ascontiguousarray(value).view(np.float16)
    return total.astype(np.float16).view(np.uint32)


def _add_bfloat(old: Array, value: Array) -> Array:
    """Two bfloat16 sums: exact in float32, then rounded to nearest even."""
    parts = []
    for shift in (0, 16):
        first = (old >> np.uint32(shift) << np.uint32(16)).view(np.float32)
        total = first + (value >> np.uint32(shift) << np.uint32(16)).view(np.float32)
        bits = total.view(np.uint32)
        parts.append(bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16))
    result: Array = parts[0] | parts[1] << np.uint32(16)
    return result


#: operation word -> (function, numpy's ufunc)
_INTEGER: dict[str, tuple[Combine, Any]] = {
    "ADD": (np.add, np.add),
    "MIN": (np.minimum, np.minimum),
    "MAX": (np.maximum, np.maximum),
    "AND": (np.bitwise_and, np.bitwise_and),
    "OR": (np.bitwise_or, np.bitwise_or),
    "XOR": (np.bitwise_xor, np.bitwise_xor),
    "INC": (_increment, None),
    "DEC": (_decrement, None),
    "EXCH": (_exchange, None),
    "CAS": (_compare_and_swap, None),
}
#: type words -> dtype; the first that fits decides. Without one it is an unsigned 32-bit integer.
_TYPES: tuple[tuple[str, Any], ...] = (
    ("F32", np.float32),
    ("F64", np.float64),
    ("S64", np.int64),
    ("U64", np.uint64),
    ("64", np.uint64),
    ("S32", np.int32),
)


def choose_operation(decoded: Decoded) -> Operation:
    """The operation that an atomic's modifiers name; raises NotCovered."""
    if decoded.has("POPC", "CAST", "ARRIVE"):
        raise NotCovered(f"{decoded.instruction.mnemonic}")
    name = next((word for word in decoded.modifiers if word in _INTEGER), None)
    if name is None:
        raise NotCovered("no known operation")
    if decoded.has("F16x2", "BF16x2", "BF16_V2", "F16x4", "F16", "BF16"):
        return _packed(decoded, name)
    if decoded.has("128", "F32x2", "F32x4"):
        raise NotCovered("vector atomics")
    dtype = next((dtype for word, dtype in _TYPES if decoded.has(word)), np.uint32)
    combine, ufunc = _INTEGER[name]
    return Operation(name, dtype, np.dtype(dtype).itemsize, combine, ufunc)


#: Type word of a vector reduction -> (words, how each is added).
_VECTORS: dict[str, tuple[int, Operation]] = {
    "F32x2": (2, Operation("ADD", np.float32, 4, np.add, np.add)),
    "F32x4": (4, Operation("ADD", np.float32, 4, np.add, np.add)),
    "F16x4": (2, Operation("ADD", np.uint32, 4, _add_halves)),
    "F16x8": (4, Operation("ADD", np.uint32, 4, _add_halves)),
    "BF16x4": (2, Operation("ADD", np.uint32, 4, _add_bfloat)),
    "BF16x8": (4, Operation("ADD", np.uint32, 4, _add_bfloat)),
}


def vector_operation(decoded: Decoded) -> tuple[int, Operation] | None:
    """(words, operation on each) of a vector reduction, or None; raises NotCovered for another one than ADD."""
    found = next((_VECTORS[word] for word in decoded.modifiers if word in _VECTORS), None)
    if found is not None and not decoded.has("ADD"):
        raise NotCovered(f"{decoded.instruction.mnemonic}: a vector reduction other than ADD")
    return found


def _packed(decoded: Decoded, name: str) -> Operation:
    if name != "ADD" or decoded.has("F16x4", "F16", "BF16"):
        raise NotCovered("packed atomics other than ADD of two halves")
    return Operation(name, np.uint32, 4, _add_halves if decoded.has("F16x2") else _add_bfloat)


def update(memory: Array, places: Array, values: list[Array], operation: Operation, wants_old: bool) -> Array:
    """Serve the lanes in order; returns the old values per lane (empty when not wanted)."""
    if operation.ufunc is not None and not wants_old:
        operation.ufunc.at(memory, places, values[0])
        return places[:0]
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(np.append(first, len(ordered)))
    sorted_values = [value[order] for value in values]
    if not len(ordered):
        old = memory[ordered]
    elif len(first) < sizes.max() and operation.ufunc is not None:
        old = _by_place(memory, ordered, first, sizes, sorted_values[0], operation)
    else:
        old = _by_round(memory, ordered, first, sizes, sorted_values, operation)
    result = np.empty_like(old)
    result[order] = old
    return result


def _by_place(memory: Array, places: Array, first: Array, sizes: Array, values: Array, operation: Operation) -> Array:
    """Few places with many lanes each: fold along each place, in lane order."""
    old = np.empty(len(places), memory.dtype)
    for start, size in zip(first.tolist(), sizes.tolist(), strict=True):
        place = places[start]
        chain = np.concatenate((memory[place : place + 1], values[start : start + size]))
        folded = operation.ufunc.accumulate(chain, dtype=memory.dtype)
        old[start : start + size] = folded[:-1]
        memory[place] = folded[-1]
    return old


def _by_round(
    memory: Array, places: Array, first: Array, sizes: Array, values: list[Array], operation: Operation
) -> Array:
    """Round r serves the r-th lane of each place, so that the places of a round are distinct."""
    old = np.empty(len(places), memory.dtype)
    for turn in range(int(sizes.max())):
        lanes = first[sizes > turn] + turn
        here = places[lanes]
        before = memory[here]
        old[lanes] = before
        memory[here] = operation.combine(before, *(value[lanes] for value in values))
    return old
