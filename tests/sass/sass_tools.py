"""The real nvcc and nvdisasm for the tests of this room."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from gpuprof.errors import MissingToolError
from gpuprof.sass.analysis import Analysis, analyse
from gpuprof.sass.model import Disassembly
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.extract import extract_cubins
from tests.shared_results import once_per_run

DATA = Path(__file__).parent / "data"
#: What nvcc's front end, most of its time, compiles for -> the machine code that ptxas makes of it.
TARGETS = {"75": ("75",), "80": ("80", "86", "89"), "90": ("90", "100", "120")}
ARCHS = tuple(f"sm_{number}" for numbers in TARGETS.values() for number in numbers)


def tool(name: str) -> str:
    try:
        return str(find_tools().require(name).path)
    except MissingToolError as error:
        pytest.skip(str(error))


def compile_cubin(source: Path, arch: str, folder: Path, *flags: str) -> Path:
    """nvcc's cubin in ``folder``. Those of the stored sources come out of one run for all architectures."""
    cubin = folder / f"{source.stem}.{arch}.cubin"
    text = source.read_text(encoding="utf-8")
    if source.parent == DATA and arch in ARCHS and not flags:
        cubin.write_bytes(_compiled_for_all(source, text)[arch])
    else:
        _nvcc(source, f"-arch={arch}", *flags, "-cubin", "-o", str(cubin))
    return cubin


@functools.cache
def _compiled_for_all(source: Path, text: str) -> dict[str, bytes]:
    """The cubins of a source by architecture; ``text`` is its content, so that a changed one is compiled again."""
    return once_per_run((source.name, text), lambda: _compile_for_all(source))


def _compile_for_all(source: Path) -> dict[str, bytes]:
    targets = {f"compute_{front}": ",".join(f"sm_{number}" for number in numbers) for front, numbers in TARGETS.items()}
    options = [part for front, codes in targets.items() for part in ("-gencode", f"arch={front},code=[{codes}]")]
    with tempfile.TemporaryDirectory() as folder:
        fatbin = Path(folder) / "all.fatbin"
        _nvcc(source, *options, "-fatbin", "-o", str(fatbin))
        cubins = extract_cubins(find_tools(), fatbin, Path(folder) / "cubins")
        return {cubin.name.split(".")[-2]: cubin.read_bytes() for cubin in cubins}


def _nvcc(source: Path, *options: str) -> None:
    command = [tool("nvcc"), "-std=c++17", "-O3", "-lineinfo", "-w", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def disassemble(cubin: Path, *options: str) -> str:
    """nvdisasm's text; starting it takes half a second, so the same content is disassembled once in a session."""
    return _disassembled(cubin.read_bytes(), options or ("-c", "-hex", "-gi"))


@functools.cache
def _disassembled(cubin: bytes, options: tuple[str, ...]) -> str:
    return once_per_run((cubin, options), lambda: _disassemble(cubin, options))


def _disassemble(cubin: bytes, options: tuple[str, ...]) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([tool("nvdisasm"), *options, file.name], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def code_of(source: Path, arch: str, folder: Path) -> Disassembly:
    return parse_disassembly(disassemble(compile_cubin(source, arch, folder)))


def stored(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def printed_lines(text: str) -> list[str]:
    """The instructions as nvdisasm prints them, without address, encoding, annotation and semicolon."""
    lines = [line for line in text.splitlines() if re.match(r"\s+/\*[0-9a-f]{4,}\*/", line)]
    bare = [line[line.index("*/") + 2 : line.rindex(";")] for line in lines]
    return [re.sub(r'\s*\(\*".*?"\*\)', "", line).strip() for line in bare]


def snippet(body: str, arch: str = "sm_89", name: str = "k") -> Disassembly:
    """A function from bare lines: labels end in a colon, everything else is an instruction (16 bytes apart)."""
    lines = [f"\t.target\t{arch}", f'\t.section\t.text.{name},"ax",@progbits', f"{name}:"]
    address = 0
    for line in body.strip().splitlines():
        if line.strip().endswith(":"):
            lines.append(line.strip())
            continue
        instruction, _, stall = line.strip().partition(" #")
        word = (int(stall or 1) | 0xE0 | 0x700) << 41  # the stall count, and no scoreboards
        lines.append(f"        /*{address:04x}*/   {instruction} ;  /* 0x{0:016x} */")
        lines.append(f"        /* 0x{word:016x} */")
        address += 16
    return parse_disassembly("\n".join(lines) + "\n")


def analysed(body: str, arch: str = "sm_89", block: tuple[int, int, int] | None = None) -> Analysis:
    code = snippet(body, arch)
    return analyse(code.functions["k"], code.arch, block=block)
