"""Host functions: a ``.cu`` built by nvcc into a shared library, for library baselines (cuBLAS, CUB, cudaMemcpy)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuprof.arch import DEFAULT_ARCH
from gpuprof.errors import BuildError, MissingLibraryError
from gpuprof.toolchain import manifest, nvcc
from gpuprof.toolchain.cache import Cache, open_cache
from gpuprof.toolchain.compile import SHARED_LIBRARY, Compiler, unit_key
from gpuprof.toolchain.diagnostics import missing_libraries
from gpuprof.toolchain.manifest import FileHashes
from gpuprof.toolchain.model import BuildRequest
from gpuprof.toolchain.process import Processes
from gpuprof.toolchain.tools import Tool, Toolchain, wheel_folders

#: What supplies a library that is not there.
_WHEELS = {
    "cublas": "nvidia-cublas",
    "cublasLt": "nvidia-cublas",
    "cufft": "nvidia-cufft",
    "cusparse": "nvidia-cusparse",
    "cusolver": "nvidia-cusolver",
    "curand": "nvidia-curand",
    "cudnn": "nvidia-cudnn-cu13",
}


def is_missing_library(error: BuildError) -> bool:
    """Whether this machine lacks a library or its header, as against a mistake in the code."""
    if isinstance(error, MissingLibraryError) or missing_libraries(error.log):
        return True
    header = re.search(r'cannot open source file "([^"]+)"|fatal error: (\S+): No such file', f"{error}\n{error.log}")
    name = Path(header[1] or header[2]).stem.lower() if header else ""
    return any(name.startswith(library.lower()) for library in _WHEELS)


@dataclass(frozen=True)
class _Library:
    """How a library is linked, and the header folder that comes with it."""

    arguments: tuple[str, ...]
    include: Path | None = None


def build_shared_library(
    tools: Toolchain,
    source: Path,
    defines: Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
    arch: str = DEFAULT_ARCH,
    flags: Sequence[str] = (),
    include: Sequence[Path] = (),
    cache_dir: Path | None = None,
    timeout: float = 300.0,
    ccbin: str | None = None,
) -> Path:
    """Build ``source`` with its ``extern "C" int f(args..., cudaStream_t)`` functions; cached like a cubin.

    ``libraries`` are names as for ``-l`` (``cublas``): looked for beside nvcc, in CUDA_HOME and in the NVIDIA wheels.
    Raises BuildError (also for a library that is nowhere), MissingToolError.
    """
    tool = tools.require("nvcc")
    if not source.is_file():
        raise BuildError(f"no such source file: {source}")
    found = [_find_library(name, tool) for name in libraries]
    extra = [argument for library in found for argument in library.arguments]
    folders = {library.include for library in found if library.include is not None}
    extra += [argument for folder in sorted(folders) for argument in ("-isystem", str(folder))]
    request = BuildRequest(source, "", arch, dict(defines or {}), tuple(flags), tuple(include))
    unit = nvcc.unit_of(request)
    cache = open_cache(cache_dir)
    key = unit_key(unit, tools, FileHashes(), ccbin, SHARED_LIBRARY, extra)
    with cache.lock("libraries", key):
        kept = _from_cache(cache, key)
        if kept is not None:
            return kept
        compiled = Compiler(tools, cache, Processes(), timeout, ccbin).compile(unit, SHARED_LIBRARY, extra)
        manifest.store_entry(cache, key, compiled.entry)
        return compiled.path


def _from_cache(cache: Cache, key: str) -> Path | None:
    hashes = FileHashes()
    for entry in manifest.load_entries(cache, key):
        path = SHARED_LIBRARY.path(cache, entry.sha256)
        if entry.is_current(hashes) and FileHashes().of(str(path)) == entry.sha256:
            return path
    return None


def _find_library(name: str, tool: Tool) -> _Library:
    """By ``-l`` where the toolkit has it; a wheel's by its path, since wheels have only ``libcublas.so.13``."""
    for root in _toolkit_roots(tool):
        for part in ("lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu"):
            if (root / part / f"lib{name}.so").exists():
                place = str(root / part)
                return _Library((f"-L{place}", f"-l{name}", "-Xlinker", "-rpath", "-Xlinker", place))
    for folder in wheel_folders("lib"):
        files = sorted(folder.glob(f"lib{name}.so*"), reverse=True)
        if files:
            headers = folder.parent / "include"
            rpath = ("-Xlinker", "-rpath", "-Xlinker", str(folder))
            return _Library(("-Xlinker", str(files[0]), *rpath), headers if headers.is_dir() else None)
    wheel = _WHEELS.get(name, f"nvidia-{name.lower()}")
    raise MissingLibraryError(
        f"lib{name} was not found beside nvcc, in CUDA_HOME or in the NVIDIA wheels: pip install {wheel}, or point "
        "--cuda-home to a CUDA toolkit that has it"
    )


def _toolkit_roots(tool: Tool) -> list[Path]:
    """Toolkits whose libraries may be linked; a wrapper script on the PATH stands for the one in /usr/local/cuda."""
    roots = [tool.path.resolve().parent.parent]
    roots += [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    return [*roots, Path("/usr/local/cuda"), Path("/usr")] if tool.origin != "NVIDIA wheel" else roots
