"""Vectors and structs passed by value: from the YAML's members to the parameter's bytes.

Members are a list in the order of their declaration, or a mapping by name; arrays and structs inside are lists or
mappings again. A pointer is a buffer's name, ``{buffer: A, offset: 3}`` or null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuprof.errors import ExpressionError
from gpuprof.experiment.arguments import POINTER_BYTES, pack_scalar, scalar_argument
from gpuprof.experiment.element_types import bits_of
from gpuprof.experiment.expressions import nearest
from gpuprof.experiment.model import (
    BufferArgument,
    MembersArgument,
    MemberValue,
    NamedMembers,
    ScalarArgument,
    StructArgument,
)
from gpuprof.isa.parameter_layout import Layout, Member, scalar


def fixed_type_mistake(size: int) -> str:
    """What to say where nothing tells the layout."""
    return (
        f"the layout of its {size} bytes is unknown (a stored cubin or PTX has none): give every member its type, "
        "as in {members: [{value: 2.0, dtype: float32}, A]}"
    )


@dataclass
class _Packer:
    """Fills ``data``; notes where addresses go."""

    data: bytearray
    pointers: list[tuple[int, BufferArgument]]

    def put(self, value: MemberValue, layout: Layout, offset: int, path: str) -> None:
        """Write a value at ``offset``; raises ExpressionError with the member's path."""
        if layout.kind == "pointer":
            self._pointer(value, layout, offset, path)
        elif layout.kind == "scalar":
            self._scalar(value, layout, offset, path)
        elif layout.kind == "array":
            assert layout.element is not None
            values = _listed(value, layout.count, layout, path)
            for at, each in enumerate(values):
                self.put(each, layout.element, offset + at * layout.element.size, f"{path}[{at}]")
        else:
            for member, each in _members(value, layout, path):
                self._member(each, member, offset, f"{path}.{member.name}" if path else member.name)

    def _member(self, value: MemberValue, member: Member, offset: int, path: str) -> None:
        if not member.bits:
            self.put(value, member.layout, offset + member.offset, path)
            return
        number = _number(value, member.layout, path)
        signed = member.layout.dtype.startswith("int")
        low, high = (-(1 << (member.bits - 1)), 1 << (member.bits - 1)) if signed else (0, 1 << member.bits)
        if int(number.value) != number.value or not low <= number.value < high:
            held = f"{low} to {high - 1}"
            raise ExpressionError(f"{path} is {number.value}; a bit-field of {member.bits} bits holds {held}")
        start = offset + member.offset
        word = int.from_bytes(self.data[start : start + member.layout.size], "little")
        word |= (int(number.value) & ((1 << member.bits) - 1)) << member.first_bit
        self.data[start : start + member.layout.size] = word.to_bytes(member.layout.size, "little")

    def _scalar(self, value: MemberValue, layout: Layout, offset: int, path: str) -> None:
        packed = pack_scalar(_number(value, layout, path))
        self.data[offset : offset + layout.size] = packed

    def _pointer(self, value: MemberValue, layout: Layout, offset: int, path: str) -> None:
        if value is None:
            return
        if not isinstance(value, BufferArgument):
            raise ExpressionError(f"{path} ({layout.name}) takes a buffer or null, got {_shown(value)}")
        self.pointers.append((offset, value))


def pack(argument: MembersArgument, layout: Layout) -> StructArgument:
    """The parameter's bytes; raises ExpressionError with the member that does not fit."""
    packer = _Packer(bytearray(layout.size), [])
    packer.put(argument.members, layout, 0, "")
    return StructArgument(bytes(packer.data), tuple(packer.pointers), layout.name)


def natural_layout(value: MemberValue) -> Layout | None:
    """The layout of members that all say their type, by the alignment of C; None where one does not."""
    if isinstance(value, ScalarArgument) and value.given:
        return scalar(value.dtype, bits_of(value.dtype) // 8)
    if value is None or isinstance(value, BufferArgument):
        return Layout("pointer", POINTER_BYTES, "pointer")
    if not isinstance(value, (tuple, NamedMembers)):
        return None
    entries = value.entries if isinstance(value, NamedMembers) else tuple((str(at), v) for at, v in enumerate(value))
    members: list[Member] = []
    end = align = 0
    for name, each in entries:
        layout = natural_layout(each)
        if layout is None:
            return None
        need = _alignment(layout)
        end = -(-end // need) * need
        members.append(Member(name, end, layout))
        end, align = end + layout.size, max(align, need)
    return Layout("struct", max(1, -(-end // max(align, 1)) * align), "struct", members=tuple(members))


def _alignment(layout: Layout) -> int:
    return max((_alignment(member.layout) for member in layout.members), default=layout.size)


def _members(value: MemberValue, layout: Layout, path: str) -> list[tuple[Member, MemberValue]]:
    where = f"{path} is" if path else "it is"
    if isinstance(value, NamedMembers):
        return _named(value.mapping, layout, path)
    if layout.kind == "union":
        names = ", ".join(member.name for member in layout.members)
        example = f"{{{layout.members[0].name}: 1}}"
        raise ExpressionError(f"{where} a union: name the member that is set, as in {example} ({names})")
    values = _listed(value, len(layout.members), layout, path)
    return list(zip(layout.members, values, strict=True))


def _named(given: Mapping[str, MemberValue], layout: Layout, path: str) -> list[tuple[Member, MemberValue]]:
    known = {member.name: member for member in layout.members}
    at = f"{path}." if path else ""
    for name in given:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean '{near}'?" if near else ""
            raise ExpressionError(f"{at}{name} is not a member of {layout.describe()}{hint}")
    if layout.kind == "union" and len(given) != 1:
        raise ExpressionError(f"{path or 'it'} is a union: exactly one member is set, got {', '.join(given) or 'none'}")
    missing = [name for name in known if name not in given]
    if missing and layout.kind == "struct":
        raise ExpressionError(f"{at}{missing[0]} is missing: {layout.describe()}")
    return [(known[name], value) for name, value in given.items()]


def _listed(value: MemberValue, count: int, layout: Layout, path: str) -> Sequence[MemberValue]:
    where = path or "it"
    if not isinstance(value, tuple):
        raise ExpressionError(f"{where} is {layout.describe()}: it takes a list of {count}, got {_shown(value)}")
    if len(value) != count:
        raise ExpressionError(f"{where} is {layout.describe()}: it takes {count} values, got {len(value)}")
    return value


def _number(value: MemberValue, layout: Layout, path: str) -> ScalarArgument:
    where = path or "it"
    if isinstance(value, ScalarArgument):
        if value.dtype != layout.dtype:
            raise ExpressionError(f"{where} is {layout.dtype} ({layout.name}), and the YAML says {value.dtype}")
        return value
    if isinstance(value, (BufferArgument, tuple, NamedMembers)) or value is None:
        raise ExpressionError(f"{where} ({layout.name}) takes a number, got {_shown(value)}")
    if layout.dtype == "bool":
        return ScalarArgument(bool(value), "bool")
    if "float" in layout.dtype:
        return scalar_argument(float(value), layout.dtype)
    try:
        return scalar_argument(value, layout.dtype)
    except ExpressionError as error:
        raise ExpressionError(f"{where}: {error}") from None


def _shown(value: MemberValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, BufferArgument):
        return f"the buffer {value.buffer}"
    if isinstance(value, tuple):
        return f"a list of {len(value)}"
    if isinstance(value, NamedMembers):
        return "a mapping"
    return str(value.value if isinstance(value, ScalarArgument) else value)
