"""Vector clocks: what each thread of a block knows to have happened, in its own block and in others.

A thread's clock counts its releases. ``known[t][u]`` is the newest clock of thread u that thread t is ordered behind;
an access of u at clock c happened before what t does now when ``known[t][u] >= c``. Knowledge of other blocks comes
by release and acquire through global memory alone, and is kept as shared mappings, since few threads have any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Remote = Mapping[int, Array]

_NOTHING: Remote = {}


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What one thread knew at a release, and for whom it is meant."""

    block: int
    knowledge: Remote  #: of its own block and of others
    scope: int


@dataclass(eq=False)
class BlockClocks:
    """The clocks of one block's threads."""

    block: int
    threads: int
    known: Array = field(init=False)
    remote: list[Remote] = field(init=False)
    fences: dict[int, Snapshot] = field(default_factory=dict)  #: thread -> what its last MEMBAR may release

    def __post_init__(self) -> None:
        self.known = np.eye(self.threads, dtype=np.int32)
        self.remote = [_NOTHING] * self.threads

    def clock(self, thread: int) -> int:
        """The thread's own clock."""
        return int(self.known[thread, thread])

    def meet(self, arrived: Array, leaving: Array) -> None:
        """Those who leave learn what all who arrived know. Both are thread numbers."""
        together = self.known[arrived].max(axis=0)
        remote = merged(self.remote[thread] for thread in arrived.tolist())
        self.known[leaving] = np.maximum(self.known[leaving], together)
        if remote:
            for thread in leaving.tolist():
                self.remote[thread] = merged((self.remote[thread], remote))
        self.known[arrived, arrived] += 1

    def fence(self, thread: int, scope: int) -> None:
        """A MEMBAR: a strong write that follows releases what is known now."""
        self.fences[thread] = self.snapshot(thread, scope)
        self.known[thread, thread] += 1

    def snapshot(self, thread: int, scope: int) -> Snapshot:
        """What the thread knows."""
        return Snapshot(self.block, {**self.remote[thread], self.block: self.known[thread].copy()}, scope)

    def learn(self, thread: int, released: Remote) -> None:
        """An acquire of what other threads released."""
        mine = released.get(self.block)
        if mine is not None:
            np.maximum(self.known[thread], mine, out=self.known[thread])
        others = {block: clocks for block, clocks in released.items() if block != self.block}
        if others:
            self.remote[thread] = merged((self.remote[thread], others))

    def has_seen(self, thread: int, block: int, other: int, clock: int) -> bool:
        """Whether what thread ``other`` of ``block`` did at ``clock`` happened before now."""
        if block == self.block:
            return bool(self.known[thread, other] >= clock)
        theirs = self.remote[thread].get(block)
        return theirs is not None and bool(theirs[other] >= clock)


def merged(parts: Iterable[Remote]) -> Remote:
    """Knowledge of several; the very same mapping where it is one."""
    result: dict[int, Array] | Remote = _NOTHING
    for part in {id(part): part for part in parts}.values():
        if not part:
            continue
        if not result:
            result = part
            continue
        joined = dict(result)
        for block, clocks in part.items():
            joined[block] = np.maximum(joined[block], clocks) if block in joined else clocks
        result = joined
    return result
