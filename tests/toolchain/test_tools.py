"""Where tools are found, in which order, and what is remembered of them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from gpuprof.errors import MissingToolError, UsageError
from gpuprof.toolchain import Toolchain, find_tools
from gpuprof.toolchain.nvcc import wheel_includes
from gpuprof.toolchain.tools import Tool, wheel_folders
from gpuprof.toolchain.versions import VersionStore, ask_version


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def no_cuda_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_cuda_variables")
def test_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--cuda-home before CUDA_HOME before CUDA_PATH before PATH, each tool on its own."""
    for number, name in enumerate(("given", "home", "path_variable", "on_path"), start=1):
        _program(tmp_path / name / "bin" / "nvcc", f"echo 'release 9.{number}, V9.{number}.0'")
    _program(tmp_path / "on_path" / "bin" / "nvdisasm", "echo 'release 9.9, V9.9.1'")
    monkeypatch.setenv("PATH", f"{tmp_path / 'on_path' / 'bin'}{os.pathsep}/usr/bin:/bin")
    found = find_tools()
    assert found.nvcc is not None
    assert (found.nvcc.version, found.nvcc.origin) == ("9.4.0", "PATH")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "path_variable"))
    assert find_tools().require("nvcc").version == "9.3.0"
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find_tools().require("nvcc").version == "9.2.0"
    found = find_tools(tmp_path / "given")
    assert found.require("nvcc").version == "9.1.0"
    assert find_tools(tmp_path / "given" / "bin").require("nvcc") == found.nvcc
    assert found.require("nvdisasm").version == "9.9.1"


@pytest.mark.usefixtures("no_cuda_variables")
def test_wheels_are_found_with_an_empty_path(monkeypatch: pytest.MonkeyPatch) -> None:
    if not any((folder / "nvcc").is_file() for folder in wheel_folders("bin")):
        pytest.skip("the NVIDIA wheels are not installed")
    monkeypatch.setenv("PATH", "/nonexistent")
    found = find_tools()
    for name in ("nvcc", "cuobjdump", "nvdisasm"):
        assert found.require(name).origin == "NVIDIA wheel"
        assert found.require(name).version.count(".") == 2


def test_wheel_layouts_the_newest_cuda_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cu12", "cu13", "cuda_nvcc", "cudnn"):
        (tmp_path / "nvidia" / name / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert [folder.parent.name for folder in wheel_folders("bin")] == ["cu13", "cu12", "cuda_nvcc", "cudnn"]


@pytest.mark.usefixtures("no_cuda_variables")
def test_a_wheel_that_lost_its_x_bit_gets_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _program(tmp_path / "nvidia" / "cu13" / "bin" / "nvcc", "echo 'V13.1.2'")
    helper = _program(tmp_path / "nvidia" / "cu13" / "nvvm" / "bin" / "cicc", "true")
    for path in (program, helper):
        path.chmod(0o644)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_tools().require("nvcc").path == program
    assert os.access(helper, os.X_OK)


@pytest.mark.usefixtures("no_cuda_variables")
def test_a_broken_program_is_passed_over_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = _program(tmp_path / "nvcc", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_tools()
    assert found.nvcc is None or found.nvcc.path != broken
    assert any(str(broken) in note and "passed over" in note for note in found.notes)


def test_a_folder_without_tools_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no bin/nvcc"):
        find_tools(tmp_path)


def test_a_missing_tool_names_its_supply() -> None:
    with pytest.raises(MissingToolError, match=r"nvdisasm was not found.*pip install '\.\[toolchain\]'") as caught:
        Toolchain().require("nvdisasm")
    assert caught.value.exit_code == 3
    assert "pip install gpuprof" not in str(caught.value)


def test_a_version_is_asked_for_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = _program(tmp_path / "nvcc", f"echo asked >> {log}; echo 'V1.2.3'")
    for _ in range(3):
        store = VersionStore()
        assert store.version_of(program) == "1.2.3"
        store.save()
    assert log.read_text().count("asked") == 1
    _program(program, f"echo asked >> {log}; echo 'V1.2.45'")
    assert VersionStore().version_of(program) == "1.2.45"


def test_a_wrapper_stands_for_the_program_it_names(tmp_path: Path) -> None:
    """A toolkit that is replaced behind a wrapper script is another version."""
    real = _program(tmp_path / "real", "echo 'V1.0.0'")
    wrapper = _program(tmp_path / "nvcc", f'exec {real} "$@"')
    store = VersionStore()
    assert store.version_of(wrapper) == "1.0.0"
    _program(real, "echo 'V2.0.0' # longer")
    assert store.version_of(wrapper) == "2.0.0"


def test_versions_as_the_tools_print_them(tmp_path: Path) -> None:
    nvcc = "Cuda compilation tools, release 13.5, V13.5.37\\nBuild cuda_13.5.r13.5/compiler.1"
    ncu = "NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 36398880) (public-release)"
    assert ask_version(_program(tmp_path / "nvcc", f'printf "{nvcc}"')) == "13.5.37"
    assert ask_version(_program(tmp_path / "ncu", f'printf "{ncu}"')) == "2025.3.1.0"
    assert ask_version(_program(tmp_path / "other", "echo hello")) == ""


def test_headers_of_a_wheel_come_from_beside_nvcc_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two site folders with a part of the toolkit each: the one with the compiler's own headers is searched first."""
    whole, runtime, nothing = (tmp_path / name / "nvidia" / "cu13" for name in ("whole", "runtime", "nothing"))
    for folder, names in (
        (whole, ("cuda_runtime.h", "crt/host_config.h")),
        (runtime, ("cuda_runtime.h",)),
        (nothing, ()),
    ):
        for name in names:
            (folder / "include" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "include" / name).touch()
        (folder / "include").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / name) for name in ("runtime", "nothing", "whole")])

    def includes(folder: Path) -> list[Path]:
        return wheel_includes(Tool(folder / "bin" / "nvcc", "13.5", "NVIDIA wheel"))

    assert includes(whole) == []
    assert includes(runtime) == [folder / "include" for folder in (runtime, whole, nothing)]
    assert includes(nothing) == [folder / "include" for folder in (nothing, whole, runtime)]
