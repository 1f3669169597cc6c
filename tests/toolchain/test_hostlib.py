"""Host functions: built into a shared library, called through ctypes, cached."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.errors import BuildError
from gpuprof.toolchain import Toolchain
from gpuprof.toolchain.hostlib import build_shared_library

SOURCE = """
#include <cuda_runtime.h>
__global__ void inside(int* p) { *p = 1; }
extern "C" int answer(int x, cudaStream_t) { return x * FACTOR; }
"""


def test_a_library_is_built_once_and_called(tools: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "host code.cu"
    source.write_text(SOURCE)
    first = build_shared_library(tools, source, {"FACTOR": "3"}, cache_dir=tmp_path / "cache")
    written = first.stat().st_mtime_ns
    loaded = shutil.copy(first, tmp_path / "loaded.so")  # what is mapped must not be damaged below
    assert ctypes.CDLL(str(loaded)).answer(14, None) == 42
    assert build_shared_library(tools, source, {"FACTOR": "3"}, cache_dir=tmp_path / "cache") == first
    assert first.stat().st_mtime_ns == written
    first.write_bytes(b"damaged")
    again = build_shared_library(tools, source, {"FACTOR": "3"}, cache_dir=tmp_path / "cache")
    assert again.read_bytes()[:4] == b"\x7fELF"


def test_a_library_of_a_wheel_is_linked(tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wheels have ``lib/libfake.so.13`` without a plain name, and headers beside it."""
    wheel = tmp_path / "site" / "nvidia" / "cu13"
    for name in ("lib", "include"):
        (wheel / name).mkdir(parents=True)
    (wheel / "include" / "fake.h").write_text('extern "C" int fake(int);\n')
    (tmp_path / "fake.cpp").write_text('extern "C" int fake(int x) { return x + 1; }\n')
    library = wheel / "lib" / "libfake.so.13"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", library, tmp_path / "fake.cpp"], check=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    source = tmp_path / "k.cu"
    source.write_text('#include "fake.h"\nextern "C" int call(int x, cudaStream_t) { return fake(x); }\n')
    built = build_shared_library(tools, source, {}, ["fake"], cache_dir=tmp_path / "cache")
    assert ctypes.CDLL(str(built)).call(41, None) == 42


def test_what_cannot_be_built(tools: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no such source file"):
        build_shared_library(tools, tmp_path / "gone.cu", cache_dir=tmp_path / "cache")
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    with pytest.raises(BuildError, match=r"libnowhere was not found beside nvcc.*pip install nvidia-nowhere"):
        build_shared_library(tools, source, {"FACTOR": "3"}, ["nowhere"], cache_dir=tmp_path / "cache")
    with pytest.raises(BuildError, match=r"k\.cu:4: .*FACTOR"):
        build_shared_library(tools, source, cache_dir=tmp_path / "cache")
