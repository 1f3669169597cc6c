"""How fast the emulator's engines are: warp instructions per second for whole grids of ten bundled kernels.

    python benchmarks/emulator_rate.py                 # both engines, all cores
    python benchmarks/emulator_rate.py --scale 2 --threads 1 --arch sm_90 --repeats 3

Needs nvcc and nvdisasm (``pip install '.[toolchain]'``), and g++ for the compiled engine. Loading, translating and
compiling are left out of the rate; ``first`` is what a first launch takes with them. The best of the repeats counts.
The goals on two cores: 300 million a second for the naive GEMM, 200 for the tiled one.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
INSTRUCTIONS = "smsp__inst_executed.sum"
#: An argument: an integer, a float, or the elements of a buffer of 32-bit values.
Argument = int | float | tuple[int]


@dataclass(frozen=True)
class Case:
    """A kernel and its launch."""

    source: str
    kernel: str
    grid: tuple[int, int]
    block: tuple[int, int]
    arguments: tuple[Argument, ...]
    shared: int = 0


def gemm(source: str, kernel: str, size: int, tile: int) -> Case:
    """A square product; a thread per element."""
    blocks, area = -(-size // tile), (size * size,)
    return Case(source, kernel, (blocks, blocks), (tile, tile), (size, size, size, area, area, area))


def cases(scale: int) -> tuple[Case, ...]:
    """Ten kernels; ``scale`` multiplies the edges of matrices and the lengths of vectors."""
    size, count, rows, columns = 256 * scale, 1 << 20, 512 * scale, 1024
    area, plane, vector = (size * size,), (rows * columns,), (count * scale,)
    micro = (size, size, size, 1.0, area, area, 0.0, area)
    length = count * scale
    return (
        gemm("gemm_naive.cu", "gemm_naive_kernel<float>", size, 16),
        gemm("gemm_tiled.cu", "gemm_tiled_kernel<float, 16>", size, 16),
        gemm("gemm_tiled.cu", "gemm_tiled_kernel<float, 32>", size, 32),
        Case("micro_gemm_8x8.cu", "micro_gemm_8x8", (size // 128, size // 128), (16, 16), micro, 16384),
        Case("saxpy.cu", "saxpy_float", (length // 256, 1), (256, 1), (length, 2.5, vector, vector)),
        Case("transpose.cu", "transpose_tiled<8>", (columns // 32, rows // 32), (32, 8), (rows, columns, plane, plane)),
        Case("softmax.cu", "softmax_block<256>", (rows, 1), (256, 1), (rows, columns, plane, plane)),
        Case("gemv.cu", "gemv_warp", (rows // 4, 1), (128, 1), (rows, columns, plane, (columns,), (rows,))),
        Case("stencil.cu", "stencil_2d_shared", (columns // 32, rows // 8), (32, 8), (rows, columns, plane, plane)),
        Case("histogram.cu", "histogram_shared", (64, 1), (256, 1), (length, vector, (256,))),
    )


@dataclass(frozen=True)
class Rate:
    """What launches of the whole grid took: the first one, and the best of the others."""

    instructions: int
    first: float
    seconds: float
    engine: str

    @property
    def millions(self) -> float:
        return self.instructions / self.seconds / 1e6


def measure(build: Build, case: Case, engine: str, threads: int | None, repeats: int) -> Rate:
    """Launch the kernel once to load it, and then for its time."""
    device = EmulatedDevice(EmulationOptions(threads=threads, per_instruction=False, engine=engine))
    arguments: list[Pointer | bytes] = []
    for argument in case.arguments:
        if isinstance(argument, tuple):
            handle = device.allocate(4 * argument[0])
            device.write(handle, np.arange(argument[0], dtype=np.int32) % 251)
            arguments.append(Pointer(handle))
        else:
            kind = np.float32 if isinstance(argument, float) else np.int32
            arguments.append(kind(argument).tobytes())
    launch = Launch(build.cubin, build.symbol, (*case.grid, 1), (*case.block, 1), case.shared, tuple(arguments))
    first, counters = timed(device, launch)
    best = min(timed(device, launch)[0] for _ in range(repeats))
    return Rate(counters.counters[INSTRUCTIONS], first, best, counters.engine)


def timed(device: EmulatedDevice, launch: Launch) -> tuple[float, LaunchCounters]:
    start = time.perf_counter()
    counters = device.launch(launch)
    return time.perf_counter() - start, counters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--arch", default="sm_89")
    options = parser.parse_args()
    builder = Builder(find_tools())
    print(f"{'kernel':<30}{'warp instructions':>20}{'compiled':>10}{'numpy':>8}{'times':>7}{'first s':>9}")
    rates: list[float] = []
    for case in cases(options.scale):
        build = builder.build(BuildRequest(KERNELS / case.source, case.kernel, options.arch))
        mine, theirs = (
            measure(build, case, engine, options.threads, options.repeats) for engine in ("compiled", "numpy")
        )
        rates.append(mine.millions)
        note = "" if mine.engine == "compiled" else f"  ({mine.engine})"
        print(
            f"{case.kernel:<30}{mine.instructions:>20,}{mine.millions:>10.1f}{theirs.millions:>8.1f}"
            f"{mine.millions / theirs.millions:>7.1f}{mine.first:>9.2f}{note}",
            flush=True,
        )
    mean = math.exp(sum(math.log(rate) for rate in rates) / len(rates))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"rates in million/s; geometric mean of the compiled engine {mean:.1f}; peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
