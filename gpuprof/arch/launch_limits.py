"""Which launches a GPU refuses: the limits of a block by architecture and by the kernel's own resources.

The driver answers ``CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`` or ``CUDA_ERROR_INVALID_VALUE`` without a number; the
sentences here give the limit and the value. CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability" and "Launch Bounds"; the rounding of registers is that of ``cuda_occupancy.h``, as in ``occupancy``.
``tests/hardware/record_launch_limits.py`` compares the answers with a driver's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuprof.arch.facts import ArchFacts, get
from gpuprof.arch.occupancy import occupancy
from gpuprof.errors import UsageError
from gpuprof.isa.machine import Dim3

#: Static and dynamic shared memory together above which the launch needs the opt-in attribute of the kernel.
DEFAULT_SHARED_BYTES = 48 * 1024


@dataclass(frozen=True)
class KernelResources:
    """What of a kernel limits its launches. ``max_threads`` from ``__launch_bounds__``; None: no bound."""

    registers: int
    static_shared_bytes: int = 0
    max_threads: int | None = None
    required_block: Dim3 | None = None  #: from ``__block_size__``: exactly this block


def launch_problem(arch: str, kernel: KernelResources, grid: Dim3, block: Dim3, dynamic_shared: int) -> str | None:
    """Why a GPU of ``arch`` refuses the launch, with limit and value; None where it does not.

    An architecture without a data file is judged by the kernel's own bounds alone.
    """
    try:
        facts = get(arch)
    except UsageError:
        return _bounds_problem(kernel, block)
    return (
        _extent_problem("grid", grid, facts.max_grid)
        or _extent_problem("block", block, facts.max_block)
        or _threads_problem(facts, block)
        or _bounds_problem(kernel, block)
        or _register_problem(facts, kernel, block)
        or _shared_problem(facts, kernel, dynamic_shared)
    )


def _extent_problem(what: str, extents: Dim3, limits: Dim3) -> str | None:
    for axis, extent, limit in zip("xyz", extents, limits, strict=True):
        if not 1 <= extent <= limit:
            return f"{what} {axis} is {extent:,}; it must be 1 to {limit:,}"
    return None


def _threads_problem(facts: ArchFacts, block: Dim3) -> str | None:
    threads = math.prod(block)
    if threads <= facts.max_threads_per_block:
        return None
    return f"a block of {threads:,} threads; {facts.arch} allows {facts.max_threads_per_block:,}"


def _bounds_problem(kernel: KernelResources, block: Dim3) -> str | None:
    threads = math.prod(block)
    if kernel.required_block is not None and block != kernel.required_block:
        return f"a block of {list(block)}; the kernel's __block_size__ demands {list(kernel.required_block)}"
    if kernel.max_threads is None or threads <= kernel.max_threads:
        return None
    return (
        f"a block of {threads:,} threads; the kernel's __launch_bounds__ allow {kernel.max_threads:,}: "
        "use a smaller block or raise the bounds"
    )


def _register_problem(facts: ArchFacts, kernel: KernelResources, block: Dim3) -> str | None:
    threads = math.prod(block)
    found = occupancy(facts, threads, kernel.registers, 0, 0)
    if found.limits["registers"] != 0:
        return None
    per_warp = found.registers_per_block // found.warps_per_block
    warps = -(-found.warps_per_block // facts.subpartitions) * facts.subpartitions
    return (
        f"{threads:,} threads with {kernel.registers} registers each need {per_warp * warps:,} registers "
        f"(of whole warps, {facts.subpartitions} at a time); "
        f"a block on {facts.arch} has {facts.registers_per_block:,}: use a smaller block, or bound the registers "
        f"(__launch_bounds__({threads}), -maxrregcount)"
    )


def _shared_problem(facts: ArchFacts, kernel: KernelResources, dynamic: int) -> str | None:
    static, limit = kernel.static_shared_bytes, facts.shared_bytes_per_block_optin
    if static + dynamic <= limit:
        return None
    return (
        f"{static:,} bytes of static and {dynamic:,} of dynamic shared memory are {static + dynamic:,}; "
        f"{facts.arch} allows a block {limit:,}"
    )


def multiprocessors(arch: str) -> int | None:
    """The most SMs that a product of an architecture has; None for one without a data file."""
    try:
        return max((product.sms for product in get(arch).products), default=None)
    except UsageError:
        return None


def residence_problem(arch: str, kernel: KernelResources, grid: Dim3, block: Dim3, dynamic: int) -> str | None:
    """Why a cooperative launch is refused: all of its blocks must be on the GPU at once. None where they can be."""
    sms, blocks = multiprocessors(arch), math.prod(grid)
    if sms is None:
        return None
    found = occupancy(get(arch), math.prod(block), kernel.registers, kernel.static_shared_bytes, dynamic)
    most = found.blocks_per_sm * sms
    if blocks <= most:
        return None
    return (
        f"a cooperative launch of {blocks:,} blocks; {most:,} fit on a GPU at once ({found.blocks_per_sm} per SM, "
        f"limited by {found.limiter}, on {sms} SMs of {arch}): use a smaller grid, as sm_count blocks and a "
        "grid-stride loop"
    )


def cluster_problem(arch: str) -> str | None:
    """Why an architecture launches no clusters; None where it does."""
    number = int("".join(filter(str.isdigit, arch)) or 0)
    return None if number >= 90 else f"{arch} has no clusters: leave out `cluster`, or choose --arch sm_90"


def needs_opt_in(static_shared: int, dynamic_shared: int) -> bool:
    """Must the kernel be given its dynamic shared memory by attribute before the launch?"""
    return dynamic_shared > 0 and static_shared + dynamic_shared > DEFAULT_SHARED_BYTES
