"""Occupancy over block sizes and registers per thread, on two architectures."""

import gpuprof

for arch in ("sm_89", "sm_90"):
    print(f"{arch}: occupancy in percent")
    print("registers " + "".join(f"{threads:>6}" for threads in (64, 128, 256, 512, 1024)))
    for registers in (32, 64, 128):
        cells = (gpuprof.occupancy(threads, arch=arch, registers=registers) for threads in (64, 128, 256, 512, 1024))
        print(f"{registers:>9} " + "".join(f"{cell.percent:>6.0f}" for cell in cells))
