"""In-out buffers between timed launches: every launch finds what the first one found.

A kernel that sorts in place, or adds to its output, would otherwise be timed on its own result. The first contents
are kept in device memory, and copied back outside the timed window. Only buffers that a pass changes are restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gpuprof.device.base import Clock, Device, Handle
from gpuprof.device.jobs import BufferSpec, Call, Job
from gpuprof.errors import DeviceMemoryError


class Passes(Protocol):
    """What runs a job's steps on the device; see ``session.Session``."""

    def prepare(self, job: Job, poison: int) -> None: ...

    def run_calls(self, job: Job, calls: Sequence[Call]) -> None: ...

    def address(self, job: Job, buffer: str) -> Handle: ...

    def same_bytes(self, left: Handle, right: Handle) -> bool: ...


@dataclass(frozen=True)
class FirstContents:
    """What a job's in-out buffers held before its first pass: (buffer, kept copy) for those that a pass changes.

    ``remark`` says why some are not restored; empty: all are.
    """

    pairs: tuple[tuple[Handle, Handle], ...] = ()
    remark: str = ""

    def restore(self, clock: Clock) -> None:
        """Enqueue the copies."""
        for buffer, kept in self.pairs:
            clock.enqueue_copy(buffer, kept)


def candidates(job: Job) -> tuple[BufferSpec, ...]:
    """Buffers that a pass may read and change: outputs and scratch with a first content.

    Where a step runs once, what it leaves in outputs and scratch is a first content as well.
    """
    once = any(call.once for call in job.calls)
    return tuple(spec for spec in job.buffers if not spec.is_input and (spec.file is not None or once))


def keep_first_contents(session: Passes, device: Device, clock: Clock, job: Job, poison: int) -> FirstContents:
    """Run one pass of a prepared job, and keep the first content of every candidate that it changes.

    Raises LaunchError and its kinds as a pass does. Without memory for the copies nothing is kept.
    """
    wanted = candidates(job)
    if not wanted:
        return FirstContents()
    session.prepare(job, poison)
    leading = next((n for n, call in enumerate(job.calls) if not call.once), len(job.calls))
    session.run_calls(job, job.calls[:leading])
    kept: list[tuple[BufferSpec, Handle, Handle]] = []
    try:
        for spec in wanted:
            kept.append((spec, session.address(job, spec.name), device.allocate(spec.nbytes)))
    except DeviceMemoryError:
        for _, _, copy in kept:
            device.free(copy)
        names = ", ".join(spec.name for spec in wanted)
        return FirstContents(remark=f"timed on its own output: no device memory to keep the first content of {names}")
    for _, buffer, copy in kept:
        clock.enqueue_copy(copy, buffer)
    session.run_calls(job, job.calls[leading:])
    pairs = []
    for _, buffer, copy in kept:
        if session.same_bytes(buffer, copy):
            device.free(copy)
        else:
            pairs.append((buffer, copy))
    return FirstContents(tuple(pairs))
