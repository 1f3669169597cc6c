"""``gpuprof doctor --emulator CUBIN``: what of a cubin the emulator can execute."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gpuprof.emulator.coverage import Coverage, Uncovered
    from gpuprof.toolchain import Toolchain

_LISTED = 12  #: places of unknown instructions that are printed


def report_coverage(tools: Toolchain, path: Path, *, as_json: bool) -> int:
    """Print what is covered and what is not, for a cubin or all those in a file; 0 when all of it is, else 1."""
    reports: dict[str, Coverage] = {}
    for name, report in _coverages(tools, path):
        reports[name] = report
        if not as_json:
            _print(name, report)
    if as_json:
        click.echo(json.dumps({name: _as_data(report) for name, report in reports.items()}, indent=2))
    elif len(reports) > 1:
        _print_total(list(reports.values()))
    return 1 if any(report.uncovered for report in reports.values()) else 0


def _coverages(tools: Toolchain, path: Path) -> Iterator[tuple[str, Coverage]]:
    """Each cubin's report as it is made, with a bar on a terminal's standard error where there are several."""
    from gpuprof.emulator.coverage import coverage
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.system.cleanup import temporary_folder
    from gpuprof.toolchain.disasm import disassemble_text
    from gpuprof.toolchain.extract import extract_cubins

    with temporary_folder("gpuprof-") as folder:
        cubins = extract_cubins(tools, path, folder)
        with _bar(len(cubins)) as advance:
            for cubin in cubins:
                yield cubin.name, coverage(parse_disassembly(disassemble_text(tools, cubin)))
                advance(cubin.name)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    """What counts the cubins that are done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from gpuprof.report.console import make_console

    console = make_console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    shown = total > 1 and console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task("cubins", total=total)
        yield lambda name: progress.update(task, advance=1, description=name)


def _by_opcode(report: Coverage) -> dict[str, int]:
    """How often each base opcode occurs among the covered instructions, the most frequent first."""
    counts: Counter[str] = Counter()
    for mnemonic, count in report.covered.items():
        counts[mnemonic.split(".", 1)[0]] += count
    return dict(counts.most_common())


def _as_data(report: Coverage) -> dict[str, object]:
    return {
        "instructions": report.instructions,
        "percent": report.percent,
        "functions": report.functions,
        "runnable": report.runnable,
        "covered": dict(report.covered),
        "uncovered": [
            {
                "kernel": each.kernel,
                "address": each.instruction.address,
                "instruction": each.instruction.text,
                "place": _place(each),
                "reason": each.reason,
            }
            for each in report.uncovered
        ],
    }


def _print(name: str, report: Coverage) -> None:
    known = report.instructions - len(report.uncovered)
    click.echo(f"{name}: the emulator knows {known:,} of {report.instructions:,} instructions ({report.percent:.1f} %)")
    share = 100.0 * report.runnable / report.functions if report.functions else 100.0
    click.echo(f"  {report.runnable:,} of {report.functions:,} kernels and functions can run ({share:.1f} %)")
    opcodes = ", ".join(f"{opcode} {count}" for opcode, count in _by_opcode(report).items())
    click.echo(click.wrap_text(f"known: {opcodes or 'none'}", 100, "  ", "    "))
    unknown = sorted(report.uncovered_mnemonics.items(), key=lambda item: (-item[1], item[0]))
    for mnemonic, count in unknown:
        click.echo(click.style(f"  unknown: {mnemonic} {count}", fg="red"))
    for each in report.uncovered[:_LISTED]:
        where = f"{each.kernel} at 0x{each.instruction.address:04x}"
        click.echo(f"    {where}: {each.instruction.text}{_in_source(each)}: {each.reason}")
    if len(report.uncovered) > _LISTED:
        click.echo(f"    and {len(report.uncovered) - _LISTED:,} more places (--json lists them all)")


def _print_total(reports: list[Coverage]) -> None:
    functions, runnable = (sum(getattr(report, name) for report in reports) for name in ("functions", "runnable"))
    share = 100.0 * runnable / functions if functions else 100.0
    instructions = sum(report.instructions for report in reports)
    unknown: Counter[str] = Counter()
    for each in reports:
        unknown.update(each.uncovered_mnemonics)
    known = instructions - sum(unknown.values())
    click.echo(
        f"all {len(reports)} cubins: the emulator knows {known:,} of {instructions:,} instructions; "
        f"{runnable:,} of {functions:,} kernels and functions can run ({share:.1f} %)"
    )
    if unknown:
        click.echo(f"  unknown in all: {', '.join(f'{name} {count:,}' for name, count in unknown.most_common())}")


def _place(each: Uncovered) -> str | None:
    source = each.instruction.source
    return f"{source.file}:{source.line}" if source else None


def _in_source(each: Uncovered) -> str:
    place = _place(each)
    return f" ({place})" if place else ""
