"""What one instruction of a kernel counted: the same from the emulator to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuprof.isa import ncu_metrics as m

Number = int | float


@dataclass(frozen=True)
class InstructionCounters:
    """One instruction of one step; ``counters`` by Nsight Compute's metric names."""

    address: int  #: in bytes, from the beginning of the kernel
    text: str  #: as nvdisasm prints it
    file: str = ""  #: empty where the compiler gave no line
    line: int | None = None  #: in ``file``, from 1
    counters: Mapping[str, Number] = field(default_factory=dict)  #: by Nsight Compute's metric names
    step: str = ""  #: the step that launched it, where there are several

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
