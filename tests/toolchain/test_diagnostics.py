"""nvcc's failures as one sentence: real failures of the real nvcc, and recorded texts for what cannot be had here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.errors import BuildError
from gpuprof.toolchain import Toolchain
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.diagnostics import Failure, explain
from gpuprof.toolchain.model import BuildRequest

KERNEL = 'extern "C" __global__ void g(float* p) { p[0] = 1; }\n'

REAL = {
    "error in the kernel": (
        'extern "C" __global__ void g(float* p) {\n  p[0] = nonsense;\n}\n',
        r'k\.cu:2: identifier "nonsense" is undefined$',
    ),
    "parameter not given": (
        'extern "C" __global__ void g(float* p) { p[0] = SCALE; }\n',
        r'k\.cu:1: identifier "SCALE" is undefined; if it is a parameter, give it with -D SCALE=value',
    ),
    "toolkit header not included": (
        'extern "C" __global__ void g(float* p) { p[0] = float(__half(1)); }\n',
        r"k\.cu:1: .*add #include <cuda_fp16\.h>",
    ),
    "namespace not included": (
        'extern "C" __global__ void g(float* p) {\n  cooperative_groups::this_thread_block();\n}\n',
        r"k\.cu:2: .*add #include <cooperative_groups\.h>",
    ),
    "host code": (
        KERNEL + "int main() {\n  CHECK(cudaDeviceSynchronize());\n}\n",
        r"k\.cu:3: .*CHECK.* \(in host code, not in a kernel; add -D 'CHECK\(x\)=x'\)",
    ),
    "host header": (
        KERNEL + "float most() { return FLT_MAX; }\n",
        r"k\.cu:2: .*in host code, not in a kernel; add #include <cfloat>",
    ),
    "missing header": (
        '#include "helper_cuda.h"\n' + KERNEL,
        r"k\.cu:1: no header helper_cuda\.h; searched .*include:",
    ),
    "device function elsewhere": (
        '__device__ float other(float x);\nextern "C" __global__ void g(float* p) { p[0] = other(p[1]); }\n',
        r"other\(float\) is declared here and defined in another file.*#include the file",
    ),
    "static shared memory": (
        'extern "C" __global__ void g(float* p) {\n  __shared__ float s[20000];\n  s[threadIdx.x] = p[0];\n'
        "  __syncthreads();\n  p[0] = s[threadIdx.x ^ 3];\n}\n",
        r"g declares 80,000 bytes of static shared memory, at most 49,152",
    ),
    "instruction of another architecture": (
        'extern "C" __global__ void g(float* p) { asm volatile("wgmma.fence.sync.aligned;"); p[0] = 1; }\n',
        r"Instruction 'wgmma\.fence' not supported on \.target 'sm_89': build it for another --arch",
    ),
    "template without an instance": (
        "template <typename T, int N = 4> __global__ void g(T* p) { p[0] = N; }\n",
        r"compiles to no kernel.*\(it writes g<typename T, int N = 4>\).*name an instance, as in kernel: g<\.\.\.>",
    ),
    "a define replaces a name of the source": (
        "template <int TILE = 4> __global__ void t(float*) {}\n" + KERNEL,
        r"-D TILE=16 replaces the name TILE in .*k\.cu:1 \(expected .*\): rename the parameter, or use it as \{TILE\}",
    ),
    "a define replaces a name of the toolkit's headers": (
        "#include <cuda_pipeline.h>\n" + KERNEL,
        r"-D T=256 replaces the name T in \S+\.hp*:\d+ \(expected .*\): rename the parameter, or use it as \{T\} in",
    ),
    "an error beside a define that is used as meant": (
        'extern "C" __global__ void g(float* p) {\n  p[0] = TILE\n  p[1] = p[2] * TILE;\n}\n',
        r"k\.cu:3: expected a \";\"$",
    ),
    "host function in a kernel": (
        "float host(float x) { return x; }\n" + 'extern "C" __global__ void g(float* p) { p[0] = host(p[1]); }\n',
        r"k\.cu:2: calling a __host__ function.*; declare it __device__, or __host__ __device__$",
    ),
    "no kernel": ("int nothing() { return 1; }\n", r"compiles to no kernel"),
}


@pytest.fixture(scope="module")
def messages(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All of them in one run: none stops the others."""
    folder = tmp_path_factory.mktemp("failures")
    requests = []
    for name, (text, _) in REAL.items():
        source = folder / name / "k.cu"
        source.parent.mkdir()
        source.write_text(text)
        defines = {"UNUSED": "1", "TILE": "16"} | ({"T": "256"} if "toolkit's headers" in name else {})
        requests.append(BuildRequest(source, "g", "sm_89", defines=defines))
    outcomes = Builder(tools, cache_dir=folder / "cache").build_all(requests)
    built = [name for name, outcome in zip(REAL, outcomes, strict=True) if not isinstance(outcome, BuildError)]
    assert built == []
    return {name: str(outcome) for name, outcome in zip(REAL, outcomes, strict=True)}


@pytest.mark.parametrize("name", REAL)
def test_one_sentence(messages: dict[str, str], name: str) -> None:
    with pytest.raises(BuildError, match=REAL[name][1]):
        raise BuildError(messages[name])
    assert "\n" not in messages[name]


def test_unknown_architecture_lists_the_known_ones_nearest_first(builder: Builder, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(KERNEL)
    with pytest.raises(BuildError, match=r"does not know sm_71; it knows sm_75, sm_80, .*\(nearest first\)"):
        builder.build(BuildRequest(source, "g", "sm_71"))


def test_host_compiler_that_is_not_there(builder: Builder, tools: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(KERNEL)
    with pytest.raises(BuildError, match=r"host compiler is missing \(g\+\+-99\).*--ccbin"):
        builder.build(BuildRequest(source, "g", "sm_89", flags=("--ccbin", "g++-99")))
    other = Builder(tools, cache_dir=tmp_path / "other", ccbin="g++-99")
    with pytest.raises(BuildError, match=r"host compiler is missing \(g\+\+-99\)"):
        other.build(BuildRequest(source, "g", "sm_89"))


def test_host_compiler_that_is_too_new(builder: Builder, tmp_path: Path) -> None:
    """The toolkit's own check, told that this is GCC 99."""
    source = tmp_path / "k.cu"
    source.write_text(KERNEL)
    with pytest.raises(BuildError, match=r"does not support this host compiler \(gcc versions later than \d+ are not"):
        builder.build(BuildRequest(source, "g", "sm_89", flags=("-D__GNUC__=99",)))


def test_an_architecture_among_the_flags(builder: Builder, tmp_path: Path) -> None:
    """nvcc takes the last one with a warning: the cubin would not be what the run says."""
    source = tmp_path / "k.cu"
    source.write_text(KERNEL)
    with pytest.raises(BuildError, match="the flags build for sm_80, but the arch is sm_89"):
        builder.build(BuildRequest(source, "g", "sm_89", flags=("-arch=sm_80",)))


def test_the_whole_log_is_kept(builder: Builder, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void g(float* p) { p[0] = one + two; }\n')
    with pytest.raises(BuildError) as caught:
        builder.build(BuildRequest(source, "g", "sm_89"))
    assert '"one" is undefined' in str(caught.value)
    assert '"two" is undefined' in caught.value.log


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("", "host compiler is missing"),
        ("sh: 1: g++: not found\n", "host compiler is missing (g++)"),
        ("nvcc fatal   : Unknown option '--zork'\n", "nvcc: Unknown option '--zork'"),
        ("ptxas fatal   : Memory allocation failure\n", "ptxas: Memory allocation failure"),
        (
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
            "k.cu: cicc was killed, likely for memory: fewer builds at once need less (`gpuprof run` and `counters` "
            "take --jobs)",
        ),
        ("something else entirely\n", "nvcc failed: something else entirely"),
        ('a b.cu(7): error: expected a ";"\n', 'a b.cu:7: expected a ";"'),
        ('x.h(3): error #20: identifier "q" is undefined\n', 'x.h:3: identifier "q" is undefined'),
    ],
)
def test_recorded_texts(log: str, message: str) -> None:
    failure = Failure(log, Path("k.cu"), "sm_89", (), (Path("."),), lambda: ("sm_89",))
    assert message in explain(failure)
    assert message in explain(replace(failure, instances=("f<1>",)))
