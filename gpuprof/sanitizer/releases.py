"""What threads hand on through an address: released behind a fence, acquired by who reads it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuprof.sanitizer.access_forms import BLOCK
from gpuprof.sanitizer.clocks import merged

if TYPE_CHECKING:
    from gpuprof.sanitizer.clocks import BlockClocks, Remote

#: Where an address is: global memory (-1), or shared memory of that block.
Place = tuple[int, int]
GLOBAL = -1


class Releases:
    """Knowledge by place. A scope that is narrower than both threads' distance hands on nothing."""

    def __init__(self) -> None:
        self._held: dict[Place, dict[tuple[int, int], Remote]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def acquire(self, clocks: BlockClocks, thread: int, place: Place, scope: int) -> None:
        """The thread learns what was released at the place, for it."""
        for (reach, of), knowledge in self._held.get(place, {}).items():
            if min(reach, scope) > BLOCK or of == clocks.block:
                clocks.learn(thread, knowledge)

    def release(self, clocks: BlockClocks, thread: int, place: Place, scope: int, *, replaces: bool) -> None:
        """What the thread knew at its last fence stands at the place; a plain store replaces what stood there."""
        if replaces:
            self._held.pop(place, None)
        for fenced, knowledge in clocks.fences.get(thread, {}).items():
            held = self._held.setdefault(place, {})
            reach = min(fenced, scope)
            key = (reach, clocks.block if reach <= BLOCK else GLOBAL)
            held[key] = merged((held[key], knowledge)) if key in held else knowledge
