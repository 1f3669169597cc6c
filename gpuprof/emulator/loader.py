"""From a cubin's plain facts to an image that the emulator can launch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpuprof.emulator.runtime.syscalls import system_address
from gpuprof.errors import EmulationError, KernelNotFoundError
from gpuprof.isa.machine import reserved_bytes_in_section
from gpuprof.sass.model import Disassembly

if TYPE_CHECKING:
    from gpuprof.emulator.memory.arena import Arena
    from gpuprof.emulator.program import Program
    from gpuprof.toolchain.elf import CubinFacts
    from gpuprof.toolchain.model import Resources

_ADDRESS_BYTES = 8
_VARIABLES_BANK = 3  #: of ``__constant__`` variables


@dataclass(frozen=True)
class KernelImage:
    """One kernel ready to launch: code, constant banks, memory needs."""

    symbol: str
    arch: int
    program: Program
    banks: Mapping[int, bytes]
    parameter_base: int
    parameters: tuple[tuple[int, int], ...]  #: (offset, size) by ordinal
    static_shared_bytes: int
    reserved_shared_bytes: int
    stack_bytes: int
    system_functions: Mapping[int, str] = field(default_factory=dict)  #: address -> name of a runtime function
    warp_collectives: Mapping[int, int] = field(default_factory=dict)  #: program counter -> register of its mask


class Module:
    """A loaded cubin: its global variables have addresses, its constants are filled in."""

    def __init__(self, facts: CubinFacts, disassembly: Disassembly, arena: Arena) -> None:
        self._facts = facts
        self._disassembly = disassembly
        self._arena = arena
        self.arch = int(re.sub(r"\D", "", facts.arch))
        self._sections = {name: _place_section(facts, name, arena) for name in _variables(facts)}
        self._system: dict[int, str] = {}
        self._images: dict[str, KernelImage] = {}
        self._constants: dict[str, bytes] = {}
        self._relocate_variables()

    def image(self, symbol: str) -> KernelImage:
        """The kernel with that mangled name; raises KernelNotFoundError."""
        if symbol not in self._images:
            resources = self._facts.kernels.get(symbol)
            if resources is None or symbol not in self._disassembly.functions:
                known = ", ".join(self._facts.kernels) or "none"
                raise KernelNotFoundError(f"the cubin has no kernel {symbol}; it has {known}")
            self._images[symbol] = self._make_image(symbol, resources)
        return self._images[symbol]

    def resources(self, symbol: str) -> Resources | None:
        """What a kernel uses; None where the cubin has no such kernel."""
        return self._facts.kernels.get(symbol)

    def set_variable(self, name: str, data: bytes) -> None:
        """Give a variable its content, as cudaMemcpyToSymbol does; raises KernelNotFoundError."""
        symbol = next((known for known in self._facts.symbols if known.name == name), None)
        if symbol is None or symbol.is_function or len(data) > symbol.size:
            raise KernelNotFoundError(f"the cubin has no variable {name} of {len(data)} bytes")
        if symbol.section in self._sections:
            view = self._arena.view(self._sections[symbol.section] + symbol.value, len(data))
            view[:] = list(data)
            return
        self._constants[name] = data
        for kernel, image in self._images.items():
            banks = {**image.banks, _VARIABLES_BANK: self._bank(_VARIABLES_BANK, kernel, image.program)}
            self._images[kernel] = replace(image, banks=banks)

    def unload(self) -> None:
        """Free the global variables."""
        for address in self._sections.values():
            self._arena.free(address)
        self._sections.clear()

    def _make_image(self, symbol: str, resources: Resources) -> KernelImage:
        from gpuprof.emulator.program import Program

        program = Program(self._disassembly, symbol, self.arch, self._address)
        self._find_called_functions(program)
        banks = {bank: self._bank(bank, symbol, program) for bank in (1, 2, 3, 4)}
        return KernelImage(
            symbol=symbol,
            arch=self.arch,
            program=program,
            banks={number: data for number, data in banks.items() if data},
            parameter_base=resources.parameter_base,
            parameters=tuple((parameter.offset, parameter.size) for parameter in resources.parameters),
            static_shared_bytes=resources.static_shared_bytes,
            reserved_shared_bytes=reserved_bytes_in_section(self.arch),
            stack_bytes=resources.stack_bytes,
            system_functions=dict(self._system),
            warp_collectives=resources.warp_collectives,
        )

    def _bank(self, bank: int, kernel: str, program: Program) -> bytes:
        owner = kernel if bank in (1, 2) else None
        data = bytearray(self._facts.constant_bank(bank, owner))
        section = f".nv.constant{bank}" + (f".{owner}" if owner else "")
        for relocation in self._facts.relocations:
            if relocation.section == section:
                address = self._address(relocation.symbol, program) + relocation.addend
                end = relocation.offset + _ADDRESS_BYTES
                data[relocation.offset : end] = address.to_bytes(_ADDRESS_BYTES, "little")[
                    : len(data) - relocation.offset
                ]
        for symbol in self._facts.symbols if bank == _VARIABLES_BANK else ():
            content = self._constants.get(symbol.name, b"")
            data[symbol.value : symbol.value + len(content)] = content
        return bytes(data)

    def _find_called_functions(self, program: Program) -> None:
        """Note the runtime functions that code calls by name, before a launch asks which there are."""
        for relocation in self._facts.relocations:
            if relocation.section.startswith(".text."):
                self._address(relocation.symbol, program)

    def _address(self, name: str, program: Program | None) -> int:
        """Address of a symbol: a variable, code, or a function of the device runtime."""
        symbol = next((symbol for symbol in self._facts.symbols if symbol.name == name), None)
        if symbol is not None and symbol.section in self._sections:
            return self._sections[symbol.section] + symbol.value
        if symbol is not None and symbol.section.startswith(".text.") and program is not None:
            from gpuprof.emulator.state.launch import CODE_BASE

            return CODE_BASE + program.sections[symbol.section.removeprefix(".text.")] + symbol.value
        if symbol is None or not symbol.section:
            address = system_address(name)
            self._system[address] = name
            return address
        return 0  # a symbol of another memory space: textures and the like

    def _relocate_variables(self) -> None:
        """Pointers inside initialised variables; tables of function pointers hold code offsets and stay."""
        for relocation in self._facts.relocations:
            base = self._sections.get(relocation.section)
            if base is None:
                continue
            symbol = next((known for known in self._facts.symbols if known.name == relocation.symbol), None)
            if symbol is not None and symbol.section in self._sections:
                address = self._sections[symbol.section] + symbol.value + relocation.addend
                view = self._arena.view(base + relocation.offset, _ADDRESS_BYTES)
                view[:] = list(address.to_bytes(_ADDRESS_BYTES, "little"))


def _variables(facts: CubinFacts) -> list[str]:
    """Sections of ``__device__`` variables."""
    return [name for name, section in facts.sections.items() if name.startswith(".nv.global") and section.size]


def _place_section(facts: CubinFacts, name: str, arena: Arena) -> int:
    section = facts.sections[name]
    address = arena.allocate(section.size)
    if section.data:
        arena.view(address, section.size)[:] = list(section.data)
    return address


def pack_parameters(image: KernelImage, values: list[bytes]) -> bytes:
    """Arguments at their offsets in the parameter block; raises EmulationError when they do not fit the kernel."""
    if len(values) != len(image.parameters):
        raise EmulationError(
            f"{image.symbol} takes {len(image.parameters)} arguments, the launch passes {len(values)}; check args"
        )
    block = bytearray(max((offset + size for offset, size in image.parameters), default=0))
    for number, ((offset, size), value) in enumerate(zip(image.parameters, values, strict=True)):
        if len(value) != size:
            raise EmulationError(
                f"argument {number} of {image.symbol} has {size} bytes, the launch passes {len(value)}; check args"
            )
        block[offset : offset + size] = value
    return bytes(block)
