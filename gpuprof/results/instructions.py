"""Counters of single instructions, with the same derived values as a kernel's: the emulator keeps an entry for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpuprof.isa import ncu_metrics as m
from gpuprof.results.derived import derived_values
from gpuprof.results.model import Counters, Number, Result, Status


@dataclass(frozen=True)
class InstructionCounters:
    """One instruction of one step. ``values`` are derived as for a kernel; ``line`` is None where there is none."""

    step: str
    address: int
    text: str
    file: str
    line: int | None
    counters: Mapping[str, Number]
    values: Mapping[str, float]

    @property
    def executed(self) -> Number:
        """Executions by warps (by groups of converged lanes)."""
        return self.counters.get(m.SOURCE_EXECUTED, 0)

    @property
    def lanes_on(self) -> float | None:
        """Lanes with the predicate on per execution, 0 to 32; None where it was never executed."""
        return self.counters.get(m.SOURCE_THREADS_ON, 0) / self.executed if self.executed else None

    @property
    def sectors(self) -> float | None:
        """Sectors of global or local memory per execution."""
        total = self.counters.get(m.GLOBAL_SECTORS, 0) or self.counters.get(m.LOCAL_SECTORS, 0)
        return total / self.executed if total and self.executed else None

    @property
    def ways(self) -> float | None:
        """Shared-memory wavefronts over the conflict-free number."""
        ideal = self.counters.get(m.SHARED_WAVEFRONTS_IDEAL, 0)
        return self.counters.get(m.SHARED_WAVEFRONTS, 0) / ideal if ideal else None

    @property
    def cost(self) -> float:
        """What orders the hottest first: issues, and each further wavefront or group of four sectors as one more."""
        wavefronts = float(self.counters.get(m.SHARED_WAVEFRONTS, 0))
        sectors = float(self.counters.get(m.GLOBAL_SECTORS, 0)) / 4
        return max(float(self.executed), wavefronts, sectors)


def by_instruction(counters: Counters) -> tuple[InstructionCounters, ...]:
    """The instructions of a pass in the order of step and address; empty where none was counted alone (by ncu)."""
    return tuple(_entries(counters))


def _entries(counters: Counters) -> Iterator[InstructionCounters]:
    for entry in counters.per_line:
        counts, line, address = entry.get("counters"), entry.get("line"), entry.get("address")
        alone = dict(counts) if isinstance(counts, Mapping) else {}
        one = replace(counters, values=alone, per_line=())
        yield InstructionCounters(
            step=str(entry.get("step", "")),
            address=address if isinstance(address, int) else 0,
            text=str(entry.get("text", "")),
            file=str(entry.get("file") or ""),
            line=line if isinstance(line, int) else None,
            counters=alone,
            values=derived_values(Result("", "", {}, {}, Status.OK, counters=one)),
        )
