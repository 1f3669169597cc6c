"""What of a cubin's code the emulator can execute: every instruction is bound, none is run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuprof.sass.model import Disassembly, Instruction


@dataclass(frozen=True)
class Uncovered:
    """An instruction that would stop a launch when it is reached."""

    kernel: str
    instruction: Instruction
    reason: str


@dataclass(frozen=True)
class Coverage:
    """Mnemonics with how often they occur, covered or not. Padding after the code is left out."""

    covered: Mapping[str, int]
    uncovered: tuple[Uncovered, ...]
    functions: int = 0  #: kernels and functions of their own code

    @property
    def runnable(self) -> int:
        """Functions all of whose instructions are covered."""
        return self.functions - len({miss.kernel for miss in self.uncovered})

    @property
    def instructions(self) -> int:
        return sum(self.covered.values()) + len(self.uncovered)

    @property
    def percent(self) -> float:
        """Share of the static instructions that are covered, 0 to 100; 100 for no code at all."""
        total = self.instructions
        return 100.0 * sum(self.covered.values()) / total if total else 100.0

    @property
    def uncovered_mnemonics(self) -> Mapping[str, int]:
        return Counter(miss.instruction.mnemonic for miss in self.uncovered)


def coverage(disassembly: Disassembly) -> Coverage:
    """Bind every instruction of every kernel of a cubin."""
    covered: Counter[str] = Counter()
    uncovered: list[Uncovered] = []
    for kernel, instruction, reason in _bound(disassembly):
        if reason is None:
            covered[instruction.mnemonic] += 1
        else:
            uncovered.append(Uncovered(kernel, instruction, reason))
    return Coverage(covered, tuple(uncovered), len(disassembly.functions))


def _bound(disassembly: Disassembly) -> Iterator[tuple[str, Instruction, str | None]]:
    from gpuprof.emulator.program import Program

    arch = int(re.sub(r"\D", "", disassembly.arch))
    for name, function in disassembly.functions.items():
        program = Program(disassembly, name, arch)
        for index, instruction in enumerate(function.body):
            yield name, instruction, program.why_not(index)
