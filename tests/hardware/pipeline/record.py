"""Time dependent instructions, register banks and code of many sizes on a GPU.

    python tests/hardware/pipeline/record.py OUT [--build-only]

Needs nvcc on PATH and, but for --build-only, pycuda; a minute on 16 cores. Writes OUT/pipeline.json:

- ``latencies``: cycles from the issue of an instruction to the issue of one that needs its result, in code as ptxas
  schedules it: the slope between chains of 64 and 128 links, one warp.
- ``banks``: cycles per FFMA of one warp for patterns of source registers, by their numbers and reuse bits: the slope
  between runs of 256 and 512. Every stall count is 1, so that whatever is over 1 comes from reading registers.
- ``loops``: cycles per FFMA of a loop by its size in KiB and the number of warps in the block.

A part that fails is a sentence under ``failures``; what was timed is written whatever happens.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from sources import CHAINS, chain, loop_of, run_of_ffma  # noqa: E402

SECONDS = 110.0
KIB = (2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 112, 120, 128, 136, 144, 160, 192, 256)
WARPS = (1, 4, 16)
LENGTHS = (64, 128)
RUNS = (256, 512)
FFMA = 0x223  #: the low 12 bits of an FFMA whose operands are all registers
Pattern = list[tuple[int, int, int, int]]  #: places of the three sources in the list of registers; reuse bits


def sources() -> dict[str, str]:
    """Every source by the name of its cubin."""
    found = {
        f"chain_{number}_{length}": chain(name, length) for number, name in enumerate(CHAINS) for length in LENGTHS
    }
    found |= {f"run_{length}": run_of_ffma(length) for length in RUNS}
    found |= {f"loop_{kib}": loop_of(kib * 64) for kib in KIB}
    return found


def build_all(arch: str, folder: Path) -> dict[str, bytes]:
    """All cubins that nvcc makes, the largest first so that none is left alone at the end."""
    names = sorted(sources().items(), key=lambda item: -len(item[1]))
    with ThreadPoolExecutor(16) as pool:
        built = pool.map(lambda item: build(arch, folder, *item), names)
        return {name: image for (name, _), image in zip(names, built, strict=True) if image}


def build(arch: str, folder: Path, name: str, text: str) -> bytes:
    source, cubin = folder / f"{name}.cu", folder / f"{name}.cubin"
    source.write_text(text)
    done = subprocess.run(["nvcc", "-cubin", f"-arch={arch}", "-w", "-o", str(cubin), str(source)], capture_output=True)
    if done.returncode:
        sys.stderr.write(f"{name}: {done.stderr.decode()[:300]}\n")
        return b""
    return cubin.read_bytes()


def ffma_places(image: bytes) -> list[int]:
    """Byte offsets of the longest stretch of consecutive FFMA instructions."""
    best: list[int] = []
    run: list[int] = []
    for offset in range(0, len(image) - 15, 16):
        if int.from_bytes(image[offset : offset + 2], "little") & 0xFFF == FFMA:
            run.append(offset)
            best = run if len(run) > len(best) else best
        else:
            run = []
    return best


def registers_of(image: bytes, places: list[int]) -> list[int]:
    """The registers that the stretch reads or writes: they hold nothing that the kernel needs elsewhere."""
    return sorted({image[place + byte] for place in places for byte in (2, 3, 4, 8)})


def with_pattern(image: bytes, places: list[int], registers: list[int], pattern: Pattern) -> bytes:
    """The stretch reading ``pattern`` over and over: stall counts of 1, results to registers that it does not read."""
    changed = bytearray(image)
    read = {registers[place] for sources in pattern for place in sources[:3]}
    targets = [register for register in registers if register not in read][:8]
    for number, place in enumerate(places):
        first, second, third, reuse = pattern[number % len(pattern)]
        changed[place + 2] = targets[number % len(targets)]
        changed[place + 3], changed[place + 4] = registers[first], registers[second]
        changed[place + 8] = registers[third]
        word = int.from_bytes(changed[place : place + 16], "little")
        if number < len(places) - 1:  # the last one keeps its own, so that the clock is read as in the run as compiled
            word = word & ~((0x1F << 105) | (0xF << 122)) | (0x11 << 105) | (reuse << 122)
        changed[place : place + 16] = word.to_bytes(16, "little")
    return bytes(changed)


def patterns(registers: list[int]) -> list[Pattern]:
    """Every triple of residues modulo 4 twice over, the operand pair that reuse takes away, then random sequences."""
    by_residue = {rest: [n for n, register in enumerate(registers) if register % 4 == rest] for rest in range(4)}
    found: list[Pattern] = []
    for rests in product(range(4), repeat=3):
        rows: Pattern = []
        for turn in (0, 1):
            row = [by_residue[rest][3 * turn + slot] for slot, rest in enumerate(rests)]
            rows.append((row[0], row[1], row[2], 0))
        found.append(rows)
    generator = random.Random(7)
    for count in range(400):
        usable = list(range(8, len(registers))) if count % 2 else [n for n in range(8, len(registers)) if n % 2]
        rows = []
        for _ in range(8):
            first, second, third = (generator.choice(usable[:24]) for _ in range(3))
            rows.append((first, second, third, generator.choice((0, 0, 1, 2, 4, 3)) if count % 3 == 0 else 0))
        found.append(rows)
    return found


class Timer:
    """Loads cubins and times their kernel ``timed``."""

    def __init__(self) -> None:
        import pycuda.driver as driver

        driver.init()
        self._driver = driver
        self.device = driver.Device(0)
        self._context = self.device.make_context()
        self._data = driver.mem_alloc(1 << 20)
        self._ticks = driver.mem_alloc(8 * 64)
        driver.memset_d32(self._data, 0, 1 << 18)

    def ticks(self, image: bytes, warps: int = 1) -> int:
        import numpy as np

        module = self._driver.module_from_buffer(image)
        kernel = module.get_function("timed")
        least = 1 << 40
        for _ in range(2):
            kernel(self._data, self._ticks, block=(32 * warps, 1, 1), grid=(1, 1))
            self._context.synchronize()
            ticks = np.zeros(warps, np.int64)
            self._driver.memcpy_dtoh(ticks, self._ticks)
            least = min(least, int(ticks.max()))
        return least

    def close(self) -> None:
        self._context.pop()


def measure(timer: Timer, cubins: dict[str, bytes], result: dict[str, Any], deadline: float) -> None:
    """Fill ``result``; stops where the time is over."""
    for number, name in enumerate(CHAINS):
        short, long = (timer.ticks(cubins[f"chain_{number}_{length}"]) for length in LENGTHS)
        result["latencies"][name] = (long - short) / (LENGTHS[1] - LENGTHS[0])
    for kib in KIB:
        for warps in WARPS:
            ticks = timer.ticks(cubins[f"loop_{kib}"], warps)
            result["loops"].append({"kib": kib, "warps": warps, "cycles_per_instruction": ticks / (kib * 64)})
    images = [cubins[f"run_{length}"] for length in RUNS]
    places = [ffma_places(image) for image in images]
    registers = sorted(set(registers_of(images[0], places[0])) & set(registers_of(images[1], places[1])))
    for pattern in patterns(registers):
        if time.monotonic() > deadline:
            result["failures"].append("the time was over before all register patterns were timed")
            return
        short, long = (
            timer.ticks(with_pattern(image, place, registers, pattern))
            for image, place in zip(images, places, strict=True)
        )
        named = [[registers[place] for place in row[:3]] + [row[3]] for row in pattern]
        cycles = (long - short) / (len(places[1]) - len(places[0]))
        result["banks"].append({"pattern": named, "cycles_per_instruction": cycles})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--build-only", action="store_true", help="build and patch, time nothing")
    options = parser.parse_args()
    deadline = time.monotonic() + SECONDS
    options.out.mkdir(parents=True, exist_ok=True)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        cubins = build_all(options.arch, Path(folder))
    image = cubins["run_256"]
    places = ffma_places(image)
    registers = registers_of(image, places)
    print(f"{len(cubins)} cubins, a run of {len(places)} FFMA over {len(registers)} registers")
    (options.out / "run_patched.cubin").write_bytes(with_pattern(image, places, registers, patterns(registers)[70]))
    if options.build_only:
        return
    result: dict[str, Any] = {"latencies": {}, "banks": [], "loops": [], "failures": []}
    try:
        timer = Timer()
        result["device"] = timer.device.name()
        measure(timer, cubins, result, deadline)
        timer.close()
    except Exception as error:  # what was timed is kept
        result["failures"].append(f"{type(error).__name__}: {error}")
    (options.out / "pipeline.json").write_text(json.dumps(result))
    (options.out / "run_patched.cubin").unlink()


if __name__ == "__main__":
    main()
