"""Symbolic lanes: numpy-like values that record, as C++ text, what a semantics computes with them.

A semantics is a function of arrays. Called with ``Symbol`` values instead it leaves the C++ statements that do the same
for one lane, so that each instruction is defined once, in numpy. What depends on the data of a whole array (``any``,
``max``) is a shortcut in every semantics; a ``Doubt`` answers so that the general way is taken.
"""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.base import NotCovered
from gpuprof.emulator.semantics.primitives import Symbolic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

#: numpy's name of a type -> C++'s. A float16 is held as its bits.
C_TYPES = {
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "uint16": "u16",
    "int16": "i16",
    "uint32": "u32",
    "int32": "i32",
    "uint64": "u64",
    "int64": "i64",
    "float16": "u16",
    "float32": "float",
    "float64": "double",
}
#: numpy's functions by name, and functions of the semantics with a C++ counterpart; ``functions`` registers them.
ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {}
PRIMITIVES: dict[str, Callable[..., Any]] = {}
#: The primitive that translates every ufunc of numpy.
UFUNC = "ufunc"

_BOOL = np.dtype(np.bool_)
_HALF = np.dtype(np.float16)


def c_type(dtype: np.dtype[Any]) -> str:
    return C_TYPES[dtype.name]


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A constant as C++ text, bit for bit."""
    if dtype == _BOOL:
        return "true" if value else "false"
    if dtype.kind == "f":
        bits = int(np.asarray(value, dtype).view(f"u{dtype.itemsize}"))
        if dtype == _HALF:
            return f"(u16)0x{bits:x}u"
        return f"bits_as<{c_type(dtype)}>((u{8 * dtype.itemsize})0x{bits:x}ull)"
    number = int(value)
    if dtype.kind == "i":
        return f"({c_type(dtype)})0x{number & (1 << 8 * dtype.itemsize) - 1:x}{'ull' if dtype.itemsize == 8 else 'u'}"
    return f"({c_type(dtype)})0x{number:x}{'ull' if dtype.itemsize == 8 else 'u'}"


@dataclass
class Recorder:
    """The statements of one instruction: those that are the same for all lanes, and those of one lane."""

    uniform: list[str] = field(default_factory=list)
    lane: list[str] = field(default_factory=list)
    count: int = 0
    known: dict[tuple[str, bool], str] = field(default_factory=dict)

    def name(self, text: str, dtype: np.dtype[Any], *, vector: bool) -> str:
        """The name of a new constant that holds ``text``; equal expressions share one."""
        key = (f"{c_type(dtype)} {text}", vector)
        if key not in self.known:
            self.count += 1
            self.known[key] = f"t{self.count}"
            (self.lane if vector else self.uniform).append(f"const {c_type(dtype)} t{self.count} = {text};")
        return self.known[key]


class Doubt:
    """A property of all lanes that a shortcut asks for; true where the general way is the true branch."""

    def __init__(self, answer: bool) -> None:
        self._answer = answer

    def __bool__(self) -> bool:
        return self._answer

    def __array_ufunc__(self, *_: Any, **__: Any) -> Doubt:
        return Doubt(True)

    def _compare(self, _: object) -> Doubt:
        return Doubt(True)

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def __eq__(self, _: object) -> Any:
        return Doubt(True)

    def __ne__(self, _: object) -> Any:
        return Doubt(True)

    __hash__ = None  # type: ignore[assignment]


class Symbol(np.lib.mixins.NDArrayOperatorsMixin, Symbolic):
    """A value of one lane. ``parts`` are its C++ names: one, or one per place of a trailing axis."""

    __array_priority__ = 1000

    def __init__(
        self, recorder: Recorder, dtype: np.dtype[Any], parts: Sequence[str], *, vector: bool, trailing: bool = False
    ) -> None:
        self.recorder = recorder
        self.dtype = dtype
        self.parts = tuple(parts)
        self.vector = vector
        self.trailing = trailing

    # -- what arrays have -------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        lanes = (1, 1, 32 if self.vector else 1)
        return (*lanes, len(self.parts)) if self.trailing else lanes

    @property
    def size(self) -> int:
        return (32 if self.vector else 1) * len(self.parts)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotCovered("a semantics that looks at the lanes' data")

    def any(self, *_: Any, **__: Any) -> Doubt:
        return Doubt(True)

    def all(self, *_: Any, **__: Any) -> Doubt:
        return Doubt(False)

    def min(self, *_: Any, **__: Any) -> Doubt:
        return Doubt(True)

    max = min

    def copy(self) -> Symbol:
        return self

    def contiguous(self) -> Symbol:
        return self

    def __getitem__(self, key: Any) -> Symbol:
        if not (isinstance(key, tuple) and len(key) == 2 and key[0] is Ellipsis):
            raise NotCovered(f"indexing with {key!r}")
        if key[1] is None and not self.trailing:
            return self._like(self.dtype, self.parts, trailing=True)
        if not self.trailing:
            raise NotCovered(f"indexing with {key!r}")
        if isinstance(key[1], slice):
            return self._like(self.dtype, self.parts[key[1]], trailing=True)
        return self._like(self.dtype, (self.parts[key[1]],), trailing=False)

    def sum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Symbol:
        if axis != -1 or not self.trailing:
            raise NotCovered("a sum over lanes")
        total: Any = self[..., 0]
        for place in range(1, len(self.parts)):
            total = total + self[..., place]
        return total if dtype is None else total.astype(dtype)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Symbol:
        to = np.dtype(dtype)
        if to == self.dtype:
            return self
        return self._map(to, lambda part: cast(part, self.dtype, to))

    def view(self, dtype: DTypeLike) -> Symbol:
        to = np.dtype(dtype)
        if to.itemsize == self.dtype.itemsize:
            if c_type(to) == c_type(self.dtype):
                return self._like(to, self.parts, trailing=self.trailing)
            if (to.kind in "iu" and self.dtype.kind in "iu") or _HALF in (to, self.dtype):
                return self._map(to, lambda part: f"({c_type(to)}){part}")
            return self._map(to, lambda part: f"bits_as<{c_type(to)}>({part})")
        if not self.trailing:
            raise NotCovered("a view of another width")
        return self._split(to) if to.itemsize < self.dtype.itemsize else self._join(to)

    def _split(self, to: np.dtype[Any]) -> Symbol:
        bits = 8 * to.itemsize
        words = self.view(f"u{self.dtype.itemsize}") if self.dtype.kind != "u" else self
        parts = [
            self.recorder.name(f"({c_type(to)})({part} >> {bits * place})", to, vector=self.vector)
            for part in words.parts
            for place in range(self.dtype.itemsize // to.itemsize)
        ]
        return self._like(to, parts, trailing=True)

    def _join(self, to: np.dtype[Any]) -> Symbol:
        count, bits = to.itemsize // self.dtype.itemsize, 8 * self.dtype.itemsize
        unsigned = np.dtype(f"u{self.dtype.itemsize}")
        words = self.view(unsigned).parts
        whole = c_type(np.dtype(f"u{to.itemsize}"))
        joined = []
        for first in range(0, len(words), count):
            terms = [f"({whole}){word} << {bits * place}" for place, word in enumerate(words[first : first + count])]
            joined.append(self.recorder.name(" | ".join(terms), np.dtype(f"u{to.itemsize}"), vector=self.vector))
        return self._like(np.dtype(f"u{to.itemsize}"), joined, trailing=True).view(to)

    def byteswap(self) -> Symbol:
        if self.dtype.itemsize != 4:
            raise NotCovered("the bytes of a value that is no word")
        return self._map(self.dtype, lambda part: f"__builtin_bswap32({part})")

    def _map(self, dtype: np.dtype[Any], write: Any) -> Symbol:
        parts = [self.recorder.name(write(part), dtype, vector=self.vector) for part in self.parts]
        return self._like(dtype, parts, trailing=self.trailing)

    def _like(self, dtype: np.dtype[Any], parts: Sequence[str], *, trailing: bool) -> Symbol:
        return Symbol(self.recorder, dtype, parts, vector=self.vector, trailing=trailing)

    # -- numpy's functions ------------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or set(options) - {"dtype"}:
            raise NotCovered(f"numpy.{ufunc.__name__}.{method}")
        return PRIMITIVES[UFUNC](self.recorder, ufunc, inputs, options.get("dtype"))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = ARRAY_FUNCTIONS.get(function.__name__)
        if known is None:
            raise NotCovered(f"numpy.{function.__name__}")
        return known(self.recorder, *arguments, **options)

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        known = PRIMITIVES.get(name)
        if known is None:
            raise NotCovered(name)
        return known(self.recorder, *arguments, **options)


def cast(part: str, source: np.dtype[Any], to: np.dtype[Any]) -> str:
    """A conversion as numpy's ``astype`` does it."""
    if to == _BOOL:
        return f"({part} != 0)"
    if source == _HALF:
        return f"({c_type(to)})half_to_single({part})"
    if to == _HALF:
        wide = source if source.kind == "f" else np.dtype(np.float64)
        return f"{'single' if wide.itemsize == 4 else 'double'}_to_half(({c_type(wide)}){part})"
    if source.kind == "f" and to.kind in "iu" and to.itemsize <= 4 and to != np.dtype(np.int32):
        return f"({c_type(to)})(i64){part}"
    return f"({c_type(to)}){part}"


def is_constant(value: Any) -> bool:
    return not isinstance(value, Symbol)


def as_symbol(recorder: Recorder, value: Any, dtype: np.dtype[Any]) -> Symbol:
    """A symbol, a Python or numpy number, or a small array (its last axis may be a trailing one) as that type."""
    if isinstance(value, Symbol):
        return value.astype(dtype)
    array = np.asarray(value)
    with np.errstate(all="ignore"):
        numbers = array.astype(dtype)
    if array.ndim <= 3:
        if array.size != 1:
            raise NotCovered("an array of several lanes")
        return Symbol(recorder, dtype, [literal(numbers.reshape(-1)[0], dtype)], vector=False)
    if array.size != array.shape[-1]:
        raise NotCovered("an array of several lanes")
    return Symbol(
        recorder, dtype, [literal(number, dtype) for number in numbers.reshape(-1)], vector=False, trailing=True
    )


def align(values: Sequence[Symbol]) -> tuple[int, bool, bool]:
    """(number of parts, trailing, vector) of values that are combined place by place."""
    count = max(len(value.parts) for value in values)
    if any(len(value.parts) not in (1, count) for value in values):
        raise NotCovered("parts of different numbers")
    trailing = any(value.trailing for value in values)
    if trailing and any(value.vector and not value.trailing and count > 1 for value in values):
        raise NotCovered("a lane's value beside its parts")
    return count, trailing, any(value.vector for value in values)
