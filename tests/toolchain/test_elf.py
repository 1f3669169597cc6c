"""What is read from a cubin, against cuobjdump's own report of the same cubin."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from gpuprof.errors import DisassemblyError, UnreadableFileError
from gpuprof.toolchain import Toolchain, nvinfo
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.disasm import disassemble_text
from gpuprof.toolchain.elf import CubinFacts, parse_cubin, read_cubin
from gpuprof.toolchain.extract import extract_cubins, is_cubin
from gpuprof.toolchain.model import BuildRequest

SOURCE = """
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int initialised = 5;
__device__ int counter;
__device__ __noinline__ float helper(float x) { return x * table[(int)x] + initialised; }
extern "C" __global__ void __launch_bounds__(128, 2) full(float* p, char c, double d) {
    __shared__ float s[32];
    s[threadIdx.x] = helper(p[0]);
    __syncthreads();
    p[1] = s[threadIdx.x ^ 1] + c + d;
    asm volatile("bar.sync 3;");
    counter = 1;
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void dynamic(float* p) {
    extern __shared__ float s[];
    s[threadIdx.x] = p[0];
    __syncthreads();
    p[1] = s[threadIdx.x ^ 1];
}
"""
ARCHS = ["sm_75", "sm_89", "sm_90", "sm_120a"]


@pytest.fixture(scope="module")
def cubins(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("elf")
    source = folder / "k.cu"
    source.write_text(SOURCE)
    builder = Builder(tools, cache_dir=folder / "cache")
    outcomes = builder.build_all([BuildRequest(source, "full", arch) for arch in ARCHS])
    return {arch: getattr(outcome, "cubin", Path()) for arch, outcome in zip(ARCHS, outcomes, strict=True)}


def _report(tools: Toolchain, cubin: Path) -> dict[str, dict[str, int]]:
    """``cuobjdump -res-usage`` by kernel."""
    command = [str(tools.require("cuobjdump").path), "-res-usage", str(cubin)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"Function (\S+):\s*\n\s*(.*)", text)
    return {name: {key: int(value) for key, value in re.findall(r"(\S+?):(\d+)", line)} for name, line in found}


@pytest.mark.parametrize("arch", ARCHS)
def test_resources_equal_cuobjdumps(tools: Toolchain, cubins: dict[str, Path], arch: str) -> None:
    facts = read_cubin(cubins[arch])
    report = _report(tools, cubins[arch])
    assert facts.arch == arch
    assert set(facts.kernels) == set(report) == {"full", "nothing", "dynamic"}
    for name, usage in report.items():
        resources = facts.kernels[name]
        assert resources.registers == usage["REG"]
        assert resources.stack_bytes == usage["STACK"]
        assert resources.parameter_base + resources.parameter_bytes == usage["CONSTANT[0]"]


@pytest.mark.parametrize("arch", ARCHS)
def test_static_shared_is_the_users(cubins: dict[str, Path], arch: str) -> None:
    """From sm_90 on the section holds the driver's 1,024 bytes too."""
    kernels = read_cubin(cubins[arch]).kernels
    assert {name: kernel.static_shared_bytes for name, kernel in kernels.items()} == {
        "full": 128,
        "nothing": 0,
        "dynamic": 0,
    }


@pytest.mark.parametrize(("arch", "base"), [("sm_75", 0x160), ("sm_89", 0x160), ("sm_90", 0x210), ("sm_120a", 0x380)])
def test_parameters(cubins: dict[str, Path], arch: str, base: int) -> None:
    kernels = read_cubin(cubins[arch]).kernels
    full = kernels["full"]
    assert [(each.ordinal, each.offset, each.size) for each in full.parameters] == [(0, 0, 8), (1, 8, 1), (2, 16, 8)]
    assert (full.parameter_base, full.parameter_bytes) == (base, 24)
    assert (kernels["nothing"].parameters, kernels["nothing"].parameter_base) == ((), base)
    assert (full.max_threads, kernels["dynamic"].max_threads) == (128, None)
    assert (full.barriers, kernels["dynamic"].barriers, kernels["nothing"].barriers) == (4, 1, 0)


def test_what_a_loader_needs(cubins: dict[str, Path]) -> None:
    facts = read_cubin(cubins["sm_89"])
    assert facts.constant_bank(3) == bytes.fromhex("0000803f 00000040 00004040 00008040")
    assert len(facts.constant_bank(0, "full")) == 0x160 + 24
    assert facts.sections[".nv.global.init"].data == (5).to_bytes(4, "little")
    assert (facts.sections[".nv.global"].size, facts.sections[".nv.global"].data) == (4, b"")
    targets = {(each.section, each.symbol) for each in facts.relocations}
    assert {(".nv.constant4", "initialised"), (".nv.constant4", "counter")} <= targets
    entry, helper = facts.functions(".text.full")
    assert (entry.name, entry.value, entry.is_entry) == ("full", 0, True)
    assert helper.name.endswith("helperf")
    assert helper.value % 16 == 0
    assert helper.value + helper.size <= len(facts.code("full"))


def _facts_or_error(data: bytes) -> CubinFacts | str:
    try:
        return parse_cubin(data, "broken.cubin")
    except DisassemblyError as error:
        return str(error)


def test_damaged_files_are_one_clear_error(cubins: dict[str, Path]) -> None:
    data = cubins["sm_89"].read_bytes()
    chance = random.Random("damage")
    pieces = [data[:length] for length in (0, 3, 16, 63, 64, 200, len(data) // 2, len(data) - 1)]
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            broken[chance.choice([chance.randrange(64), chance.randrange(len(data))])] = chance.randrange(256)
        pieces.append(bytes(broken))
    answers = [_facts_or_error(piece) for piece in pieces]
    refused = [answer for answer in answers if isinstance(answer, str)]
    assert all(text.startswith("broken.cubin") for text in refused)
    assert len(refused) >= len(pieces) // 20


def test_files_that_are_no_cubins(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"cannot read .*gone"):
        read_cubin(tmp_path / "gone")
    text = tmp_path / "text.cubin"
    text.write_text("hello")
    with pytest.raises(DisassemblyError, match="is not a cubin"):
        read_cubin(text)
    with pytest.raises(DisassemblyError, match="not of CUDA machine code"):
        read_cubin(Path("/bin/sh").resolve())
    assert not is_cubin(text)


def test_attribute_records() -> None:
    """One record of each format, by hand."""
    data = bytes.fromhex("01040000021c0700031b ff000419 0400 aabbccdd")
    records = list(nvinfo.read_attributes(data))
    assert [(record.code, record.payload.hex()) for record in records] == [
        (0x04, "0000"),
        (0x1C, "0700"),
        (0x1B, "ff00"),
        (0x19, "aabbccdd"),
    ]
    with pytest.raises(ValueError, match="8 bytes long, 4 are left"):
        list(nvinfo.read_attributes(bytes.fromhex("04190800aabbccdd")))


def test_disassembly_is_kept(tools: Toolchain, cubins: dict[str, Path], tmp_path: Path) -> None:
    from dataclasses import replace

    from gpuprof.toolchain import Tool
    from gpuprof.toolchain.cache import Cache

    cache = Cache(tmp_path)
    text = disassemble_text(tools, cubins["sm_89"], cache)
    assert ".section" in text
    assert "EXIT" in text
    assert re.search(r'//## File ".*k\.cu", line \d+', text)
    real = tools.require("nvdisasm")
    gone = replace(tools, nvdisasm=Tool(tmp_path / "gone", real.version, real.origin))
    assert disassemble_text(gone, cubins["sm_89"], cache) == text
    with pytest.raises(DisassemblyError, match="cannot start"):
        disassemble_text(gone, cubins["sm_90"], cache)
    broken = tmp_path / "broken.cubin"
    broken.write_bytes(cubins["sm_89"].read_bytes()[:400])
    with pytest.raises(DisassemblyError, match=r"nvdisasm cannot read .*broken"):
        disassemble_text(tools, broken, cache)


def test_cubins_come_out_of_an_executable(tools: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "program.cu"
    source.write_text("__global__ void inside(int* p) { *p = 1; }\nint main() { inside<<<1, 1>>>(nullptr); }\n")
    program = tmp_path / "a program"
    archs = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_89,code=sm_89"]
    command = [str(tools.require("nvcc").path), *archs, "-o", str(program), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    found = extract_cubins(tools, program, tmp_path / "out")
    kernels = [(read_cubin(path).arch, list(read_cubin(path).kernels)) for path in found]
    assert sorted(pair for pair in kernels if pair[1]) == [("sm_80", ["_Z6insidePi"]), ("sm_89", ["_Z6insidePi"])]
    assert extract_cubins(tools, found[0], tmp_path / "other") == [found[0]]
    with pytest.raises(DisassemblyError, match="holds no CUDA machine code"):
        extract_cubins(tools, Path("/bin/sh"), tmp_path / "none")
