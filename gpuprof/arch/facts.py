"""What an architecture has: read from ``arch/data/sm_*.json``, where every figure has its source."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuprof.errors import UsageError
from gpuprof.isa.machine import MAX_BLOCK, MAX_GRID, WARP_LANES, Dim3

_DATA = Path(__file__).parent / "data"
_NAME = re.compile(r"(?:sm_|compute_)?(\d{2,3})[af]?|(\d{1,2})\.(\d)[af]?", re.IGNORECASE)


@dataclass(frozen=True)
class Product:
    """One GPU by its datasheet: peaks that the vendor states, never measured here. Tensor peak dense, FP32 sums."""

    name: str
    sms: int
    boost_mhz: int
    dram_gbps: float
    l2_mib: float
    fp32_tflops: float
    fp16_tensor_tflops: float


@dataclass(frozen=True)
class ArchFacts:
    """Limits and widths of one compute capability. Widths (``*_per_clock``) are per SM and clock.

    ``barriers_per_sm`` is None where named barriers do not count for occupancy. ``shared_bytes_per_block*`` are the
    user's; the driver's ``shared_bytes_reserved`` come on top in every block. ``sources`` is by field.
    """

    arch: str
    compute_capability: str
    name: str
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_threads_per_block: int
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    register_allocation_unit: int  #: registers, per warp
    subpartitions: int
    shared_bytes_per_sm: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    shared_bytes_reserved: int
    shared_allocation_unit: int  #: bytes
    shared_carveouts_bytes: tuple[int, ...]
    barriers_per_sm: int | None
    l1_and_shared_bytes: int
    fp32_fma_per_clock: int
    int32_per_clock: int
    fp64_fma_per_clock: int
    fp16_results_per_clock: int
    tensor_fp16_fma_per_clock: int
    products: tuple[Product, ...]
    sources: Mapping[str, str]
    warp_size: int = WARP_LANES
    max_grid: Dim3 = MAX_GRID
    max_block: Dim3 = MAX_BLOCK

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // self.warp_size


def known() -> tuple[str, ...]:
    """The architectures that there is a data file for, ascending."""
    names = (path.stem for path in _DATA.glob("sm_*.json"))
    return tuple(sorted(names, key=_number))


@functools.cache
def get(arch: str) -> ArchFacts:
    """Facts for ``sm_89``, ``8.9``, ``sm_120a``; raises UsageError naming the nearest ones for any other."""
    match = _NAME.fullmatch(arch.strip())
    name = f"sm_{match.group(1) or match.group(2) + match.group(3)}" if match else ""
    if not name or name not in known():
        raise UsageError(_unknown(arch, name))
    return _read(json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8")))


def _read(data: dict[str, Any]) -> ArchFacts:
    values = {key: _frozen(figure["value"]) for key, figure in data["figures"].items()}
    return ArchFacts(
        arch=data["arch"],
        compute_capability=data["compute_capability"],
        name=data["name"],
        products=tuple(Product(**product) for product in data["products"]),
        sources={key: figure["source"] for key, figure in data["figures"].items()},
        **values,
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unknown(arch: str, name: str) -> str:
    nearest = sorted(known(), key=lambda other: abs(_number(other) - _number(name))) if name else list(known())
    return f"no hardware facts for arch '{arch}'; there are {', '.join(nearest)}" + (" (nearest first)" if name else "")


def _number(name: str) -> int:
    return int(re.sub(r"\D", "", name) or 0)
