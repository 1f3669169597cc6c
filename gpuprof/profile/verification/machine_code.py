"""The instructions of a job's kernels, read from their cubins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.device.jobs import Job, KernelCall

if TYPE_CHECKING:
    from gpuprof.sass.model import Instruction


def instructions_of(job: Job, cuda_home: Path | None) -> tuple[Instruction, ...]:
    """All instructions of all kernel steps; raises MissingToolError and DisassemblyError where they cannot be read."""
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.disasm import disassemble_text

    tools = find_tools(cuda_home)
    kernels = {(call.cubin, call.symbol) for call in job.calls if isinstance(call, KernelCall)}
    found: list[Instruction] = []
    for cubin, symbol in sorted(kernels):
        function = parse_disassembly(disassemble_text(tools, cubin)).functions.get(symbol)
        found += function.body if function is not None else ()
    return tuple(found)
