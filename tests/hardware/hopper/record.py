"""Record warpgroup products and tensor copies on a GPU of compute capability 9.0.

    python tests/hardware/hopper/record.py OUT [SECONDS]

Needs nvcc and ncu on the PATH, pycuda and numpy; no gpuprof. Writes OUT/hopper.zip: ``hopper.cubin``, ``outputs.npz``
(what each launch wrote, by number), ``launches.json`` (names, errors, tool versions, and the counters of launches under
ncu) and ``source.csv``, ncu's source page. A launch that fails is left out with the reason.
"""

from __future__ import annotations

import csv
import ctypes
import io
import json
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from launches import (  # noqa: E402
    IMAGE_BYTES,
    CopyLaunch,
    ProductLaunch,
    TensorMap,
    box_bytes,
    copy_launches,
    product_launches,
    shared_content,
    tensor_bytes,
    tensor_content,
)
from record_configs import METRICS, environment  # noqa: E402
from record_forms import attempt  # noqa: E402
from sources import text  # noqa: E402

_TYPES = {"uint8": 0, "int32": 3, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
Launch = ProductLaunch | CopyLaunch


def all_launches() -> list[Launch]:
    return [*product_launches(), *copy_launches()]


def encoded(map: TensorMap, address: int) -> bytes:
    """The 128 bytes of a CUtensorMap; raises RuntimeError."""
    driver = ctypes.CDLL("libcuda.so.1")
    words = lambda kind, values: (kind * max(1, len(values)))(*values)  # noqa: E731
    room = ctypes.create_string_buffer(256)
    aligned = ctypes.addressof(room) + 63 & ~63
    status = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(aligned), _TYPES[map.dtype], map.rank, ctypes.c_void_p(address),
        words(ctypes.c_uint64, map.shape), words(ctypes.c_uint64, map.strides), words(ctypes.c_uint32, map.box),
        words(ctypes.c_uint32, map.steps or (1,) * map.rank), map.interleave, _SWIZZLES[map.swizzle], 0,
        int(map.nan_fill),
    )  # fmt: skip
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled: {status}")
    return ctypes.string_at(aligned, 128)


class Kernels:
    """The kernels of a cubin, launched by pointers to their arguments: the driver knows where each one goes."""

    def __init__(self, cubin: str) -> None:
        self._driver, self._module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self._call("cuModuleLoad", ctypes.byref(self._module), cubin.encode())

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {status}")

    def launch(self, name: str, arguments: list[Any]) -> None:
        """One block of 128 threads; arguments are ctypes values."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), self._module, name.encode())
        self._call("cuFuncSetAttribute", function, 8, IMAGE_BYTES)
        places = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        self._call("cuLaunchKernel", function, 1, 1, 1, 128, 1, 1, IMAGE_BYTES, None, places, None)
        self._call("cuCtxSynchronize")


def drive(cubin: str, numbers: list[int], outputs: Path | None) -> None:
    """Launch these in order; each is announced before, so that the parent knows which one failed."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    kernels, launches, kept = Kernels(cubin), all_launches(), {}
    for number in numbers:
        print(f"LAUNCH {number}", flush=True)
        launch = launches[number]
        run = _product if isinstance(launch, ProductLaunch) else _copy
        kept[str(number)] = run(cuda, kernels, launch)
    if outputs is not None:
        np.savez_compressed(outputs, **kept)
    context.pop()
    context.detach()


def _pointer(memory: Any) -> ctypes.c_uint64:
    return ctypes.c_uint64(int(memory))


def _product(cuda: Any, kernels: Kernels, launch: ProductLaunch) -> Any:
    image, registers, sums = (cuda.to_device(array) for array in launch.arrays())
    nbytes = 128 * 4 * launch.product.registers
    result = cuda.mem_alloc(nbytes)
    numbers = [ctypes.c_uint64(launch.left), ctypes.c_uint64(launch.right), ctypes.c_int(launch.scale)]
    kernels.launch(launch.product.name, [_pointer(image), *numbers, *map(_pointer, (registers, sums, result))])
    back = np.empty(nbytes, np.uint8)
    cuda.memcpy_dtoh(back, result)
    return back


def _copy(cuda: Any, kernels: Kernels, launch: CopyLaunch) -> Any:
    host = tensor_content(tensor_bytes(launch.map))
    tensor, image = cuda.to_device(host), cuda.to_device(shared_content(launch.count))
    words = ctypes.create_string_buffer(encoded(launch.map, int(tensor)), 128)
    more = [launch.count] if launch.store else [box_bytes(launch.map), launch.offset, launch.count]
    numbers = [ctypes.c_int(value) for value in (*launch.place, *more)]
    name = f"{'store' if launch.store else 'load'}_{launch.map.rank}d"
    kernels.launch(name, [words, *numbers, _pointer(image)])
    back = np.empty(len(host) if launch.store else 16 * launch.count, np.uint8)
    cuda.memcpy_dtoh(back, tensor if launch.store else image)
    return back


class Recording:
    """What is known so far, and the archive that keeps it."""

    def __init__(self, out: Path, seconds: float) -> None:
        self.out, self.ends = out, time.monotonic() + seconds
        self.facts: list[dict[str, Any]] = []
        self.outputs: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.notes: list[str] = []

    def say(self, message: str) -> None:
        print(f"{self.ends - time.monotonic():4.0f} s left: {message}", flush=True)
        self.notes.append(message)

    def write(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(self.out / "hopper.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            facts = {"environment": environment(), "launches": self.facts, "notes": self.notes}
            archive.writestr("launches.json", json.dumps(facts))
            for name, data in self.files.items():
                archive.writestr(name, data)
            with archive.open("outputs.npz", "w") as file:
                np.savez_compressed(file, **self.outputs)


def record(out: Path, seconds: float) -> None:
    recording = Recording(out, seconds)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        source, cubin = scratch / "hopper.cu", scratch / "hopper.cubin"
        source.write_text(text())
        build = [
            "nvcc",
            "-std=c++17",
            "-O3",
            "-arch=sm_90a",
            "-lineinfo",
            "-w",
            "-cubin",
            "-o",
            str(cubin),
            str(source),
        ]
        code, _, errors = attempt(build, 120)
        if code:
            raise SystemExit(errors)
        recording.files["hopper.cubin"] = cubin.read_bytes()
        recording.facts = [{"name": launch.name} for launch in all_launches()]
        _outputs(recording, str(cubin), scratch)
        recording.write()
        _counters(recording, str(cubin), scratch)
        recording.write()


def _outputs(recording: Recording, cubin: str, scratch: Path) -> None:
    outputs = scratch / "outputs.npz"
    rest = list(range(len(recording.facts)))
    for _ in range(12):
        outputs.unlink(missing_ok=True)
        numbers = ",".join(map(str, rest))
        code, said, errors = attempt([sys.executable, __file__, "--drive", cubin, numbers, str(outputs)], 40)
        if outputs.exists():
            with np.load(outputs) as arrays:
                recording.outputs.update({name: arrays[name] for name in arrays.files})
            recording.say(f"{len(rest)} launches")
            return
        announced = [int(line.split()[1]) for line in said.splitlines() if line.startswith("LAUNCH ")]
        reason = f"return code {code}: {(errors.strip().splitlines() or ['no message'])[-1]}"
        if not announced:
            recording.say(reason)
            return
        recording.facts[announced[-1]]["error"] = reason
        recording.say(f"{recording.facts[announced[-1]]['name']}: {reason}")
        rest.remove(announced[-1])


def _counters(recording: Recording, cubin: str, scratch: Path) -> None:
    """ncu on one launch of every kernel, and on every copy."""
    seen, numbers = set(), []
    for number, launch in enumerate(all_launches()):
        kernel = launch.product.name if isinstance(launch, ProductLaunch) else launch.name
        if kernel not in seen and "error" not in recording.facts[number]:
            numbers.append(number)
        seen.add(kernel)
    report = scratch / "report"
    base = ["ncu", "--clock-control", "none", "--cache-control", "none", "--target-processes", "application-only", "-f"]
    collect = ["--section", "SourceCounters", "--metrics", ",".join(METRICS), "-o", str(report)]
    command = [*base, *collect, sys.executable, __file__, "--drive", cubin, ",".join(map(str, numbers))]
    code, said, errors = attempt(command, max(10.0, recording.ends - time.monotonic() - 15))
    if not report.with_suffix(".ncu-rep").exists():
        recording.say(f"ncu: return code {code}: {said[-500:]} {errors[-500:]}")
        return
    for page in ("raw", "source"):
        read = ["ncu", "--import", f"{report}.ncu-rep", "--page", page, "--csv", "--print-units", "base"]
        code, said, errors = attempt([*read, "--print-source", "sass"] if page == "source" else read, 60)
        recording.files[f"{page}.csv"] = said.encode()
        if page == "raw":
            lines = list(csv.reader(io.StringIO(said[said.index('"ID"') :])))
            for number, line in zip(numbers, lines[2:], strict=False):
                recording.facts[number]["counters"] = dict(zip(lines[0], line, strict=False))
    recording.say(f"counters of {len(numbers)} launches")


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "--drive":
        wanted = [int(number) for number in sys.argv[3].split(",")]
        drive(sys.argv[2], wanted, Path(sys.argv[4]) if len(sys.argv) > 4 else None)
    elif len(sys.argv) in (2, 3):
        record(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 120.0)
    else:
        raise SystemExit(__doc__)
