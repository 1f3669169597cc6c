"""Event counts while a kernel runs: one integer per event and instruction.

Straight-line code is counted once per execution of the whole run of instructions; what depends on guards and
addresses is counted by the instruction itself. ``metrics`` turns the sums into Nsight Compute's names.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass
class Counters:
    """Counts per instruction number. Every list has one entry per instruction of the program."""

    warps: list[int]  #: executions by a group of converged lanes of one warp
    threads: list[int]  #: active lanes over those executions
    off: list[int]  #: of those lanes, how many had a false guard
    untaken: list[int]  #: of the lanes with a true guard, how many a branch's second predicate kept from branching
    issued: list[int]  #: executions with at least one enabled lane (requests of memory instructions)
    copies: list[int]  #: executions of LDGSTS with an enabled lane, be it one that only fills with zeros
    sectors: list[int]  #: distinct 32-byte sectors per execution
    ideal_sectors: list[int]  #: bytes of the enabled lanes / 32, rounded up per execution
    l1_sectors: list[int]  #: atomics and LDGSTS, whose sectors l1tex counts by a rule of its own
    copied_sectors: list[int]  #: LDGSTS: sectors by the counters of single instructions
    tags: list[int]  #: distinct 128-byte lines per execution
    wavefronts: list[int]  #: passes of the shared-memory data stage
    ideal_wavefronts: list[int]  #: passes without bank conflicts
    joined: list[int]  #: WARPSYNC: times that waiting parts of a warp went on as one, which issues it once more
    joined_threads: list[int]  #: lanes over those
    divergent: list[int]  #: branch executions in which active lanes went different ways
    parted: list[int]  #: WARPSYNC.EXCLUSIVE: executions whose lanes went on in more than one group
    shared: list[int]  #: of ``issued``: executions of a generic access that went to shared memory
    local: list[int]  #: likewise to local memory
    blocks: int = 0
    launched_warps: int = 0

    @classmethod
    def zeros(cls, instructions: int) -> Counters:
        """Nothing counted yet, for a program of that many instructions."""
        lists = [field.name for field in fields(cls) if field.name not in ("blocks", "launched_warps")]
        return cls(**{name: [0] * instructions for name in lists})  # type: ignore[arg-type]

    def add(self, other: Counters) -> None:
        """Add another worker's counts."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(mine, list):
                mine[:] = [a + b for a, b in zip(mine, theirs, strict=True)]
            else:
                setattr(self, field.name, mine + theirs)
