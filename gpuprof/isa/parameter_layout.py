"""Where the members of a kernel parameter are: vectors by their definition, structs as the compiler laid them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["scalar", "pointer", "struct", "union", "array"]


@dataclass(frozen=True)
class Member:
    """``offset`` in bytes from the start of the struct; ``bits`` and ``first_bit`` of a bit-field, counted from it."""

    name: str
    offset: int
    layout: Layout
    bits: int = 0
    first_bit: int = 0


@dataclass(frozen=True)
class Layout:
    """A type: ``dtype`` of a scalar, ``members`` of a struct or union, ``element`` and ``count`` of an array."""

    name: str
    size: int
    kind: Kind
    dtype: str = ""
    members: tuple[Member, ...] = ()
    element: Layout | None = None
    count: int = 0

    def describe(self) -> str:
        """``Params {float a; int n}`` for a message."""
        if self.kind not in ("struct", "union"):
            return self.name
        inside = "; ".join(f"{member.layout.name} {member.name}" for member in self.members)
        return f"{self.name} {{{inside}}}"


#: CUDA's words for the elements of its vectors (vector_types.h), with numpy's names.
_ELEMENTS: Mapping[str, tuple[str, int]] = {
    "char": ("int8", 1),
    "uchar": ("uint8", 1),
    "short": ("int16", 2),
    "ushort": ("uint16", 2),
    "int": ("int32", 4),
    "uint": ("uint32", 4),
    "long": ("int64", 8),
    "ulong": ("uint64", 8),
    "longlong": ("int64", 8),
    "ulonglong": ("uint64", 8),
    "float": ("float32", 4),
    "double": ("float64", 8),
}


def scalar(dtype: str, size: int, name: str = "") -> Layout:
    """A number of a numpy type."""
    return Layout(name or dtype, size, "scalar", dtype)


def vector(name: str, dtype: str, size: int, names: str = "xyzw") -> Layout:
    """Members one after the other, without gaps."""
    members = tuple(Member(letter, size * at, scalar(dtype, size)) for at, letter in enumerate(names))
    return Layout(name, size * len(names), "struct", members=members)


#: CUDA's vectors by name: no member of theirs is anywhere else on any compiler.
VECTORS: Mapping[str, Layout] = {
    **{
        f"{word}{count}": vector(f"{word}{count}", dtype, size, "xyzw"[:count])
        for word, (dtype, size) in _ELEMENTS.items()
        for count in (1, 2, 3, 4)
    },
    "dim3": vector("dim3", "uint32", 4, "xyz"),
    "__half2": vector("__half2", "float16", 2, "xy"),
    "half2": vector("half2", "float16", 2, "xy"),
    "__nv_bfloat162": vector("__nv_bfloat162", "bfloat16", 2, "xy"),
    "cuComplex": vector("cuComplex", "float32", 4, "xy"),
    "cuFloatComplex": vector("cuFloatComplex", "float32", 4, "xy"),
    "cuDoubleComplex": vector("cuDoubleComplex", "float64", 8, "xy"),
}
