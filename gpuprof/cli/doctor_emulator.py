"""``gpuprof doctor --emulator CUBIN``: what of a cubin the emulator can execute."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from gpuprof.toolchain import Toolchain


def report_coverage(tools: Toolchain, path: Path, *, as_json: bool) -> int:
    """Print what is covered and what is not, over all cubins in ``path``; 0 when all of it is, else 1."""
    from gpuprof.emulator.coverage import coverage
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain.disasm import disassemble_text
    from gpuprof.toolchain.extract import extract_cubins

    with tempfile.TemporaryDirectory(prefix="gpuprof-") as folder:
        cubins = extract_cubins(tools, path, Path(folder))
        reports = {cubin.name: coverage(parse_disassembly(disassemble_text(tools, cubin))) for cubin in cubins}
    raise NotImplementedError(reports, as_json, json, click)
