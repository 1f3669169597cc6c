"""What the toolchain room hands out: builds, their resources, and where the tools are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuprof.isa.constant_bank import Parameter


@dataclass(frozen=True)
class BuildRequest:
    """One nvcc job: a source, the kernel wanted from it, and everything that reaches the command line."""

    source: Path
    kernel: str  #: plain, demangled, mangled or partial name, or a template instance ``f<float, 32>``
    arch: str  #: ``sm_89``, ``sm_120a``
    defines: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    include: tuple[Path, ...] = ()
    folder: Path | None = None  #: what relative paths in ``flags`` count from; None: the current folder
    together: tuple[str, ...] = ()  #: kernels that have to be in the same cubin, this one included


@dataclass(frozen=True)
class Resources:
    """What one kernel of a cubin uses. ``static_shared_bytes`` are the user's: without the driver's reserve."""

    registers: int
    stack_bytes: int
    static_shared_bytes: int
    barriers: int
    parameters: tuple[Parameter, ...]
    parameter_base: int  #: offset of the first parameter in constant bank 0
    parameter_bytes: int
    spill_store_bytes: int | None = None  #: None where no ptxas log says so (a stored cubin)
    spill_load_bytes: int | None = None
    max_threads: int | None = None  #: from launch bounds
    required_block: tuple[int, int, int] | None = None  #: from ``__block_size__`` (PTX ``.reqntid``)
    cluster: tuple[int, int, int] | None = None  #: from ``__cluster_dims__``
    warp_collectives: Mapping[int, int] = field(default_factory=dict)  #: offset -> register of the mask, or all ones


@dataclass(frozen=True)
class Build:
    """nvcc's work on one request."""

    request: BuildRequest
    cubin: Path
    symbol: str  #: the mangled entry name in the cubin
    demangled: str
    resources: Resources
    command: tuple[str, ...]
    seconds: float
    cached: bool
    source_sha256: str
    cubin_sha256: str
    log: str
    nvcc_version: str
