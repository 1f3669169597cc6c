"""A cubin's ELF as plain facts: kernels with their resources, sections, symbols, relocations.

What an emulator needs to load a cubin is here as bytes; what a table needs is in ``Resources``.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.errors import DisassemblyError
from gpuprof.isa.constant_bank import compute_capability
from gpuprof.isa.machine import reserved_bytes_in_section
from gpuprof.system.files import MAX_CODE_BYTES, read_regular
from gpuprof.toolchain import nvinfo
from gpuprof.toolchain.model import Resources

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

EM_CUDA = 190

#: A longer symbol name is a damaged string table (mangled names of nested templates have some thousand bytes).
MAX_NAME_BYTES = 1 << 20

_STO_ENTRY = 0x10  #: st_other bit of a kernel
_STT_FUNC = 2
_SHF_BARRIERS_SHIFT, _SHF_BARRIERS_MASK = 20, 0x7F
_SYMBOL = struct.Struct("<IBBHQQ")
_REL = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")


@dataclass(frozen=True)
class Section:
    """One section, ``size`` bytes long; ``data`` is empty for one that takes only space (``.nv.shared``)."""

    index: int
    name: str
    data: bytes
    size: int
    alignment: int
    kind: str = "SHT_PROGBITS"
    info: int = 0  #: sh_info: of a relocation section the index of the section that it is for
    flags: int = 0  #: sh_flags


@dataclass(frozen=True)
class Symbol:
    """One symbol; ``section`` is a section's name, or empty for an undefined one. ``value`` is an offset in it."""

    index: int
    name: str
    section: str
    value: int
    size: int
    is_function: bool
    is_entry: bool


@dataclass(frozen=True)
class Relocation:
    """``section`` at ``offset`` takes the address of ``symbol`` plus ``addend``; ``kind`` is the R_CUDA number."""

    section: str
    offset: int
    kind: int
    symbol: str
    addend: int


@dataclass(frozen=True)
class CubinFacts:
    """All of one cubin. ``kernels`` are in the order of the symbol table."""

    arch: str  #: ``sm_89``, ``sm_120a``
    kernels: Mapping[str, Resources]
    sections: Mapping[str, Section]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    def constant_bank(self, bank: int, kernel: str | None = None) -> bytes:
        """The bytes of a bank (0 and 2 belong to a kernel, 3 and 4 to the file); empty where there is none."""
        name = f".nv.constant{bank}" + (f".{kernel}" if kernel else "")
        section = self.sections.get(name)
        return section.data if section else b""

    def code(self, kernel: str) -> bytes:
        """The machine code of a kernel's section, 16 bytes per instruction."""
        section = self.sections.get(f".text.{kernel}")
        return section.data if section else b""

    def functions(self, section: str) -> tuple[Symbol, ...]:
        """Function symbols inside a section, by address: the entry, and device functions that follow it."""
        inside = (symbol for symbol in self.symbols if symbol.section == section and symbol.is_function)
        return tuple(sorted(inside, key=lambda symbol: symbol.value))


def read_cubin(path: Path) -> CubinFacts:
    """Read a cubin; raises UnreadableFileError, or DisassemblyError for what is damaged, cut short or not a cubin."""
    return parse_cubin(read_regular(path, MAX_CODE_BYTES), str(path))


def parse_cubin(data: bytes, name: str) -> CubinFacts:
    """``read_cubin`` of bytes; ``name`` is what messages call them."""
    import io

    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    if data[:4] != b"\x7fELF":
        raise DisassemblyError(f"{name} is not a cubin: it does not begin with an ELF header")
    try:
        elf = ELFFile(io.BytesIO(data))
        if elf.header["e_machine"] not in (EM_CUDA, "EM_CUDA"):
            raise DisassemblyError(f"{name} is an ELF file, but not of CUDA machine code; extract its cubins first")
        _check_length(elf, len(data))
        return _read(elf, len(data))
    except DisassemblyError as error:
        raise DisassemblyError(f"{name}: {error}" if name not in str(error) else str(error)) from None
    except (ELFError, ConstructError, ValueError, KeyError, struct.error, IndexError, OverflowError) as error:
        raise DisassemblyError(f"{name} is damaged or cut short: {error or type(error).__name__}") from None
    except (UnicodeDecodeError, AttributeError, TypeError, AssertionError, MemoryError) as error:
        raise DisassemblyError(f"{name} is damaged: {error or type(error).__name__}") from None


def _check_length(elf: ELFFile, length: int) -> None:
    end = elf.header["e_shoff"] + elf.header["e_shnum"] * elf.header["e_shentsize"]
    if end > length:
        raise DisassemblyError(f"cut short: the section table ends at byte {end}, the file at {length}")


def _read(elf: ELFFile, length: int) -> CubinFacts:
    sections = tuple(_sections(elf, length))
    by_index = {section.index: section for section in sections}
    by_name = {section.name: section for section in sections}
    symbols = _symbols(by_name, by_index)
    arch = _arch(elf, by_name)
    return CubinFacts(
        arch=arch,
        kernels=_kernels(by_name, symbols, arch),
        sections=by_name,
        symbols=symbols,
        relocations=tuple(_relocations(by_index, symbols)),
    )


def _sections(elf: ELFFile, length: int) -> list[Section]:
    found = []
    claimed = 0
    places: set[tuple[int, int]] = set()
    for index, section in enumerate(elf.iter_sections()):
        header = section.header
        occupies = header["sh_type"] != "SHT_NOBITS"
        place = (header["sh_offset"], header["sh_size"])
        if (
            occupies and place not in places
        ):  # since sm_100 two sections may be the same bytes (.nv.merc.nv_debug_ptx_txt)
            places.add(place)
            claimed += header["sh_size"]
        if claimed > length:
            raise DisassemblyError(f"its sections claim {claimed:,} bytes and more; the file has {length:,}")
        data = section.data() if occupies and header["sh_size"] else b""
        if occupies and len(data) != header["sh_size"]:
            raise DisassemblyError(f"cut short: section {section.name} has {len(data)} of {header['sh_size']} bytes")
        found.append(
            Section(
                index=index,
                name=section.name,
                data=data,
                size=header["sh_size"],
                alignment=max(1, header["sh_addralign"]),
                kind=str(header["sh_type"]),
                info=header["sh_info"],
                flags=header["sh_flags"],
            )
        )
    return found


def _symbols(by_name: Mapping[str, Section], by_index: Mapping[int, Section]) -> tuple[Symbol, ...]:
    """The symbol table, read here because pyelftools drops the st_other bit that marks a kernel."""
    table, strings = by_name.get(".symtab"), by_name.get(".strtab")
    if table is None or strings is None:
        raise DisassemblyError("it has no symbol table")
    found = []
    for index, (name, info, other, section, value, size) in enumerate(_SYMBOL.iter_unpack(table.data)):
        owner = by_index.get(section)
        found.append(
            Symbol(
                index=index,
                name=strings.data[name : strings.data.index(b"\0", name, name + MAX_NAME_BYTES)].decode(
                    "utf-8", "surrogateescape"
                ),
                section=owner.name if owner and section else "",
                value=value,
                size=size,
                is_function=info & 15 == _STT_FUNC,
                is_entry=bool(other & _STO_ENTRY) and info & 15 == _STT_FUNC,
            )
        )
    return tuple(found)


def _relocations(by_index: Mapping[int, Section], symbols: tuple[Symbol, ...]) -> list[Relocation]:
    found = []
    for section in by_index.values():
        target = by_index.get(section.info)
        if section.kind not in ("SHT_REL", "SHT_RELA") or target is None:
            continue
        record = _RELA if section.kind == "SHT_RELA" else _REL
        for offset, info, *addend in record.iter_unpack(section.data):
            symbol = symbols[info >> 32].name
            found.append(Relocation(target.name, offset, info & 0xFFFFFFFF, symbol, addend[0] if addend else 0))
    return found


def _arch(elf: ELFFile, sections: Mapping[str, Section]) -> str:
    """e_flags hold the number (bits 15:8 since ABI version 8, 7:0 before); the tool note holds the suffix."""
    flags = elf.header["e_flags"]
    modern = elf.header["e_ident"]["EI_ABIVERSION"] >= 8
    number = flags >> 8 & 0xFF if modern else flags & 0xFF
    note = sections.get(".note.nv.tkinfo")
    named = re.search(rb"-arch sm_%d([af]?)\b" % number, note.data) if note else None
    suffix = named.group(1).decode() if named else ("a" if not modern and flags & 0x800 else "")
    return f"sm_{number}{suffix}"


def _kernels(sections: Mapping[str, Section], symbols: tuple[Symbol, ...], arch: str) -> dict[str, Resources]:
    info = sections.get(".nv.info")
    per_function = nvinfo.read_per_function(info.data if info else b"")
    reserve = reserved_bytes_in_section(compute_capability(arch))
    return {symbol.name: _resources(symbol, sections, per_function, reserve) for symbol in symbols if symbol.is_entry}


def _resources(
    symbol: Symbol, sections: Mapping[str, Section], per_function: nvinfo.PerFunction, reserve: int
) -> Resources:
    own = sections.get(f".nv.info.{symbol.name}")
    records = tuple(nvinfo.read_attributes(own.data)) if own else ()
    shared = sections.get(f".nv.shared.{symbol.name}")
    bank = sections.get(f".nv.constant0.{symbol.name}")
    base, size = _parameter_block(records) or (bank.size if bank else 0, 0)
    required = _block_of(records, nvinfo.REQUIRED_THREADS)
    bounds = required or _block_of(records, nvinfo.MAX_THREADS)
    parameters = (nvinfo.read_parameter(record.payload) for record in records if record.code == nvinfo.KPARAM_INFO)
    return Resources(
        registers=per_function.get(nvinfo.REGCOUNT, symbol.index) or 0,
        stack_bytes=per_function.get(nvinfo.FRAME_SIZE, symbol.index) or 0,
        static_shared_bytes=max(0, shared.size - reserve) if shared else 0,
        barriers=_barriers(records, sections.get(f".text.{symbol.name}")),
        parameters=tuple(sorted(parameters, key=lambda parameter: parameter.ordinal)),
        parameter_base=base,
        parameter_bytes=size,
        max_threads=None if bounds is None else math.prod(bounds),
        required_block=required,
        cluster=_block_of(records, nvinfo.CTA_PER_CLUSTER),
        warp_collectives=_warp_collectives(records),
    )


def _warp_collectives(records: tuple[nvinfo.Attribute, ...]) -> dict[int, int]:
    """Offset of each warp collective -> the register of its mask (all ones: constant, or full)."""
    offsets = [word for record in records if record.code == nvinfo.COLLECTIVE_OFFSETS for word in record.words()]
    masks = [word for record in records if record.code == nvinfo.COLLECTIVE_MASKS for word in record.words()]
    masks += [0xFFFFFFFF] * (len(offsets) - len(masks))
    return dict(zip(offsets, masks, strict=False))


def _parameter_block(records: tuple[nvinfo.Attribute, ...]) -> tuple[int, int] | None:
    """Offset and length of the parameters in bank 0 (PARAM_CBANK), or None for a kernel that has none."""
    for record in records:
        if record.code == nvinfo.PARAM_CBANK and len(record.payload) >= 8:
            _, base, size = struct.unpack_from("<IHH", record.payload)
            return base, size
    return None


def _barriers(records: tuple[nvinfo.Attribute, ...], code: Section | None) -> int:
    """NUM_BARRIERS, or (in the ELF format before CUDA 13) the section flags that nvdisasm prints as SHF_BARRIERS."""
    in_flags = code.flags >> _SHF_BARRIERS_SHIFT & _SHF_BARRIERS_MASK if code else 0
    return next((record.payload[0] for record in records if record.code == nvinfo.NUM_BARRIERS), in_flags)


def _block_of(records: tuple[nvinfo.Attribute, ...], code: int) -> tuple[int, int, int] | None:
    """The block extents that a record of that code holds."""
    for record in records:
        if record.code == code and len(record.words()) >= 3:
            x, y, z = record.words()[:3]
            return x, y, z
    return None
