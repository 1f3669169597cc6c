"""A GPU as the time model sees it: constants from ``arch/data/gpus/NAME.json``, each with its source.

``gpuprof calibrate`` writes such a file for the GPU that is there; a path to one is accepted wherever a name is.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpuprof.errors import UsageError

_DATA = Path(__file__).parent / "data" / "gpus"
DEFAULT_GPU = "h200"


@dataclass(frozen=True)
class Constant:
    """One figure: ``source`` is a measurement, a document, or the fit; ``fitted`` if recorded times decided it."""

    value: float
    unit: str
    source: str
    fitted: bool = False


@dataclass(frozen=True)
class GpuConstants:
    """All figures of one GPU. ``calibrated``: measured there, not derived from documents.

    ``errors``: by family of kernels, the mean and the 90th percentile of the relative error that the model showed.
    """

    name: str
    arch: str  #: ``sm_90``
    calibrated: bool
    constants: Mapping[str, Constant]
    errors: Mapping[str, tuple[float, float]]

    def __getitem__(self, name: str) -> float:
        """The value of a constant; raises KeyError."""
        return self.constants[name].value

    def changed(self, values: Mapping[str, float]) -> GpuConstants:
        """The same GPU with other values of some constants; raises KeyError for a name that is none."""
        constants = dict(self.constants)
        for name, value in values.items():
            constants[name] = replace(constants[name], value=value)
        return replace(self, constants=constants)


def known_gpus() -> tuple[str, ...]:
    """The names of the bundled files, in alphabetical order."""
    return tuple(sorted(path.stem for path in _DATA.glob("*.json")))


@functools.cache
def gpu_constants(name: str) -> GpuConstants:
    """The constants of a bundled GPU (``h200``) or of a file (``mine.json``); raises UsageError."""
    path = Path(name) if name.endswith(".json") else _DATA / f"{name.lower()}.json"
    if not path.is_file():
        raise UsageError(f"no constants of a GPU '{name}': bundled are {', '.join(known_gpus())}, or give a .json file")
    try:
        return _read(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path}: not a file of GPU constants ({type(error).__name__}: {error})") from None


def _read(data: Mapping[str, Any]) -> GpuConstants:
    constants = {name: Constant(**figure) for name, figure in data["constants"].items()}
    bad = [name for name, each in constants.items() if not math.isfinite(float(each.value)) or each.value < 0]
    missing = sorted(REQUIRED - constants.keys())
    if bad or missing:
        raise ValueError(f"negative or no number: {', '.join(bad)}" if bad else f"missing {', '.join(missing)}")
    errors = {name: (float(mean), float(high)) for name, (mean, high) in data.get("errors", {}).items()}
    return GpuConstants(str(data["name"]), str(data["arch"]), bool(data["calibrated"]), constants, errors)


def as_json(gpu: GpuConstants) -> dict[str, Any]:
    """The content of a file."""
    return {
        "name": gpu.name,
        "arch": gpu.arch,
        "calibrated": gpu.calibrated,
        "constants": {name: vars(each) for name, each in gpu.constants.items()},
        "errors": {name: list(each) for name, each in gpu.errors.items()},
    }


#: Constants that a file must have.
REQUIRED = frozenset(
    [
        "clock_mhz",
        "sms",
        "launch_overhead_us",
        "launch_gap_us",
        "interval.fma",
        "interval.fma_heavy",
        "interval.alu",
        "interval.xu",
        "interval.fp64",
        "interval.lsu",
        "interval.uniform",
        "interval.control",
        "interval.address",
        "shared_latency",
        "l1_latency",
        "shuffle_latency",
        "transcendental_latency",
        "double_latency",
        "matrix_latency",
        "special_register_latency",
        "constant_latency",
        "uniform_latency",
        "barrier_latency",
        "barrier_interval",
        "branch_latency",
        "l1_fill_latency",
        "mio_entries",
        "lg_entries",
        "l2_request_bytes",
        "dram_request_bytes",
        "l1_share",
        "l2_share",
        "l2_latency",
        "dram_latency",
        "dram_queue_latency",
        "share_power",
        "tlb_latency",
        "tlb_entries",
        "page_bytes",
        "l2_bytes_per_cycle",
        "l2_port_bytes_per_cycle",
        "dram_bytes_per_cycle",
        "write_bytes_per_cycle",
        "write_port_bytes_per_cycle",
        "write_line_cycles",
        "scattered_line_cycles",
        "write_backlog_bytes",
        "dram_backlog_bytes",
        "l2_bytes",
        "block_start",
        "block_interval",
        "warp_interval",
        "relaunch",
        "code_line_cycles",
        "register_window",
        "atomic_cycles",
    ]
)
