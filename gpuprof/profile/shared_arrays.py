"""Inputs and references, made once in a run and shared by every process as memory-mapped ``.npy`` files."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gpuprof.device.jobs import BufferReference, BufferSpec
from gpuprof.errors import DeviceMemoryError, StoreError, UsageError
from gpuprof.experiment.element_types import (
    as_numbers,
    bits_of,
    is_special,
    kind_of,
    storage_dtype,
    storage_shape,
    to_storage,
    value_dtype,
)
from gpuprof.experiment.model import Buffer, Variant
from gpuprof.profile.verification.cache import WRITTEN_SUFFIX
from gpuprof.profile.verification.precision import BITS
from gpuprof.profile.verification.tolerance import Sums, reduction_length
from gpuprof.system.cleanup import shared_cleaner
from gpuprof.system.memory import available_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Memory-backed where there is one, so that a gigabyte of inputs costs no disk.
_MEMORY_FOLDER = Path("/dev/shm")
#: A folder in memory is used when this many times the experiment's bytes are free there.
_FREE_FACTOR = 4
_PREFIX = "gpuprof-run-"
_LOCK = "owner.lock"


class SharedData:
    """A folder of arrays by content key, as they are in device memory; thread-safe; ``close`` removes it.

    ``allow_python``: functions of the user's may be called for references.
    """

    def __init__(self, expected_bytes: int = 0, *, allow_python: bool = False) -> None:
        self._allow_python = allow_python
        parent = _parent_folder(expected_bytes)
        _remove_abandoned(parent)
        self.folder, self._lock_file = _make_owned_folder(parent)
        shared_cleaner().add_folder(self.folder)
        self._locks: dict[str, Lock] = {}
        self._guard = Lock()
        self._sums: dict[str, dict[str, Sums]] = {}

    def input_file(self, buffer: Buffer, seed_offset: int) -> Path:
        """The ``.npy`` with a buffer's first content; raises ExpressionError or ConfigError for a fill that fails."""
        from gpuprof.experiment.fills import pieces

        offset = seed_offset if buffer.fill.kind == "random" else 0
        path = self.folder / f"{input_key(buffer, offset)}.npy"
        with self._lock(path.stem):
            if not path.exists():
                found = (to_storage(piece, buffer.dtype) for piece in pieces(buffer, seed_offset=seed_offset))
                shape = storage_shape(buffer.dtype, buffer.shape)
                _save_pieces(path, storage_dtype(buffer.dtype), shape, found)
        return path

    def specs(self, variant: Variant, seed_offset: int = 0) -> tuple[BufferSpec, ...]:
        """The variant's buffers for a job."""
        return tuple(self._spec(buffer, seed_offset) for buffer in variant.buffers.values())

    def references(self, variant: Variant, seed_offset: int = 0) -> dict[str, Path]:
        """The ``.npy`` of each referenced output by name, from the YAML's expressions."""
        from gpuprof.experiment.reference import evaluate, evaluate_in_pieces, parts

        key = _reference_key(variant, seed_offset)
        paths = {name: self.folder / f"{key}-{name}.npy" for name in variant.reference.outputs}
        with self._lock(key):
            if not all(path.exists() for path in paths.values()):
                require_host_memory(variant)
                inputs = self._inputs(variant, seed_offset)
                for name, mask in parts(variant, inputs).items():
                    _save(paths[name].with_name(paths[name].stem + WRITTEN_SUFFIX), mask)
                self._save_outside(variant, inputs, paths)
                rest = set(variant.reference.expressions)
                for name in variant.reference.expressions:
                    found = evaluate_in_pieces(variant, name, inputs)
                    if found is not None:
                        buffer = variant.buffers[name]
                        _save_pieces(paths[name], _kept_dtype(buffer.dtype), buffer.shape, found)
                        rest.discard(name)
                for name, values in evaluate(variant, inputs, rest).items():
                    _save(paths[name], _compact(values, variant.buffers[name].dtype))
        return paths

    def _save_outside(self, variant: Variant, inputs: Mapping[str, NDArray[Any]], paths: Mapping[str, Path]) -> None:
        """References of files and of the user's functions."""
        from gpuprof.experiment.reference import from_file, typed
        from gpuprof.profile.python_reference import call_function, refusal

        found = {
            name: (str(file.name), from_file(file, variant.buffers[name]))
            for name, file in variant.reference.files.items()
        }
        numbers = {**variant.sizes, **variant.parameters}
        for name, function in variant.reference.python.items():
            if not self._allow_python:
                raise UsageError(refusal(function, name))
            found[name] = (str(function), call_function(function, name, inputs, numbers))
        for name, (origin, values) in found.items():
            buffer = variant.buffers[name]
            _save(paths[name], _compact(typed(values, buffer, origin), buffer.dtype))

    def sums(self, variant: Variant, seed_offset: int = 0) -> dict[str, Sums]:
        """What the elements of each referenced output sum, from its expression and the inputs' extremes."""
        from gpuprof.profile.verification.terms import terms_of

        key = _reference_key(variant, seed_offset)
        with self._lock(f"sums-{key}"):
            if key not in self._sums:
                inputs = self._inputs(variant, seed_offset)
                scope = {**variant.sizes, **variant.parameters, **inputs}
                random = {name: variant.buffers[name].fill.kind == "random" for name in inputs}
                self._sums[key] = {
                    name: Sums(reduction_length(text, variant.buffers), terms_of(text, scope, random))
                    for name, text in variant.reference.expressions.items()
                }
                self._sums[key] |= {
                    name: Sums(self._longest_sum(variant))
                    for name in variant.reference.outputs
                    if name not in variant.reference.expressions
                }
        return self._sums[key]

    @staticmethod
    def _longest_sum(variant: Variant) -> int:
        """How many terms a reference that is no expression may sum: what the largest input has in a row."""
        return max((buffer.shape[-1] for buffer in variant.buffers.values() if not buffer.output), default=1)

    def exact_variant(self, variant: Variant) -> Variant | None:
        """The variant with inputs of which every sum is exact; None where there are none."""
        if set(variant.reference.outputs) != set(variant.reference.expressions):
            return None
        from gpuprof.profile.verification.exact_inputs import MAGNITUDES, with_small_integers

        inputs = self._inputs(variant, 0)
        nonnegative = frozenset(
            name for name, values in inputs.items() if values.size and values.dtype.kind != "c" and values.min() >= 0
        )
        for largest in MAGNITUDES:
            exact = with_small_integers(variant, nonnegative, largest)
            if exact is None:
                return None
            known = [sums.terms for sums in self.sums(exact).values()]
            if all(terms is not None and terms.is_exact(BITS["float32"]) for terms in known):
                return exact
        return None

    def prepare(self, variant: Variant, seeds: int) -> None:
        """Make what ``specs`` and ``references`` will be asked for; raises as they do."""
        for seed in seed_offsets(variant, seeds):
            self.specs(variant, seed)
            self.references(variant, seed)
            self.sums(variant, seed)

    def output_folder(self, label: str, seed_offset: int = 0) -> Path:
        """Where the outputs of a variant go that others are compared with."""
        return self.folder / "outputs" / f"{hashlib.sha256(label.encode()).hexdigest()[:24]}-{seed_offset}"

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock_file.close()
        shared_cleaner().forget_folder(self.folder)

    def _inputs(self, variant: Variant, seed_offset: int) -> Mapping[str, NDArray[np.generic]]:
        return {
            name: as_numbers(np.load(self.input_file(buffer, seed_offset), mmap_mode="r"), buffer.dtype)
            for name, buffer in variant.buffers.items()
            if buffer.fill.kind not in ("poison", "pointers")
        }

    def _spec(self, buffer: Buffer, seed_offset: int) -> BufferSpec:
        without_file = buffer.fill.kind in ("poison", "pointers")
        return BufferSpec(
            name=buffer.name,
            dtype=storage_dtype(buffer.dtype).name,
            shape=storage_shape(buffer.dtype, buffer.shape),
            nbytes=buffer.nbytes,
            element=buffer.dtype if is_special(buffer.dtype) else "",
            file=None if without_file else self.input_file(buffer, seed_offset),
            pointers=tuple(
                None if pointer is None else BufferReference(pointer.buffer, pointer.offset_bytes)
                for pointer in buffer.fill.pointers
            ),
            output=buffer.output,
            scratch=buffer.scratch,
            order=buffer.order,
            count=buffer.count,
        )

    def _lock(self, key: str) -> Lock:
        with self._guard:
            return self._locks.setdefault(key, Lock())


def has_random_input(variant: Variant) -> bool:
    """Would another seed change the inputs?"""
    return any(buffer.fill.kind == "random" for buffer in variant.buffers.values())


def seed_offsets(variant: Variant, seeds: int) -> range:
    """The seeds that a variant is checked with: one is enough where another would change nothing."""
    return range(seeds if has_random_input(variant) else 1)


def shared_bytes(variant: Variant) -> int:
    """What the files of a variant take: inputs as they are, references in 8 bytes per element."""
    kept = (buffer for buffer in variant.buffers.values() if buffer.output or buffer.fill.kind != "poison")
    return sum(buffer.elements * 8 for buffer in kept)


def host_bytes(variant: Variant) -> int:
    """Host memory that checking a variant takes beside the device's: inputs, references, outputs read back.

    A reference of numbers alone takes nothing, one of integers as much as its output, one of
    floats 8 bytes an element (of halves 4).
    """
    buffers = variant.buffers
    inputs = sum(_nbytes(buffer) for buffer in buffers.values() if buffer.fill.kind != "poison")
    outputs = sum(_nbytes(buffer) for buffer in buffers.values() if buffer.output)
    references = 0
    for name, text in variant.reference.expressions.items():
        read = set(re.findall(r"[A-Za-z_]\w*", text)) - variant.sizes.keys() - variant.parameters.keys()
        if read and name in buffers:
            kind, bits = kind_of(buffers[name].dtype), bits_of(buffers[name].dtype)
            width = 16 if kind == "c" else 4 if bits <= 16 else 8
            references += buffers[name].elements * width if kind in "fc" else _nbytes(buffers[name])
    for name in (*variant.reference.files, *variant.reference.python):
        references += buffers[name].elements * 8 if name in buffers else 0
    return inputs + outputs + references


def require_host_memory(variant: Variant) -> None:
    """Raise DeviceMemoryError where checking the variant needs more memory than this machine has left."""
    need, free = host_bytes(variant), available_bytes()
    if free is not None and need > free:
        raise DeviceMemoryError(
            f"checking {variant.label} needs about {need / 1e9:.3g} GB of this machine's memory, and "
            f"{free / 1e9:.3g} GB are free: use smaller sizes (--set NAME=VALUE)"
        )


def _nbytes(buffer: Buffer) -> int:
    return buffer.nbytes


def _compact(values: NDArray[np.generic], dtype: str) -> NDArray[np.generic]:
    """A reference as it is kept: one number where all are the same, integers in the output's width as C converts.

    Complex numbers are pairs along a further axis, as outputs are.
    """
    if values.size > 1 and not any(values.strides):
        values = values.reshape(-1)[:1].reshape(())
    if kind_of(dtype) == "c":
        return to_storage(values.astype(np.complex128), "complex128")
    whole = kind_of(dtype) in "iu" and values.dtype.kind in "iu"
    return values.astype(value_dtype(dtype)) if whole else values


def input_key(buffer: Buffer, seed_offset: int) -> str:
    """Names the content of a buffer: its type, shape and fill (a file by its path, size and time)."""
    parts = [buffer.dtype, str(buffer.shape), str(buffer.fill), str(seed_offset)]
    if buffer.fill.file is not None and buffer.fill.file.exists():
        state = buffer.fill.file.stat()
        parts += [str(state.st_size), str(state.st_mtime_ns)]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:24]


def _reference_key(variant: Variant, seed_offset: int) -> str:
    """Names the reference's content: only what its expressions read, so that a sweep evaluates it once."""
    expressions = sorted((*variant.reference.expressions.items(), *variant.reference.where.items()))
    used = {word for _, text in expressions for word in re.findall(r"[A-Za-z_]\w*", text)}
    values = {**variant.sizes, **variant.parameters}
    outside = outside_state(variant)
    if variant.reference.python:
        used |= values.keys() | variant.buffers.keys()
    parts = [str(expressions), *outside, str(sorted((name, values[name]) for name in used & values.keys()))]
    parts += [
        f"{name}={input_key(buffer, seed_offset)}"
        for name, buffer in sorted(variant.buffers.items())
        if name in used or name in variant.reference.outputs
    ]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:24]


def outside_state(variant: Variant) -> list[str]:
    """Names the content of reference files, and of the files of Python functions."""
    files = {name: (file, "") for name, file in variant.reference.files.items()}
    files |= {name: (function.file, function.name) for name, function in variant.reference.python.items()}
    return [
        f"{name}={file}:{function}:{hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ''}"
        for name, (file, function) in sorted(files.items())
    ]


def _make_owned_folder(parent: Path) -> tuple[Path, IO[bytes]]:
    """A folder whose lock file this process holds; it gets the name that others look for once it is locked."""
    try:
        made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}", dir=parent))
        lock = (made / _LOCK).open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return made.rename(made.with_name(made.name.removeprefix("new-"))), lock
    except OSError as error:
        raise StoreError(
            f"cannot make a folder for inputs in {parent} ({error.strerror or error}); set TMPDIR to a folder with room"
        ) from None


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders of runs that were killed: those whose lock nobody holds.

    A process number says nothing here: containers that share the folder have numbers of their own.
    """
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # held by its run, removed meanwhile, or another user's


def _parent_folder(expected_bytes: int) -> Path:
    try:
        free = shutil.disk_usage(_MEMORY_FOLDER).free
    except OSError:
        return Path(tempfile.gettempdir())
    return _MEMORY_FOLDER if free > _FREE_FACTOR * expected_bytes else Path(tempfile.gettempdir())


def _kept_dtype(dtype: str) -> np.dtype[Any]:
    """The type that a reference is kept in: float64, for a half float32 (13 bits more), else the output's own."""
    if kind_of(dtype) != "f":
        return value_dtype(dtype)
    return np.dtype(np.float32 if bits_of(dtype) <= 16 else np.float64)


def _save_pieces(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], pieces: Iterable[NDArray[np.generic]]
) -> None:
    """Write an array whose elements come in pieces: it is never whole in this process's own memory."""
    scratch = path.with_suffix(".part.npy")
    try:
        with scratch.open("wb") as file, np.errstate(over="ignore"):
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for piece in pieces:
                file.write(np.ascontiguousarray(piece).astype(dtype, copy=False).data)
        scratch.replace(path)
    except OSError as error:
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        raise StoreError(f"cannot keep {nbytes:,} bytes of inputs in {path.parent}: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)


def _save(path: Path, values: NDArray[np.generic]) -> None:
    scratch = path.with_suffix(".part.npy")
    try:
        np.save(scratch, np.ascontiguousarray(values))
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"cannot keep {values.nbytes:,} bytes of inputs in {path.parent}: {error.strerror}") from None
