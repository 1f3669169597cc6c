"""``gpuprof doctor``: which tools and devices are there, and the command that supplies a missing one."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from gpuprof.device.checkup import Finding

EXIT_MISSING = 3
_SIGNS = {"ok": ("✓", "green"), "missing": ("-", "red"), "warning": ("!", "yellow")}


@click.command()
@click.option("--cuda-home", type=click.Path(path_type=Path), help="The CUDA toolkit to look at first.")
@click.option(
    "--emulator",
    "cubin",
    type=click.Path(path_type=Path),
    help="List which instructions of this cubin the emulator knows, and which not.",
)
@click.option("--ccbin", metavar="PROGRAM", help="Host compiler for nvcc.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(cuda_home: Path | None, cubin: Path | None, ccbin: str | None, as_json: bool) -> None:
    """Tools and devices found, their versions, and how to get what is missing.

    Ends with 0 when kernels can be built and emulated here, with 3 when something essential is missing.
    """
    from gpuprof.toolchain import find_tools

    tools = find_tools(cuda_home)
    if cubin is not None:
        from gpuprof.cli.doctor_emulator import report_coverage

        sys.exit(report_coverage(tools, cubin, as_json=as_json))
    from gpuprof.device.checkup import can_emulate, check_up

    findings = check_up(tools, ccbin)
    possible = can_emulate(findings)
    if as_json:
        data = {"emulation": possible, "findings": [asdict(finding) for finding in findings], "notes": tools.notes}
        click.echo(json.dumps(data, indent=2))
    else:
        _print(findings, possible, tools.notes)
    sys.exit(0 if possible else EXIT_MISSING)


def _print(findings: tuple[Finding, ...], possible: bool, notes: tuple[str, ...]) -> None:
    from gpuprof.report.console import make_console

    console = make_console()
    console.print(_table(findings))
    for note in notes:
        console.print(f"note: {note}", style="dim")
    essential = ", ".join(finding.name for finding in findings if finding.essential and finding.state != "ok")
    working = {finding.name for finding in findings if finding.state == "ok"}
    deeds = (
        "built, timed and emulated"
        if "GPU" in working and working & {"pycuda", "cuda-bindings"}
        else "built and emulated"
    )
    verdict = f"kernels can be {deeds} here" if possible else f"cannot build and emulate: see {essential}"
    console.print(verdict, style="bold")


def _table(findings: tuple[Finding, ...]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("", "what", "version", "where, or how to get it"):
        table.add_column(head, overflow="fold")
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        detail = " | ".join(part for part in (_short(finding.origin), finding.repair) if part)
        table.add_row(Text(sign, style=colour), finding.name, finding.version, Text(detail))
    return table


def _short(origin: str) -> str:
    """Paths of this folder relative to it, those of the home folder with ``~``."""
    for folder, short in ((os.getcwd(), ""), (os.path.expanduser("~"), "~/")):
        if folder not in ("/", "~"):
            origin = origin.replace(f"{folder}/", short)
    return origin
