"""g++ on translated code: shared objects, kept in the build cache by their text, compiler, and processor."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.toolchain.cache import Cache, open_cache, write_atomically

RUNTIME = Path(__file__).with_name("runtime")
SOURCES = ("control.cpp", "memory.cpp", "atomics.cpp", "across.cpp", "tensor.cpp")
KIND = "lanes"
#: Exact arithmetic: no contraction, no reassociation; signed integers wrap; floating-point traps are nobody's concern.
FLAGS = (
    "-std=c++17",
    "-march=native",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-w",
)
#: Translated instructions above which g++ optimises less: its time grows with the text.
LARGE = 6000
_TIMEOUT_S = 300


class CannotCompile(GpuprofError):
    """There is no C++ compiler, or it failed; the numpy engine does the work."""


@cache
def compiler() -> str:
    """The C++ compiler; raises CannotCompile."""
    found = shutil.which(os.environ.get("CXX", "")) or shutil.which("g++")
    if found is None:
        raise CannotCompile("no g++ on PATH; install one for the emulator's compiled engine")
    if platform.machine() not in ("x86_64", "AMD64", "aarch64"):
        raise CannotCompile(f"the compiled engine is not made for {platform.machine()}")
    return found


@cache
def _identity() -> str:
    """The compiler's version and the processor that ``-march=native`` stands for."""
    command = [compiler(), "-march=native", "-Q", "--help=target"]
    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    target = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return hashlib.sha256((version + target).encode()).hexdigest()


@cache
def _headers() -> str:
    texts = [path.read_text(encoding="utf-8") for path in sorted(RUNTIME.glob("*.hpp"))]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def runtime_library() -> Path:
    """The runtime that all kernels share."""
    texts = {name: (RUNTIME / name).read_text(encoding="utf-8") for name in SOURCES}
    return _library("".join(texts.values()), [str(RUNTIME / name) for name in SOURCES], "-O3", "runtime")


def kernel_library(text: str, instructions: int) -> Path:
    """A translated kernel."""
    return _library(text, [], "-O1" if instructions > LARGE else "-O2", "kernel")


def is_built(text: str, instructions: int) -> bool:
    """Whether the cache has this kernel's library."""
    return _place(open_cache(), text, "-O1" if instructions > LARGE else "-O2").exists()


def _place(folder: Cache, text: str, level: str) -> Path:
    key = hashlib.sha256("\0".join((text, level, *FLAGS, _identity(), _headers())).encode()).hexdigest()
    return folder.path(KIND, key, ".so")


def _library(text: str, files: list[str], level: str, name: str) -> Path:
    folder = open_cache()
    place = _place(folder, text, level)
    if not place.exists():
        with folder.lock(KIND, place.stem):
            if not place.exists():
                write_atomically(place, _compile(text, files, level, name))
    return place


def _compile(text: str, files: list[str], level: str, name: str) -> bytes:
    flags = [
        *FLAGS,
        level,
        "-ftree-vectorize",
        "-fvect-cost-model=dynamic",
        "-mprefer-vector-width=512",
        f"-I{RUNTIME}",
    ]
    if platform.machine() == "aarch64":
        flags.remove("-mprefer-vector-width=512")
    with tempfile.TemporaryDirectory(prefix="gpuprof-lanes-") as folder:
        source, output = Path(folder) / f"{name}.cpp", Path(folder) / f"{name}.so"
        source.write_text(text, encoding="utf-8")
        command = [compiler(), *flags, *(files or [str(source)]), "-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotCompile(f"{command[0]} did not finish: {error}") from None
        if done.returncode or not output.exists():
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise CannotCompile(f"{command[0]} failed on translated code: {first}")
        return output.read_bytes()
