"""Kernels found in a source's text."""

from __future__ import annotations

from pathlib import Path

from gpuprof.toolchain.sources import default_kernel, enclosing_function, qualify, scan_kernels

TEXT = """
// __global__ void commented(int) {}
/* __global__ void also_commented() {} */
const char* text = "__global__ void in_a_string()";
extern "C" __global__ void __launch_bounds__(256, (1 + 1)) plain(int n) { }
template <typename T = float, int N = (1 > 0)>
__global__ void tiled(T* a) {
    if (true) { a[0] = 1; }
}
static __global__ void
late(float* x);
__global__ void late(float* x) { }
namespace inner {
void __global__ __launch_bounds__(128)
    turned(int) { }
}
template __global__ void tiled<float, 4>(float*);
int main() { return 0; }
struct Pair { int a; };
"""


def test_scanning() -> None:
    found = [(kernel.name, kernel.template) for kernel in scan_kernels(TEXT)]
    assert found == [
        ("plain", None),
        ("tiled", "typename T = float, int N = (1 > 0)"),
        ("late", None),
        ("turned", None),
    ]
    assert [kernel.line for kernel in scan_kernels(TEXT)][:2] == [5, 7]


def test_the_kernel_that_a_file_is_about() -> None:
    assert default_kernel("__global__ void only() {}", "file") == "only"
    assert default_kernel("template <int N = 1> __global__ void only() {}", "file") == "only<>"
    assert default_kernel(TEXT, "tiled") == "tiled<>"
    assert default_kernel(TEXT, "file") is None


def test_enclosing_function() -> None:
    lines = TEXT.split("\n")
    assert enclosing_function(TEXT, lines.index("    if (true) { a[0] = 1; }") + 1).endswith("void tiled(T* a)")
    assert enclosing_function(TEXT, lines.index("int main() { return 0; }") + 1) == "int main()"
    assert "turned" in enclosing_function(TEXT, lines.index("    turned(int) { }") + 1)
    assert enclosing_function(TEXT, 2) == ""
    assert enclosing_function(TEXT, 999) == ""


def test_every_bundled_kernel_is_found() -> None:
    folder = Path(__file__).parents[2] / "kernels"
    for source in folder.glob("*.cu"):
        text = source.read_text()
        assert bool(scan_kernels(text)) == ("__global__" in text), source.name


def test_namespaces() -> None:
    text = """
    namespace outer { inline namespace v1 { namespace {
    template <int N> __global__ void deep(float*) {}
    } struct S { int a; }; }
    template <int N> __global__ void shallow(float*) {} }
    extern "C" { __global__ void plain(float*) {} }
    namespace a::b { __global__ void nested() {} }
    """
    kernels = scan_kernels(text)
    assert [str(kernel) for kernel in kernels] == [
        "outer::v1::(anonymous namespace)::deep<int N>",
        "outer::shallow<int N>",
        "plain",
        "a::b::nested",
    ]
    assert qualify("shallow<3>", kernels) == "outer::shallow<3>"
    assert qualify("plain<3>", kernels) == "plain<3>"
