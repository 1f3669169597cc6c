"""g++ on translated code: shared objects, kept in the build cache by their text, compiler, and processor."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuprof.toolchain.cache import open_cache, write_atomically

RUNTIME = Path(__file__).with_name("runtime")
SOURCES = ("control.cpp", "memory.cpp", "atomics.cpp", "across.cpp", "tensor.cpp", "trace.cpp")
KIND = "lanes"
#: Exact arithmetic: no contraction, no reassociation; signed integers wrap; floating-point traps are nobody's concern.
FLAGS = (
    "-std=c++17",
    "-march=native",
    "-fPIC",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-asynchronous-unwind-tables",
    "-w",
)
#: Text of the blocks, in characters, above which g++ does not optimise them: its time grows with the text, and nearly
#: all work is done in the functions that they call.
FAST_TEXT = 60_000
_TIMEOUT_S = 300


class CannotCompile(Exception):
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
    return _library([_Unit("runtime", name, (RUNTIME / name).read_text(encoding="utf-8"), "-O3") for name in SOURCES])


def kernel_library(forms: str, blocks: str) -> Path:
    """A translated kernel: the functions of instruction forms, and those of blocks, which call them."""
    level = "-O2" if len(blocks) < FAST_TEXT else "-O0"
    return _library([_Unit("kernel", "forms.cpp", forms, "-O2"), _Unit("kernel", "blocks.cpp", blocks, level)])


def compiled_sources(kind: str, sources: Sequence[Path], headers: str = "") -> Path:
    """A library of other sources than the emulator's; ``headers``: the text of what they include beside them.

    Raises CannotCompile.
    """
    units = [_Unit(kind, path.name, path.read_text(encoding="utf-8"), "-O2", path.parent, headers) for path in sources]
    return _library(units)


@dataclass(frozen=True)
class _Unit:
    """What one g++ compiles."""

    kind: str
    name: str
    text: str
    level: str
    includes: Path = RUNTIME
    headers: str = ""


def _library(units: Sequence[_Unit]) -> Path:
    folder = open_cache()
    parts = [part for unit in units for part in (unit.name, unit.text, unit.level, unit.headers)]
    key = hashlib.sha256("\0".join((*parts, *FLAGS, _identity(), _headers())).encode()).hexdigest()
    place = folder.path(KIND, key, ".so")
    if not place.exists():
        with folder.lock(KIND, key):
            if not place.exists():
                write_atomically(place, _compile(units))
    return place


def _compile(units: Sequence[_Unit]) -> bytes:
    """All units side by side, and then linked."""
    with tempfile.TemporaryDirectory(prefix="gpuprof-lanes-") as name:
        folder = Path(name)
        objects = [str(folder / f"{unit.name}.o") for unit in units]
        with ThreadPoolExecutor(len(units)) as pool:
            list(pool.map(_compile_unit, units, [folder] * len(units)))
        _run([compiler(), "-shared", *objects, "-o", str(folder / "lanes.so")])
        return (folder / "lanes.so").read_bytes()


def _compile_unit(unit: _Unit, folder: Path) -> None:
    source = folder / unit.name
    source.write_text(unit.text, encoding="utf-8")
    flags = [*FLAGS, unit.level, f"-I{unit.includes}"]
    if unit.level != "-O0":
        flags += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
    if platform.machine() != "aarch64":
        flags.append("-mprefer-vector-width=512")
    _run([compiler(), *flags, "-c", str(source), "-o", str(folder / f"{unit.name}.o")])


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotCompile(f"{command[0]} did not finish: {error}") from None
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise CannotCompile(f"{command[0]} failed on translated code: {first}")
