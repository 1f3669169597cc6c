"""``gpuprof occupancy``: blocks and warps per SM, and what limits them. Imports nothing heavy: it answers at once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import click

from gpuprof import arch as architectures
from gpuprof.arch import DEFAULT_ARCH
from gpuprof.arch.facts import ArchFacts
from gpuprof.arch.occupancy import Occupancy, occupancy
from gpuprof.cli import occupancy_text
from gpuprof.device.choice import resolve_arch
from gpuprof.errors import UsageError

#: Assumed where nothing says how many registers a thread uses.
DEFAULT_REGISTERS = 32
_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024}


@click.command()
@click.option("--block", "block_text", metavar="32x8", help="Threads per block: 256, 32x8 or 32x8x2, x first.")
@click.option("--regs", type=int, help=f"Registers per thread [default: the kernel's, or {DEFAULT_REGISTERS}].")
@click.option("--smem", default="0", help="Dynamic shared memory per block in bytes; 48K is 49152 bytes.")
@click.option(
    "--kernel",
    metavar="KERNEL",
    help="Build this kernel (bundled, a .cu, a function, or FILE:FUNCTION) and take its registers and shared memory.",
)
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="A define for --kernel's build.")
@click.option("--arch", default=DEFAULT_ARCH, show_default=True, help="sm_80, 8.9, native ...")
@click.option("--carveout", type=click.IntRange(0, 100), help="Preferred share of shared memory in percent.")
@click.option("--cuda-home", type=click.Path(path_type=Path), help="The CUDA toolkit to build --kernel with.")
@click.option("--ccbin", metavar="PROGRAM", help="Host compiler for --kernel's build.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    block_text: str | None,
    regs: int | None,
    smem: str,
    kernel: str | None,
    defines: tuple[str, ...],
    arch: str,
    carveout: int | None,
    cuda_home: Path | None,
    ccbin: str | None,
    as_json: bool,
) -> None:
    """Occupancy of a block size, with every limit and the one that binds.

    \b
    gpuprof occupancy --block 32x32
    gpuprof occupancy --block 256 --regs 64 --smem 16K --arch sm_90
    gpuprof occupancy --block 16x16 --kernel micro_gemm_4x4
    """
    name = resolve_arch(arch)
    facts = architectures.get(name)
    if regs is not None and not 0 <= regs <= facts.max_registers_per_thread:
        raise UsageError(f"--regs {regs}: a thread has 0 to {facts.max_registers_per_thread} registers")
    built = _build(kernel, name, defines, cuda_home, ccbin) if kernel else None
    usage = _usage(built, regs, parse_bytes(smem))
    block = _block(block_text, facts, built.max_threads if built else None)
    result = _occupancy(facts, block, usage, carveout)
    if as_json:
        import json

        click.echo(json.dumps(occupancy_text.as_json(facts, block, usage, result), indent=2))
        return
    sweeps = occupancy_text.Sweeps(
        blocks=tuple(_occupancy(facts, (size, 1, 1), usage, carveout).percent for size in occupancy_text.BLOCK_SIZES),
        registers=tuple(
            _occupancy(facts, block, usage, carveout, registers=count).percent
            for count in occupancy_text.REGISTER_COUNTS
        ),
    )
    text = occupancy_text.render(facts, block, usage, result, sweeps)
    click.echo(text, color=False if os.environ.get("NO_COLOR") else None)


def _occupancy(
    facts: ArchFacts,
    block: tuple[int, int, int],
    usage: occupancy_text.Usage,
    carveout: int | None,
    registers: int | None = None,
) -> Occupancy:
    return occupancy(
        facts,
        block[0] * block[1] * block[2],
        usage.registers if registers is None else registers,
        usage.static_shared,
        usage.dynamic_shared,
        carveout_percent=carveout,
        barriers=usage.barriers,
    )


@dataclass(frozen=True)
class _Built:
    name: str
    registers: int
    static_shared: int
    barriers: int
    max_threads: int | None


def _build(kernel: str, arch: str, defines: tuple[str, ...], cuda_home: Path | None, ccbin: str | None) -> _Built:
    """Registers and static shared memory of a kernel, from a build (cached like any other)."""
    from gpuprof.targets.kernel import find_target, read_defines
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.elf import read_cubin
    from gpuprof.toolchain.model import BuildRequest
    from gpuprof.toolchain.names import signature_free

    file, _, function = kernel.partition(":") if re.fullmatch(r"[^:]+:[^:].*", kernel) else (kernel, "", "")
    target = find_target(file, function or None, repair=f"name one as --kernel {Path(file).name}:NAME")
    if target.source.suffix == ".cubin" and (holds := read_cubin(target.source).arch).rstrip("af") != arch.rstrip("af"):
        raise UsageError(
            f"{target.source.name} is code for {holds}: its registers say nothing of {arch}; add --arch {holds}"
        )
    build = Builder(find_tools(cuda_home), ccbin=ccbin).build(
        BuildRequest(target.source, target.kernel, arch, defines=read_defines(defines))
    )
    resources = build.resources
    return _Built(
        signature_free(build.demangled),
        resources.registers,
        resources.static_shared_bytes,
        resources.barriers,
        resources.max_threads,
    )


def _usage(built: _Built | None, registers: int | None, dynamic_shared: int) -> occupancy_text.Usage:
    if built is None:
        origin = "assumed" if registers is None else "given"
        return occupancy_text.Usage(DEFAULT_REGISTERS if registers is None else registers, 0, dynamic_shared, 1, origin)
    origin = f"built: {built.name}" if registers is None else f"given, for {built.name}"
    count = built.registers if registers is None else registers
    return occupancy_text.Usage(count, built.static_shared, dynamic_shared, built.barriers, origin)


def _block(text: str | None, facts: ArchFacts, launch_bound: int | None) -> tuple[int, int, int]:
    if text is None and launch_bound is None:
        raise UsageError("--block is missing: give the threads per block, as in --block 256 or --block 32x8")
    block = parse_block(text or str(launch_bound))
    threads = block[0] * block[1] * block[2]
    if threads > facts.max_threads_per_block:
        raise UsageError(f"--block {text}: {threads} threads, at most {facts.max_threads_per_block} fit in a block")
    for axis, extent, limit in zip("xyz", block, facts.max_block, strict=True):
        if extent > limit:
            raise UsageError(f"--block {text}: {axis} is {extent}, at most {limit}")
    if launch_bound is not None and threads > launch_bound:
        raise UsageError(f"--block {text}: {threads} threads, but the kernel's launch bounds allow {launch_bound}")
    return block


def parse_block(text: str) -> tuple[int, int, int]:
    """``(32, 8, 1)`` for ``32x8`` or ``32,8``; raises UsageError."""
    match = re.fullmatch(r"\s*\[?\s*(\d+)(?:\s*[x×,X*]\s*(\d+))?(?:\s*[x×,X*]\s*(\d+))?\s*\]?\s*", text)
    if match is None:
        raise UsageError(f"--block {text}: write it like 256, 32x8 or 32x8x2")
    x, y, z = (int(part) if part else 1 for part in match.groups())
    if 0 in (x, y, z):
        raise UsageError(f"--block {text}: every extent must be at least 1")
    return x, y, z


def parse_bytes(text: str) -> int:
    """Bytes for ``4096``, ``48K``, ``48KiB``; raises UsageError."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match.group(2) not in _UNITS:
        raise UsageError(f"--smem {text}: write bytes like 4096 or 48K")
    return int(match.group(1)) * _UNITS[match.group(2)]
