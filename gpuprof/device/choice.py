"""From ``--device`` and what is there to the devices of a run, and the architecture to build for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuprof.arch.spelling import DEFAULT_ARCH, NATIVE, parse_arch
from gpuprof.device.base import DeviceDescription
from gpuprof.device.drivers import DRIVER_REPAIR
from gpuprof.device.gpus import Gpus, find_gpus, visibility
from gpuprof.errors import MissingDeviceError, UsageError

_WORDS = "emulated, none, gpu, gpu:0 or gpu:0,gpu:1"
_GPU = re.compile(r"gpu(?::(\d+))?$")


@dataclass(frozen=True)
class DeviceChoice:
    """``names`` are ``emulated`` or ``gpu:N``, empty for ``none``; ``notes`` one line each for the user."""

    names: tuple[str, ...]
    gpus: tuple[DeviceDescription, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``gpu``, ``emulated`` or ``none``."""
        if not self.names:
            return "none"
        return "gpu" if self.gpus else "emulated"


def parse_devices(text: str) -> tuple[str, ...]:
    """The words of ``--device``; raises UsageError for anything else."""
    words = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    wrong = next((word for word in words if word not in ("emulated", "none") and not _GPU.match(word)), None)
    if wrong is not None or not words:
        raise UsageError(f"--device {text!r} is not a device: expected {_WORDS}")
    if len(words) > 1 and not all(_GPU.match(word) for word in words):
        raise UsageError(f"--device {text!r} mixes kinds: several devices must all be GPUs, as in gpu:0,gpu:1")
    return tuple(dict.fromkeys("gpu:0" if word == "gpu" else word for word in words))


def choose_devices(words: Sequence[str], gpus: Gpus, driver_missing: str | None) -> DeviceChoice:
    """The devices of a run. ``driver_missing`` is why no driver package can be used, None when one can.

    Raises MissingDeviceError when a GPU was asked for and cannot be used.
    """
    if not words:
        return _default_choice(gpus, driver_missing)
    if words[0] in ("emulated", "none"):
        return DeviceChoice(() if words[0] == "none" else ("emulated",))
    if not gpus.devices:
        raise MissingDeviceError(f"--device {','.join(words)}: {gpus.why_none}; --device emulated needs no GPU")
    if driver_missing:
        raise MissingDeviceError(
            f"--device {','.join(words)} needs pycuda or cuda-bindings: {driver_missing}. Repair: {DRIVER_REPAIR}"
        )
    ordinals = [int(word.split(":")[1]) for word in words]
    beyond = next((ordinal for ordinal in ordinals if ordinal >= len(gpus.devices)), None)
    if beyond is not None:
        known = ", ".join(f"gpu:{number}" for number in range(len(gpus.devices)))
        raise MissingDeviceError(f"--device gpu:{beyond} does not exist; available: {known}{visibility()}")
    return DeviceChoice(tuple(words), tuple(gpus.devices[ordinal] for ordinal in ordinals))


def _default_choice(gpus: Gpus, driver_missing: str | None) -> DeviceChoice:
    if not gpus.devices:
        return DeviceChoice(("emulated",), notes=(f"No GPU: {gpus.why_none}; kernels run on the emulator.",))
    if driver_missing:
        here = f"{gpus.devices[0].name} is here, but no package to drive it ({driver_missing})"
        return DeviceChoice(("emulated",), notes=(f"{here}; kernels run on the emulator. Repair: {DRIVER_REPAIR}",))
    return DeviceChoice(("gpu:0",), (gpus.devices[0],))


@dataclass(frozen=True)
class ArchChoice:
    """What to build for, and the line that says so when it is not what a reader would expect."""

    arch: str
    note: str = ""


def resolve_arch(text: str, gpus: Sequence[DeviceDescription] = ()) -> str:
    """User input for an architecture as nvcc's name; ``native`` is the first of ``gpus``, else of all that are there.

    Raises UsageError for a text that is none, MissingDeviceError for ``native`` without a GPU.
    """
    arch = parse_arch(text)
    if arch != NATIVE:
        return arch
    found = find_gpus()
    for gpu in (*gpus, *found.devices):
        if gpu.arch is not None:
            return gpu.arch
    raise MissingDeviceError(
        f"arch 'native' needs a GPU, and there is none ({found.why_none}); name one, as in --arch {DEFAULT_ARCH}"
    )


def choose_arch(explicit: str | None, gpus: Sequence[DeviceDescription]) -> ArchChoice:
    """``explicit`` from ``--arch`` or the YAML, else the GPU's, else the default.

    Raises UsageError when a GPU of the run cannot load code for an explicit arch, with the flag that works.
    """
    if explicit is None:
        if not gpus or gpus[0].arch is None:
            return ArchChoice(DEFAULT_ARCH)
        return ArchChoice(gpus[0].arch, f"Building for {gpus[0].arch}, this GPU ({gpus[0].name}).")
    for gpu in gpus:
        if gpu.arch is not None and not loads(explicit, gpu.arch):
            raise UsageError(
                f"{gpu.name} is {gpu.arch} and cannot load code built for {explicit}: "
                f"use --arch {gpu.arch}, or --device emulated to run {explicit} code without it"
            )
    return ArchChoice(explicit)


def loads(built: str, native: str) -> bool:
    """Can a GPU of ``native`` load a cubin for ``built``? Same major version and no newer minor one.

    CUDA C++ Programming Guide, "Binary Compatibility"; code for ``sm_90a`` runs on exactly that version, and code for
    a family (``sm_100f``) within the major version.
    """
    left, right = re.match(r"sm_(\d+)(\d)([af]?)$", built), re.match(r"sm_(\d+)(\d)", native)
    if left is None or right is None:
        return False
    same_major = left[1] == right[1]
    if left[3] == "a":
        return same_major and left[2] == right[2]
    return same_major and int(left[2]) <= int(right[2])
