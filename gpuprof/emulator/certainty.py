"""How sure the results of a launch are: which executed instructions are not bit for bit those of its architecture.

Exact by measurement is what the recorded launches of ``tests/hardware`` hold on an H200 (sm_90); what differs between
generations by publications alone, or is computed another way than the hardware does it, is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuprof.sass.model import Instruction

MEASURED = 90


@dataclass(frozen=True)
class _Doubt:
    """What is less than exact, of which instructions, and whether on the measured architecture too."""

    sentence: str
    concerns: Callable[[Instruction], bool]
    everywhere: bool = False


_DOUBTS = (
    _Doubt(
        "approximate: MUFU.TANH, within 1.1e-5 of the hardware's result",
        lambda instruction: instruction.opcode == "MUFU" and "TANH" in instruction.modifiers,
        everywhere=True,
    ),
    _Doubt(
        "not measured: how R2UR's predicate is set, found from compiled code",
        lambda instruction: instruction.opcode == "R2UR" and len(instruction.operands) > 2,
    ),
    _Doubt(
        "by publications: the last bit of tensor sums (HMMA), measured on sm_90 alone",
        lambda instruction: instruction.opcode == "HMMA",
    ),
)


def doubts(arch: int, executed: Iterable[Instruction]) -> tuple[str, ...]:
    """One sentence for each kind of doubt about what was executed; none for a launch that is exact by measurement."""
    instructions = tuple(executed)
    return tuple(
        f"emulated on sm_{arch}: {doubt.sentence}"
        for doubt in _DOUBTS
        if (doubt.everywhere or arch != MEASURED) and any(doubt.concerns(instruction) for instruction in instructions)
    )
