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
#: Columns of a block's clocks behind those of its threads: for copies that mbarrier objects count.
AGENTS = 64


@dataclass(eq=False)
class BlockClocks:
    """The clocks of one block's threads."""

    block: int
    threads: int
    known: Array = field(init=False)
    remote: list[Remote] = field(init=False)
    #: thread -> by scope what a MEMBAR may release: its own, or one of a thread that it met in a barrier since
    fences: dict[int, dict[int, Remote]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = np.eye(self.threads, self.threads + AGENTS, dtype=np.int32)
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
        if self.fences:
            self._share_fences(arrived, leaving)

    def _share_fences(self, arrived: Array, leaving: Array) -> None:
        """Fences before a barrier count for who leaves it: all threads fence, then one of them tells other blocks."""
        held = [fences for thread in arrived.tolist() if (fences := self.fences.get(thread))]
        scopes = {scope for fences in held for scope in fences}
        if scopes:
            shared = {scope: merged(fences.get(scope, _NOTHING) for fences in held) for scope in scopes}
            self.fences.update(dict.fromkeys(leaving.tolist(), shared))

    def fence(self, thread: int, scope: int) -> None:
        """A MEMBAR: a strong write that follows releases what is known now."""
        self.fences[thread] = {**self.fences.get(thread, {}), scope: self.collect(np.array([thread]))}

    def collect(self, threads: Array) -> Remote:
        """What these threads know, in order to hand it on; what they do next is not of it."""
        remote = merged(self.remote[thread] for thread in threads.tolist())
        knowledge = {**remote, self.block: self.known[threads].max(axis=0)}
        self.known[threads, threads] += 1
        return knowledge

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
