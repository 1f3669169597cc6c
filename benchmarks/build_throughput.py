"""Variants built per minute: gpuprof with an empty cache, with a full one, and nvcc called one by one.

    python benchmarks/build_throughput.py [--variants N]

The source is the bundled tiled GEMM, N times with another define, so that each variant is an nvcc job of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gpuprof.experiment import find_kernel
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest

ARCH = "sm_89"


def requests(count: int, source: Path) -> list[BuildRequest]:
    """``count`` builds that differ in a define."""
    return [BuildRequest(source, "gemm_tiled_kernel<float, 16>", ARCH, defines={"POINT": str(n)}) for n in range(count)]


def seconds(work: Callable[[], object]) -> float:
    """Wall time of ``work``."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def by_hand(nvcc: Path, source: Path, count: int, folder: Path) -> None:
    """nvcc one by one, as a script would."""
    unit = folder / "unit.cu"
    unit.write_text(
        f'#include "{source}"\n'
        "template __global__ decltype(gemm_tiled_kernel<float, 16>) gemm_tiled_kernel<float, 16>;\n"
    )
    for n in range(count):
        command = [str(nvcc), "-O3", f"-arch={ARCH}", "-lineinfo", "-cubin", f"-DPOINT={n}"]
        subprocess.run([*command, "-o", str(folder / f"{n}.cubin"), str(unit)], check=True, capture_output=True)


def main() -> None:
    """Print variants per minute."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", type=int, default=12)
    count = parser.parse_args().variants
    source = find_kernel("gemm_tiled.cu").resolve()
    tools = find_tools()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder = Builder(tools, cache_dir=folder / "cache")

        def build() -> None:
            failed = [each for each in builder.build_all(requests(count, source)) if not isinstance(each, Build)]
            assert not failed, failed[0]

        rows = {
            f"gpuprof, empty cache, {builder.jobs} jobs": seconds(build),
            "gpuprof, full cache": seconds(build),
            "nvcc one by one": seconds(lambda: by_hand(tools.require("nvcc").path, source, count, folder)),
        }
    for title, spent in rows.items():
        print(f"{title:<36} {count} variants in {spent:7.2f} s  {60 * count / spent:10,.0f} per minute")


if __name__ == "__main__":
    main()
