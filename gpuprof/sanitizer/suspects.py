"""Words that several threads touched, of which the exact judge looks at a part.

For each instruction and kind of neighbourhood (one warp, one block, different blocks) some words are kept, so that no
pair of lines is lost to a pair that has many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: Words kept of each kind of conflict, and blocks that they may come from.
WORDS = 24
BLOCKS = 3


@dataclass
class Suspects:
    """Suspicious words: of shared memory by block, of global memory by word number of the arena."""

    shared: dict[int, set[int]] = field(default_factory=dict)  #: block -> words
    globals: set[int] = field(default_factory=set)
    objects: set[int] = field(default_factory=set)  #: words of shared memory that are of mbarrier objects
    _kept: dict[tuple[object, ...], set[tuple[int, int]]] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        return bool(self.shared or self.globals)

    def add_shared(self, index: int, blocks: Array, words: Array, near: Array) -> None:
        """Conflicts of one access; ``near``: within a warp."""
        for kind in (False, True):
            here = near == kind
            if here.any():
                self._keep(("shared", index, kind), blocks[here], words[here])

    def add_global(self, index: int, kinds: Array, words: Array, blocks: Array) -> None:
        """Conflicts of one access; ``kinds`` are 0 (one warp), 1 (one block), 2 (different blocks)."""
        for kind in np.unique(kinds).tolist():
            here = kinds == kind
            self._keep(("global", index, kind), blocks[here], words[here])

    def _keep(self, key: tuple[object, ...], blocks: Array, words: Array) -> None:
        kept = self._kept.setdefault(key, set())
        room = WORDS - len(kept)
        if room <= 0:
            return
        pairs = np.unique(np.stack([blocks, words], axis=1), axis=0)
        if len(pairs) > room:
            pairs = pairs[np.linspace(0, len(pairs) - 1, room).round().astype(np.int64)]
        for block, word in pairs.tolist():
            if key[0] == "global":
                self.globals.add(word)
            elif block in self.shared or len(self.shared) < BLOCKS:
                self.shared.setdefault(block, set()).add(word)
            else:
                continue
            kept.add((block, word))
