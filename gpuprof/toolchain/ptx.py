"""PTX as nvcc writes it, cut to one kernel, with the CUDA line that each part comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpuprof.errors import KernelNotFoundError
from gpuprof.toolchain.names import find_kernel

_ENTRY = re.compile(r"^\s*(?:\.visible |\.weak |\.extern )*\.entry ([\w$]+)", re.M)
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+\"(.*?)\"", re.M)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:, function_name (\S+?), inlined_at (\d+) (\d+) \d+)?")
_BODY_END = re.compile(r"^}", re.M)


def entries(ptx: str) -> list[str]:
    """The mangled names of the kernels, in order."""
    return _ENTRY.findall(ptx)


def kernel_ptx(ptx: str, kernel: str) -> str:
    """The head of the file and one kernel of it; raises KernelNotFoundError."""
    names = entries(ptx)
    symbol = find_kernel(kernel, names)
    match = next(entry for entry in _ENTRY.finditer(ptx) if entry.group(1) == symbol)
    end = _BODY_END.search(ptx, match.end())
    if end is None:
        raise KernelNotFoundError(f"the PTX of '{kernel}' has no end")
    return _head(ptx) + ptx[match.start() : end.end()].strip("\n") + "\n"


def _head(ptx: str) -> str:
    """Version, target, address size."""
    lines = [line for line in ptx.splitlines() if re.match(r"\s*\.(?:version|target|address_size)\b", line)]
    return "\n".join(lines) + "\n\n"


def with_source_lines(
    part: str, files: Mapping[int, str], read_source: Callable[[str], Sequence[str]] | None = None
) -> str:
    """``.loc`` directives replaced by comments that show the CUDA line; equal neighbours once."""
    read = read_source or read_lines
    lines: list[str] = []
    shown: tuple[int, int] | None = None
    for line in part.splitlines():
        match = _LOC.match(line)
        if match is None:
            lines.append(line)
            continue
        place = int(match.group(1)), int(match.group(2))
        if place != shown and place[1] > 0:
            lines.append(_comment(files.get(place[0], "?"), place[1], read))
        shown = place
    return "\n".join(lines) + "\n"


def source_files(ptx: str) -> dict[int, str]:
    """The files that ``.loc`` directives name by number."""
    return {int(number): name for number, name in _FILE.findall(ptx)}


def read_lines(name: str) -> Sequence[str]:
    """A source's lines, or none where it cannot be read."""
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()


def _comment(name: str, number: int, read: Callable[[str], Sequence[str]]) -> str:
    lines = read(name)
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"\t// {Path(name).name}:{number}  {text}".rstrip()
