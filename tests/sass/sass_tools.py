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

DATA = Path(__file__).parent / "data"
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def tool(name: str) -> str:
    try:
        return str(find_tools().require(name).path)
    except MissingToolError as error:
        pytest.skip(str(error))


def compile_cubin(source: Path, arch: str, folder: Path, *flags: str) -> Path:
    """nvcc's cubin in ``folder``; a source is compiled once per architecture and set of flags in a test session."""
    cubin = folder / f"{source.stem}.{arch}.cubin"
    cubin.write_bytes(_compiled(source, source.read_text(encoding="utf-8"), arch, flags))
    return cubin


@functools.cache
def _compiled(source: Path, text: str, arch: str, flags: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "out.cubin"
        options = ["-std=c++17", "-O3", f"-arch={arch}", "-lineinfo", "-w", *flags, "-cubin", "-o", str(cubin)]
        done = subprocess.run([tool("nvcc"), *options, str(source)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return cubin.read_bytes()


def disassemble(cubin: Path, *options: str) -> str:
    done = subprocess.run([tool("nvdisasm"), *(options or ("-c", "-hex", "-gi")), str(cubin)], capture_output=True)
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
