"""How long reading machine code takes: nvdisasm, the parser, and the analysis, over cubins or libraries.

``python benchmarks/sass_speed.py FILE...`` takes cubins, executables and shared libraries (their cubins are extracted
first), the smallest cubins first. Without files it makes a cubin of about 100,000 instructions with nvcc. Seconds are
of the CPU, user and system, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.profile.code_facts import facts_of
from gpuprof.sass.analysis import analyse
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import Toolchain, find_tools
from gpuprof.toolchain.disasm import OPTIONS
from gpuprof.toolchain.extract import extract_cubins

#: One function of this has about 1,560 instructions on sm_89.
_BODY = """
extern "C" __global__ void k{n}(float* o, const float* a, int n) {{
    float x = a[threadIdx.x], y = a[n], z = x + {n}.5f;
    for (int i = 0; i < n; ++i) {{
#pragma unroll
        for (int k = 0; k < 500; ++k) {{ x = x * y + z; y = y * z + x; z = z * x + y; }}
        o[i] = x;
    }}
    o[threadIdx.x] = x + y + z;
}}
"""
_FUNCTIONS = 64
_TEXT = b"\0.text."  #: in a cubin's section names when it has code


@dataclass
class Totals:
    """CPU seconds and counts over all cubins of one file."""

    cubins: int = 0
    without_code: int = 0
    functions: int = 0
    instructions: int = 0
    not_understood: int = 0
    loops: int = 0
    failed: int = 0
    nvdisasm: float = 0.0
    parse: float = 0.0
    analyse: float = 0.0
    slowest: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--no-analysis", action="store_true", help="parse only")
    parser.add_argument("--most-cubins", type=int, help="stop after this many cubins of a file")
    parser.add_argument("--most-seconds", type=float, default=float("inf"), help="stop a file after this long (clock)")
    options = parser.parse_args()
    tools = find_tools()
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or [_large_cubin(tools, Path(folder))]
        for number, file in enumerate(files):
            cubins = extract_cubins(tools, file, Path(folder) / str(number))
            cubins = sorted(cubins, key=lambda cubin: cubin.stat().st_size)[: options.most_cubins]
            end = time.monotonic() + options.most_seconds
            _report(file.name, len(cubins), _measure(tools, cubins, end, analysis=not options.no_analysis))


def _large_cubin(tools: Toolchain, folder: Path) -> Path:
    source = folder / "large.cu"
    source.write_text("".join(_BODY.format(n=number) for number in range(_FUNCTIONS)), encoding="utf-8")
    cubin = folder / "large.cubin"
    nvcc = str(tools.require("nvcc").path)
    subprocess.run([nvcc, "-arch=sm_89", "-lineinfo", "-cubin", "-o", str(cubin), str(source)], check=True)
    return cubin


def _measure(tools: Toolchain, cubins: list[Path], end: float, *, analysis: bool) -> Totals:
    totals = Totals()
    nvdisasm = str(tools.require("nvdisasm").path)
    kinds: Counter[str] = Counter()
    for cubin in cubins:
        if time.monotonic() > end:
            break
        if _TEXT not in cubin.read_bytes():
            totals.without_code += 1
            continue
        start = _children_cpu()
        done = subprocess.run([nvdisasm, *OPTIONS, str(cubin)], capture_output=True)
        totals.nvdisasm += _children_cpu() - start
        if done.returncode:
            totals.failed += 1
        else:
            _read(done.stdout.decode("utf-8", "replace"), totals, kinds, analysis=analysis)
    for text, count in kinds.most_common(10):
        print(f"not understood, {count}x: {text}")
    return totals


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _read(text: str, totals: Totals, kinds: Counter[str], *, analysis: bool) -> None:
    """Parse and analyse one cubin's disassembly; what is counted goes into ``totals`` and ``kinds``."""
    start = time.process_time()
    try:
        code = parse_disassembly(text)
    except GpuprofError as error:
        totals.failed += 1
        print(f"not read: {error}")
        return
    totals.parse += time.process_time() - start
    totals.cubins += 1
    for function in code.functions.values():
        totals.functions += 1
        totals.instructions += len(function.instructions)
        raw = [one.text for one in function.instructions if not one.understood]
        totals.not_understood += len(raw)
        kinds.update(raw)
        if analysis:
            start = time.process_time()
            totals.loops += len(facts_of(analyse(function, code.arch)).loops)
            took = time.process_time() - start
            totals.analyse += took
            totals.slowest = max(totals.slowest, took)


def _report(name: str, there: int, totals: Totals) -> None:
    print(
        f"{name}: {totals.cubins} of {there} cubins ({totals.without_code} more without code), {totals.functions} "
        f"functions, {totals.instructions:,} instructions, {totals.loops} loops, {totals.not_understood} lines not "
        f"understood, {totals.failed} cubins not read\n"
        f"  CPU seconds: nvdisasm {totals.nvdisasm:.2f}, parse {totals.parse:.2f}, analysis {totals.analyse:.2f} "
        f"(slowest function {totals.slowest:.2f})"
    )


if __name__ == "__main__":
    main()
