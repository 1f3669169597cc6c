"""``gpuprof ptx``: a kernel's PTX, with source lines."""

from __future__ import annotations

from pathlib import Path

import click

from gpuprof.arch import DEFAULT_ARCH


@click.command()
@click.argument("name", metavar="KERNEL")
@click.option("--kernel", "function", help="The function in the source: a name, or an instance like f<float, 32>.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="A define.")
@click.option("--arch", default=DEFAULT_ARCH, show_default=True, help="sm_80, 8.9, native ...")
@click.option("--nvcc-flag", "flags", multiple=True, metavar="FLAG", help="A further flag for nvcc.")
@click.option("--flag", "former_flags", multiple=True, hidden=True)  # its name until 0.1
@click.option("--all", "whole", is_flag=True, help="The whole file as nvcc writes it.")
@click.option("--cuda-home", type=click.Path(path_type=Path), help="The CUDA toolkit to use.")
@click.option("--ccbin", help="The host compiler for nvcc.")
def command(
    name: str,
    function: str | None,
    defines: tuple[str, ...],
    arch: str,
    flags: tuple[str, ...],
    former_flags: tuple[str, ...],
    whole: bool,
    cuda_home: Path | None,
    ccbin: str | None,
) -> None:
    """The PTX of KERNEL: a bundled kernel, a .cu file, or a function in one of them.

    \b
    gpuprof ptx micro_gemm_4x4
    gpuprof ptx gemm_tiled --kernel "gemm_tiled_kernel<float, 16>" --arch sm_90
    """
    from gpuprof.device.choice import resolve_arch
    from gpuprof.errors import KernelNotFoundError, UsageError
    from gpuprof.targets.kernel import find_target, read_defines
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest
    from gpuprof.toolchain.nvcc import instance_of
    from gpuprof.toolchain.ptx import entries, kernel_ptx, source_files, with_source_lines

    target = find_target(name, function)
    if target.source.suffix == ".cubin":
        raise UsageError(f"{target.source} is machine code and holds no PTX: give its .cu")
    request = BuildRequest(
        target.source, target.kernel, resolve_arch(arch), read_defines(defines), (*flags, *former_flags)
    )
    text = Builder(find_tools(cuda_home), ccbin=ccbin).ptx(request)
    if whole:
        click.echo(text, nl=False)
        return
    if not entries(text):
        raise KernelNotFoundError(f"{target.source} compiles to no kernel; name a template instance with --kernel")
    part = kernel_ptx(text, instance_of(target.kernel) or target.kernel)
    click.echo(with_source_lines(part, source_files(text)), nl=False)
