"""gpuprof compiles, checks, times and explains CUDA kernels.

``docs/python.md`` describes the functions. They are imported on first use, so that ``import gpuprof`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpuprof.version import __version__

if TYPE_CHECKING:
    from gpuprof import errors
    from gpuprof.api import Emulation, build, compare, emulate, load, occupancy, run, sass
    from gpuprof.arch.occupancy import Occupancy
    from gpuprof.experiment.model import Experiment
    from gpuprof.results.compare import Comparison
    from gpuprof.results.model import Result, Run
    from gpuprof.sass.analysis import Analysis
    from gpuprof.toolchain.model import Build

__all__ = [
    "Analysis",
    "Build",
    "Comparison",
    "Emulation",
    "Experiment",
    "Occupancy",
    "Result",
    "Run",
    "__version__",
    "build",
    "compare",
    "emulate",
    "errors",
    "load",
    "occupancy",
    "run",
    "sass",
]

#: public name -> the module that has it
_HOMES = {
    "Analysis": "gpuprof.sass.analysis",
    "Build": "gpuprof.toolchain.model",
    "Comparison": "gpuprof.results.compare",
    "Emulation": "gpuprof.api",
    "Experiment": "gpuprof.experiment.model",
    "Occupancy": "gpuprof.arch.occupancy",
    "Result": "gpuprof.results.model",
    "Run": "gpuprof.results.model",
    "build": "gpuprof.api",
    "compare": "gpuprof.api",
    "emulate": "gpuprof.api",
    "load": "gpuprof.api",
    "occupancy": "gpuprof.api",
    "run": "gpuprof.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in ("errors", "sass"):
        return import_module(f"gpuprof.{name}")
    raise AttributeError(f"module 'gpuprof' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
