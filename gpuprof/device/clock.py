"""Timing protocols over a device with events: cold, warm, and batches. Nothing here knows statistics.

cold: the L2 is flushed, the stream held until everything is enqueued, and one pass timed between two events.
warm: passes back to back, each between its own events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuprof.device.base import Clock
from gpuprof.device.jobs import Call, FillCall, Job, KernelCall, TimingProtocol
from gpuprof.device.session import Session
from gpuprof.errors import LaunchError

#: Launches after one hold: the driver's queue takes some 1,024, and a full one would block the host for ever.
MAX_HELD_LAUNCHES = 400


@dataclass(frozen=True)
class ClockSamples:
    """Microseconds per pass, and remarks on how they were taken."""

    samples_us: tuple[float, ...]
    remarks: tuple[str, ...] = ()


class Stopwatch:
    """Times one job on one device. ``count`` samples of ``batch`` passes each."""

    def __init__(self, clock: Clock, session: Session, job: Job) -> None:
        self._clock, self._session, self._job = clock, session, job
        calls = [call for call in job.calls if not call.once]
        first = next((n for n, call in enumerate(calls) if call.timed), None)
        if first is None:
            raise LaunchError("no step is marked timed")
        self._before, self._body = calls[:first], _without_tail(calls[first:])
        self._held = True
        self._first_contents = session.first_contents(job, clock)
        self._remarks: dict[str, None] = {}
        if self._first_contents.remark:
            self._remarks[self._first_contents.remark] = None

    def cold(self, count: int, batch: int) -> ClockSamples:
        """Each sample after an L2 flush."""
        return self._result([self._sample(batch, flush=True) for _ in range(count)])

    def warm(self, count: int, batch: int) -> ClockSamples:
        """Each sample after the one before; a pass that is not counted fills the caches with this job's data."""
        self._sample(1, flush=False)
        return self._result([self._sample(batch, flush=False) for _ in range(count)])

    def _result(self, samples: list[float]) -> ClockSamples:
        return ClockSamples(tuple(samples), tuple(self._remarks))

    def _sample(self, batch: int, *, flush: bool) -> float:
        self._begin_pass()
        if flush:
            self._clock.flush_l2()
        self._clock.synchronize()
        held = self._hold(batch)
        try:
            spans = self._timed_passes(batch)
        finally:
            if held:
                self._clock.release()
        self._clock.synchronize()
        if held and self._clock.hold_failed():
            self._stop_holding()
            return self._sample(batch, flush=flush)
        return sum(self._clock.elapsed_us(start, end) for start, end in spans) / batch

    def _begin_pass(self) -> None:
        """Outside the timed window: first contents, and the steps in front of the first timed one."""
        self._first_contents.restore(self._clock)
        for call in self._before:
            self._enqueue(call)

    def _hold(self, batch: int) -> bool:
        queued = len(self._body)
        if self._first_contents.pairs:
            queued += len(self._before) + len(self._first_contents.pairs)
        if not self._held or batch * queued > MAX_HELD_LAUNCHES:
            return False
        self._clock.hold()
        return True

    def _stop_holding(self) -> None:
        self._held = False
        self._remarks["a step waits for the GPU itself: launch latency is in the times"] = None

    def _timed_passes(self, batch: int) -> list[tuple[Any, Any]]:
        """Enqueue ``batch`` passes; one span over all where every step is timed, else one per timed stretch.

        Where something must be restored between two passes, each has spans of its own.
        """
        if self._first_contents.pairs:
            spans = self._stretches()
            for _ in range(1, batch):
                self._begin_pass()
                spans += self._stretches()
            return spans
        if all(call.timed for call in self._body):
            start = self._clock.mark()
            for _ in range(batch):
                for call in self._body:
                    self._enqueue(call)
            return [(start, self._clock.mark())]
        return [span for _ in range(batch) for span in self._stretches()]

    def _stretches(self) -> list[tuple[Any, Any]]:
        spans, start = [], None
        for call in self._body:
            if call.timed and start is None:
                start = self._clock.mark()
            elif not call.timed and start is not None:
                spans.append((start, self._clock.mark()))
                start = None
            self._enqueue(call)
        if start is not None:
            spans.append((start, self._clock.mark()))
        return spans

    def _enqueue(self, call: Call) -> None:
        if isinstance(call, KernelCall):
            self._clock.enqueue(self._session.launch_of(self._job, call))
        elif isinstance(call, FillCall):
            self._clock.enqueue_fill(self._session.address(self._job, call.buffer), call.byte)
        else:
            self._clock.enqueue_host(call, self._session.host_arguments(self._job, call))


def _without_tail(calls: list[Call]) -> list[Call]:
    """Untimed steps after the last timed one need not run."""
    last = max(n for n, call in enumerate(calls) if call.timed)
    return calls[: last + 1]


def sample_job(session: Session, job: Job, protocol: TimingProtocol, count: int, batch: int) -> ClockSamples:
    """Time ``job``; raises LaunchError on a device without a clock."""
    clock = session.device.capabilities.clock
    if clock is None:
        raise LaunchError("this device has no clock")
    watch = Stopwatch(clock, session, job)
    session.set_variables(job)  # variants of one cubin take turns
    return watch.cold(count, batch) if protocol == "cold" else watch.warm(count, batch)
