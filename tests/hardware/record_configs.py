"""Record the launches of ``recorded_launches`` on a GPU: outputs and Nsight Compute counters.

    python tests/hardware/record_configs.py OUT

Needs a GPU of compute capability 9.0, nvcc and ncu on the PATH, pycuda and numpy; no gpuprof. Writes to OUT:
``configs.json`` (launches with their recipes, output checksums and counters; GPU, driver and tool versions),
``configs_cubins.zip`` (the cubins by their sha256) and ``configs_outputs.npz`` (every output).
``test_recorded_configs.py`` replays them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from recorded_launches import KERNELS, RecordedLaunch, all_launches, filled

ARCH = "sm_90"
HERE = Path(__file__).resolve().parent
FOLDERS = {KERNELS: HERE.parents[1] / "kernels", "microkernels": HERE / "microkernels"}
NCU_FLAGS = ("--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--print-units", "base")

#: Counters that repeat exactly from launch to launch, by Nsight Compute's names.
OPERATIONS = (
    "bit",
    "control",
    "conversion",
    "dadd",
    "dfma",
    "dmul",
    "fadd",
    "ffma",
    "fmul",
    "fp16",
    "fp32",
    "fp64",
    "hadd",
    "hfma",
    "hmul",
    "integer",
    "inter_thread_communication",
    "memory",
    "misc",
    "uniform",
)
METRICS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "sm__warps_launched.sum",
    *(f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum" for operation in OPERATIONS),
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_inst_executed_op_branch.sum",
    *(f"smsp__sass_inst_executed_op_global_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"smsp__sass_inst_executed_op_local_{op}.sum" for op in ("ld", "st")),
    *(f"smsp__sass_inst_executed_op_shared_{op}.sum" for op in ("ld", "st", "atom")),
    "smsp__sass_inst_executed_op_ldgsts.sum",
    "smsp__sass_inst_executed_op_ldsm.sum",
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom")),
    *(f"l1tex__t_sectors_pipe_lsu_mem_local_op_{op}.sum" for op in ("ld", "st")),
    *(f"l1tex__t_requests_pipe_lsu_mem_local_op_{op}.sum" for op in ("ld", "st")),
    *(f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red", "atom", "ldgsts")),
    *(f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_{op}.sum" for op in ("ld", "st")),
    "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "smsp__sass_l1tex_tags_mem_global.sum",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum",
    *(
        f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        for op in ("ld", "st", "atom", "ldsm", "ldgsts", "ldgsts_cache_access", "ldgsts_cache_bypass")
    ),
    *(f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ldgsts", "ldsm")),
)
#: Wanted as well, where this ncu has them.
OPTIONAL_METRICS = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l2_theoretical_sectors_local",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_tensor.sum",
)
FACTS = (
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
    "launch__shared_mem_per_block_static",
)


def template_of(launch: RecordedLaunch) -> str:
    """The template instance that the launch needs; empty for a plain function."""
    return launch.kernel if "<" in launch.kernel else ""


def build_key(launch: RecordedLaunch) -> tuple[object, ...]:
    """Launches of one key share a cubin."""
    return (launch.folder, launch.source, template_of(launch), launch.flags)


def build(launch: RecordedLaunch, scratch: Path) -> Path:
    """The cubin of the launch's kernel; a template is instantiated in a unit that includes the source."""
    key = hashlib.sha256(repr(build_key(launch)).encode()).hexdigest()[:16]
    unit, cubin = scratch / f"{key}.cu", scratch / f"{key}.cubin"
    template = template_of(launch)
    instance = f"template __global__ decltype({template}) {template};\n" if template else ""
    unit.write_text(f'#include "{FOLDERS[launch.folder] / launch.source}"\n{instance}')
    command = ["nvcc", "-O3", f"-arch={ARCH}", "-lineinfo", "-cubin", *launch.flags, "-o", str(cubin), str(unit)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return cubin


def build_all(launches: Sequence[RecordedLaunch], scratch: Path) -> dict[str, Path]:
    """Cubin by launch name; equal kernels are built once, at most sixteen at a time."""
    keys = {launch.name: build_key(launch) for launch in launches}
    first = {build_key(launch): launch for launch in launches}
    with ThreadPoolExecutor(16) as pool:
        cubins = dict(zip(first, pool.map(lambda launch: build(launch, scratch), first.values()), strict=True))
    return {name: cubins[key] for name, key in keys.items()}


def entry_symbol(cubin: bytes, kernel: str) -> str:
    """The mangled name of the kernel, from the names of the ELF's ``.text`` sections."""
    offset, size, count, names = (*struct.unpack_from("<Q", cubin, 0x28), *struct.unpack_from("<3H", cubin, 0x3A))
    table = struct.unpack_from("<Q", cubin, offset + names * size + 0x18)[0]
    symbols = []
    for index in range(count):
        start = table + struct.unpack_from("<I", cubin, offset + index * size)[0]
        name = cubin[start : cubin.index(b"\0", start)].decode()
        if name.startswith(".text."):
            symbols.append(name.removeprefix(".text."))
    base = kernel.split("<")[0]
    found = [name for name in symbols if name == base or re.search(rf"\D{len(base)}{base}I", name)]
    if len(found) != 1:
        raise SystemExit(f"{kernel}: {len(found)} entries match among {symbols}")
    return found[0]


def drive(plan: Path, outputs: Path | None) -> None:
    """Launch everything once, in order; with ``outputs``, save what the output buffers hold."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    modules: dict[str, Any] = {}
    kept: dict[str, np.ndarray] = {}
    for number, item in enumerate(json.loads(plan.read_text())):
        if item["cubin"] not in modules:
            modules[item["cubin"]] = cuda.module_from_file(item["cubin"])
        function = modules[item["cubin"]].get_function(item["symbol"])
        arguments, buffers = [], []
        for arg in item["args"]:
            if arg["kind"] == "scalar":
                arguments.append(np.dtype(arg["dtype"]).type(arg["value"]))
                continue
            host = filled(arg["dtype"], arg["count"], arg["fill"])
            buffers.append((arg, host, cuda.to_device(host)))
            arguments.append(buffers[-1][2])
        if item["shared"] > 48 * 1024:
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, item["shared"])
        block = (*item["block"], 1, 1)[:3]
        grid = (*item["grid"], 1, 1)[:3]
        try:
            function(*arguments, block=block, grid=grid, shared=item["shared"])
            context.synchronize()
        except cuda.Error as error:
            raise SystemExit(f"{item['name']}: {error}") from None
        for position, (arg, host, device) in enumerate(buffers):
            if arg["output"]:
                cuda.memcpy_dtoh(host, device)
                kept[f"{number}_{position}"] = host.view(np.uint8)
            device.free()
    context.synchronize()
    if outputs is not None:
        np.savez_compressed(outputs, **kept)
    context.pop()
    context.detach()


def plan_of(launches: Sequence[RecordedLaunch], cubins: dict[str, Path]) -> list[dict[str, Any]]:
    """What the driving process reads: recipes with cubin paths and symbols."""
    return [
        {
            **launch.recipe(),
            "cubin": str(cubins[launch.name]),
            "symbol": entry_symbol(cubins[launch.name].read_bytes(), launch.kernel),
        }
        for launch in launches
    ]


def known_optional() -> list[str]:
    """The optional metrics that this ncu lists; none when it cannot say."""
    done = subprocess.run(["ncu", "--query-metrics", "--chip", "gh100"], capture_output=True, text=True)
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return [name for name in OPTIONAL_METRICS if name.removesuffix(".sum") in listed]


def count(plan: Path) -> list[dict[str, str]]:
    """One row of ncu's raw page per launch, in order."""
    driver = [sys.executable, __file__, "--drive", str(plan)]
    optional = known_optional()
    for metrics in ([*METRICS, *FACTS, *optional], [*METRICS, *FACTS]):
        command = ["ncu", *NCU_FLAGS, "--metrics", ",".join(metrics), *driver]
        done = subprocess.run(command, capture_output=True, text=True)
        start = done.stdout.find('"ID"')
        if start >= 0:
            header, _units, *rows = csv.reader(io.StringIO(done.stdout[start:]))
            return [dict(zip(header, row, strict=False)) for row in rows if len(row) > 5]
        print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
    raise SystemExit("ncu gave no table")


def number_of(text: str) -> float | int | None:
    """A cell of ncu's table; None where it holds no number."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if value.is_integer() else value


def version(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout.strip() or done.stderr.strip()).splitlines()[-1]


def environment() -> dict[str, str]:
    import pycuda

    query = ("nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader")
    return {
        "gpu": version(*query),
        "nvcc": subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout.strip(),
        "ncu": version("ncu", "--version"),
        "pycuda": pycuda.VERSION_TEXT,
        "date": time.strftime("%Y-%m-%d"),
        "flags": f"-O3 -arch={ARCH} -lineinfo -cubin",
    }


def record(out: Path) -> None:
    launches = all_launches()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        started = time.monotonic()
        plan = plan_of(launches, build_all(launches, scratch))
        print(f"built in {time.monotonic() - started:.0f} s", flush=True)
        (scratch / "plan.json").write_text(json.dumps(plan))
        driver = [sys.executable, __file__, "--drive", str(scratch / "plan.json"), str(scratch / "outputs.npz")]
        subprocess.run(driver, check=True)
        print(f"outputs at {time.monotonic() - started:.0f} s", flush=True)
        write_outputs(out, plan, scratch / "outputs.npz")
        write_records(out, plan, None)  # so that a failing ncu leaves something
        rows = count(scratch / "plan.json")
        print(f"{len(rows)} rows of counters at {time.monotonic() - started:.0f} s", flush=True)
        if len(rows) != len(plan):
            raise SystemExit(f"{len(rows)} rows for {len(plan)} launches")
        write_records(out, plan, rows)


def write_outputs(out: Path, plan: list[dict[str, Any]], outputs: Path) -> None:
    """Keep the outputs, and their checksums in the plan."""
    with np.load(outputs) as arrays:
        for number, item in enumerate(plan):
            kept = [key for key in arrays.files if key.split("_")[0] == str(number)]
            item["outputs"] = {key: hashlib.sha256(arrays[key].tobytes()).hexdigest() for key in kept}
    (out / "configs_outputs.npz").write_bytes(outputs.read_bytes())


def write_records(out: Path, plan: list[dict[str, Any]], rows: list[dict[str, str]] | None) -> None:
    records, cubins = [], {}
    for number, item in enumerate(plan):
        data = Path(item["cubin"]).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        cubins[digest] = data
        record = {**item, "cubin": digest}
        if rows is not None:
            values = {
                name: number_of(rows[number].get(name, ""))
                for name in rows[number]
                if "__" in name or name.startswith("memory_")
            }
            wanted = (*METRICS, *OPTIONAL_METRICS)
            record["counters"] = {name: values[name] for name in wanted if values.get(name) is not None}
            record["facts"] = {name: values[name] for name in FACTS if values.get(name) is not None}
            record["kernel_name"] = rows[number]["Kernel Name"]
        records.append(record)
    with zipfile.ZipFile(out / "configs_cubins.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for digest, data in sorted(cubins.items()):
            archive.writestr(zipfile.ZipInfo(f"{digest}.cubin", (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    text = json.dumps({"environment": environment(), "launches": records}, indent=1)
    (out / "configs.json").write_text(text + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--drive":
        drive(Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    elif len(sys.argv) == 2:
        record(Path(sys.argv[1]))
    else:
        raise SystemExit(__doc__)
