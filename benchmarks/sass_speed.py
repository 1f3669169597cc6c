"""How long reading machine code takes: nvdisasm, the parser, and the analysis, over cubins or libraries.

``python benchmarks/sass_speed.py FILE...`` takes cubins, executables and shared libraries (their cubins are extracted
first). Without files it makes a cubin of about 100,000 instructions with nvcc. ``--markdown`` prints a table row.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import GpuprofError
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


@dataclass
class Totals:
    """Seconds and counts over all cubins of one file."""

    cubins: int = 0
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
    options = parser.parse_args()
    tools = find_tools()
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or [_large_cubin(tools, Path(folder))]
        for number, file in enumerate(files):
            cubins = extract_cubins(tools, file, Path(folder) / str(number))[: options.most_cubins]
            _report(file.name, _measure(tools, cubins, analysis=not options.no_analysis))


def _large_cubin(tools: Toolchain, folder: Path) -> Path:
    source = folder / "large.cu"
    source.write_text("".join(_BODY.format(n=number) for number in range(_FUNCTIONS)), encoding="utf-8")
    cubin = folder / "large.cubin"
    nvcc = str(tools.require("nvcc").path)
    subprocess.run([nvcc, "-arch=sm_89", "-lineinfo", "-cubin", "-o", str(cubin), str(source)], check=True)
    return cubin


def _measure(tools: Toolchain, cubins: list[Path], *, analysis: bool) -> Totals:
    totals = Totals()
    nvdisasm = str(tools.require("nvdisasm").path)
    kinds: Counter[str] = Counter()
    for cubin in cubins:
        start = time.perf_counter()
        done = subprocess.run([nvdisasm, *OPTIONS, str(cubin)], capture_output=True)
        totals.nvdisasm += time.perf_counter() - start
        if done.returncode:
            totals.failed += 1
            continue
        start = time.perf_counter()
        try:
            code = parse_disassembly(done.stdout.decode("utf-8", "replace"))
        except GpuprofError:
            totals.failed += 1
            continue
        totals.parse += time.perf_counter() - start
        totals.cubins += 1
        for function in code.functions.values():
            totals.functions += 1
            totals.instructions += len(function.instructions)
            raw = [one.text for one in function.instructions if not one.understood]
            totals.not_understood += len(raw)
            kinds.update(raw)
            if analysis:
                start = time.perf_counter()
                totals.loops += len(analyse(function, code.arch).loops)
                took = time.perf_counter() - start
                totals.analyse += took
                totals.slowest = max(totals.slowest, took)
    for text, count in kinds.most_common(10):
        print(f"not understood, {count}x: {text}")
    return totals


def _report(name: str, totals: Totals) -> None:
    print(
        f"{name}: {totals.cubins} cubins, {totals.functions} functions, {totals.instructions:,} instructions, "
        f"{totals.loops} loops, {totals.not_understood} lines not understood, {totals.failed} cubins not read\n"
        f"  nvdisasm {totals.nvdisasm:.2f} s, parse {totals.parse:.2f} s, analysis {totals.analyse:.2f} s "
        f"(slowest function {totals.slowest:.2f} s)"
    )


if __name__ == "__main__":
    main()
