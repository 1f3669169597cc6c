"""The sanitizer over public suites that a user has put into a folder: ScoR, GPUVerify's CUDA tests, Indigo.

    python benchmarks/sanitizer_suites.py FOLDER [--arch sm_89] [--limit N]

Nothing is fetched. Expected verdicts are read as the suites give them: GPUVerify's first line (``//pass``,
``//xfail``) with ``--blockDim=`` and ``--gridDim=`` in the second, and ``race_``/``norace_`` or ``Bug`` in a name.
A kernel is launched with a buffer of 1 MiB for every pointer and the number of threads for every integer. Files
that do not compile alone, or whose kernel cannot be launched so, are counted and named.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.errors import GpuprofError
from gpuprof.sanitizer.findings import Severity
from gpuprof.sanitizer.launch import LaunchRequest, sanitize_launch
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest
from gpuprof.toolchain.sources import scan_kernels

BUFFER_BYTES = 1 << 20
_DIM = re.compile(r"--(block|grid)Dim=(\[[\d, ]+\]|\d+)")


def expected(path: Path, text: str) -> bool | None:
    """Whether the suite says that there is a fault; None where it does not say."""
    first = text.lstrip().split("\n", 1)[0].lower()
    if re.match(r"//\s*pass", first):
        return False
    if re.match(r"//\s*xfail", first):
        return True
    name = path.name.lower()
    if "norace_" in name:
        return False
    if "race_" in name or "bug" in name:
        return True
    return False if "indigo" in str(path).lower() else None


def launch_shape(text: str) -> dict[str, tuple[int, int, int]]:
    """Block and grid of GPUVerify's second line, else 64 threads in 2 blocks."""
    shape = {"block": (64, 1, 1), "grid": (2, 1, 1)}
    for name, value in _DIM.findall("\n".join(text.splitlines()[:3])):
        numbers = [int(number) for number in re.findall(r"\d+", value)]
        shape[name] = ([*numbers, 1, 1, 1])[:3]  # type: ignore[assignment]
    return {name: tuple(value) for name, value in shape.items()}  # type: ignore[misc]


def found(build: Build, text: str) -> bool:
    """Whether the sanitizer finds an error or a warning in one launch."""
    device, shape = EmulatedDevice(), launch_shape(text)
    threads = shape["block"][0] * shape["grid"][0]
    arguments: list[Pointer | bytes] = []
    for parameter in build.resources.parameters:
        if parameter.size == 8:
            handle = device.allocate(BUFFER_BYTES)
            device.fill(handle, 0)
            arguments.append(Pointer(handle))
        else:
            arguments.append(threads.to_bytes(max(4, parameter.size), "little")[: parameter.size])
    launch = Launch(build.cubin, build.symbol, shape["grid"], shape["block"], 0, tuple(arguments))
    image, arena, parameters = device.prepared(launch)
    result = sanitize_launch(LaunchRequest(image, arena, launch.grid, launch.block, parameters))
    return any(finding.severity is not Severity.NOTE for finding in result.findings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_89")
    parser.add_argument("--limit", type=int, default=100000)
    options = parser.parse_args()
    builder, counts = Builder(find_tools()), {"found": 0, "missed": 0, "false alarm": 0, "clean": 0, "not run": 0}
    for path in sorted(options.folder.rglob("*.cu"))[: options.limit]:
        text = path.read_text(encoding="utf-8", errors="replace")
        planted = expected(path, text)
        names = [kernel.default_name for kernel in scan_kernels(text)]
        if planted is None or not names:
            continue
        try:
            request = BuildRequest(path, names[0], options.arch, include=(path.parent,))
            seen = found(builder.build(request), text)
        except GpuprofError as error:
            counts["not run"] += 1
            print(f"not run      {path}: {str(error).splitlines()[0][:120]}")
            continue
        word = ("found" if seen else "missed") if planted else ("false alarm" if seen else "clean")
        counts[word] += 1
        if word in ("missed", "false alarm"):
            print(f"{word:12} {path}")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    main()
