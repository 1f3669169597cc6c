"""Compare both driver packages on a GPU: ``python -m tests.hardware.record_drivers FOLDER``.

Needs a GPU, nvcc, and pycuda and cuda-bindings. Writes FOLDER/drivers.json: for each driver how the device's hardware
tests ended, the times of gemm_1024, and the launch and cold-protocol times of an empty kernel. ``cuda`` runs gemm_1024
in a process in which pycuda cannot be imported and, where the NVIDIA wheels hold an nvcc, with no other one on the
path: ``doctor`` of that process is kept with it. Each part has a limit of its own and may fail alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gpuprof.toolchain.tools import wheel_folders

ROOT = Path(__file__).resolve().parents[2]
EMPTY = 'extern "C" __global__ void empty(float *y) { if (y == nullptr) __trap(); }\n'
BLOCKER = "raise ImportError('hidden: this run is to work without pycuda')\n"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/device/test_gpu_device.py")


def measure_launches() -> dict[str, Any]:
    """Microseconds: enqueueing a launch on the host, and an empty kernel under both protocols."""
    import numpy as np

    from gpuprof.device.clock import sample_job
    from gpuprof.device.gpu import GpuDevice
    from gpuprof.device.jobs import BufferReference, BufferSpec, Job, KernelCall
    from gpuprof.device.session import Session
    from gpuprof.profile.setup import build_support
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    device = GpuDevice(0)
    arch = device.description.arch or ""
    builder = Builder(find_tools())
    device.support = build_support(builder, arch)
    source = Path("empty.cu").resolve()
    source.write_text(EMPTY)
    build = builder.build(BuildRequest(source, "empty", arch))
    call = KernelCall("empty", build.cubin, build.symbol, (1, 1, 1), (32, 1, 1), 0, (BufferReference("y"),))
    job = Job("empty", (BufferSpec("y", "float32", (32,), 128, output=True),), (call,))
    session = Session(device)
    session.prepare(job, 0xFF)
    session.run(job)
    launch = session.launch_of(job, call)
    host = []
    for _ in range(50):
        started = time.perf_counter()
        for _ in range(100):
            device.enqueue(launch)
        host.append((time.perf_counter() - started) * 1e4)
        device.synchronize()
    result: dict[str, Any] = {"enqueue_us": float(np.median(host))}
    for protocol in ("cold", "warm"):
        samples = sample_job(session, job, protocol, 200, 1).samples_us
        result[protocol] = {"median_us": float(np.median(samples)), "least_us": float(min(samples))}
    session.close()
    device.close()
    return result


def has_whole_toolchain() -> bool:
    """Whether the first wheel with an nvcc, and those beside it, hold the headers that it needs."""
    folders = [folder.parent / "include" for folder in wheel_folders("bin") if (folder / "nvcc").is_file()][:1]
    folders += wheel_folders("include")
    headers = ("cuda_runtime.h", "crt/host_config.h")
    return len(folders) > 1 and all(any((folder / name).is_file() for folder in folders) for name in headers)


def surroundings() -> dict[str, Any]:
    """Where nvcc and its headers could come from."""
    names = ("cuda_runtime.h", "crt/host_config.h")
    return {
        "nvcc": [str(folder) for folder in wheel_folders("bin") if (folder / "nvcc").is_file()],
        "include": {
            str(each): [name for name in names if (each / name).is_file()] for each in wheel_folders("include")
        },
        "environment": {
            name: os.environ[name] for name in ("CPATH", "CPLUS_INCLUDE_PATH", "CUDA_HOME") if name in os.environ
        },
    }


def folders_without_nvcc(path: str) -> list[str]:
    """The folders of PATH that hold no nvcc; one that holds the host compiler too is kept."""
    folders = path.split(os.pathsep)
    return [each for each in folders if not shutil.which("nvcc", path=each) or shutil.which("g++", path=each)]


def run_part(command: list[str], driver: str, seconds: float, cwd: Path, hidden: Path | None = None) -> dict[str, Any]:
    """One part in a process of its own. ``hidden``: a folder whose pycuda fails; then only wheels are used, too."""
    paths = [str(path) for path in (hidden, ROOT) if path is not None]
    paths += [path for path in (os.environ.get("PYTHONPATH"),) if path]
    environment = {**os.environ, "GPUPROF_DRIVER": driver, "PYTHONPATH": os.pathsep.join(paths)}
    if hidden is not None and has_whole_toolchain():
        environment["PATH"] = os.pathsep.join(folders_without_nvcc(os.environ["PATH"]))
        environment = {name: value for name, value in environment.items() if name not in ("CUDA_HOME", "CUDA_PATH")}
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *command], env=environment, cwd=cwd, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {seconds:.0f} s"}
    text = done.stdout[-6000:] + done.stderr[-3000:]
    return {"returncode": done.returncode, "seconds": time.perf_counter() - started, "output": text}


def main() -> None:
    """All parts for both drivers."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="record-drivers-"))
    hidden = work / "hidden"
    (hidden / "pycuda").mkdir(parents=True, exist_ok=True)
    (hidden / "pycuda" / "__init__.py").write_text(BLOCKER)
    program = (
        "import json; from tests.hardware.record_drivers import measure_launches; print(json.dumps(measure_launches()))"
    )
    result: dict[str, Any] = {"surroundings": surroundings()}
    for driver in ("pycuda", "cuda"):
        blocked = hidden if driver == "cuda" else None
        gemm = ["-m", "gpuprof", "run", "gemm_1024", "--device", "gpu", "--json", str(work / f"gemm_{driver}.json")]
        result[driver] = {
            "doctor": run_part(["-m", "gpuprof", "doctor"], driver, 20, work, blocked),
            "launches": run_part(["-c", program], driver, 30, work, blocked),
            "gemm_1024": run_part(gemm, driver, 50, work, blocked),
            "tests": run_part(list(PYTEST), driver, 45, ROOT),
        }
        if (work / f"gemm_{driver}.json").exists():
            shutil.copy(work / f"gemm_{driver}.json", folder)
        (folder / "drivers.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
