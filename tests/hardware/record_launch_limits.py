"""Ask a GPU's driver which launches it takes, and whether an in-place sort is timed on unsorted data every time.

    python tests/hardware/record_launch_limits.py FOLDER [--dry-run]

Writes ``FOLDER/launch_limits.json``: per launch the driver's answer (pycuda, opted in by this script), gpuprof's
(``arch.launch_limits``) and what ``GpuDevice.launch`` did; and ``FOLDER/inplace.json``, the run of an in-place sort
beside one on a fresh copy. ``--dry-run`` builds the kernels and writes gpuprof's answers only. Takes under 90 s.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuprof.arch import get
from gpuprof.arch.launch_limits import launch_problem
from gpuprof.device.base import Launch, Pointer
from gpuprof.profile.built_variant import limits_of
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest

ARCH = "sm_90"
STATIC_BYTES = (0, 16, 1024, 4096, 16384, 32768, 49136, 49152)
#: Distances from 48 KiB and from the opt-in limit, of static and dynamic bytes together.
AROUND_DEFAULT = (-1024, -16, -8, -4, 0, 4, 8, 16, 1024)
AROUND_OPT_IN = (-1024, -16, -8, -4, 0, 4, 8, 16, 1024)
REGISTERS = (32, 64, 96, 128, 168, 255)
BLOCKS = (32, 256, 384, 512, 640, 672, 768, 896, 1024)
BOUNDS = (64, 96, 128, 256)
BOUND_BLOCKS = (32, 64, 96, 97, 128, 256, 288)
SORT_SECONDS = 60

SOURCE = """
#if STATIC_BYTES > 0
#define FIXED __shared__ int fixed[STATIC_BYTES / 4]; fixed[threadIdx.x % (STATIC_BYTES / 4)] = y[0];
#define READ fixed[(threadIdx.x + 1) % (STATIC_BYTES / 4)]
#else
#define FIXED
#define READ 0
#endif
extern "C" __global__ void shared_memory(int *y, int words)
{
    extern __shared__ int room[];
    FIXED
    if (words) room[words - 1] = y[0];
    __syncthreads();
    y[threadIdx.x] = READ + (words ? room[words - 1] : 0);
}
extern "C" __global__ void registers(int *y, int n)
{
    float r[300];
    for (int k = 0; k < 300; ++k) r[k] = y[(threadIdx.x * 7 + k * k) % n];
    for (int k = 0; k < 300; ++k) r[k] = r[k] * r[(k + 37) % 300] + r[(k + 53) % 300];
    float sum = 0;
    for (int k = 0; k < 300; ++k) sum += r[k];
    y[threadIdx.x] = sum;
}
#ifdef BOUND
extern "C" __global__ void __launch_bounds__(BOUND) bounded(int *y, int n) { y[threadIdx.x] = n; }
#endif
"""
SORT_SOURCE = """
__device__ void insertion(float *v)
{
    for (int i = 1; i < 64; ++i) {
        float x = v[i];
        int j = i - 1;
        for (; j >= 0 && v[j] > x; --j) v[j + 1] = v[j];
        v[j + 1] = x;
    }
}
extern "C" __global__ void sort_rows(float *y, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) insertion(y + i * 64);
}
extern "C" __global__ void copy_values(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
SORT_CONFIG = """
name: sort in place
sizes: {ROWS: 1024}
buffers:
  x: {dtype: float32, shape: [ROWS, 64], fill: "(i * 7919) % 1009"}
  y: {dtype: float32, shape: [ROWS, 64], fill: "(i * 7919) % 1009", output: true}
reference: {y: sort(x)}
baseline: in_place
variants:
  in_place: {source: sort.cu, kernel: sort_rows, block: 64, grid: "cdiv(ROWS, 64)", args: [y, ROWS]}
  on_a_copy:
    steps:
      - source: sort.cu
        kernel: copy_values
        block: 256
        grid: cdiv(ROWS * 64, 256)
        args: [x, y, ROWS * 64]
        timed: false
      - {source: sort.cu, kernel: sort_rows, block: 64, grid: "cdiv(ROWS, 64)", args: [y, ROWS]}
"""


@dataclass(frozen=True)
class Case:
    """One launch of a built kernel."""

    name: str
    build: Build
    block: int
    dynamic: int
    second: int  #: the kernel's second argument


def cases(builder: Builder, source: Path) -> Iterator[Case]:
    """Every launch, kernel by kernel."""
    facts = get(ARCH)
    for static in STATIC_BYTES:
        build = builder.build(BuildRequest(source, "shared_memory", ARCH, {"STATIC_BYTES": str(static)}))
        totals = [facts.shared_bytes_per_block + d for d in AROUND_DEFAULT]
        totals += [facts.shared_bytes_per_block_optin + d for d in AROUND_OPT_IN]
        exact = {49144, 49152, 49156, *(total - static for total in totals)}
        for dynamic in sorted(size for size in exact if size >= 0):
            yield Case(f"static {static} + dynamic {dynamic}", build, 32, dynamic, dynamic // 4)
    for count in REGISTERS:
        defines, flags = {"STATIC_BYTES": "0"}, (f"-maxrregcount={count}",)
        build = builder.build(BuildRequest(source, "registers", ARCH, defines, flags))
        for block in BLOCKS:
            yield Case(f"{build.resources.registers} registers x {block}", build, block, 0, 1024)
    for bound in BOUNDS:
        defines = {"STATIC_BYTES": "0", "BOUND": str(bound)}
        build = builder.build(BuildRequest(source, "bounded", ARCH, defines))
        for block in BOUND_BLOCKS:
            yield Case(f"launch bounds {bound}, block {block}", build, block, 0, 1)


def ours(case: Case) -> str:
    """gpuprof's answer: empty for a launch that it would make."""
    return launch_problem(ARCH, limits_of(case.build.resources), (1, 1, 1), (case.block, 1, 1), case.dynamic) or ""


def ask_driver(cuda: Any, device: Any, handle: Any, case: Case) -> tuple[str, str]:
    """(the driver's error, GpuDevice's error); empty where the launch ran."""
    import numpy as np

    answer = ""
    try:
        module = cuda.module_from_buffer(case.build.cubin.read_bytes())
        function = module.get_function(case.build.symbol)
        if case.dynamic:
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, case.dynamic)
        memory = cuda.mem_alloc(4096)
        cuda.memset_d8(memory, 0, 4096)
        function(memory, np.int32(case.second), grid=(1, 1), block=(case.block, 1, 1), shared=case.dynamic)
        cuda.Context.synchronize()
    except cuda.Error as error:
        answer = str(error)
    launched = ""
    arguments = (Pointer(handle), case.second.to_bytes(4, "little"))
    try:
        device.unload()
        device.launch(
            Launch(case.build.cubin, case.build.symbol, (1, 1, 1), (case.block, 1, 1), case.dynamic, arguments)
        )
    except Exception as error:
        launched = f"{type(error).__name__}: {error}"
    return answer, launched


def record_limits(folder: Path, dry: bool) -> None:
    """Write every case with its answers, and how many agree."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "limits.cu"
        source.write_text(SOURCE, encoding="utf-8")
        found = list(cases(Builder(find_tools()), source))
        device = handle = cuda = None
        if not dry:
            import pycuda.driver as cuda

            from gpuprof.device.gpu import GpuDevice

            device = GpuDevice(0)
            handle = device.allocate(4096)
        rows = []
        for case in found:
            driver, launched = ("", "") if dry else ask_driver(cuda, device, handle, case)
            rows.append({"launch": case.name, "gpuprof": ours(case), "driver": driver, "device": launched})
    agree = sum(bool(row["gpuprof"]) == bool(row["driver"]) == bool(row["device"]) for row in rows)
    summary = {"launches": len(rows), "agree": None if dry else agree, "rows": rows}
    (folder / "launch_limits.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    print(f"{len(rows)} launches" + ("" if dry else f", {agree} agree"))


def record_sort(folder: Path, dry: bool) -> None:
    """Write the run of the two sorts."""
    with tempfile.TemporaryDirectory() as scratch:
        config = Path(scratch) / "sort.yaml"
        config.write_text(SORT_CONFIG, encoding="utf-8")
        (config.parent / "sort.cu").write_text(SORT_SOURCE, encoding="utf-8")
        command = [sys.executable, "-m", "gpuprof", "run", str(config), "--no-history", "--iters", "50"]
        command += ["--device", "emulated" if dry else "gpu", "--json", str(folder / "inplace.json")]
        if dry:
            command += ["--set", "ROWS=64"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SORT_SECONDS)
        print(done.stdout, done.stderr, sep="\n")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    dry = "--dry-run" in sys.argv
    for part in (record_sort, record_limits):
        try:
            part(folder, dry)
        except Exception as error:  # the other part is still worth having
            print(f"{part.__name__}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
