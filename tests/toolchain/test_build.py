"""Builds with the real nvcc: names, parallel work, the cache by content, odd paths."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.process_tree import is_running
from gpuprof.errors import BuildError
from gpuprof.toolchain import Tool, Toolchain
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.cache import Cache
from gpuprof.toolchain.model import Build, BuildRequest
from tests.waiting import PATIENCE_S, wait_until

PLAIN = 'extern "C" __global__ void plain(float* p) { p[0] = SCALE; }\n'
TEMPLATE = """
template <typename T, int N = 8>
__global__ void tiled(T* p) {
    __shared__ T s[N];
    s[threadIdx.x % N] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[(threadIdx.x + 1) % N];
}
"""


def _source(folder: Path, text: str | bytes, name: str = "k.cu") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def counted(tools: Toolchain, tmp_path: Path) -> tuple[Toolchain, Path]:
    """The toolchain with an nvcc that writes a line into a log whenever it is started."""
    nvcc = tools.require("nvcc")
    log = tmp_path / "starts"
    log.write_text("")
    script = tmp_path / "counting-nvcc"
    script.write_text(f'#!/bin/sh\necho start >> "{log}"\nexec "{nvcc.path}" "$@"\n')
    script.chmod(0o755)
    return replace(tools, nvcc=Tool(script, nvcc.version, nvcc.origin)), log


def _starts(log: Path) -> int:
    return log.read_text().count("start")


def test_a_plain_kernel(builder: Builder, tmp_path: Path) -> None:
    source = _source(tmp_path, PLAIN)
    build = builder.build(BuildRequest(source, "plain", "sm_89", defines={"SCALE": "2.0f"}))
    assert (build.symbol, build.cached, build.cubin.is_file()) == ("plain", False, True)
    assert build.resources.parameter_bytes == 8
    assert (build.resources.spill_store_bytes, build.resources.spill_load_bytes) == (0, 0)
    for argument in ("-O3", "-arch=sm_89", "-lineinfo", "-cubin", "-DSCALE=2.0f", str(source)):
        assert argument in build.command
    assert "plain" in build.log


def test_instances_of_one_source_share_a_process(counted: tuple[Toolchain, Path], tmp_path: Path) -> None:
    tools, log = counted
    source = _source(tmp_path, TEMPLATE)
    names = ["tiled<float, 32>", "tiled<int,64>", "tiled<double>", "tiled<float, 32>"]
    done: list[str] = []
    builder = Builder(tools, cache_dir=tmp_path / "cache", jobs=1)
    requests = [BuildRequest(source, name, "sm_80") for name in names]
    outcomes = builder.build_all(requests, on_done=lambda request, _: done.append(request.kernel))
    builds = [outcome for outcome in outcomes if isinstance(outcome, Build)]
    assert [build.demangled for build in builds] == [
        "void tiled<float, 32>(float*)",
        "void tiled<int, 64>(int*)",
        "void tiled<double, 8>(double*)",
        "void tiled<float, 32>(float*)",
    ]
    assert [build.resources.static_shared_bytes for build in builds] == [128, 256, 64, 128]
    assert _starts(log) == 1
    assert sorted(done) == sorted(names)


def test_one_bad_instance_costs_only_its_row(builder: Builder, tmp_path: Path) -> None:
    source = _source(tmp_path, TEMPLATE)
    good, bad = builder.build_all(
        [BuildRequest(source, name, "sm_89") for name in ("tiled<float, 32>", "tiled<nothing, 4>")]
    )
    assert isinstance(good, Build)
    assert isinstance(bad, BuildError)
    assert "kernel 'tiled<nothing, 4>' cannot be instantiated" in str(bad)
    assert "k.cu has tiled<typename T, int N = 8>" in str(bad)


def test_an_instance_whose_spelling_hides_its_name(builder: Builder, tmp_path: Path) -> None:
    """An alias and an expression; the other instance in the file keeps the plain guess from working."""
    source = _source(tmp_path, TEMPLATE + "using Real = float;\ntemplate __global__ void tiled<float, 64>(float*);\n")
    build = builder.build(BuildRequest(source, "tiled<Real, 16 * 2>", "sm_89"))
    assert build.demangled == "void tiled<float, 32>(float*)"


def test_instances_that_the_source_instantiates_itself(builder: Builder, tmp_path: Path) -> None:
    """C++ allows an explicit instantiation once: one that stands in the source, under any spelling, is taken as it is.

    Another instance of the same source in the same run is still made, and PTX goes the same way.
    """
    text = TEMPLATE + "#define MAKE(n) template __global__ void tiled<float, n>(float*)\nMAKE(16);\nMAKE(32);\n"
    source = _source(tmp_path, text)
    names = ("tiled<float, 16>", "tiled<float, 2 * 16>", "tiled<float, 64>")
    requests = [BuildRequest(source, name, "sm_89") for name in names]
    symbols = [outcome.symbol for outcome in builder.build_all(requests) if isinstance(outcome, Build)]
    assert symbols == [f"_Z5tiledIfLi{count}EEvPT_" for count in (16, 32, 64)]
    assert "_Z5tiledIfLi16EEvPT_" in builder.ptx(requests[0])


def test_the_second_run_starts_no_process(counted: tuple[Toolchain, Path], tmp_path: Path) -> None:
    tools, log = counted
    source = _source(tmp_path, '#include "part.h"\n' + PLAIN + TEMPLATE)
    header = _source(tmp_path, "#define SCALE 3.0f\n", "part.h")
    requests = [BuildRequest(source, name, "sm_89") for name in ("plain", "tiled<float>")]

    def run() -> list[Build]:
        outcomes = Builder(tools, cache_dir=tmp_path / "cache").build_all(requests)
        return [outcome for outcome in outcomes if isinstance(outcome, Build)]

    first, count = run(), _starts(log)
    second = run()
    assert _starts(log) == count
    assert [build.cached for build in second] == [True, True]
    assert [replace(build, cached=False) for build in second] == first
    header.write_text("#define SCALE 4.0f\n")
    changed = run()
    assert _starts(log) == count * 2
    assert changed[0].cubin_sha256 != first[0].cubin_sha256
    header.write_text("#define SCALE 3.0f\n")
    assert [build.cubin_sha256 for build in run()] == [build.cubin_sha256 for build in first]
    assert _starts(log) == count * 2  # the earlier header's builds are still there


def test_what_the_cache_depends_on(counted: tuple[Toolchain, Path], tmp_path: Path) -> None:
    tools, log = counted
    base = BuildRequest(_source(tmp_path, PLAIN), "plain", "sm_89", defines={"SCALE": "1.0f"})
    builder = Builder(tools, cache_dir=tmp_path / "cache")
    for number, request in enumerate(
        (
            base,
            replace(base, defines={"SCALE": "2.0f"}),
            replace(base, arch="sm_80"),
            replace(base, flags=("-use_fast_math",)),
        ),
        start=1,
    ):
        builder.build(request)
        builder.build(request)
        assert _starts(log) == number
    other = replace(tools, nvcc=replace(tools.require("nvcc"), version="99.0"))
    Builder(other, cache_dir=tmp_path / "cache").build(base)
    assert _starts(log) == 5


def test_a_header_that_comes_to_hide_another_rebuilds(counted: tuple[Toolchain, Path], tmp_path: Path) -> None:
    tools, log = counted
    source = _source(tmp_path / "source", '#include "part.h"\n' + PLAIN)
    _source(tmp_path / "include", "#define SCALE 3.0f\n", "part.h")
    request = BuildRequest(source, "plain", "sm_89", include=(tmp_path / "include",))
    builder = Builder(tools, cache_dir=tmp_path / "cache")
    assert not builder.build(request).cached
    assert builder.build(request).cached
    _source(tmp_path / "source", "#define SCALE 5.0f\n", "part.h")
    assert not builder.build(request).cached
    assert _starts(log) == 2


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", None])
def test_a_damaged_entry_is_rebuilt(builder: Builder, tmp_path: Path, damage: bytes | None) -> None:
    request = BuildRequest(_source(tmp_path, PLAIN), "plain", "sm_89", defines={"SCALE": "1"})
    first = builder.build(request)
    if damage is None:
        for manifest in (builder.cache.root / "manifests").rglob("*"):
            if manifest.is_file():
                manifest.write_bytes(manifest.read_bytes()[:-7])
    else:
        first.cubin.write_bytes(damage)
    again = builder.build(request)
    assert not again.cached
    assert again.cubin_sha256 == first.cubin_sha256
    assert builder.build(request).cached


def test_two_runs_at_once_build_once(counted: tuple[Toolchain, Path], tmp_path: Path) -> None:
    tools, log = counted
    request = BuildRequest(_source(tmp_path, PLAIN), "plain", "sm_89", defines={"SCALE": "1"})
    results: list[Build] = []

    def run() -> None:
        results.append(Builder(tools, cache_dir=tmp_path / "cache").build(request))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({build.cubin_sha256 for build in results}) == 1
    assert len(results) == 3
    assert _starts(log) == 1


ODD_NAMES = ["blank and 'quote'", 'double"quote $HOME', "back`true`tick\\", "naïve-日本", "new\nline, a;b"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_folder_and_file_name(builder: Builder, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    source = _source(folder, '#include "part.h"\n' + PLAIN + TEMPLATE, f"{name}.cu")
    _source(folder, "#define SCALE 3.0f\n", "part.h")
    requests = [BuildRequest(source, kernel, "sm_89") for kernel in ("plain", "tiled<float>")]
    for _ in range(2):
        assert [getattr(outcome, "symbol", outcome) for outcome in builder.build_all(requests)] == [
            "plain",
            "_Z5tiledIfLi8EEvPT_",
        ]
    _source(folder, "#error stop here\n", "part.h")
    with pytest.raises(BuildError) as caught:
        builder.build(requests[0])
    assert f"{folder}/part.h:1" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        b"// caf\xe9 \xdf\n" + PLAIN.encode(),
    ],
    ids=["byte order mark", "CRLF", "latin-1"],
)
def test_encodings(builder: Builder, tmp_path: Path, text: bytes) -> None:
    source = _source(tmp_path, text)
    assert builder.build(BuildRequest(source, "plain", "sm_89", defines={"SCALE": "1"})).symbol == "plain"
    assert source.read_bytes() == text


def test_relative_folders_count_from_the_requests_folder(builder: Builder, tmp_path: Path) -> None:
    source = _source(tmp_path / "kernels", '#include "part.h"\n' + PLAIN)
    _source(tmp_path / "yaml" / "headers", "#define SCALE 3.0f\n", "part.h")
    for request in (
        BuildRequest(source, "plain", "sm_89", flags=("-I", "headers"), folder=tmp_path / "yaml"),
        BuildRequest(source, "plain", "sm_89", flags=("-Iheaders",), folder=tmp_path / "yaml"),
        BuildRequest(source, "plain", "sm_89", include=(Path("headers"),), folder=tmp_path / "yaml"),
    ):
        assert builder.build(request).symbol == "plain"


def test_the_toolkits_own_headers(builder: Builder, tmp_path: Path) -> None:
    text = "#include <cuda_fp16.h>\n#include <mma.h>\n#include <cooperative_groups.h>\n#include <cub/version.cuh>\n"
    source = _source(tmp_path, text + PLAIN)
    assert builder.build(BuildRequest(source, "plain", "sm_80", defines={"SCALE": "1"})).symbol == "plain"
    manifests = [path for path in (builder.cache.root / "manifests").rglob("*") if path.is_file()]
    (manifest,) = (path.read_bytes() for path in manifests)
    assert b"cuda_fp16" not in manifest  # nvcc's version stands for the toolkit's headers
    assert str(source).encode() in manifest


def test_a_stored_cubin_is_used_as_it_is(builder: Builder, tmp_path: Path) -> None:
    built = builder.build(BuildRequest(_source(tmp_path, TEMPLATE), "tiled<float, 32>", "sm_80"))
    stored = tmp_path / "stored.cubin"
    stored.write_bytes(built.cubin.read_bytes())
    build = Builder(Toolchain(), cache_dir=tmp_path / "other").build(BuildRequest(stored, "tiled", "sm_80"))
    assert (build.cubin, build.symbol, build.command) == (stored, built.symbol, ())
    assert build.resources.spill_store_bytes is None  # no ptxas log says it
    with pytest.raises(BuildError, match=r"stored\.cubin: no kernel 'missing'; available: tiled<float, 32>"):
        builder.build(BuildRequest(stored, "missing", "sm_80"))


def test_spills_and_launch_bounds_are_reported(builder: Builder, tmp_path: Path) -> None:
    text = """
    extern "C" __global__ void __launch_bounds__(1024, 2) spilling(double* p, int n) {
        double a[64];
        for (int i = 0; i < 64; ++i) a[i] = p[i * n + threadIdx.x];
        for (int k = 0; k < n; ++k)
            for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i + 1) % 64] + p[k];
        for (int i = 0; i < 64; ++i) p[i * n + threadIdx.x] = a[i];
    }
    """
    resources = builder.build(BuildRequest(_source(tmp_path, text), "spilling", "sm_80")).resources
    assert resources.max_threads == 1024
    assert resources.registers <= 32  # 65,536 registers for 2 x 1,024 threads
    assert (resources.spill_store_bytes or 0) > 0
    assert resources.stack_bytes > 0


def test_a_limit_stops_nvcc_and_all_that_it_started(tools: Toolchain, tmp_path: Path) -> None:
    slow = tmp_path / "slow-nvcc"
    slow.write_text(f'#!/bin/sh\nsleep 600 & echo $! > "{tmp_path}/child"\nwait\n')
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    stuck = replace(tools, nvcc=Tool(slow, "1.0.0", "test"))
    started = time.monotonic()
    with pytest.raises(
        BuildError, match=r"^nvcc took longer than 0\.5 s \(`gpuprof run` and `counters` take --build-timeout\)$"
    ):
        Builder(stuck, cache_dir=tmp_path / "cache", timeout=0.5).build(
            BuildRequest(_source(tmp_path, PLAIN), "plain", "sm_89")
        )
    assert time.monotonic() - started < PATIENCE_S
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_running(child))


def test_ctrl_c_kills_the_compilers(tools: Toolchain, tmp_path: Path) -> None:
    slow = tmp_path / "slow-nvcc"
    slow.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/child"\nexec sleep 600\n')
    slow.chmod(0o755)
    source = _source(tmp_path, PLAIN)
    code = f"""
import signal
from pathlib import Path
from gpuprof.toolchain import Tool, Toolchain
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would this
tools = Toolchain(nvcc=Tool(Path({str(slow)!r}), "1.0.0", "test"))
builder = Builder(tools, cache_dir=Path({str(tmp_path / "cache")!r}))
builder.build(BuildRequest(Path({str(source)!r}), "plain", "sm_89"))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    written = tmp_path / "child"
    wait_until(lambda: written.exists() and written.read_text().endswith("\n"))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in errors
    assert not is_running(int(written.read_text()))


def test_a_source_that_does_not_exist(builder: Builder, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"no such source file: .*gone\.cu"):
        builder.build(BuildRequest(tmp_path / "gone.cu", "plain", "sm_89"))


def test_the_cache_of_a_builder_is_where_it_was_told(builder: Builder, tmp_path: Path) -> None:
    assert builder.cache == Cache(tmp_path / "builds")


def test_templates_in_namespaces_need_no_namespace(builder: Builder, tmp_path: Path) -> None:
    """An unnamed one has to be opened again, and its mangled name depends on the folder: look-up is by meaning."""
    text = """
    namespace outer { template <class T> __global__ void named(T* p) { *p = 1; } }
    namespace outer { namespace { template <int N> __global__ void hidden(int* p) { *p = N; } } }
    """
    source = _source(tmp_path, text)
    outcomes = builder.build_all([BuildRequest(source, name, "sm_89") for name in ("named<float>", "hidden<2 + 3>")])
    assert [getattr(outcome, "demangled", outcome) for outcome in outcomes] == [
        "void outer::named<float>(float*)",
        "void outer::(anonymous namespace)::hidden<5>(int*)",
    ]
