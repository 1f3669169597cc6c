"""How fast the emulator is: warp instructions per second for whole grids of bundled kernels.

    python benchmarks/emulator_rate.py                 # 1024 x 1024 x 1024, all cores
    python benchmarks/emulator_rate.py --size 512 --threads 1 --arch sm_90

Needs nvcc and nvdisasm (``pip install '.[toolchain]'``). The goals on two cores: 10 million a second for the naive
GEMM, 6 million for the tiled one.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
INSTRUCTIONS = "smsp__inst_executed.sum"


@dataclass(frozen=True)
class Case:
    """A GEMM kernel and the edge of its square block, one thread per element of C."""

    source: str
    kernel: str
    tile: int


CASES = (
    Case("gemm_naive.cu", "gemm_naive_kernel<float>", 16),
    Case("gemm_tiled.cu", "gemm_tiled_kernel<float, 16>", 16),
    Case("gemm_tiled.cu", "gemm_tiled_kernel<float, 32>", 32),
)


@dataclass(frozen=True)
class Rate:
    """What one launch of the whole grid took, nvdisasm and decoding left out."""

    instructions: int
    seconds: float
    difference: float


def measure(build: Build, case: Case, size: int, threads: int | None) -> Rate:
    """Run the GEMM twice, first a single block so that the cubin is loaded; time the whole grid."""
    device = EmulatedDevice(EmulationOptions(threads=threads, per_instruction=False))
    a = (np.arange(size * size) % 13 - 6).astype(np.float32).reshape(size, size)
    b = (np.arange(size * size) % 7 - 3).astype(np.float32).reshape(size, size)
    handles = [device.allocate(a.nbytes) for _ in range(3)]
    device.write(handles[0], a)
    device.write(handles[1], b)
    dimension = size.to_bytes(4, "little")
    arguments = (dimension, dimension, dimension, *(Pointer(handle) for handle in handles))
    blocks = -(-size // case.tile)
    block = (case.tile, case.tile, 1)
    device.launch(Launch(build.cubin, build.symbol, (1, 1, 1), block, 0, arguments))
    start = time.perf_counter()
    counters = device.launch(Launch(build.cubin, build.symbol, (blocks, blocks, 1), block, 0, arguments))
    seconds = time.perf_counter() - start
    c = device.read(handles[2], "float32", (size, size))
    return Rate(counters.counters[INSTRUCTIONS], seconds, float(np.abs(c - a @ b).max()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--arch", default="sm_89")
    options = parser.parse_args()
    builder = Builder(find_tools())
    print(f"{'kernel':<32}{'warp instructions':>20}{'seconds':>10}{'million/s':>11}{'max |diff|':>12}")
    for case in CASES:
        build = builder.build(BuildRequest(KERNELS / case.source, case.kernel, options.arch))
        rate = measure(build, case, options.size, options.threads)
        speed = rate.instructions / rate.seconds / 1e6
        print(f"{case.kernel:<32}{rate.instructions:>20,}{rate.seconds:>10.2f}{speed:>11.1f}{rate.difference:>12g}")


if __name__ == "__main__":
    main()
