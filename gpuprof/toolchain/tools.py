"""Finding nvcc, cuobjdump, nvdisasm and ncu: each on its own, in a fixed order of places."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import MissingToolError, UsageError
from gpuprof.toolchain.versions import VersionStore

TOOL_NAMES = ("nvcc", "cuobjdump", "nvdisasm", "ncu")

#: What supplies each tool; the extra is installed from gpuprof's checkout.
SUPPLY = {
    "nvcc": "pip install '.[toolchain]' in gpuprof's checkout, or --cuda-home FOLDER",
    "cuobjdump": "pip install '.[toolchain]' in gpuprof's checkout, or --cuda-home FOLDER",
    "nvdisasm": "pip install '.[toolchain]' in gpuprof's checkout, or --cuda-home FOLDER",
    "ncu": "install Nsight Compute (it comes with the CUDA toolkit) and put ncu on the PATH",
}


@dataclass(frozen=True)
class Tool:
    """One program: where it is, its version (``13.0.88``), and how it was found (``PATH``, ``NVIDIA wheel`` ...)."""

    path: Path
    version: str
    origin: str


@dataclass(frozen=True)
class Toolchain:
    """What was found; ``notes`` says what was passed over and why."""

    nvcc: Tool | None = None
    cuobjdump: Tool | None = None
    nvdisasm: Tool | None = None
    ncu: Tool | None = None
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        tool: Tool | None = getattr(self, name)
        return tool

    def require(self, name: str) -> Tool:
        """The tool of that name; raises MissingToolError with the command that supplies it."""
        tool = self.find(name)
        if tool is None:
            detail = "".join(f"\n  {note}" for note in self.notes if f"/{name}" in note)
            raise MissingToolError(
                f"{name} was not found: looked at --cuda-home, CUDA_HOME, CUDA_PATH, PATH, the NVIDIA wheels of this "
                f"Python and the usual folders. Repair: {SUPPLY[name]}{detail}"
            )
        return tool


@dataclass(frozen=True)
class _Candidate:
    path: Path
    origin: str


def find_tools(cuda_home: Path | None = None) -> Toolchain:
    """Look for every tool. No process is started for a program whose version is already known.

    Raises UsageError for a ``cuda_home`` that holds no CUDA tool at all.
    """
    if cuda_home is not None:
        cuda_home = _toolkit_root(cuda_home)
    versions = VersionStore()
    notes: list[str] = []
    found = {name: _first_working(name, cuda_home, versions, notes) for name in TOOL_NAMES}
    versions.save()
    return Toolchain(**found, notes=tuple(notes))


def _toolkit_root(given: Path) -> Path:
    """The folder above ``bin``; people also give ``bin`` itself."""
    root = given.expanduser().absolute()
    for folder in (root, root.parent) if root.name == "bin" else (root,):
        if any((folder / "bin" / name).is_file() for name in TOOL_NAMES):
            return folder
    raise UsageError(f"--cuda-home {given}: no bin/nvcc, bin/cuobjdump, bin/nvdisasm or bin/ncu in that folder")


def _first_working(name: str, cuda_home: Path | None, versions: VersionStore, notes: list[str]) -> Tool | None:
    for candidate in _candidates(name, cuda_home):
        if not _executable(candidate.path):
            notes.append(f"{candidate.path} is not executable: chmod +x it")
            continue
        version = versions.version_of(candidate.path)
        if version:
            return Tool(candidate.path, version, candidate.origin)
        notes.append(f"{candidate.path} was passed over: '--version' fails or gives no version")
    return None


def _candidates(name: str, cuda_home: Path | None) -> Iterator[_Candidate]:
    """Files of that name, in the order in which they are preferred."""
    for path, origin in _places(name, cuda_home):
        if path.is_file():
            yield _Candidate(path, origin)


def _places(name: str, cuda_home: Path | None) -> Iterator[tuple[Path, str]]:
    if cuda_home is not None:
        yield cuda_home / "bin" / name, "--cuda-home"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]).expanduser().absolute() / "bin" / name, variable
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path).absolute(), "PATH"
    for folder in wheel_folders("bin"):
        yield folder / name, "NVIDIA wheel"
    for folder in _usual_folders(name):
        yield folder / name, str(folder)


def wheel_folders(name: str) -> list[Path]:
    """Folders ``name`` of the NVIDIA wheels in this Python, the newest CUDA first.

    CUDA 13 wheels share ``nvidia/cu13``; CUDA 12 ones have a folder per package (``nvidia/cuda_nvcc``).
    """
    folders: list[Path] = []
    for entry in dict.fromkeys(sys.path):
        root = Path(entry or ".") / "nvidia"
        if not root.is_dir():
            continue
        packages = [path for path in root.iterdir() if (path / name).is_dir()]
        shared = sorted((path for path in packages if path.name[:2] == "cu" and path.name[2:].isdigit()), reverse=True)
        single = sorted(path for path in packages if path not in shared)
        folders += [(path / name).absolute() for path in (*shared, *single)]
    return folders


def _usual_folders(name: str) -> list[Path]:
    """Where installers put CUDA when nothing points to it; the newest first."""
    folders = [Path("/usr/local/cuda/bin"), *sorted(Path("/usr/local").glob("cuda-*/bin"), reverse=True)]
    folders += [Path("/opt/cuda/bin")]
    if os.environ.get("CONDA_PREFIX"):
        folders.insert(0, Path(os.environ["CONDA_PREFIX"]) / "bin")
    if name == "ncu":
        folders += sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    return folders


def _executable(path: Path) -> bool:
    """Some installers lose the x bit of the wheels' programs; give it back where that is allowed."""
    if os.access(path, os.X_OK):
        return True
    if "nvidia" not in path.parts:
        return False
    for folder in (path.parent, path.parent.parent / "nvvm" / "bin"):
        for program in folder.glob("*") if folder.is_dir() else ():
            if program.is_file() and program.suffix == "":
                with suppress(OSError):
                    program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return os.access(path, os.X_OK)
