"""Which GPUs there are, asked from the driver library itself: no context is made, and pycuda is not needed.

The one place that lists GPUs: the driver's order under CUDA_VISIBLE_DEVICES is what ``gpu:N`` counts everywhere. Clocks
come from NVML, by uuid (``device.clocks``).
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gpuprof.device.base import DeviceDescription

_LIBRARY = "libcuda.so.1"
#: CUdevice_attribute numbers (cuda.h).
_MULTIPROCESSORS, _L2_BYTES, _MAJOR, _MINOR = 16, 38, 75, 76


@dataclass(frozen=True)
class Gpus:
    """The GPUs in the driver's order; empty with a reason when there is none."""

    devices: tuple[DeviceDescription, ...]
    why_none: str = ""


def sm_count(devices: tuple[str, ...]) -> int | None:
    """The SMs of the GPU that ``--device`` names (none named: the first there is); None where no GPU is to run."""
    name = devices[0] if devices else "gpu"
    found = find_gpus().devices if name.startswith("gpu") else ()
    number = int(name.partition(":")[2] or 0)
    return found[number].multiprocessors if number < len(found) else None


@lru_cache(maxsize=1)
def find_gpus() -> Gpus:
    """Ask the driver, once in a process; never raises."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError:
        return Gpus((), f"no NVIDIA driver ({_LIBRARY} was not found)")
    code = driver.cuInit(0)
    if code:
        why = f"cuInit gave error {code}: {_error(driver, code)}{visibility()}"
        return Gpus((), f"the NVIDIA driver found no usable GPU ({why})")
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    if not count.value:
        return Gpus((), f"the NVIDIA driver lists no GPU{visibility()}")
    return Gpus(tuple(_describe(driver, ordinal) for ordinal in range(count.value)))


def visibility() -> str:
    """The variable that hides or orders the driver's GPUs, in brackets after a blank; nothing where it is not set."""
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if value is None else f" (CUDA_VISIBLE_DEVICES={value})"


def _error(driver: ctypes.CDLL, code: int) -> str:
    name = ctypes.c_char_p()
    driver.cuGetErrorName(code, ctypes.byref(name))
    return (name.value or b"unknown").decode()


def _describe(driver: ctypes.CDLL, ordinal: int) -> DeviceDescription:
    device, name, memory = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
    uuid, version = (ctypes.c_ubyte * 16)(), ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(device), ordinal)
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    driver.cuDeviceGetUuid(ctypes.byref(uuid), device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    return DeviceDescription(
        kind="gpu",
        name=name.value.decode(errors="replace"),
        arch=f"sm_{_attribute(driver, device, _MAJOR)}{_attribute(driver, device, _MINOR)}",
        driver=f"CUDA {version.value // 1000}.{version.value % 1000 // 10}",
        uuid=format_uuid(bytes(uuid)),
        multiprocessors=_attribute(driver, device, _MULTIPROCESSORS),
        memory_bytes=memory.value,
        l2_bytes=_attribute(driver, device, _L2_BYTES),
    )


def _attribute(driver: ctypes.CDLL, device: ctypes.c_int, number: int) -> int:
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value


def format_uuid(raw: bytes) -> str:
    """16 bytes as NVML and nvidia-smi print them: ``GPU-8-4-4-4-12``."""
    digits = raw.hex()
    cuts = (0, 8, 12, 16, 20, 32)
    return "GPU-" + "-".join(digits[start:end] for start, end in pairwise(cuts))
