"""How ``gpuprof occupancy`` shows its answer: the limits, and two small pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from gpuprof.arch.facts import ArchFacts
from gpuprof.arch.occupancy import LIMITS, Occupancy

BLOCK_SIZES = tuple(range(32, 1025, 32))
REGISTER_COUNTS = (*range(8, 249, 8), 255)
_LEVELS = " ▁▂▃▄▅▆▇█"
_ROWS = 4
_COLUMN_WIDTH = 2


@dataclass(frozen=True)
class Usage:
    """What a block of the kernel in question needs; ``origin`` says where the registers come from."""

    registers: int
    static_shared: int
    dynamic_shared: int
    barriers: int
    origin: str


@dataclass(frozen=True)
class Sweeps:
    """Percent of occupancy over BLOCK_SIZES, and over REGISTER_COUNTS."""

    blocks: tuple[float, ...]
    registers: tuple[float, ...]


def as_json(facts: ArchFacts, block: tuple[int, int, int], usage: Usage, result: Occupancy) -> dict[str, object]:
    """The answer as data, under the names that a run's JSON uses."""
    return {
        "arch": facts.arch,
        "block": list(block),
        "registers": usage.registers,
        "registers_origin": usage.origin,
        "static_shared_bytes": usage.static_shared,
        "dynamic_shared_bytes": usage.dynamic_shared,
        "blocks_per_sm": result.blocks_per_sm,
        "warps_per_sm": result.warps_per_sm,
        "max_warps_per_sm": result.max_warps_per_sm,
        "percent": result.percent,
        "limiter": result.limiter,
        "limits": dict(result.limits),
        "registers_per_block": result.registers_per_block,
        "shared_bytes_per_block": result.shared_bytes_per_block,
        "shared_bytes_per_sm": result.shared_bytes_per_sm,
        "figures": figures(facts),
    }


def figures(facts: ArchFacts) -> dict[str, object]:
    """Every figure of the architecture with its source: limits, and widths per SM and clock."""
    return {name: {"value": getattr(facts, name), "source": source} for name, source in facts.sources.items()}


def render(facts: ArchFacts, block: tuple[int, int, int], usage: Usage, result: Occupancy, sweeps: Sweeps) -> str:
    """All of it, as lines of at most 100 columns."""
    threads = block[0] * block[1] * block[2]
    lines = [_head(facts, block, threads, usage), "", _answer(facts, usage, result), "", *_limits(facts, result), ""]
    lines += _picture("block size (threads)", BLOCK_SIZES, sweeps.blocks, threads, every=4)
    lines += ["", *_picture("registers per thread", REGISTER_COUNTS, sweeps.registers, usage.registers, every=4)]
    return "\n".join(line.rstrip() for line in lines)


def _head(facts: ArchFacts, block: tuple[int, int, int], threads: int, usage: Usage) -> str:
    shape = "x".join(str(extent) for extent in (block if block[2] > 1 else block[:2] if block[1] > 1 else block[:1]))
    size = f"block {shape}" + (f" = {threads} threads" if shape != str(threads) else " threads")
    shared = f"{usage.static_shared + usage.dynamic_shared:,} bytes of shared memory"
    return f"{facts.arch} ({facts.name}): {size}, {usage.registers} registers ({usage.origin}), {shared}"


def _answer(facts: ArchFacts, usage: Usage, result: Occupancy) -> str:
    if result.blocks_per_sm == 0:
        reason = ""
        if result.limits["shared memory"] == 0:
            wanted = usage.static_shared + usage.dynamic_shared
            reason = f": {wanted:,} bytes of shared memory, at most {facts.shared_bytes_per_block_optin:,} in a block"
        elif result.limits["registers"] == 0:
            reason = f": its registers do not fit into the {facts.registers_per_block:,} of a block"
        return click.style(f"0 blocks per SM, it cannot be launched{reason}", bold=True)
    plural = "" if result.blocks_per_sm == 1 else "s"
    warps = f"{result.warps_per_sm} of {result.max_warps_per_sm} warps"
    text = f"{result.blocks_per_sm} block{plural} per SM, {warps}: {result.percent:.1f} % occupancy"
    return click.style(text, bold=True) + f", limited by {' and '.join(result.binding)}"


def _limits(facts: ArchFacts, result: Occupancy) -> list[str]:
    details = {
        "warps": f"{result.warps_per_block} per block, {facts.max_warps_per_sm} per SM",
        "registers": f"{result.registers_per_block:,} per block, {facts.registers_per_sm:,} per SM",
        "shared memory": f"{result.shared_bytes_per_block:,} bytes per block"
        + (f" ({facts.shared_bytes_reserved:,} the driver's)" if facts.shared_bytes_reserved else "")
        + f", {result.shared_bytes_per_sm:,} per SM",
        "blocks": f"{facts.max_blocks_per_sm} per SM",
        "barriers": f"{facts.barriers_per_sm} per SM" if facts.barriers_per_sm else "do not limit on this architecture",
    }
    lines = [f"  {'limit':<14}{'blocks':>7}"]
    for name in LIMITS:
        limit = result.limits[name]
        binds = name in result.binding
        row = f"{'→' if binds else ' '} {name:<14}{'-' if limit is None else limit:>7}   {details[name]}"
        lines.append(click.style(row, fg="yellow") if binds else row)
    return lines


def _picture(title: str, places: Sequence[int], percents: Sequence[float], present: int, *, every: int) -> list[str]:
    """Bars over ``places``; the present one is marked below the axis (the nearest at or above it)."""
    marked = next((index for index, place in enumerate(places) if place >= present), len(places) - 1)
    lines = [f"  occupancy over {title}"]
    for row in range(_ROWS, 0, -1):
        label = {_ROWS: "100%", _ROWS // 2: " 50%"}.get(row, "")
        cells = (_cell(percent, row).ljust(_COLUMN_WIDTH) for percent in percents)
        columns = [click.style(cell, fg="yellow") if index == marked else cell for index, cell in enumerate(cells)]
        lines.append(f"  {label:>4} │" + "".join(columns))
    lines.append("       └" + "─" * (_COLUMN_WIDTH * len(places)))
    ticks = "".join(
        str(place).ljust(_COLUMN_WIDTH * every) for index, place in enumerate(places) if index % every == every - 1
    )
    lines.append("        " + " " * (_COLUMN_WIDTH * (every - 1)) + ticks)
    lines.append("        " + " " * (_COLUMN_WIDTH * marked) + f"▲ {present}: {percents[marked]:.1f} %")
    return lines


def _cell(percent: float, row: int) -> str:
    """The part of a bar that lies in a row (1 is the lowest)."""
    eighths = round(percent / 100 * _ROWS * 8) - (row - 1) * 8
    return _LEVELS[min(8, max(0, eighths))]
