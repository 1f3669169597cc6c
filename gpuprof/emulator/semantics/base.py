"""The register of semantics: base opcode -> what binds its instructions.

A semantics is looked up once per instruction, when a kernel is decoded: it reads the modifiers, and returns the
function that executes the instruction on lanes. So nothing is parsed while a kernel runs::

    @semantics("FADD")
    def fadd(insn: Decoded) -> Execute:
        d, a, b = insn.operands
        def execute(lanes: Lanes) -> None:
            lanes.set_f32(d, lanes.f32(a) + lanes.f32(b))
        return execute

Shapes of values, and that arrays are never written in place: ``emulator.contract``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpuprof.emulator.contract import Decoded, Execute, Lanes, NotCovered

if TYPE_CHECKING:
    from gpuprof.emulator.contract import F32, F64, S32, S64, U32, U64, Bool

__all__ = [
    "F32",
    "F64",
    "S32",
    "S64",
    "TABLE",
    "U32",
    "U64",
    "Bool",
    "Decoded",
    "Execute",
    "Lanes",
    "NotCovered",
    "Semantics",
    "semantics",
]

Semantics = Callable[[Decoded], Execute]

#: base opcode -> semantics. A semantics raises ``NotCovered`` for a modifier that it does not implement.
TABLE: dict[str, Semantics] = {}


def semantics(*opcodes: str) -> Callable[[Semantics], Semantics]:
    """Register a semantics under its base opcodes."""

    def register(function: Semantics) -> Semantics:
        for opcode in opcodes:
            if opcode in TABLE:
                raise ValueError(f"two semantics for {opcode}")
            TABLE[opcode] = function
        return function

    return register
