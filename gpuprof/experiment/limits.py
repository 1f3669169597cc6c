"""What a launch and a buffer may ask for, on any GPU and on one architecture.

Block and grid limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (the same for
every compute capability from 3.0 on). The opt-in shared memory comes from ``gpuprof.arch``.
"""

from __future__ import annotations

import math

from gpuprof.experiment.model import KernelStep, Variant
from gpuprof.isa.machine import MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID, Dim3

MAX_BUFFER_BYTES = 1 << 36  #: 64 GiB in one array: more than half of any GPU of today
MAX_SHARED_BYTES = 232_448  #: 227 KiB, the most that any compute capability (9.0, 10.x) lets a block opt in to


SM_COUNT = "sm_count"  #: the size that stands for the GPU's number of SMs
MAX_CLUSTER = 16  #: blocks, on the H200; above 8 the kernel needs leave (Programming Guide, "Thread Block Clusters")


def block_mistakes(block: Dim3) -> list[str]:
    """What is wrong with a block's extents, as sentences; empty when nothing is."""
    found = _extent_mistakes("block", block, MAX_BLOCK)
    threads = math.prod(block)
    if not found and threads > MAX_BLOCK_THREADS:
        product = "x".join(str(extent) for extent in block if extent != 1)
        found.append(f"{product} is {threads} threads; a block has at most {MAX_BLOCK_THREADS}")
    return found


def grid_mistakes(grid: Dim3) -> list[str]:
    """What is wrong with a grid's extents, as sentences; empty when nothing is."""
    return _extent_mistakes("grid", grid, MAX_GRID)


def usual_sm_count(arch: str | None) -> int:
    """The SMs of the largest product of an architecture (None: the default one), where no GPU is asked."""
    from gpuprof.arch.launch_limits import multiprocessors
    from gpuprof.arch.spelling import DEFAULT_ARCH, parse_arch
    from gpuprof.errors import GpuprofError

    try:
        found = multiprocessors(parse_arch(arch or DEFAULT_ARCH))
    except GpuprofError:
        found = None
    return found or multiprocessors(DEFAULT_ARCH) or 1


def cluster_mistakes(cluster: Dim3) -> list[str]:
    """What is wrong with a cluster's extents; empty when nothing is."""
    found = _extent_mistakes("cluster", cluster, (MAX_CLUSTER,) * 3)
    if not found and math.prod(cluster) > MAX_CLUSTER:
        found.append(f"has {math.prod(cluster)} blocks; a cluster has at most {MAX_CLUSTER}")
    return found


def _extent_mistakes(what: str, extents: Dim3, limits: Dim3) -> list[str]:
    found = []
    for axis, extent, limit in zip("xyz", extents, limits, strict=True):
        if extent < 1:
            found.append(f"{what} {axis} is {extent}; an extent is at least 1")
        elif extent > limit:
            found.append(f"{what} {axis} is {extent}, over the limit of {limit}")
    return found


def shared_mistake(shared_bytes: int, arch: str | None) -> str | None:
    """What is wrong with a block's dynamic shared memory on ``arch`` (None: on any)."""
    if shared_bytes < 0:
        return f"is {shared_bytes} bytes; shared memory is at least 0"
    limit = opt_in_shared_bytes(arch) if arch is not None else MAX_SHARED_BYTES
    if limit is None or shared_bytes <= limit:
        return None
    where = f"{arch} allows" if arch is not None else "any GPU allows"
    return f"is {shared_bytes} bytes of shared memory; {where} a block at most {limit}"


def opt_in_shared_bytes(arch: str) -> int | None:
    """The shared memory that a block may opt in to on ``arch``, from ``gpuprof.arch``; None where it is not known."""
    from gpuprof import arch as facts
    from gpuprof.errors import GpuprofError

    try:
        return int(facts.get(arch).shared_bytes_per_block_optin)
    except (GpuprofError, AttributeError):
        return None


def launch_mistakes(variant: Variant, arch: str) -> list[str]:
    """What a variant's launches ask for that ``arch`` does not have: for the runner, once the device is known."""
    found = []
    for step in variant.steps:
        if isinstance(step, KernelStep) and (mistake := shared_mistake(step.shared_bytes, arch)):
            found.append(f"{step.name}: shared {mistake}")
    return found
