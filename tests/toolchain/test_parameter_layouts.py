"""Layouts of structs from nvcc's debug information: a stored cubin of tests/public_kernels/structs.cu (nvcc 13.0 -G).

Offsets are those of the Itanium C++ ABI, worked out by hand from the declarations.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpuprof.isa.parameter_layout import Layout
from gpuprof.toolchain.parameter_layouts import read_layouts

STORED = Path(__file__).parent / "data" / "layouts" / "structs_sm_90_debug.cubin.gz"


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("layouts") / "structs.cubin"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return path


def first(cubin: Path, symbol: str) -> Layout:
    found = read_layouts(cubin, symbol)[0]
    assert found is not None
    return found


def test_nested_structs_unions_and_bit_fields(cubin: Path) -> None:
    outer = first(cubin, "nested")
    assert (outer.name, outer.size) == ("Outer", 112)
    offsets = {member.name: member.offset for member in outer.members}
    assert offsets == {
        "c": 0,
        "in": 8,
        "p": 40,
        "table": 48,
        "mode": 56,
        "u": 60,
        "low": 64,
        "high": 64,
        "v": 80,
        "g": 96,
        "h": 108,
        "t": 110,
    }
    by_name = {member.name: member for member in outer.members}
    assert (by_name["in"].layout.count, by_name["in"].layout.size) == (2, 32)
    assert [(by_name[name].bits, by_name[name].first_bit) for name in ("low", "high")] == [(3, 0), (5, 3)]
    assert by_name["u"].layout.kind == "union"
    assert by_name["h"].layout.dtype == "float16"
    assert by_name["p"].layout.name == "float*"


def test_a_base_comes_first_and_a_grid_constant_is_a_struct(cubin: Path) -> None:
    pair, derived, pointer = read_layouts(cubin, "constant_struct")
    assert pair is not None
    assert derived is not None
    assert pointer is not None
    assert pair.describe() == "Pair<float> {float a; int n}"
    assert [(member.name, member.offset) for member in derived.members] == [("z", 0), ("q", 4)]
    assert pointer.kind == "pointer"


def test_a_template_instance_by_its_mangled_name(cubin: Path) -> None:
    assert first(cubin, "_Z5scaleIdEv4PairIT_EPS1_").size == 16


def test_a_kernel_that_is_not_there_has_none(cubin: Path) -> None:
    assert read_layouts(cubin, "absent") == ()
