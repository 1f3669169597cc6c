"""Element types of buffers: numpy's, the narrow floats of ml_dtypes, complex numbers, packed 4-bit integers, addresses.

What numpy has no type for, or cannot compare part by part, is in device memory and in ``.npy`` files as words of its
``storage`` type: a bfloat16 as uint16, a complex64 as two float32 (one axis more), two int4 as one byte (the first in
the low half).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpuprof.errors import ExpressionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["f", "c", "i", "u", "b", "p"]
NUMPY_TYPES = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
POINTER = "pointer"


@dataclass(frozen=True)
class _Special:
    kind: Kind
    bits: int
    storage: str
    value: str  #: numpy's or ml_dtypes' name of what one computes with


_SPECIAL: Mapping[str, _Special] = {
    "bfloat16": _Special("f", 16, "uint16", "bfloat16"),
    # CUDA's e4m3 has no infinity (cuda_fp8.h, __NV_E4M3): ml_dtypes calls that variant "fn"
    "float8_e4m3": _Special("f", 8, "uint8", "float8_e4m3fn"),
    "float8_e5m2": _Special("f", 8, "uint8", "float8_e5m2"),
    "complex64": _Special("c", 64, "float32", "complex64"),
    "complex128": _Special("c", 128, "float64", "complex128"),
    "int4": _Special("i", 4, "uint8", "int8"),
    "uint4": _Special("u", 4, "uint8", "uint8"),
    POINTER: _Special("p", 64, "uint64", "uint64"),
}
#: Every name that ``dtype`` of the YAML may have.
DTYPES = (*NUMPY_TYPES, *_SPECIAL)
#: Floating-point types, and those that a scalar argument may have.
FLOATS = frozenset(name for name in DTYPES if name.startswith(("float", "bfloat")))
SCALARS = frozenset((*NUMPY_TYPES, *FLOATS))


def kind_of(name: str) -> Kind:
    """``f`` float, ``c`` complex, ``i`` and ``u`` integers, ``b`` bool, ``p`` address."""
    return _SPECIAL[name].kind if name in _SPECIAL else np.dtype(name).kind  # type: ignore[return-value]


def bits_of(name: str) -> int:
    """Bits of one element in memory."""
    return _SPECIAL[name].bits if name in _SPECIAL else 8 * np.dtype(name).itemsize


def nbytes_of(name: str, elements: int) -> int:
    """Bytes that so many elements take."""
    return elements * bits_of(name) // 8


def is_special(name: str) -> bool:
    """Whether the storage is not simply numpy's type of that name."""
    return name in _SPECIAL


def is_packed(name: str) -> bool:
    """Whether two elements share a byte."""
    return bits_of(name) == 4


def storage_dtype(name: str) -> np.dtype[Any]:
    """Numpy's type of what is in memory."""
    return np.dtype(_SPECIAL[name].storage if name in _SPECIAL else name)


def storage_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the storage: a pair more for complex numbers, half the last extent for packed ones."""
    if kind_of(name) == "c":
        return (*shape, 2)
    return (*shape[:-1], shape[-1] // 2) if is_packed(name) else shape


def value_dtype(name: str) -> np.dtype[Any]:
    """The type of values before they are stored; raises ExpressionError where ml_dtypes is needed and missing."""
    value = _SPECIAL[name].value if name in _SPECIAL else name
    if kind_of(name) != "f" or not is_special(name):
        return np.dtype(value)
    try:
        import ml_dtypes
    except ImportError:
        raise ExpressionError(f"{name} needs the package ml_dtypes: pip install ml_dtypes") from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, value))
    return found


def integer_limits(name: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = bits_of(name)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind_of(name) == "i" else (0, (1 << bits) - 1)


def to_storage(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Values (of ``value_dtype``, C order) as they are in memory; the last axis as ``storage_shape`` says."""
    if not is_special(name):
        return values
    if is_packed(name):
        nibbles = values.astype(np.uint8) & 15
        return nibbles[..., 0::2] | (nibbles[..., 1::2] << 4)
    if kind_of(name) == "c":
        wide = np.ascontiguousarray(values)
        return wide.view(storage_dtype(name)).reshape(*values.shape, 2)
    return np.ascontiguousarray(values).view(storage_dtype(name))


def from_storage(stored: NDArray[Any], name: str) -> NDArray[Any]:
    """The values of what is in memory: the inverse of ``to_storage``."""
    if not is_special(name):
        return stored
    if is_packed(name):
        pairs = np.stack((stored & 15, stored >> 4), axis=-1).reshape(*stored.shape[:-1], -1)
        return ((pairs ^ 8).astype(np.int8) - 8).astype(np.int8) if kind_of(name) == "i" else pairs
    whole = np.ascontiguousarray(stored).view(value_dtype(name))
    return whole.reshape(stored.shape[:-1]) if kind_of(name) == "c" else whole


def as_numbers(stored: NDArray[Any], name: str) -> NDArray[Any]:
    """The values in a type that numpy computes with: narrow floats as float32, which holds them exactly."""
    values = from_storage(stored, name)
    return values.astype(np.float32) if is_special(name) and kind_of(name) == "f" else values
