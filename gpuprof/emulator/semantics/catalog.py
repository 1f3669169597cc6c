"""The whole table of semantics: importing this module registers those of every module in this package."""

from __future__ import annotations

import importlib
import pkgutil

from gpuprof.emulator import semantics as _package
from gpuprof.emulator.semantics.base import TABLE, Decoded, Execute, NotCovered

__all__ = ["TABLE", "bind"]

for _module in pkgutil.iter_modules(_package.__path__, _package.__name__ + "."):
    if _module.name != __name__:
        importlib.import_module(_module.name)


def bind(insn: Decoded) -> Execute:
    """The function that executes this instruction; raises ``NotCovered`` for what is not implemented."""
    semantics = TABLE.get(insn.instruction.opcode)
    if semantics is None:
        raise NotCovered(f"opcode {insn.instruction.opcode}")
    return semantics(insn)
