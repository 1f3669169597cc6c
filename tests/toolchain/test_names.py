"""Names of kernels. Mangled ones are what nvcc 13 writes for the declarations beside them."""

from __future__ import annotations

import pytest

from gpuprof.errors import KernelNotFoundError
from gpuprof.toolchain.names import demangle, find_kernel, signature_free
from gpuprof.toolchain.nvcc import instance_of, unit_text

PLAIN = "saxpy"  # extern "C" void saxpy(...)
TEMPLATE_32 = "_Z1fIfLi32EEvPT_"  # template <class T, int N> void f(T*)
TEMPLATE_64 = "_Z1fIfLi64EEvPT_"
SPACE = "_ZN1q1kIjEEvT_Pi"  # namespace q { template <class T> void k(T, int*) }
ANONYMOUS = "_ZN32_GLOBAL__N__9a0b0f6a_7_unit_cu_g1hEPi"  # namespace { void h(int*) }
HALF = "_Z4axpyI6__halfLb1EEvPT_"  # template <class T, bool B> void axpy(T*)
ALL = [PLAIN, TEMPLATE_32, TEMPLATE_64, SPACE, ANONYMOUS, HALF]


@pytest.mark.parametrize(
    ("symbol", "full", "short"),
    [
        (PLAIN, "saxpy", "saxpy"),
        (TEMPLATE_32, "void f<float, 32>(float*)", "f<float, 32>"),
        (SPACE, "void q::k<unsigned int>(unsigned int, int*)", "q::k<unsigned int>"),
        (ANONYMOUS, "(anonymous namespace)::h(int*)", "(anonymous namespace)::h"),
        ("_Zbroken", "_Zbroken", "_Zbroken"),
    ],
)
def test_demangling(symbol: str, full: str, short: str) -> None:
    assert demangle(symbol) == full
    assert signature_free(full) == short


@pytest.mark.parametrize(
    ("wanted", "symbol"),
    [
        ("saxpy", PLAIN),
        (TEMPLATE_32, TEMPLATE_32),
        ("void f<float, 32>(float*)", TEMPLATE_32),
        ("f<float,64>", TEMPLATE_64),
        ("f< float , 64 >", TEMPLATE_64),
        ("k<unsigned>", SPACE),
        ("q::k<unsigned int>", SPACE),
        ("k", SPACE),
        ("h", ANONYMOUS),
        ("axpy<half, true>", HALF),
        ("axpy<>", HALF),
        ("sax", PLAIN),
    ],
)
def test_ways_to_name_a_kernel(wanted: str, symbol: str) -> None:
    assert find_kernel(wanted, ALL) == symbol


def test_a_name_that_fits_two_lists_them() -> None:
    with pytest.raises(KernelNotFoundError, match="'f' names 2 kernels: f<float, 32>, f<float, 64>"):
        find_kernel("f", ALL)


def test_a_miss_lists_what_there_is_nearest_first() -> None:
    with pytest.raises(KernelNotFoundError, match="no kernel 'saxpi'; available: saxpy, "):
        find_kernel("saxpi", ALL)


def test_no_kernel_at_all_says_how_to_instantiate() -> None:
    with pytest.raises(KernelNotFoundError, match=r"compiles to no kernel.*kernel: f<float, 32>"):
        find_kernel("f", [])


@pytest.mark.parametrize(
    ("kernel", "instance"),
    [
        ("f<float, 32>", "f<float, 32>"),
        ("void f<float, 32>(float*)", "f<float, 32>"),
        ("q::f<int>", "q::f<int>"),
        ("f<>", "f<>"),
        ("f", None),
        ("_Z1fIfLi32EEvPT_", None),
        ("g(int*)", None),
    ],
)
def test_what_is_a_template_instance(kernel: str, instance: str | None) -> None:
    assert instance_of(kernel) == instance


def test_the_generated_unit() -> None:
    from pathlib import Path

    text = unit_text(Path("/a b/k.cu"), ["f<float, 32>"])
    assert text == '#include "/a b/k.cu"\ntemplate __global__ decltype(f<float, 32>) f<float, 32>;\n'
