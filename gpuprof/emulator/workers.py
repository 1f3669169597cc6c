"""Sharing batches between processes: forked children that see the same arena and send their counts back.

Threads do not help here: numpy releases Python's lock only within calls of some ten microseconds, and handing it over
costs as much (two threads ran at the speed of one, or below). A forked child starts with everything in place.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpuprof.errors import EmulationError
from gpuprof.system.processes import end_with_parent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.counting.counters import Counters

    Work = Callable[[Sequence[NDArray[Any]]], Counters]


def can_fork() -> bool:
    """Whether the system forks processes that share memory."""
    return hasattr(os, "fork")


def share(work: Work, batches: Sequence[NDArray[Any]], workers: int) -> Counters:
    """Run ``work`` on every ``workers``-th batch in as many processes; the sum of what they counted.

    Raises what a worker raised, that of the first batches first.
    """
    children = [_start(work, batches[number::workers]) for number in range(1, workers)]
    failure: BaseException | None = None
    total: Counters | None = None
    try:
        total = work(batches[0::workers])
    except EmulationError as error:
        failure = error
    for process, pipe in children:
        answer = _collect(process, pipe)
        if isinstance(answer, BaseException):
            failure = failure or answer
        elif total is not None:
            total.add(answer)
    if failure is not None:
        raise failure
    assert total is not None
    return total


def _start(work: Work, batches: Sequence[NDArray[Any]]) -> tuple[int, int]:
    """Fork a child for some batches; returns its process number and where its answer can be read."""
    reading, writing = os.pipe()
    parent = os.getpid()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        end_with_parent(parent)
        os.close(reading)
        try:
            answer: Any = work(batches)
        except Exception as error:  # every failure belongs to the parent, whatever it is
            answer = error
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        status = 0
    finally:
        os._exit(status)


def _collect(process: int, reading: int) -> Any:
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(process, 0)
    if not data:
        return EmulationError("a process of the emulator ended without an answer; it may have run out of memory")
    return pickle.loads(data)
