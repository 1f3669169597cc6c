"""Variables in a GPU's memory that a cubin has: ``__constant__`` and ``__device__``, with their sizes and places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpuprof.toolchain.elf import CubinFacts, read_cubin
from gpuprof.toolchain.names import demangle

#: Constant bank 3 holds the ``__constant__`` variables of a module.
CONSTANT_SECTION = ".nv.constant3"
_GLOBAL_SECTION = ".nv.global"


@dataclass(frozen=True)
class DeviceVariable:
    """``symbol`` is the mangled name; ``is_zero``: its initial value is all zero bytes, as that of one never set."""

    symbol: str
    nbytes: int
    is_constant: bool
    is_zero: bool

    @property
    def name(self) -> str:
        """The variable's own name, without namespaces."""
        return demangle(self.symbol).rpartition("::")[2]

    @property
    def qualified(self) -> str:
        """The name with its namespaces."""
        return demangle(self.symbol)


@lru_cache(maxsize=1024)
def device_variables(cubin: Path) -> tuple[DeviceVariable, ...]:
    """The variables of a cubin in the order of its symbol table; raises as ``read_cubin``."""
    return variables_of(read_cubin(cubin))


def variables_of(facts: CubinFacts) -> tuple[DeviceVariable, ...]:
    """The variables of a cubin that is read already. Names with ``$`` or ``.`` are the compiler's own (strings)."""
    found = []
    for symbol in facts.symbols:
        is_constant = symbol.section == CONSTANT_SECTION
        is_variable = is_constant or symbol.section.startswith(_GLOBAL_SECTION)
        if not is_variable or symbol.is_function or not symbol.size or set("$.") & set(symbol.name):
            continue
        data = facts.sections[symbol.section].data[symbol.value : symbol.value + symbol.size]
        found.append(DeviceVariable(symbol.name, symbol.size, is_constant, not any(data)))
    return tuple(found)


def find_variable(cubin: Path, name: str) -> DeviceVariable | None:
    """The variable of that name, with or without its namespaces."""
    known = device_variables(cubin)
    by_symbol = (variable for variable in known if name in (variable.symbol, variable.qualified))
    return next(by_symbol, next((variable for variable in known if variable.name == name), None))
