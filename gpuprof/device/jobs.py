"""What a process needs to execute one variant: plain data that crosses a pipe or is in a JSON file.

A job names buffers and calls. Buffers with a ``file`` start with its content (a ``.npy``, shared by every process that
maps it); those without start poisoned. Cubins and libraries are paths, so that a job is small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gpuprof.experiment.model import ElementOrder
from gpuprof.isa.machine import Dim3
from gpuprof.isa.tensor_map import TensorMap

#: How launches are timed: after a flush of the L2, or back to back.
TimingProtocol = Literal["cold", "warm"]


@dataclass(frozen=True)
class BufferReference:
    """An argument that is the address of a buffer."""

    buffer: str
    offset_bytes: int = 0


@dataclass(frozen=True)
class PackedArgument:
    """A struct by value: its bytes, and (offset in bytes, the address that is put there)."""

    data: bytes
    pointers: tuple[tuple[int, BufferReference], ...]


@dataclass(frozen=True)
class TensorReference:
    """A tensor map by value, of the array that begins at an address."""

    start: BufferReference
    map: TensorMap


#: An argument of a kernel; bytes are a scalar's.
KernelArgument = BufferReference | PackedArgument | TensorReference | bytes


@dataclass(frozen=True)
class BufferSpec:
    """One array in device memory. ``file`` is a ``.npy`` with its first content, None: poisoned before each pass."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    file: Path | None = None
    output: bool = False
    scratch: bool = False
    order: ElementOrder = "kept"
    count: str | None = None
    element: str = ""  #: the YAML's dtype where memory holds words of another (``experiment.element_types``)
    pointers: tuple[BufferReference | None, ...] = ()  #: an array of addresses: what each points to

    @property
    def holds_something(self) -> bool:
        """Has it a content before the first launch?"""
        return self.file is not None or bool(self.pointers)

    @property
    def is_input(self) -> bool:
        """Must the kernel leave it as it was?"""
        return not (self.output or self.scratch)


@dataclass(frozen=True)
class HostScalar:
    """A scalar argument of a host function; ``dtype`` is a numpy name."""

    value: float | int
    dtype: str


@dataclass(frozen=True)
class KernelCall:
    """A kernel launch; a scalar argument is its bytes in the width that the cubin asks for."""

    name: str
    cubin: Path
    symbol: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: tuple[KernelArgument, ...]
    timed: bool = True
    once: bool = False
    symbols: tuple[tuple[str, str], ...] = ()  #: (mangled variable, the buffer with its content)
    cooperative: bool = False
    cluster: Dim3 | None = None
    offsets: tuple[int, ...] = ()  #: where each argument is in the parameter space; empty: each aligned to its size


@dataclass(frozen=True)
class HostCall:
    """A call of ``extern "C" int f(args..., cudaStream_t)`` in a shared library: needs a GPU."""

    name: str
    library: Path
    function: str
    arguments: tuple[BufferReference | HostScalar, ...]
    timed: bool = True
    once: bool = False


@dataclass(frozen=True)
class FillCall:
    """Set every byte of a buffer."""

    name: str
    buffer: str
    byte: int
    timed: bool = False
    once: bool = False


Call = KernelCall | HostCall | FillCall


@dataclass(frozen=True)
class Job:
    """One variant, ready to execute."""

    label: str
    buffers: tuple[BufferSpec, ...]
    calls: tuple[Call, ...]

    def buffer(self, name: str) -> BufferSpec:
        """The buffer of that name."""
        return next(spec for spec in self.buffers if spec.name == name)

    @property
    def nbytes(self) -> int:
        """Device memory that the job's buffers take together."""
        return sum(spec.nbytes for spec in self.buffers)


def job_to_json(job: Job) -> dict[str, Any]:
    """The job as JSON values; ``job_from_json`` reads them back."""
    return {
        "label": job.label,
        "buffers": [_buffer_to_json(spec) for spec in job.buffers],
        "calls": [_call_to_json(call) for call in job.calls],
    }


def job_from_json(data: Mapping[str, Any]) -> Job:
    """A job from what ``job_to_json`` wrote; raises KeyError for a missing field."""
    return Job(
        label=data["label"],
        buffers=tuple(_buffer_from_json(entry) for entry in data["buffers"]),
        calls=tuple(_call_from_json(entry) for entry in data["calls"]),
    )


def _buffer_to_json(spec: BufferSpec) -> dict[str, Any]:
    fields = dict(vars(spec))
    fields["file"] = None if spec.file is None else str(spec.file)
    fields["pointers"] = [None if pointer is None else vars(pointer) for pointer in spec.pointers]
    return fields


def _buffer_from_json(data: Mapping[str, Any]) -> BufferSpec:
    file = data["file"]
    pointers = tuple(
        None if fields_of is None else BufferReference(**fields_of) for fields_of in data.get("pointers", ())
    )
    own = {"shape": tuple(data["shape"]), "file": None if file is None else Path(file), "pointers": pointers}
    return BufferSpec(**{**data, **own})


def _argument_to_json(argument: KernelArgument | HostScalar) -> dict[str, Any]:
    if isinstance(argument, bytes):
        return {"bytes": argument.hex()}
    if isinstance(argument, PackedArgument):
        pointers = [[offset, vars(reference)] for offset, reference in argument.pointers]
        return {"packed": argument.data.hex(), "pointers": pointers}
    if isinstance(argument, TensorReference):
        return {"tensor_map": vars(argument.map), "start": vars(argument.start)}
    return dict(vars(argument))


def _argument_from_json(data: Mapping[str, Any]) -> KernelArgument | HostScalar:
    if "bytes" in data:
        return bytes.fromhex(data["bytes"])
    if "packed" in data:
        pointers = tuple((offset, BufferReference(**reference)) for offset, reference in data["pointers"])
        return PackedArgument(bytes.fromhex(data["packed"]), pointers)
    if "tensor_map" in data:
        fields: dict[str, Any] = {
            key: tuple(each) if isinstance(each, list) else each for key, each in data["tensor_map"].items()
        }
        return TensorReference(BufferReference(**data["start"]), TensorMap(**fields))
    return BufferReference(**data) if "buffer" in data else HostScalar(**data)


_KINDS: dict[str, type] = {"kernel": KernelCall, "host": HostCall, "fill": FillCall}
_PATHS = ("cubin", "library")


def _call_to_json(call: Call) -> dict[str, Any]:
    fields = dict(vars(call))
    fields.update({key: str(fields[key]) for key in _PATHS if key in fields})
    if "arguments" in fields:
        fields["arguments"] = [_argument_to_json(argument) for argument in fields["arguments"]]
    kind = next(name for name, cls in _KINDS.items() if isinstance(call, cls))
    return {"kind": kind, **fields}


def _call_from_json(data: Mapping[str, Any]) -> Call:
    fields = {key: value for key, value in data.items() if key != "kind"}
    fields.update({key: Path(fields[key]) for key in _PATHS if key in fields})
    fields.update(
        {key: tuple(fields[key]) for key in ("grid", "block", "offsets", "cluster") if fields.get(key) is not None}
    )
    if "symbols" in fields:
        fields["symbols"] = tuple((symbol, buffer) for symbol, buffer in fields["symbols"])
    if "arguments" in fields:
        fields["arguments"] = tuple(_argument_from_json(argument) for argument in fields["arguments"])
    call: Call = _KINDS[data["kind"]](**fields)
    return call
