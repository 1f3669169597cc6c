"""Words and styles that the parts of ``gpuprof sass`` share."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprof.isa.opcodes import Kind
from gpuprof.sass.loops import LoopFacts
from gpuprof.sass.model import SourceLine

#: Style of an instruction by its kind, on a terminal.
KIND_STYLES = {
    Kind.FP32: "green",
    Kind.FP64: "bold magenta",
    Kind.FP16: "green",
    Kind.TENSOR: "bold green",
    Kind.INTEGER: "",
    Kind.CONVERSION: "magenta",
    Kind.SPECIAL_FUNCTION: "magenta",
    Kind.COMPARE: "yellow",
    Kind.MOVE: "dim",
    Kind.GLOBAL: "bold blue",
    Kind.SHARED: "cyan",
    Kind.LOCAL: "bold red",
    Kind.CONSTANT: "dim cyan",
    Kind.GENERIC: "bold blue",
    Kind.TEXTURE: "bold blue",
    Kind.WARP: "magenta",
    Kind.BARRIER: "bold yellow",
    Kind.CONTROL: "yellow",
    Kind.OTHER: "",
}

_SPACES = {"global": "G", "shared": "S", "local": "L", "generic": "M"}


@dataclass(frozen=True)
class KernelHead:
    """What is above the analysis. ``spill_bytes`` is None where no compiler log tells."""

    name: str
    arch: str
    origin: str  #: file, or variant and file
    compiler: str = ""  #: ``nvcc 13.0.88``
    registers: int | None = None
    spill_bytes: int | None = None
    stack_bytes: int | None = None
    static_shared_bytes: int | None = None
    dynamic_shared_bytes: int = 0
    occupancy: str = ""  #: a sentence, or why there is none


def address(value: int) -> str:
    """Four hex digits or more, as nvdisasm prints addresses."""
    return f"{value:04x}"


def place(source: SourceLine | None) -> str:
    """``file.cu:12``; empty without line information."""
    return f"{source.file.rsplit('/', 1)[-1]}:{source.line}" if source is not None else ""


def accesses_text(counts: dict[str, int]) -> str:
    """``16 S128, 4 G32``: count, space and width of memory instructions."""
    parts = []
    for name, count in counts.items():
        space, width = name.split(" ")
        parts.append(f"{count} {_SPACES.get(space, space)}{width.removesuffix('-bit')}")
    return ", ".join(parts) or "-"


def trips_text(loop: LoopFacts) -> str:
    """``16``, ``<= 64``, ``run time``, ``data``."""
    trip = loop.trip
    if trip.count is not None:
        return f"<= {trip.count}" if trip.at_most else str(trip.count)
    return trip.kind


def lines_text(loop: LoopFacts) -> str:
    """``22-77``: source lines of a loop."""
    if loop.source is None:
        return "-"
    first, last = loop.source
    return str(first.line) if first.line == last.line else f"{first.line}-{last.line}"


def plural(count: int, noun: str) -> str:
    """``1 loop``, ``2 loops``, with thousands separated."""
    ending = "es" if noun.endswith(("ch", "s")) else "s"
    return f"{count:,} {noun}{'' if count == 1 else ending}"
