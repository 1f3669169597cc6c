"""Jobs on a device: buffers allocated and filled once, steps run in order, outputs read back.

Buffers of the same content are shared between jobs (inputs are checked unchanged after every checked pass), and so are
outputs of the same name and size: 200 variants of one experiment take the memory of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.device.base import (
    Clock,
    ComparedMemory,
    Device,
    Handle,
    Launch,
    LaunchArgument,
    LaunchCounters,
    MappedTensor,
    Pointer,
)
from gpuprof.device.jobs import (
    BufferReference,
    BufferSpec,
    Call,
    FillCall,
    HostCall,
    HostScalar,
    Job,
    KernelArgument,
    KernelCall,
    TensorReference,
)
from gpuprof.device.restoring import FirstContents, keep_first_contents
from gpuprof.errors import CodeLocation, DeviceMemoryError, LaunchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Key = tuple[str, str, int, str]

#: Two poisons, so that a kernel which happens to leave one of them standing is caught by the other.
#: 0xFF bytes are NaN in every IEEE format and -1 in integers; 0x5A bytes are a large finite number.
POISON_BYTES = (0xFF, 0x5A)


#: Buffers below this are read back: that costs no more than a launch.
MIN_COPY_BYTES = 1 << 16
#: Copies on the device: the inputs of an experiment and a few outputs.
MAX_COPIES = 16


@dataclass(frozen=True)
class StepCounters:
    """What one kernel step of a pass counted."""

    step: str
    timed: bool
    counters: LaunchCounters


@dataclass(frozen=True)
class Coverage:
    """What a pass stored to of one output: an element's mask, None where it is all of it.

    ``expected_elements`` estimates, of a sample of blocks, how many elements the whole grid would have stored to.
    """

    mask: NDArray[np.bool_] | None
    sampled: bool = False
    expected_elements: float | None = None


class Session:
    """Buffers and passes on one device. Not thread-safe."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._handles: dict[_Key, Handle] = {}
        self._stale: set[_Key] = set()
        self._contents: dict[Path, NDArray[np.generic]] = {}
        self._copies = DeviceCopies(device)
        self._first_contents: dict[str, FirstContents] = {}
        self._can = device.capabilities
        self._poison = POISON_BYTES[0]
        self._finds_unset = False

    def prepare(self, job: Job, poison: int) -> None:
        """Give every buffer its first content; outputs and scratch without one are poisoned with ``poison``.

        So do shared and local memory of the launches that follow, where the device can.

        Raises DeviceMemoryError when the job's buffers do not fit.
        """
        self._poison = poison
        for spec in job.buffers:
            key = self._key(job, spec)
            handle = self._allocated(key, spec.nbytes)
            if self._can.names is not None:
                self._can.names.name(handle, spec.name, spec.dtype, spec.shape)
            if spec.pointers:
                continue
            if spec.file is None:
                self.device.poison(handle, poison)
            elif key in self._stale or not spec.is_input:
                self.device.write(handle, self._content(spec.file))
                self._stale.discard(key)
        for spec in job.buffers:
            if spec.pointers:
                self.device.write(self.address(job, spec.name), self._addresses(job, spec))
        self.set_variables(job)

    def _addresses(self, job: Job, spec: BufferSpec) -> NDArray[np.uint64]:
        """What an array of pointers holds."""
        values = [
            0 if pointer is None else self.device.address_of(self.pointer(job, pointer)) for pointer in spec.pointers
        ]
        return np.asarray(values, dtype=np.uint64)

    def set_variables(self, job: Job) -> None:
        """Give the variables of the job's code their first content."""
        for call in (step for step in job.calls if isinstance(step, KernelCall)):
            for symbol, buffer in call.symbols:
                self.device.set_variable(call.cubin, symbol, self.address(job, buffer))

    def _allocated(self, key: _Key, nbytes: int) -> Handle:
        if key not in self._handles:
            self._handles[key] = self.device.allocate(nbytes)
            self._stale.add(key)
        return self._handles[key]

    def holds(self, job: Job) -> bool:
        """Are all of the job's buffers in device memory?"""
        return all(self._key(job, spec) in self._handles for spec in job.buffers)

    def keep_only(self, jobs: Iterable[Job]) -> None:
        """Free everything but the buffers that one of ``jobs`` uses."""
        self._forget_first_contents()
        wanted = {self._key(job, spec) for job in jobs for spec in job.buffers}
        for key in [key for key in self._handles if key not in wanted]:
            self.device.free(self._handles.pop(key))
        self._copies.clear()
        self._contents.clear()

    def drop(self, job: Job) -> None:
        """Free what is this job's alone."""
        if job.label in self._first_contents:
            self._free_copies(self._first_contents.pop(job.label))
        for spec in job.buffers:
            key = self._key(job, spec)
            if key[-1] == job.label and key[0] in ("output", "pointers") and key in self._handles:
                self.device.free(self._handles.pop(key))

    def first_contents(self, job: Job, clock: Clock) -> FirstContents:
        """What to restore before each timed launch; found by one pass, the first time that a job is timed."""
        if job.label not in self._first_contents:
            self._first_contents[job.label] = keep_first_contents(self, self.device, clock, job, POISON_BYTES[0])
        return self._first_contents[job.label]

    def _forget_first_contents(self) -> None:
        for contents in self._first_contents.values():
            self._free_copies(contents)
        self._first_contents.clear()

    def _free_copies(self, contents: FirstContents) -> None:
        for _, kept in contents.pairs:
            self.device.free(kept)

    def run_calls(self, job: Job, calls: Sequence[Call]) -> None:
        """Run some of a job's steps, in their order."""
        for _ in self._counted(job, calls):
            pass

    def same_bytes(self, left: Handle, right: Handle) -> bool:
        """Do two buffers of the device hold the same bytes?"""
        comparison = self._can.comparison
        if comparison is not None and comparison.has_room(0):
            return comparison.equal(left, right)
        sides = (self.device.read(side, "uint8", (side.nbytes,)) for side in (left, right))
        return _equal_bytes(*sides)

    def run(self, job: Job, *, first: bool = True) -> tuple[StepCounters, ...]:
        """One pass over the steps; those marked ``once`` only when ``first``. Raises LaunchError and its kinds."""
        return tuple(self._counted(job, [call for call in job.calls if first or not call.once]))

    def _counted(self, job: Job, calls: Sequence[Call]) -> Iterator[StepCounters]:
        for call in calls:
            if isinstance(call, FillCall):
                self.device.fill(self.address(job, call.buffer), call.byte)
            elif isinstance(call, HostCall):
                self._call_host(job, call)
            else:
                counters = self.device.launch(self.launch_of(job, call))
                if counters is not None:
                    yield StepCounters(call.name, call.timed, counters)

    def launch_of(self, job: Job, call: KernelCall) -> Launch:
        """The launch with addresses in place of buffer names."""
        arguments = tuple(self._launch_argument(job, argument) for argument in call.arguments)
        whole = call is not job.calls[-1]
        outputs = () if whole else tuple(self.address(job, spec.name) for spec in job.buffers if spec.output)
        return Launch(
            cubin=call.cubin,
            symbol=call.symbol,
            grid=call.grid,
            block=call.block,
            shared_bytes=call.shared_bytes,
            arguments=arguments,
            whole=whole,
            poison=self._poison,
            outputs=outputs,
            offsets=call.offsets,
            cooperative=call.cooperative,
            cluster=call.cluster,
            unset=self._unset(job) if self._finds_unset else None,
            reorders=self._poison == POISON_BYTES[0] and not self._finds_unset,
        )

    def _launch_argument(self, job: Job, argument: KernelArgument) -> LaunchArgument:
        if isinstance(argument, BufferReference):
            return self.pointer(job, argument)
        if isinstance(argument, TensorReference):
            return MappedTensor(self.pointer(job, argument.start), argument.map)
        if isinstance(argument, bytes):
            return argument
        data = bytearray(argument.data)
        for offset, reference in argument.pointers:
            data[offset : offset + 8] = self.device.address_of(self.pointer(job, reference)).to_bytes(8, "little")
        return bytes(data)

    def unset_reads(self, job: Job, poison: int) -> tuple[str, ...]:
        """One more pass over the steps: ``hist: read before it was written (hist.cu:7)``, of buffers with no content.

        The first read of each buffer; nothing on a device that does not know what was stored (a GPU).
        """
        spare = [spec for spec in job.buffers if not spec.holds_something]
        if not spare or self.device.written_bytes(self.address(job, spare[0].name)) is None:
            return ()
        names = {self.address(job, spec.name).identifier: spec.name for spec in spare}
        self.prepare(job, poison)
        self._finds_unset = True
        try:
            counted = self.run(job)
        finally:
            self._finds_unset = False
        found: dict[str, CodeLocation] = {}
        for step in counted:
            for identifier, place in step.counters.unset_reads.items():
                found.setdefault(names[identifier], place)
        return tuple(f"{name}: read before it was written ({_source_of(place)})" for name, place in found.items())

    def _unset(self, job: Job) -> tuple[Handle, ...]:
        return tuple(self.address(job, spec.name) for spec in job.buffers if not spec.holds_something)

    def host_arguments(self, job: Job, call: HostCall) -> tuple[Pointer | HostScalar, ...]:
        """The arguments of a host call with addresses in place of buffer names."""
        return tuple(
            argument if isinstance(argument, HostScalar) else self.pointer(job, argument) for argument in call.arguments
        )

    def pointer(self, job: Job, argument: BufferReference) -> Pointer:
        """The address that an argument stands for."""
        return Pointer(self.address(job, argument.buffer), argument.offset_bytes)

    def address(self, job: Job, buffer: str) -> Handle:
        """The device memory of one of the job's buffers, once it is prepared."""
        return self._handles[self._key(job, job.buffer(buffer))]

    def _call_host(self, job: Job, call: HostCall) -> None:
        if self._can.host_calls is None:
            raise LaunchError(f"step {call.name} calls {call.function} in a host library, which needs a GPU")
        self._can.host_calls.call_host(call, self.host_arguments(job, call))

    def holds_bytes(self, job: Job, buffer: str, expected: NDArray[np.generic]) -> bool:
        """Does the buffer equal ``expected`` in every byte? Much cheaper than reading it: nothing is kept."""
        spec = job.buffer(buffer)
        if expected.nbytes != spec.nbytes or expected.dtype != np.dtype(spec.dtype) or expected.shape != spec.shape:
            return False
        return self._equals(self._key(job, spec), expected)

    def outputs(self, job: Job) -> dict[str, NDArray[np.generic]]:
        """The outputs as they are on the device, in the types of their storage."""
        return {spec.name: self._read(job, spec) for spec in job.buffers if spec.output}

    def coverage(self, job: Job, counted: Sequence[StepCounters]) -> dict[str, Coverage]:
        """Which elements of each output the pass stored to; nothing where the device does not know (a GPU)."""
        found = {spec.name: self._coverage(job, spec, counted) for spec in job.buffers if spec.output}
        return {name: coverage for name, coverage in found.items() if coverage is not None}

    def _coverage(self, job: Job, spec: BufferSpec, counted: Sequence[StepCounters]) -> Coverage | None:
        handle = self._handles[self._key(job, spec)]
        stored = self.device.written_bytes(handle)
        if stored is None:
            return None
        sampled = any(step.counters.scaled for step in counted)
        itemsize = np.dtype(spec.dtype).itemsize
        expected = [step.counters.expected_bytes.get(handle.identifier) for step in counted]
        return Coverage(
            mask=None if stored == spec.nbytes else self._written(job, spec),
            sampled=sampled,
            expected_elements=next((count / itemsize for count in reversed(expected) if count is not None), None),
        )

    def damage(self, job: Job) -> str | None:
        """What the pass changed that it must not: an input, or bytes around a buffer. Inputs are refilled next time."""
        reports = [
            text for spec in job.buffers for text in (self._overrun(job, spec), self._changed(job, spec)) if text
        ]
        return "; ".join(reports) or None

    def _key(self, job: Job, spec: BufferSpec) -> _Key:
        """What two jobs must agree in to share device memory.

        A job with steps that run once keeps its own outputs and scratch: their content outlives a pass. So does the
        first content of an in-out buffer on a device that times, where passes of several variants take turns.
        """
        if spec.pointers:
            return ("pointers", spec.name, spec.nbytes, job.label)
        if spec.is_input:
            return ("input", spec.name, spec.nbytes, str(spec.file))
        own = any(call.once for call in job.calls) or (self._can.clock is not None and spec.file is not None)
        return ("output", spec.name, spec.nbytes, job.label if own else "")

    def close(self) -> None:
        """Free every buffer."""
        self._forget_first_contents()
        for handle in self._handles.values():
            self.device.free(handle)
        self._handles.clear()
        self._copies.clear()
        self._contents.clear()

    def _content(self, file: Path) -> NDArray[np.generic]:
        """The file's array, mapped once: a fresh mapping costs a page fault per 4 KiB each time it is read."""
        if file not in self._contents:
            self._contents[file] = np.load(file, mmap_mode="r")
        return self._contents[file]

    def _equals(self, key: _Key, expected: NDArray[np.generic]) -> bool:
        """Byte by byte: on the device where it can, else here, stopping at the first piece that differs."""
        same = self._copies.equal(self._handles[key], expected)
        if same is not None:
            return same
        if self._can.pieces is None:
            found = self.device.read(self._handles[key], "uint8", (expected.nbytes,))
            return _equal_bytes(_bytes(expected), found)
        wanted, start = _bytes(expected), 0
        for piece in self._can.pieces.pieces(self._handles[key]):
            if not _equal_bytes(wanted[start : start + piece.size], piece):
                return False
            start += piece.size
        return start == wanted.size

    def _read(self, job: Job, spec: BufferSpec) -> NDArray[np.generic]:
        return self.device.read(self._handles[self._key(job, spec)], spec.dtype, spec.shape)

    def _written(self, job: Job, spec: BufferSpec) -> NDArray[np.bool_]:
        """Per element: was all of it stored to?"""
        marks = self.device.written(self._handles[self._key(job, spec)])
        assert marks is not None
        itemsize = np.dtype(spec.dtype).itemsize
        if itemsize == 1:
            return marks.reshape(spec.shape)
        return np.asarray(marks.reshape(-1, itemsize).all(axis=1)).reshape(spec.shape)

    def _overrun(self, job: Job, spec: BufferSpec) -> str | None:
        if self._can.guards is None:
            return None
        offset = self._can.guards.overrun(self._handles[self._key(job, spec)])
        if offset is None:
            return None
        place = f"{-offset} bytes in front of" if offset < 0 else f"{offset - spec.nbytes} bytes past the end of"
        return f"the kernel wrote out of bounds: {place} buffer {spec.name} ({spec.nbytes:,} bytes)"

    def _changed(self, job: Job, spec: BufferSpec) -> str | None:
        if not spec.is_input or not spec.holds_something:
            return None
        before = self._addresses(job, spec) if spec.file is None else self._content(spec.file)
        if self._equals(self._key(job, spec), before):
            return None
        self._stale.add(self._key(job, spec))
        differing = _first_difference(before, self._read(job, spec))
        index = np.unravel_index(differing // before.dtype.itemsize, before.shape)
        return f"input {spec.name} was changed, first at {[int(i) for i in index]}; it must stay as it was"


class DeviceCopies:
    """Host arrays that are in device memory as well, to be compared with there: the latest few."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._comparison = device.capabilities.comparison
        self._known: dict[int, tuple[NDArray[np.generic], Handle]] = {}  #: the arrays are kept: an id is used again

    def equal(self, handle: Handle, array: NDArray[np.generic]) -> bool | None:
        """Does the buffer hold the array's bytes? None where the device cannot say: a small one, or no room."""
        if self._comparison is None:
            return None
        known = self._known.pop(id(array), None) or self._copied(array, self._comparison)
        if known is None:
            return None
        self._known[id(array)] = known
        if len(self._known) > MAX_COPIES:
            _, oldest = self._known.pop(next(iter(self._known)))
            self._device.free(oldest)
        return self._comparison.equal(handle, known[1])

    def clear(self) -> None:
        """Free all."""
        for _, handle in self._known.values():
            self._device.free(handle)
        self._known.clear()

    def _copied(
        self, array: NDArray[np.generic], comparison: ComparedMemory
    ) -> tuple[NDArray[np.generic], Handle] | None:
        if array.nbytes < MIN_COPY_BYTES or not comparison.has_room(array.nbytes):
            return None
        try:
            handle = self._device.allocate(array.nbytes)
        except DeviceMemoryError:
            return None
        self._device.write(handle, array)
        return array, handle


def _source_of(place: CodeLocation) -> str:
    """``hist.cu:7``, or the instruction where the code has no line numbers."""
    return f"{Path(place.file).name}:{place.line}" if place.file and place.line is not None else str(place)


def _bytes(array: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _equal_bytes(left: NDArray[np.generic], right: NDArray[np.generic]) -> bool:
    """Both flat bytes; as words where there are whole ones, which is several times as fast."""
    width = np.uint64 if left.size % 8 == 0 and right.size % 8 == 0 else np.uint8
    return bool(np.array_equal(left.view(width), right.view(width)))


def _first_difference(before: NDArray[np.generic], after: NDArray[np.generic]) -> int:
    """The first byte that differs, NaN compared by its bits; 0 when all are equal."""
    return int(np.argmax(_bytes(before) != _bytes(after)))
