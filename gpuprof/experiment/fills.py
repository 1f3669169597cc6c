"""What buffers hold before the first launch."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuprof.errors import ExpressionError
from gpuprof.experiment import element_types
from gpuprof.experiment.expressions import Expression, parse
from gpuprof.experiment.functions import FUNCTIONS
from gpuprof.experiment.model import Buffer, Fill, Number
from gpuprof.system.files import MAX_ARRAY_BYTES, reason_unreadable

#: ``low`` and ``high`` of a random fill that gives none.
DEFAULT_RANGE: Mapping[str, tuple[Number, Number]] = {
    "uniform": (0.0, 1.0),
    "integers": (0, 100),
    "normal": (0.0, 1.0),
}
BLOCK = 1 << 18  #: elements that an expression is evaluated for at once
ELEMENTWISE = tuple(name for name, function in FUNCTIONS.items() if function.elementwise)
POISON_BYTE = 0xFF  #: four or eight of them are a NaN, two are a half's NaN, and -1 as an integer


def materialize(buffer: Buffer, *, seed_offset: int = 0) -> NDArray[Any]:
    """The buffer's initial contents, of its dtype and shape; each ``seed_offset`` gives other random values.

    Raises ExpressionError where the fill cannot be evaluated or does not fit the dtype.
    """
    result = np.empty(buffer.elements, dtype=element_types.value_dtype(buffer.dtype))
    start = 0
    for piece in pieces(buffer, seed_offset=seed_offset):
        result[start : start + piece.size] = piece
        start += piece.size
    return result.reshape(buffer.shape)


def pieces(buffer: Buffer, *, seed_offset: int = 0) -> Iterator[NDArray[Any]]:
    """The elements of ``materialize`` in order, flat and of the buffer's value type, at most ``BLOCK`` at once."""
    fill = buffer.fill
    if fill.kind == "values":
        yield _converted(np.asarray(fill.values), buffer, finite=False)
    elif fill.kind == "file":
        array = load_array(buffer, header_only=True).reshape(-1)
        yield from (array[start : start + BLOCK] for start in range(0, array.size, BLOCK))
    elif fill.kind == "random":
        yield from _random(buffer, seed_offset)
    elif fill.kind == "expression":
        yield from _evaluated(buffer)
    else:
        value = _constant(buffer)
        dtype = element_types.value_dtype(buffer.dtype)
        yield from (np.full(count, value, dtype=dtype) for count in _counts(buffer))


def _constant(buffer: Buffer) -> Any:
    """The one value of a buffer that holds the same everywhere."""
    if buffer.fill.kind == "poison":
        stored = np.full(16, POISON_BYTE, dtype=np.uint8).view(element_types.storage_dtype(buffer.dtype))
        return element_types.from_storage(stored, buffer.dtype)[0]
    return _converted(np.asarray([buffer.fill.value]), buffer, finite=False)[0]


def _counts(buffer: Buffer) -> Iterator[int]:
    """How many elements each piece has."""
    return (min(BLOCK, buffer.elements - start) for start in range(0, buffer.elements, BLOCK))


def parse_fill(text: str) -> Expression:
    """A fill's expression: elementwise functions only, since it is evaluated block by block."""
    return parse(text, functions=ELEMENTWISE)


def sample(fill: Fill, buffer: Buffer) -> None:
    """Evaluate a fill at the buffer's first and last elements, or at the ends of its random range.

    Raises ExpressionError as ``materialize`` would.
    """
    if fill.kind == "constant":
        _converted(np.asarray([fill.value]), buffer, finite=False)
    elif fill.kind == "values":
        _converted(np.asarray(fill.values), buffer, finite=False)
    elif fill.kind == "file":
        load_array(buffer, header_only=True)
    elif fill.kind == "random" and fill.distribution == "integers":
        _converted(np.asarray([_integer(fill.low), _integer(fill.high - 1)]), buffer)
    elif fill.kind == "random" and fill.distribution == "uniform":
        _converted(np.asarray([fill.low, fill.high]), buffer)
    elif fill.kind == "expression":
        count = buffer.elements
        expression = parse(fill.expression, functions=ELEMENTWISE)
        ends = np.unique(np.concatenate([np.arange(min(32, count)), np.arange(max(0, count - 32), count)]))
        _block(expression, fill, buffer, ends.astype(np.int64))


def _evaluated(buffer: Buffer) -> Iterator[NDArray[Any]]:
    expression = parse(buffer.fill.expression, functions=ELEMENTWISE)
    for start in range(0, buffer.elements, BLOCK):
        index = np.arange(start, min(start + BLOCK, buffer.elements), dtype=np.int64)
        yield _block(expression, buffer.fill, buffer, index)


def _block(expression: Expression, fill: Fill, buffer: Buffer, index: NDArray[np.int64]) -> NDArray[Any]:
    value = expression.evaluate({**dict(fill.names), "i": index})
    if isinstance(value, str):
        raise ExpressionError(f"`{expression.text}`: gives text, not numbers")
    return _converted(np.broadcast_to(np.asarray(value), index.shape), buffer, f"`{expression.text}`: ")


def _converted(values: NDArray[Any], buffer: Buffer, prefix: str = "", *, finite: bool = True) -> NDArray[Any]:
    """The values in the buffer's dtype; a value that it cannot hold is an error, never a wrap.

    NaN and Inf are errors too, unless they were asked for by name (``finite=False``).
    """
    kind = element_types.kind_of(buffer.dtype)
    if values.dtype.kind == "O":
        raise ExpressionError(f"{prefix}gives integers beyond 64 bits")
    if values.dtype.kind == "c" and kind != "c":
        raise ExpressionError(f"{prefix}gives complex numbers, which {buffer.dtype} cannot hold; use real() or abs()")
    if kind == "b":
        return values.astype(bool)
    if kind in "iu":
        return _as_integers(values, buffer.dtype, prefix)
    with np.errstate(over="ignore"):
        result = values.astype(element_types.value_dtype(buffer.dtype))
    bad = ~np.isfinite(result) & (finite | np.isfinite(values))
    if bad.any():
        value = values.ravel()[np.argmax(bad)]
        reason = f", which {buffer.dtype} cannot hold" if np.isfinite(value) else ""
        raise ExpressionError(f"{prefix}gives {value}{reason}")
    return result


def _as_integers(values: NDArray[Any], dtype: str, prefix: str) -> NDArray[Any]:
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values) | (np.floor(values) != values)
        if bad.any():
            raise ExpressionError(f"{prefix}gives {values[np.argmax(bad)]}, which {dtype} cannot hold; use // or floor")
    least, greatest = element_types.integer_limits(dtype)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < least or high > greatest:
        worst = low if low < least else high
        raise ExpressionError(f"{prefix}gives {worst}, outside {dtype}'s {least} to {greatest}")
    return values.astype(element_types.value_dtype(dtype))


def _random(buffer: Buffer, seed_offset: int) -> Iterator[NDArray[Any]]:
    """Random values; a generator that is asked piece by piece gives what it would give at once."""
    fill = buffer.fill
    generator = np.random.default_rng([fill.seed, seed_offset])
    values: NDArray[Any]
    for count in _counts(buffer):
        if element_types.kind_of(buffer.dtype) == "c":
            values = _random_complex(generator, fill, count)
        elif fill.distribution == "integers":
            values = generator.integers(int(fill.low), int(fill.high), size=count, dtype=np.int64)
        elif fill.distribution == "normal":
            values = generator.normal(float(fill.mean), float(fill.std), size=count)
        else:
            values = generator.uniform(float(fill.low), float(fill.high), size=count)
        yield _converted(values, buffer)


def _random_complex(generator: np.random.Generator, fill: Fill, count: int) -> NDArray[Any]:
    """Both parts drawn alike."""
    if fill.distribution == "integers":
        parts = generator.integers(int(fill.low), int(fill.high), size=(count, 2)).astype(np.float64)
    elif fill.distribution == "normal":
        parts = generator.normal(float(fill.mean), float(fill.std), size=(count, 2))
    else:
        parts = generator.uniform(float(fill.low), float(fill.high), size=(count, 2))
    return parts.view(np.complex128).reshape(-1)


def load_array(buffer: Buffer, header_only: bool = False) -> NDArray[Any]:
    """The ``.npy`` file of the fill, checked against the buffer's dtype and shape; pickles are refused."""
    path = buffer.fill.file
    if path is None:
        raise ExpressionError("a fill from a file has no file")
    array = read_npy(path, header_only=header_only)
    array = _of_type(array, buffer)
    if array.shape != buffer.shape and array.shape != (buffer.elements,):
        raise ExpressionError(f"{path} has the shape {list(array.shape)}, and the buffer {list(buffer.shape)}")
    return array if header_only else np.ascontiguousarray(array).reshape(buffer.shape)


def read_npy(path: Path, *, header_only: bool = True) -> NDArray[Any]:
    """The array of a ``.npy`` file, mapped unless it is wanted whole; pickles are refused. Raises ExpressionError."""
    reason = reason_unreadable(path, MAX_ARRAY_BYTES)
    if reason is not None:
        raise ExpressionError(f"{path} cannot be read: {reason}")
    try:
        array = np.load(str(path), mmap_mode="r" if header_only else None, allow_pickle=False)
    except Exception as error:  # numpy reads a header as Python text: a damaged one raises whatever its parser does
        raise ExpressionError(f"{path} is not a readable .npy file: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ExpressionError(f"{path} holds several arrays (.npz); save one with numpy.save")
    return array


def _of_type(array: NDArray[Any], buffer: Buffer) -> NDArray[Any]:
    """The file's array in the buffer's value type. What ``.npy`` has no type for may be its bits, or rounded floats."""
    wanted = element_types.value_dtype(buffer.dtype)
    if array.dtype == wanted:
        if element_types.is_packed(buffer.dtype):
            return _as_integers(array, buffer.dtype, f"{buffer.fill.file} ")
        return array
    if element_types.is_special(buffer.dtype) and element_types.kind_of(buffer.dtype) == "f":
        if array.dtype in (element_types.storage_dtype(buffer.dtype), np.dtype(f"V{wanted.itemsize}")):
            return array.view(wanted)
        if array.dtype.kind == "f":
            return array.astype(wanted)
    raise ExpressionError(f"{buffer.fill.file} holds {array.dtype}, and the buffer is {buffer.dtype}")


def _integer(value: Number) -> int:
    """A bound of random integers, which are drawn as int64."""
    if not -(1 << 63) <= value < 1 << 63:
        raise ExpressionError(f"{value} is outside the -2^63 to 2^63 of random integers")
    return int(value)


def default_seed(buffer_name: str) -> int:
    """The seed of a random fill that gives none: buffers differ from one another, and runs do not."""
    return zlib.crc32(buffer_name.encode())


def default_distribution(dtype: str) -> str:
    """What a plain ``random`` means for a dtype."""
    return "uniform" if element_types.kind_of(dtype) in "fc" else "integers"


def default_range(distribution: str, dtype: str) -> tuple[Number, Number]:
    """``low`` and ``high`` of a random fill that gives none: all values of a 4-bit type."""
    if distribution == "integers" and element_types.is_packed(dtype):
        low, high = element_types.integer_limits(dtype)
        return low, high + 1
    return DEFAULT_RANGE[distribution]
