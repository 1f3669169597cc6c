"""Run compute-sanitizer's four tools over the kernels with planted faults, on a machine with a GPU.

    python -m tests.sanitizer.record_compute_sanitizer FOLDER [--arch sm_90] [--jobs 12] [--seconds 280]

writes FOLDER/compute_sanitizer.json.gz: for each kernel and tool the text, the seconds and how it ended, and for each
kernel how many different results 100 plain runs gave. ``agreement.py`` beside it makes the table of docs/results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.sanitizer.cases import FILES, Case, cases
from tests.sanitizer.launching import KERNELS

#: name -> arguments of compute-sanitizer
TOOLS = {
    "memcheck": ["--tool", "memcheck"],
    "racecheck": ["--tool", "racecheck", "--racecheck-report", "all", "--racecheck-detect-level", "info"],
    "initcheck": ["--tool", "initcheck"],
    "initcheck_all": ["--tool", "initcheck", "--initcheck-address-space", "all"],
    "synccheck": ["--tool", "synccheck"],
}
#: One launch under a tool; a kernel that hangs is ended then.
LAUNCH_SECONDS = 25
HANG_SECONDS = 10
PLAIN_RUNS = 100
_KEPT_CHARACTERS = 6000

_MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>
#include "@FILE@"
struct Row { const char* name; void (*kernel)(int*, int*, float*, int); int grid, block, shared, n; };
static const Row rows[] = {@ROWS@};
int main(int argc, char** argv) {
    const int count = 4096, runs = argc > 2 ? atoi(argv[2]) : 0;
    std::vector<int> a(count); std::vector<float> f(count);
    for (int i = 0; i < count; ++i) { a[i] = i * 7 % 101; f[i] = a[i] / 4.0f; }
    for (const Row& row : rows) {
        if (strcmp(row.name, argv[1])) continue;
        int *da, *db; float* df;
        cudaMalloc(&da, 4 * count); cudaMalloc(&db, 4 * count); cudaMalloc(&df, 4 * count);
        std::set<std::string> seen;
        for (int run = 0; run < (runs ? runs : 1); ++run) {
            cudaMemcpy(da, a.data(), 4 * count, cudaMemcpyHostToDevice);
            cudaMemcpy(df, f.data(), 4 * count, cudaMemcpyHostToDevice);
            if (runs) cudaMemset(db, 0x5a, 4 * count);
            row.kernel<<<row.grid, row.block, row.shared>>>(da, db, df, row.n);
            cudaError_t error = cudaDeviceSynchronize();
            if (error != cudaSuccess) { printf("CUDA error: %s\n", cudaGetErrorString(error)); return 3; }
            if (!runs) continue;
            std::string all(12 * count, 0);
            cudaMemcpy(&all[0], da, 4 * count, cudaMemcpyDeviceToHost);
            cudaMemcpy(&all[4 * count], db, 4 * count, cudaMemcpyDeviceToHost);
            cudaMemcpy(&all[8 * count], df, 4 * count, cudaMemcpyDeviceToHost);
            seen.insert(all);
        }
        printf("results %d\n", (int)seen.size());
        return 0;
    }
    return 4;
}
"""


def host_program(file: str) -> str:
    """The source of a program that launches a kernel of ``file`` by name."""
    rows = ", ".join(
        f'{{"{case.kernel}", {case.kernel}, {case.grid}, {case.block}, {case.shared}, {case.n}}}'
        for case in cases()
        if case.file == file
    )
    return _MAIN.replace("@FILE@", file).replace("@ROWS@", rows)


def build(file: str, folder: Path, arch: str) -> Path:
    """Compile it; raises CalledProcessError."""
    source, program = folder / f"main_{file}", folder / Path(file).stem
    source.write_text(host_program(file), encoding="utf-8")
    command = ["nvcc", f"-arch={arch}", "-O3", "-lineinfo", f"-I{KERNELS}", "-o", str(program), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def run(command: list[str], deadline: float, seconds: float = LAUNCH_SECONDS) -> dict[str, Any]:
    """One process with its time limit; what it printed, cut."""
    limit = min(seconds, deadline - time.monotonic())
    if limit <= 1:
        return {"skipped": True}
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False, errors="replace")
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else (late.stdout or "")
        return {"timed_out": True, "seconds": time.monotonic() - started, "text": text[:_KEPT_CHARACTERS]}
    text = re.sub(r"\n=========     Host Frame:.*|\n=========         Host Frame:.*", "", done.stdout + done.stderr)
    seconds = time.monotonic() - started
    return {"code": done.returncode, "seconds": seconds, "text": text[:_KEPT_CHARACTERS], "end": text[-300:]}


def record(case: Case, program: Path, deadline: float) -> dict[str, Any]:
    """All tools over one kernel, and the plain runs (not of a kernel that hangs)."""
    seconds = HANG_SECONDS if case.hangs else LAUNCH_SECONDS
    found = {
        name: run(["compute-sanitizer", *flags, str(program), case.kernel], deadline, seconds)
        for name, flags in TOOLS.items()
    }
    if not case.hangs:
        found["plain"] = run([str(program), case.kernel, str(PLAIN_RUNS)], deadline)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=280.0)
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    versions = {
        name: subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout.strip()[-200:]
        for name in ("nvcc", "compute-sanitizer", "nvidia-smi")
        if shutil.which(name)
    }
    results: dict[str, Any] = {}
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        builds = {file: pool.submit(build, file, Path(scratch), options.arch) for file in FILES}
        programs = {}
        for file, future in builds.items():
            try:
                programs[file] = future.result()
            except subprocess.CalledProcessError as error:
                results[file] = {"build_failed": error.stderr[-2000:]}
        chosen = sorted((case for case in cases() if case.file in programs), key=lambda case: case.hangs)
        futures = {case.kernel: pool.submit(record, case, programs[case.file], deadline) for case in chosen}
        for kernel, future in futures.items():
            try:
                results[kernel] = future.result()
            except OSError as error:
                results[kernel] = {"failed": str(error)}
    with gzip.open(options.folder / "compute_sanitizer.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"arch": options.arch, "versions": versions, "results": results}, file, indent=1)
    print(f"{len(results)} kernels, {sum('racecheck' in each for each in results.values())} under the tools")


if __name__ == "__main__":
    main()
