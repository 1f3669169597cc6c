"""Machine code is read beside the builds and launches: threads that hand whole cubins to processes of their own.

nvdisasm and the analysis take about as long as nvcc. A run with many kernels therefore reads them in processes, one
per core, that step back behind nvcc; a run with few does it in threads, which start at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuprof.errors import GpuprofError
from gpuprof.profile.built_variant import BuiltVariant
from gpuprof.profile.code_facts import CodeFacts, CodePlace, kept_facts, place_of, read_facts

if TYPE_CHECKING:
    from gpuprof.device.process import ChildProcess
    from gpuprof.isa.machine import Dim3
    from gpuprof.toolchain.cache import Cache
    from gpuprof.toolchain.tools import Toolchain

#: A process starts in 0.3 s, which is what reading one kernel costs a thread: up to this number, threads are faster.
KERNELS_FOR_THREADS = 6
#: The kernels of one cubin; no real one takes so long.
READ_SECONDS = 900.0
READER_MODULE = "gpuprof.profile.code_reading_process"


@dataclass(frozen=True)
class ReadRequest:
    """What a reading process is asked: the places are in one cubin."""

    tools: Toolchain
    cache: Cache
    places: tuple[CodePlace, ...]


@dataclass(frozen=True)
class CodeRead:
    """A variant's machine code is read; ``facts`` is by kernel step."""

    label: str
    facts: Mapping[str, CodeFacts]


@dataclass
class _Open:
    """A variant whose kernels are being read."""

    built: BuiltVariant
    facts: dict[str, CodeFacts]


class CodeReader:
    """Reads what ``put`` gives it and emits a CodeRead for each variant; ``expected`` is how many kernels may come."""

    def __init__(
        self, tools: Toolchain, cache: Cache, emit: Callable[[CodeRead], None], *, expected: int, jobs: int
    ) -> None:
        self._tools, self._cache, self._emit = tools, cache, emit
        self._apart = expected > KERNELS_FOR_THREADS
        self._jobs = max(1, min(jobs, expected))
        self._condition = threading.Condition()
        self._queue: dict[str, list[tuple[_Open, str]]] = {}  #: cubin -> (variant, step) that wait for it
        self._idle = self._threads = 0
        self._closed = False

    def put(self, built: BuiltVariant) -> None:
        """Read a variant's kernels; never waits."""
        entry = _Open(built, {})
        if not built.builds:
            self._emit(CodeRead(built.variant.label, {}))
            return
        with self._condition:
            for step, build in built.builds.items():
                self._queue.setdefault(build.cubin_sha256, []).append((entry, step))
            self._start_thread()
            self._condition.notify()

    def close(self) -> None:
        """Read nothing more, but for what is being read."""
        with self._condition:
            self._closed = True
            self._queue.clear()
            self._condition.notify_all()

    def _start_thread(self) -> None:
        if not self._closed and self._idle < len(self._queue) and self._threads < self._jobs:
            self._threads += 1
            threading.Thread(target=self._serve, name="code", daemon=True).start()

    def _serve(self) -> None:
        reader = _ReadApart() if self._apart else read_here
        try:
            while group := self._take():
                self._read_group(group, reader)
        finally:
            if isinstance(reader, _ReadApart):
                reader.close()

    def _take(self) -> list[tuple[_Open, str]]:
        """Everything that waits for the first cubin; empty when nothing will come."""
        with self._condition:
            self._idle += 1
            self._condition.wait_for(lambda: self._queue or self._closed)
            self._idle -= 1
            return self._queue.pop(next(iter(self._queue))) if self._queue else []

    def _read_group(
        self, group: Sequence[tuple[_Open, str]], reader: Callable[[ReadRequest], Sequence[CodeFacts]]
    ) -> None:
        places = [place_of(entry.built.builds[step], _block_of(entry.built, step)) for entry, step in group]
        found = {place: kept_facts(self._cache, place) for place in places}
        missing = [place for place, facts in found.items() if facts is None]
        if missing:
            read = reader(ReadRequest(self._tools, self._cache, tuple(missing)))
            found.update(zip(missing, read, strict=True))
        for (entry, step), place in zip(group, places, strict=True):
            facts = found[place]
            assert facts is not None
            self._settle(entry, step, facts)

    def _settle(self, entry: _Open, step: str, facts: CodeFacts) -> None:
        with self._condition:
            entry.facts[step] = facts
            complete = len(entry.facts) == len(entry.built.builds)
        if complete:
            self._emit(CodeRead(entry.built.variant.label, entry.facts))


def _block_of(built: BuiltVariant, name: str) -> Dim3 | None:
    return next((getattr(step, "block", None) for step in built.variant.steps if step.name == name), None)


def read_here(request: ReadRequest) -> tuple[CodeFacts, ...]:
    """Read in this thread."""
    return read_facts(request.tools, request.cache, request.places)


class _ReadApart:
    """``read_here`` in a process, which starts at the first call and is replaced when it dies."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def __call__(self, request: ReadRequest) -> tuple[CodeFacts, ...]:
        from gpuprof.device.process import ChildProcess

        if self._child is None:
            self._child = ChildProcess(READER_MODULE)
        try:
            answer: tuple[CodeFacts, ...] = self._child.ask(request, READ_SECONDS)
            return answer
        except GpuprofError as error:
            self.close()
            why = f"the machine code could not be read: {error}"
            return tuple(CodeFacts("", None, why) for _ in request.places)

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
            self._child = None
