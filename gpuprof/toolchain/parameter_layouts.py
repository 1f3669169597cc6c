"""Layouts of a kernel's parameters: of CUDA's vectors by name, of structs from the debug information of nvcc -G.

A release build has no word about the members of a struct. The unit is compiled a second time with ``-G`` (and kept in
the cache like any build); only its DWARF is read, never its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuprof.errors import BuildError, GpuprofError
from gpuprof.isa.parameter_layout import VECTORS, Kind, Layout, Member, scalar
from gpuprof.isa.parameter_type import SCALARS, ParameterType
from gpuprof.toolchain.parameter_types import parameter_types

if TYPE_CHECKING:
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import Build

_DEBUG_FLAG = "-G"
#: DWARF 2 to 4, section 7.8: encodings of base types, with the letter of numpy's names.
_ENCODINGS = {2: "bool", 4: "float", 5: "int", 6: "int", 7: "uint", 8: "uint"}
_TRANSPARENT = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_typedef")
_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type")
#: How nvcc names the part of a struct that is its base class.
_BASE_PREFIX = "__b_"
_MAX_DEPTH = 32


def layouts_of(builder: Builder, build: Build, wanted: Sequence[int]) -> tuple[Layout | None, ...]:
    """A layout for each of the ``wanted`` parameters (ordinals), None for the others and where nothing tells it.

    Raises BuildError where the second compilation fails.
    """
    count = len(build.resources.parameters)
    types = parameter_types(build.cubin, build.symbol, build.request.source)
    known = {at: _vector_of(types[at]) for at in wanted if at < len(types)} if len(types) == count else {}
    if all(known.get(at) is not None for at in wanted) or build.request.source.suffix == ".cubin":
        return tuple(known.get(at) for at in range(count))
    read = read_layouts(_debug_cubin(builder, build), build.symbol)
    if len(read) != count:
        return tuple(known.get(at) for at in range(count))
    return tuple(read[at] if at in wanted else None for at in range(count))


def _vector_of(found: ParameterType | None) -> Layout | None:
    return None if found is None else VECTORS.get(found.name)


def _debug_cubin(builder: Builder, build: Build) -> Path:
    request = replace(build.request, flags=(*build.request.flags, _DEBUG_FLAG))
    try:
        return builder.build(request).cubin
    except BuildError as error:
        raise BuildError(f"the layout of its structs cannot be read: nvcc {_DEBUG_FLAG}: {error}") from None


@lru_cache(maxsize=256)
def read_layouts(cubin: Path, symbol: str) -> tuple[Layout | None, ...]:
    """The parameters' layouts from a cubin's DWARF, in order; empty where it has none for the kernel."""
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(BytesIO(cubin.read_bytes()))
        if not file.has_dwarf_info():
            return ()
        dwarf = file.get_dwarf_info(relocate_dwarf_sections=False)
        for unit in dwarf.iter_CUs():
            for entry in unit.iter_DIEs():
                if entry.tag == "DW_TAG_subprogram" and symbol in (_text(entry, name) for name in _NAMES):
                    parameters = [child for child in entry.iter_children() if child.tag == "DW_TAG_formal_parameter"]
                    return tuple(_layout(_type_of(parameter), 0) for parameter in parameters)
    except (GpuprofError, OSError):
        return ()
    except Exception as error:  # a reader of debug information meets what no standard foresaw
        raise BuildError(f"the debug information of {symbol} cannot be read: {type(error).__name__}: {error}") from None
    return ()


_NAMES = ("DW_AT_MIPS_linkage_name", "DW_AT_linkage_name", "DW_AT_name")


def _text(entry: Any, attribute: str) -> str:
    found = entry.attributes.get(attribute)
    return "" if found is None else found.value.decode("utf-8", "replace")


def _number(entry: Any, attribute: str, default: int = 0) -> int:
    found = entry.attributes.get(attribute)
    return default if found is None or not isinstance(found.value, int) else found.value


def _type_of(entry: Any) -> Any:
    return entry.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in entry.attributes else None


def _layout(entry: Any, depth: int) -> Layout | None:
    while entry is not None and entry.tag in _TRANSPARENT:
        entry = _type_of(entry)
    if entry is None or depth > _MAX_DEPTH:
        return None
    name, size = _text(entry, "DW_AT_name"), _number(entry, "DW_AT_byte_size")
    if entry.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
        target = _type_of(entry)
        while target is not None and target.tag in _TRANSPARENT:
            target = _type_of(target)
        return Layout(f"{_text(target, 'DW_AT_name') if target is not None else 'void'}*", 8, "pointer")
    if entry.tag == "DW_TAG_base_type":
        return _base(name, size, _number(entry, "DW_AT_encoding"))
    if entry.tag == "DW_TAG_enumeration_type":
        return scalar(f"int{8 * (size or 4)}", size or 4, name)
    if entry.tag == "DW_TAG_array_type":
        return _array(entry, depth)
    if name in SCALARS:  # __half and its like are structs of one word
        return scalar(SCALARS[name], size, name)
    if entry.tag in (*_STRUCTS, "DW_TAG_union_type"):
        return _struct(entry, name, size, depth)
    return None


def _base(name: str, size: int, encoding: int) -> Layout | None:
    word = _ENCODINGS.get(encoding)
    if word is None:
        return None
    return scalar("bool" if word == "bool" else f"{word}{8 * size}", size, name)


def _array(entry: Any, depth: int) -> Layout | None:
    element = _layout(_type_of(entry), depth + 1)
    counts = [
        _number(child, "DW_AT_count", _number(child, "DW_AT_upper_bound", -1) + 1)
        for child in entry.iter_children()
        if child.tag == "DW_TAG_subrange_type"
    ]
    for count in reversed(counts):
        if element is None:
            return None
        element = Layout(f"{element.name}[{count}]", element.size * count, "array", element=element, count=count)
    return element


def _struct(entry: Any, name: str, size: int, depth: int) -> Layout | None:
    members: list[Member] = []
    for child in entry.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance") or "DW_AT_external" in child.attributes:
            continue
        offset, layout = _offset(child), _layout(_type_of(child), depth + 1)
        if offset is None or layout is None:
            return None
        own = _text(child, "DW_AT_name")
        if child.tag == "DW_TAG_inheritance" or own.startswith(_BASE_PREFIX):
            members += [replace(member, offset=member.offset + offset) for member in layout.members]
            continue
        bits = _number(child, "DW_AT_bit_size")
        storage = 8 * _number(child, "DW_AT_byte_size", layout.size)
        first = storage - _number(child, "DW_AT_bit_offset") - bits if bits else 0
        members.append(Member(own, offset, layout, bits, first))
    kind: Kind = "union" if entry.tag == "DW_TAG_union_type" else "struct"
    return Layout(name or "struct", max(1, size), kind, members=tuple(members))


def _offset(entry: Any) -> int | None:
    """``DW_AT_data_member_location``: a number, or the one operation DW_OP_plus_uconst with its LEB128."""
    found = entry.attributes.get("DW_AT_data_member_location")
    if found is None:
        return 0
    value: int | list[int] = found.value
    if isinstance(value, int):
        return value
    operation, *rest = value
    if operation != 0x23:
        return None
    return sum((byte & 0x7F) << (7 * at) for at, byte in enumerate(rest))
