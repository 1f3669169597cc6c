"""Which Python package calls the GPU's driver: pycuda (compiled at its installation) or cuda-bindings (wheels).

Both reach the same functions of libcuda. pycuda is preferred where both are installed; ``--driver`` or the variable
``GPUPROF_DRIVER`` chooses, for worker processes too.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from typing import Any

from gpuprof.errors import MissingDeviceError, UsageError

ENVIRONMENT_VARIABLE = "GPUPROF_DRIVER"
#: Name -> (what is imported to see whether it is there, the module with pycuda's interface).
DRIVERS = {
    "pycuda": ("pycuda", "pycuda.driver"),
    "cuda": ("cuda.bindings", "gpuprof.device.cuda_bindings_driver"),
}
DRIVER_REPAIR = (
    "pip install '.[cuda]' in gpuprof's checkout (cuda-bindings, from wheels), or '.[pycuda]' (compiles against the "
    "CUDA headers and a driver)"
)


@dataclass(frozen=True)
class DriverChoice:
    """``name`` is None where no package is there; ``why`` says what decided."""

    name: str | None
    why: str


def is_installed(name: str) -> bool:
    """Whether a driver's package can be found; it is not imported."""
    try:
        return importlib.util.find_spec(DRIVERS[name][0]) is not None
    except ModuleNotFoundError:
        return False


def choose_driver() -> DriverChoice:
    """The driver that a GPU is opened with; raises UsageError for a name that is none."""
    asked = os.environ.get(ENVIRONMENT_VARIABLE)
    if asked:
        if asked not in DRIVERS:
            raise UsageError(f"--driver {asked!r} is not a driver: expected {' or '.join(DRIVERS)}")
        found = is_installed(asked)
        why = f"{ENVIRONMENT_VARIABLE}={asked}" if found else f"--driver {asked} is not installed"
        return DriverChoice(asked if found else None, why)
    installed = [name for name in DRIVERS if is_installed(name)]
    if not installed:
        return DriverChoice(None, "neither pycuda nor cuda-bindings is installed")
    only = "preferred" if len(installed) > 1 else "the one that is installed"
    return DriverChoice(installed[0], only)


def why_no_driver() -> str | None:
    """Why a GPU cannot be opened, without importing anything; None where it can."""
    choice = choose_driver()
    return choice.why if choice.name is None else None


def import_driver() -> Any:
    """The chosen driver's module; raises MissingDeviceError where it cannot be imported."""
    choice = choose_driver()
    if choice.name is None:
        raise MissingDeviceError(f"{choice.why}. Repair: {DRIVER_REPAIR}")
    try:
        return importlib.import_module(DRIVERS[choice.name][1])
    except (ImportError, RuntimeError) as error:
        raise MissingDeviceError(f"{choice.name} cannot be imported ({error}). Repair: {DRIVER_REPAIR}") from None
