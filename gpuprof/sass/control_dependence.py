"""Which branches decide where a value comes from, when several writers may have left it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from gpuprof.sass.cfg import Graph
from gpuprof.sass.opcodes import is_conditional_branch

#: Blocks that may be walked over for all branches of one function together: some seconds.
_MAX_STEPS = 4_000_000
_SEEN, _NOT_SEEN = ord("1"), ord("0")


@dataclass
class Deciders:
    """The deciding branches of one function. Answers are remembered."""

    graph: Graph
    _steps: int = 0
    _known: dict[tuple[int, frozenset[int]], tuple[int, ...] | None] = field(default_factory=dict)
    _led_to: dict[int, int] = field(default_factory=dict)

    def branches(self, reader: int, writers: frozenset[int]) -> tuple[int, ...] | None:
        """Indices of the branches that decide which of the writers in some blocks the block ``reader`` sees.

        A branch between the writers' common dominator and the reader decides when both its sides lead to the reader.
        None when the function has more branches than can be followed.
        """
        key = (reader, writers)
        if key not in self._known:
            self._known[key] = self._find(reader, writers)
        return self._known[key]

    def _find(self, reader: int, writers: frozenset[int]) -> tuple[int, ...] | None:
        found = []
        for block in sorted(self._candidates(reader, writers)):
            last = self.graph.blocks[block].end - 1
            if is_conditional_branch(self.graph.function.instructions[last]):
                if block not in self._led_to and self._steps > _MAX_STEPS:
                    return None
                if self._both_lead_to(block) >> reader & 1:
                    found.append(last)
        return tuple(found)

    def _candidates(self, reader: int, writers: frozenset[int]) -> set[int]:
        """The reader's block, the writers' and their dominators, up to the writers' lowest common dominator."""
        lowest = self.graph.common_dominator(sorted(writers))
        found = set() if lowest is None else {lowest}
        for start in (*writers, reader):
            found.update(self._up_to(start, found))
        return found

    def _up_to(self, block: int, known: AbstractSet[int]) -> list[int]:
        """A block and its dominators below the first that is known; none when none of them is."""
        chain: list[int] = []
        while block not in known:
            chain.append(block)
            above = self.graph.dominators.get(block, block)
            if above == block:
                return []
            block = above
        return chain

    def _both_lead_to(self, block: int) -> int:
        """The blocks, as bits, that every side of the branch at a block's end leads to without passing it again."""
        if block not in self._led_to:
            common = -1
            for successor in self.graph.blocks[block].successors:
                common &= self._reach(successor, block)
            self._led_to[block] = common
        return self._led_to[block]

    def _reach(self, start: int, avoiding: int) -> int:
        """The blocks, as bits, that a block leads to without passing ``avoiding``."""
        blocks = self.graph.blocks
        seen = bytearray(b"0") * len(blocks)  # binary digits, the last block's first once turned around
        seen[avoiding] = _SEEN
        waiting = [start]
        while waiting:
            block = waiting.pop()
            if seen[block] != _SEEN:
                seen[block] = _SEEN
                self._steps += 1
                waiting.extend(blocks[block].successors)
        seen[avoiding] = _NOT_SEEN
        return int(seen[::-1], 2)
