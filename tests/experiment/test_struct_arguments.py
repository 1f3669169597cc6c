"""Members of vectors and structs: the bytes that the kernel gets, and what is said of members that do not fit."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment.model import BufferArgument, Experiment, MembersArgument, MemberValue, NamedMembers
from gpuprof.experiment.struct_arguments import natural_layout, pack
from gpuprof.isa.parameter_layout import VECTORS, Layout, Member, scalar

FLOAT, INT, CHAR = scalar("float32", 4, "float"), scalar("int32", 4, "int"), scalar("int8", 1, "char")
#: struct Params { char c; int n; float* p; float a[2]; unsigned low : 3, high : 5; };
PARAMS = Layout(
    "Params",
    32,
    "struct",
    members=(
        Member("c", 0, CHAR),
        Member("n", 4, INT),
        Member("p", 8, Layout("float*", 8, "pointer")),
        Member("a", 16, Layout("float[2]", 8, "array", element=FLOAT, count=2)),
        Member("low", 24, scalar("uint32", 4, "unsigned int"), bits=3, first_bit=0),
        Member("high", 24, scalar("uint32", 4, "unsigned int"), bits=5, first_bit=3),
    ),
)
UNION = Layout("U", 4, "union", members=(Member("f", 0, FLOAT), Member("i", 0, INT)))


def named(**members: MemberValue) -> NamedMembers:
    return NamedMembers(tuple(members.items()))


def bytes_of(value: MemberValue, layout: Layout) -> bytes:
    return pack(MembersArgument(value), layout).data


def test_members_are_where_the_compiler_has_them() -> None:
    value = (1, 2, BufferArgument("x", 8), (0.5, 1.5), 5, 17)
    packed = pack(MembersArgument(value), PARAMS)
    assert packed.data == struct.pack("<b3xiqffI4x", 1, 2, 0, 0.5, 1.5, 5 | 17 << 3)
    assert packed.pointers == ((8, BufferArgument("x", 8)),)
    assert bytes_of(named(n=2, c=1, p=None, a=(0.5, 1.5), high=17, low=5), PARAMS) == packed.data


def test_vectors_need_no_compiler() -> None:
    assert bytes_of((1, 2, 3, 4), VECTORS["int4"]) == struct.pack("<4i", 1, 2, 3, 4)
    assert bytes_of(named(x=1, y=2, z=3), VECTORS["dim3"]) == struct.pack("<3I", 1, 2, 3)
    assert bytes_of((1.5, 2), VECTORS["__nv_bfloat162"]) == bytes.fromhex("c03f0040")
    assert len(bytes_of((1, 2, 3), VECTORS["float3"])) == 12


@pytest.mark.parametrize(
    ("value", "layout", "message"),
    [
        ((1, 2), VECTORS["int4"], "takes 4 values, got 2"),
        ((1, 2.5, 0, 0), VECTORS["int4"], "y: 2.5 is not a valid int32"),
        ((300, 0), VECTORS["char2"], "x: 300 is outside int8's -128 to 127"),
        ((BufferArgument("x"), 0), VECTORS["int2"], "x (int32) takes a number, got the buffer x"),
        (named(x=1, yy=2), VECTORS["float2"], "yy is not a member of float2 {float32 x; float32 y}"),
        (named(x=1), VECTORS["float2"], "y is missing"),
        ((1, 2, 7, (0, 0), 0, 0), PARAMS, "p (float*) takes a buffer or null, got 7"),
        ((1, 2, None, (0, 0, 0), 0, 0), PARAMS, "a is float[2]: it takes 2 values, got 3"),
        ((1, 2, None, 3, 0, 0), PARAMS, "a is float[2]: it takes a list of 2, got 3"),
        ((1, 2, None, (0, 0), 8, 0), PARAMS, "low is 8; a bit-field of 3 bits holds 0 to 7"),
        ((1,), UNION, "name the member that is set, as in {f: 1}"),
        (named(f=1, i=2), UNION, "exactly one member is set, got f, i"),
    ],
)
def test_what_does_not_fit_is_named(value: MemberValue, layout: Layout, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        bytes_of(value, layout)
    assert message in str(caught.value)


def test_members_that_say_their_type_are_laid_out_as_in_c(loaded: Callable[..., Experiment]) -> None:
    members = "{members: [{value: 1, dtype: int8}, {value: 2.0, dtype: float64}, A, [{value: 3, dtype: int16}]]}"
    variant = loaded(("args: [M, N, K, A, B, C]", f"args: [{members}]")).variants[0]
    argument = variant.steps[0].args[0]  # type: ignore[union-attr]
    assert isinstance(argument, MembersArgument)
    layout = natural_layout(argument.members)
    assert layout is not None
    assert bytes_of(argument.members, layout) == struct.pack("<b7xdqh6x", 1, 2.0, 0, 3)


def test_without_types_nothing_is_guessed() -> None:
    assert natural_layout((1, 2.0)) is None


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("[1, Q]", "'Q' is not a buffer, size or parameter"),
        ("{members: {a: {value: 1, dtype: float}}}", "expected one of bfloat16"),
        ("{members: 3}", "expected a list of members, or a mapping of them by name, got 3"),
        ("{members: [1], zeros: 4}", "expected one of `value` (with `dtype`), `buffer`, `members` and `zeros`"),
        ("[1, {buffer: A, offset: 100000}]", "is 100000; A has 1024 elements"),
    ],
)
def test_mistakes_of_the_yaml(mistakes: Callable[..., list[str]], argument: str, message: str) -> None:
    found = mistakes(("args: [M, N, K, A, B, C]", f"args: [{argument}]"))
    assert any(message in line for line in found), found
