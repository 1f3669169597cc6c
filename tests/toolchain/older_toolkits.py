"""Toolkits of CUDA 11.8 and 12.4 for the suite, and a script that makes them as an installer would lay them out.

    python -m tests.toolchain.older_toolkits FOLDER
    GPUPROF_TEST_TOOLKITS=FOLDER python -m pytest tests/toolchain/test_older_toolkits.py

NVIDIA's wheels before CUDA 13 hold headers and no nvcc. Debian packages the compilers (nvidia-cuda-toolkit, component
non-free), and the host compiler that CUDA 11.8 still takes. Packages are downloaded and unpacked, not installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: As in NVIDIA's own toolkits; Debian's names folders of an installed package.
PROFILE = """
TOP                 = $(_HERE_)/..
NVVMIR_LIBRARY_DIR  = $(TOP)/$(_NVVM_BRANCH_)/libdevice
PATH               += $(TOP)/$(_NVVM_BRANCH_)/bin:$(_HERE_):
INCLUDES           += "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
LIBRARIES          =+ $(_SPACE_) "-L$(TOP)/$(_TARGET_DIR_)/lib$(_TARGET_SIZE_)"
"""
HOST_COMPILER = Path("host/usr/bin/g++-11")


@dataclass(frozen=True)
class Recipe:
    """Where the parts of one toolkit come from."""

    release: str  #: of Debian
    wheels: tuple[str, ...]
    host: tuple[str, ...] = ()  #: Debian packages of a host compiler, where today's is too new


RECIPES = {
    "11.8": Recipe(
        "bookworm",
        ("nvcc-cu11==11.8.89", "runtime-cu11==11.8.89", "cccl-cu11==11.8.89.post1"),
        ("g++-11", "gcc-11", "cpp-11", "libgcc-11-dev", "libstdc++-11-dev"),
    ),
    "12.4": Recipe("trixie", ("nvcc-cu12==12.4.131", "runtime-cu12==12.4.127", "cccl-cu12==12.4.127.post1")),
}


@dataclass(frozen=True)
class OlderToolkit:
    """A toolkit to build with; ``ccbin`` where it needs another host compiler than the machine's."""

    home: Path
    ccbin: str | None


def found_toolkits() -> dict[str, OlderToolkit]:
    """By folder name: those in GPUPROF_TEST_TOOLKITS, and what is installed of CUDA 11 and 12."""
    given = os.environ.get("GPUPROF_TEST_TOOLKITS")
    folders = sorted(Path(given).iterdir()) if given and Path(given).is_dir() else []
    folders += [path for major in (11, 12) for path in sorted(Path("/usr/local").glob(f"cuda-{major}.*"))]
    return {
        folder.name: OlderToolkit(folder, str(folder / HOST_COMPILER) if (folder / HOST_COMPILER).exists() else None)
        for folder in folders
        if (folder / "bin" / "nvcc").exists()
    }


def make(version: str, folder: Path) -> None:
    """Put a toolkit into ``folder``/``version``. Raises CalledProcessError where a part cannot be had."""
    recipe, home = RECIPES[version], folder / version
    parts = folder / f"parts-{version}"
    parts.mkdir(parents=True, exist_ok=True)
    _download_debs(recipe.release, "non-free", ("nvidia-cuda-toolkit",), parts / "debian")
    for name in ("bin", "nvvm/bin", "nvvm/libdevice", "include", "lib64"):
        (home / name).mkdir(parents=True, exist_ok=True)
    usr, own = parts / "debian/usr", parts / "debian/usr/lib/nvidia-cuda-toolkit"
    for program in (usr / "bin").iterdir():
        if program.name != "nvcc":  # there a script for the package's own folders
            shutil.copy(program, home / "bin")
    shutil.copy(own / "bin/nvcc", home / "bin")
    shutil.copy(own / "bin/cicc", home / "nvvm/bin")
    shutil.copytree(own / "bin/crt", home / "bin/crt", dirs_exist_ok=True)
    shutil.copytree(own / "libdevice", home / "nvvm/libdevice", dirs_exist_ok=True)
    (home / "bin/nvcc.profile").write_text(PROFILE)
    _copy_wheels(recipe.wheels, home, parts / "wheels")
    if recipe.host:
        _download_debs(recipe.release, "main", recipe.host, home / "host")
    shutil.rmtree(parts)


def _copy_wheels(names: tuple[str, ...], home: Path, scratch: Path) -> None:
    """The headers, which the wheels have, and the runtime library."""
    wheels = [f"nvidia-cuda-{name}" for name in names]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", str(scratch), *wheels], check=True)
    for package in (scratch / "nvidia").iterdir():
        if (package / "include").is_dir():
            shutil.copytree(package / "include", home / "include", dirs_exist_ok=True)
        for library in (package / "lib").glob("libcudart.so.*"):
            shutil.copy(library, home / "lib64")
            (home / "lib64/libcudart.so").symlink_to(library.name)


def _download_debs(release: str, component: str, packages: tuple[str, ...], folder: Path) -> None:
    """Unpack Debian packages into ``folder``, by this machine's own mirror and lists of their own."""
    scratch = folder.parent / f"apt-{folder.name}"
    for name in ("lists/partial", "cache/archives/partial", "debs"):
        (scratch / name).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (scratch / "list").write_text(f"deb [signed-by={keys}] {_mirror()} {release} {component}\n")
    settings = {
        "Dir::Etc::sourcelist": scratch / "list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": scratch / "lists",
        "Dir::Cache": scratch / "cache",
    }
    apt = ["apt-get", "-q", *(each for name, value in settings.items() for each in ("-o", f"{name}={value}"))]
    subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*apt, "download", *packages], check=True, cwd=scratch / "debs", stdout=subprocess.DEVNULL)
    for package in (scratch / "debs").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    shutil.rmtree(scratch)


def _mirror() -> str:
    """The mirror that this machine's sources name."""
    for source in (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list")):
        words = source.read_text().split() if source.exists() else []
        found = next((word for word in words if word.startswith("http") and word.rstrip("/").endswith("/debian")), None)
        if found:
            return found
    raise SystemExit("no mirror of Debian among this machine's sources of packages")


def main(arguments: list[str]) -> None:
    folder, *versions = arguments
    for version in versions or RECIPES:
        make(version, Path(folder).absolute())


if __name__ == "__main__":
    main(sys.argv[1:])
