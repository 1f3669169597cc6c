"""How fast launches of one to four blocks with data-dependent loops run, in CPU seconds: other work does not count.

    python benchmarks/few_blocks.py [--arch sm_90]

Rates are million warp instructions per CPU second, of a launch after the first (which also translates and compiles).
Such launches ran at 0.04 to 0.09 before lanes were compiled.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path

import numpy as np

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest

SOURCE = Path(__file__).with_suffix(".cu")
COUNT = 4096
NUMBERS = np.arange(COUNT, dtype=np.int32)
EMPTY = np.zeros(COUNT, np.int32)
ROUGH = (NUMBERS % 100).astype(np.float32)
#: Kernel -> blocks, threads, dynamic shared bytes, arguments (an array is a buffer with that content).
CASES: dict[str, tuple[int, int, int, tuple[np.ndarray | int, ...]]] = {
    "collatz": (1, 256, 0, (NUMBERS + 1, EMPTY, COUNT)),
    "walk": (4, 1024, 0, (NUMBERS - 1 - NUMBERS % 7, NUMBERS * 37 % COUNT, EMPTY, COUNT)),
    "bitonic": (1, 512, 4 * COUNT, (NUMBERS * 7919 % 10007, COUNT)),
    "mandel": (2, 128, 0, (EMPTY, 64, 64, 500)),
    "jacobi": (1, 256, 0, (ROUGH, EMPTY, COUNT, 100, EMPTY[:1])),
}


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def rates(cubin: Path, symbol: str, kernel: str, engine: str) -> tuple[LaunchCounters, float, float]:
    """What a launch counts, and the CPU seconds of the first launch and of the second one."""
    blocks, threads, shared, given = CASES[kernel]
    device = EmulatedDevice(EmulationOptions(engine=engine, threads=1))
    buffers = [(device.allocate(each.nbytes), each) for each in given if isinstance(each, np.ndarray)]
    handles = iter(buffers)
    arguments = tuple(
        Pointer(next(handles)[0]) if isinstance(each, np.ndarray) else np.int32(each).tobytes() for each in given
    )
    launch = Launch(cubin, symbol, (blocks, 1, 1), (threads, 1, 1), shared, arguments)
    taken = []
    for _ in range(2):
        for handle, content in buffers:
            device.write(handle, content)
        start = cpu_seconds()
        counters = device.launch(launch)
        taken.append(cpu_seconds() - start)
    return counters, taken[0], taken[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_89")
    arch = parser.parse_args().arch
    builder = Builder(find_tools())
    print(f"{'kernel':<10}{'blocks':>7}{'warp instr.':>13}{'auto':>9}{'numpy':>9}{'first launch, s':>17}")
    for kernel, (blocks, *_) in CASES.items():
        build = builder.build(BuildRequest(SOURCE, kernel, arch))
        counters, first, second = rates(build.cubin, build.symbol, kernel, "auto")
        _, _, numpy_s = rates(build.cubin, build.symbol, kernel, "numpy")
        count = counters.counters["smsp__inst_executed.sum"]
        mine, theirs = count / second / 1e6, count / numpy_s / 1e6
        print(f"{kernel:<10}{blocks:>7}{count:>13,}{mine:>9.2f}{theirs:>9.2f}{first:>17.2f}")


if __name__ == "__main__":
    main()
