"""``gpuprof sass`` as a person types it, with the real nvcc, cuobjdump and nvdisasm."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuprof.cli.sass import command
from gpuprof.errors import GpuprofError, KernelNotFoundError, UsageError
from gpuprof.toolchain import find_tools

SOURCE = """
extern "C" __global__ void scale(float* a, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef TWICE
    f *= a[0];
#endif
    if (i < n) a[i] = a[i] * f;
}
template <int N> __global__ void sum(float* a) {
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < N; ++i) s = s * 0.5f + a[i];
    a[0] = s;
}
"""
INSTANCE = "template __global__ void sum<24>(float*);\n"

pytestmark = pytest.mark.skipif(
    find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sass") / "mine.cu"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cubin(source: Path) -> Path:
    both = source.with_name("both.cu")
    both.write_text(SOURCE + INSTANCE, encoding="utf-8")
    path = both.with_suffix(".cubin")
    nvcc = find_tools().require("nvcc").path
    subprocess.run([str(nvcc), "-arch=sm_89", "-lineinfo", "-cubin", "-o", str(path), str(both)], check=True)
    return path


def sass(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=True)


def data(*arguments: object) -> dict[str, object]:
    result = sass(*arguments, "--json")
    assert result.exit_code == 0, result.exception
    loaded: dict[str, object] = json.loads(result.stdout)
    return loaded


@pytest.mark.slow
def test_the_bundled_micro_gemm_by_name() -> None:
    result = sass("micro_gemm_4x4")
    assert result.exit_code == 0, result.exception
    text = " ".join(result.stdout.split())
    assert "8 k-steps x 16 FFMA = 128 per iteration: fully unrolled" in text
    assert "16 S128" in text  # 16 shared loads of 128 bits
    assert "occupancy at block 16x16" in text
    assert "a bounds check on" in text
    assert "micro_gemm_4x4.cu:" in text
    assert max(len(line) for line in result.stdout.splitlines()) <= 100


@pytest.mark.slow
def test_the_json_of_micro_gemm_says_what_the_issue_asks() -> None:
    found = data("micro_gemm_4x4")
    (loop,) = found["loops"]  # type: ignore[misc]
    assert (loop["math"], loop["math_count"]) == ("FFMA", 128)
    assert loop["unrolling"]["steps"] == 8
    assert loop["unrolling"]["accumulators"] == 16
    assert loop["loads"]["shared 128-bit"] == 16
    assert loop["barriers"] == 1
    assert loop["issue_cycles"] >= 128
    stream = found["stream"]
    assert stream["longest"] == max(run["length"] for run in stream["runs"])  # type: ignore[index]
    assert sum(run["length"] for run in stream["runs"]) == 128  # type: ignore[index]


@pytest.mark.slow
def test_an_unpadded_tile_shows_up_in_a_comparison() -> None:
    found = data("gemm_ladder", "--variant", "vector", "--diff", "padded")
    rows = {(row["section"], row["name"]): (row["a"], row["b"]) for row in found["rows"]}  # type: ignore[union-attr]
    unpadded, padded = rows["findings", "bank conflict"]
    assert unpadded > 0
    assert padded == 0


@pytest.mark.slow
def test_a_reordered_accumulation_shows_up_in_a_comparison() -> None:
    found = data("micro_gemm_4x4", "--diff", "micro_gemm_reordered")
    rows = {(row["section"], row["name"]): (row["a"], row["b"]) for row in found["rows"]}  # type: ignore[union-attr]
    assert rows["hot loop", "FFMA per iteration"] == (128, 128)
    reuse = rows["FFMA stream", "operands from the reuse cache"]
    assert reuse[0] != reuse[1]
    assert found["verdict"] == "different"


def test_a_source_with_a_kernel_and_a_define(source: Path) -> None:
    plain = data(source, "--kernel", "scale")
    more = data(source, "--kernel", "scale", "-D", "TWICE")
    assert plain["name"] == "scale"
    assert more["mix"]["LDG"] == plain["mix"]["LDG"] + 1  # type: ignore[index]


def test_a_template_instance_and_its_trip_count(source: Path) -> None:
    found = data(source, "--kernel", "sum<24>")
    (loop,) = found["loops"]  # type: ignore[misc]
    assert loop["trip"]["count"] == 24


def test_the_architecture_is_built_for(source: Path) -> None:
    assert data(source, "--kernel", "scale", "--arch", "9.0")["arch"] == "sm_90"


def test_a_cubin_with_two_kernels_is_an_overview_and_one_by_name(cubin: Path) -> None:
    overview = sass(cubin)
    assert overview.exit_code == 0, overview.exception
    assert "2 functions" in overview.stdout
    assert "sum<24>" in overview.stdout
    one = data(cubin, "--kernel", "scale")
    assert one["registers"] > 0  # type: ignore[operator]
    assert one["spill_bytes"] is None  # no compiler log: unknown, not zero
    assert {kernel["name"] for kernel in data(cubin)["kernels"]} >= {"scale"}  # type: ignore[union-attr]


def test_the_mix_equals_a_count_over_nvdisasms_text(cubin: Path) -> None:
    nvdisasm = find_tools().require("nvdisasm").path
    text = subprocess.run([str(nvdisasm), "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    section = text[text.index(".section\t.text.scale") :].split("\n\t.section\t")[0]
    words = [line.split("*/", 1)[1].split() for line in section.splitlines() if line.lstrip().startswith("/*")]
    counted = Counter(
        next(word for word in line if not word.startswith("@")).split(".")[0].rstrip(";") for line in words
    )
    found = data(cubin, "--kernel", "scale")
    padding = counted["NOP"], counted["BRA"]
    del counted["NOP"], counted["BRA"]
    assert found["mix"] == dict(counted)
    assert padding[1] == 1


@pytest.mark.skipif(find_tools().cuobjdump is None, reason="needs cuobjdump")
def test_an_executable_with_embedded_cubins(source: Path) -> None:
    library = source.with_suffix(".so")
    nvcc = find_tools().require("nvcc").path
    flags = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_89,code=sm_89"]
    command_line = [str(nvcc), *flags, "-cudart", "none", "-shared", "-Xcompiler", "-fPIC", "-o", str(library)]
    done = subprocess.run([*command_line, str(source)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no shared library here: {done.stderr[:200]}")
    names = [(kernel["name"], kernel["arch"]) for kernel in data(library)["kernels"]]  # type: ignore[union-attr]
    assert ("scale", "sm_80") in names
    assert ("scale", "sm_89") in names
    assert data(library, "--kernel", "scale", "--arch", "sm_80")["arch"] == "sm_80"


def test_comparing_with_a_flag_a_define_and_an_architecture(source: Path) -> None:
    same = data(source, "--kernel", "scale", "--diff", source)
    assert same["verdict"] == "identical"
    define = data(source, "--kernel", "scale", "--diff", "TWICE=1")
    assert define["verdict"] == "different"
    arch = sass(source, "--kernel", "scale", "--diff", "sm_90")
    assert "sm_90" in arch.stdout


def test_listing_options(source: Path) -> None:
    everything = sass(source, "--kernel", "scale", "--all", "--source", "--hex", "--no-control")
    assert "// mine.cu:7" in everything.stdout
    assert "a[i] = a[i] * f" in everything.stdout
    assert "/* 0x" in everything.stdout
    assert "B------" not in everything.stdout
    grep = sass(source, "--kernel", "scale", "--grep", "FMUL")
    listing = grep.stdout.split("Instructions that match 'FMUL'\n")[1]
    assert [line.split()[2] for line in listing.strip().splitlines()] == ["FMUL"]
    live = sass(source, "--kernel", "scale", "--all", "--live")
    assert live.stdout.count("* B") == 1


def test_the_listing_in_json(source: Path) -> None:
    found = data(source, "--kernel", "scale", "--all")
    assert len(found["listing"]) == found["instructions"]  # type: ignore[arg-type]
    assert {"address", "text", "encoding", "control", "source"} <= set(found["listing"][0])  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["no_such_kernel_here"], UsageError, "no_such_kernel_here"),
        (["SOURCE", "--kernel", "missing"], GpuprofError, "missing"),
        (["SOURCE", "--kernel", "scale", "--loop", "3"], UsageError, "--loop 3"),
        (["SOURCE", "--kernel", "scale", "--grep", "("], UsageError, "regular expression"),
        (["SOURCE", "--kernel", "scale", "--block", "x"], UsageError, "--block"),
        (["gemm_ladder", "--variant", "nothing"], UsageError, "'nothing' names no variant"),
        (["CUBIN", "--kernel", "nothing"], KernelNotFoundError, "nothing"),
        (["CUBIN", "--kernel", "scale", "--arch", "sm_90"], UsageError, "both.cubin holds no machine code for sm_90"),
    ],
)
def test_mistakes_say_what_is_wrong(
    arguments: list[str], error: type[Exception], words: str, source: Path, cubin: Path
) -> None:
    places = {"SOURCE": source, "CUBIN": cubin}
    result = sass(*[places.get(argument, argument) for argument in arguments])
    assert isinstance(result.exception, error), result.exception
    assert words in str(result.exception)


def test_a_file_without_machine_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.so"
    path.write_bytes(b"\x7fELF" + bytes(200))
    assert isinstance(sass(path).exception, GpuprofError)


def test_ptx_is_named_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.8\n.target sm_89\n", encoding="utf-8")
    for arguments in ([path], [path, "--kernel", "k"]):
        assert "k.ptx is PTX and no CUDA source: `ptxas" in str(sass(*arguments).exception)


def test_a_kernel_that_a_cubin_lacks_is_a_mistake_of_the_command(cubin: Path) -> None:
    found = sass(cubin, "--kernel", "nothing").exception
    assert isinstance(found, GpuprofError)
    assert found.exit_code == 2
