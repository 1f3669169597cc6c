"""nvcc's command line: argument lists, a unit that instantiates templates, and paths that nvcc's shell would break."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from gpuprof.system.files import exists, expand_user
from gpuprof.toolchain.model import BuildRequest
from gpuprof.toolchain.names import signature_free
from gpuprof.toolchain.tools import Tool, wheel_folders

UNIT_NAME = "gpuprof_unit.cu"
PROBE = "gpuprof_probe_"
#: What demanglers write before a name of an unnamed namespace, in which alone such a template can be instantiated.
ANONYMOUS = "(anonymous namespace)::"

#: nvcc hands its arguments to ``sh -c`` in double quotes, where these have a meaning; ``"`` it refuses itself.
UNSAFE = frozenset('"$`\\\n\r')

#: Options whose value is a path; relative ones count from the request's folder.
_PATH_OPTIONS = (
    "-I",
    "--include-path",
    "-isystem",
    "--system-include",
    "-include",
    "--pre-include",
    "-L",
    "-ccbin",
    "--ccbin",
)

#: Variables that change what nvcc or the host compiler reads.
ENVIRONMENT = (
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
)


@dataclass(frozen=True)
class Unit:
    """What one nvcc process compiles: a source with its options, and the template instances wanted from it."""

    source: Path
    arch: str
    defines: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]
    include: tuple[Path, ...]
    instances: tuple[str, ...] = ()
    instantiated: bool = False  #: the source itself instantiates them, and may do so only once

    def with_instances(self, instances: Iterable[str]) -> Unit:
        """The same source and options with other instances."""
        return replace(self, instances=tuple(dict.fromkeys(instances)), instantiated=False)

    @property
    def search_folders(self) -> tuple[Path, ...]:
        """Where quoted includes are looked for, in order: the source's folder, ``include``, then ``-I`` flags."""
        return (self.source.parent, *self.include, *(Path(value) for value in include_flags(self.flags)))


def unit_of(request: BuildRequest) -> Unit:
    """The unit without instances: requests that share it share a compile."""
    folder = (request.folder or Path.cwd()).absolute()
    return Unit(
        source=_absolute(request.source, folder),
        arch=request.arch,
        defines=tuple((name, str(value)) for name, value in request.defines.items()),
        flags=absolute_flags(request.flags, folder),
        include=tuple(_absolute(path, folder) for path in request.include),
    )


def instance_of(kernel: str) -> str | None:
    """``f<float, 32>`` for a name that is a template instance, None for any other name."""
    name = signature_free(kernel) if kernel.rstrip().endswith(")") else kernel.strip()
    return name if "<" in name and not name.startswith("_Z") else None


def unit_text(source: Path, instances: Iterable[str], *, probes: bool = False, instantiate: bool = True) -> str:
    """CUDA text that includes the source and instantiates; ``decltype`` saves spelling the parameters.

    ``probes``: a pointer to each instance as well; ``instantiate``: False where the source has done so.
    """
    lines = [f'#include "{source}"']
    for number, named in enumerate(instances):
        opening, instance, closing = _reopened(named)
        if instantiate:
            lines.append(f"{opening}template __global__ decltype({instance}) {instance};{closing}")
        if probes:
            target = named.replace(ANONYMOUS, "")
            pointer = f"const void* const volatile {PROBE}{number}"
            lines.append(f'extern "C" __device__ {pointer} = (const void*)({target});')
    return "\n".join(lines) + "\n"


def _reopened(instance: str) -> tuple[str, str, str]:
    """The namespaces to open and close around an instance, and its name in them: none but for an unnamed one."""
    outer, anonymous, name = instance.rpartition(ANONYMOUS)
    if not anonymous:
        return "", instance, ""
    spaces = [f"namespace {part} {{ " for part in re.findall(r"(\w+)::", outer)] + ["namespace { "]
    return "".join(spaces), name, " }" * len(spaces)


def command_line(nvcc: Tool, unit: Unit, arguments: Iterable[str], links: Path) -> list[str]:
    """``nvcc -O3 -arch=... -lineinfo``, then ``arguments``, defines and folders, and the user's flags last."""
    own = ["-O3"] if not any(_is_optimisation(flag) for flag in unit.flags) else []
    own += [f"-arch={unit.arch}"]
    own += [] if {"-G", "--device-debug"} & set(unit.flags) else ["-lineinfo"]
    folders = (unit.source.parent, *unit.include, *wheel_includes(nvcc))
    return [
        str(nvcc.path),
        *own,
        *arguments,
        *(f"-D{name}={value}" if value != "" else f"-D{name}" for name, value in unit.defines),
        *(f"-I{shell_safe(folder, links)}" for folder in folders),
        *("-ccbin" if flag == "--ccbin" else flag for flag in unit.flags),
    ]


def verbose_ptxas(flags: Iterable[str]) -> list[str]:
    """Ask ptxas for its report, unless the user's flags do."""
    text = " ".join(flags)
    return [] if "-Xptxas -v" in text or "-Xptxas=-v" in text or "--resource-usage" in text else ["-Xptxas", "-v"]


def wheel_includes(nvcc: Tool) -> list[Path]:
    """Header folders that a wheel's nvcc does not know of: wheels of CUDA 12 have one folder per package.

    The packages may be spread over several folders of ``sys.path``, and one of those may hold a part of another
    toolkit: the folder beside nvcc comes first, then those with the compiler's own headers (nvidia-cuda-crt).
    """
    own = nvcc.path.parent.parent / "include"
    if nvcc.origin != "NVIDIA wheel" or all((own / name).is_file() for name in _RUNTIME_HEADERS):
        return []
    others = [folder for folder in wheel_folders("include") if folder != own]
    others.sort(key=lambda folder: not (folder / _RUNTIME_HEADERS[1]).is_file())
    return [own, *others] if own.is_dir() else others


#: What every CUDA source includes: of nvidia-cuda-runtime and of nvidia-cuda-crt.
_RUNTIME_HEADERS = ("cuda_runtime.h", "crt/host_config.h")


def is_unsafe(path: Path) -> bool:
    """Does the name hold what nvcc's shell would interpret?"""
    return bool(UNSAFE & set(str(path)))


def shell_safe(path: Path, links: Path) -> Path:
    """``path``, or a link to it in the cache when its name holds what nvcc's shell would interpret."""
    if not is_unsafe(path):
        return path
    link = links / hashlib.sha256(os.fsencode(path)).hexdigest()[:24] / "path"
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        link.symlink_to(path)
    return link


def safe_source(source: Path, links: Path) -> Path:
    """The source under a name that nvcc can be given; its folder is linked, so that its own name stays where it can."""
    if not is_unsafe(source):
        return source
    if UNSAFE & set(source.name):
        return shell_safe(source, links)
    return shell_safe(source.parent, links) / source.name


def environment(work: Path) -> dict[str, str]:
    """This process's environment with nvcc's temporary files in ``work`` and messages in English."""
    return {**os.environ, "TMPDIR": str(work), "LC_ALL": "C.UTF-8"}


def keyed_environment() -> list[tuple[str, str]]:
    """The variables that a cached build depends on."""
    return [(name, os.environ[name]) for name in ENVIRONMENT if name in os.environ]


def include_flags(flags: tuple[str, ...]) -> list[str]:
    """The folders of ``-I`` and ``--include-path`` among flags."""
    found = [flag[2:] for flag in flags if flag.startswith("-I") and len(flag) > 2]
    found += [flag.split("=", 1)[1] for flag in flags if flag.startswith("--include-path=")]
    return found + [value for flag, value in pairwise(flags) if flag in ("-I", "--include-path")]


def absolute_flags(flags: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Flags with relative paths made absolute; nvcc runs in a temporary folder."""
    result: list[str] = []
    for flag in flags:
        if result and result[-1] in _PATH_OPTIONS:
            result.append(_flag_path(flag, folder))
        elif flag[:2] in ("-I", "-L") and len(flag) > 2:
            result.append(flag[:2] + _flag_path(flag[2:], folder))
        elif "=" in flag and flag.split("=", 1)[0] in _PATH_OPTIONS:
            name, value = flag.split("=", 1)
            result.append(f"{name}={_flag_path(value, folder)}")
        else:
            result.append(flag)
    return tuple(result)


def _flag_path(value: str, folder: Path) -> str:
    """A header or compiler that is found by name only (``-ccbin g++-12``) stays as it is."""
    path = expand_user(Path(value))
    if path.is_absolute():
        return str(path)
    places = (folder / path, Path.cwd() / path)
    existing = next((place for place in places if exists(place)), None)
    if existing is None:
        return value if os.sep not in value and not value.startswith(".") else str(places[0])
    return str(existing.absolute())


def _absolute(path: Path, folder: Path) -> Path:
    return path if path.is_absolute() else Path(os.path.normpath(folder / path))


def _is_optimisation(flag: str) -> bool:
    return (flag[:2] == "-O" and flag[2:].isdigit()) or flag.startswith("--optimize")
