"""What a sanitizer found: one value per pair of instructions, with an example, a count and the usual repair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpuprof.sass.model import SourceLine

Dim3 = tuple[int, int, int]


class Severity(Enum):
    """How bad: an error gives wrong results, a warning may on another machine, a note cannot by itself."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for a note, 2 for an error."""
        return list(Severity).index(self)


class Tool(Enum):
    """Which question a finding answers; the names are compute-sanitizer's."""

    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


@dataclass(frozen=True)
class Site:
    """An instruction of a finding: what it does and where it comes from."""

    verb: str  #: ``write``, ``read``, ``atomic``, ``asynchronous write``, ``barrier`` ...
    instruction: str
    address: int  #: in its code section
    source: SourceLine | None = None

    @property
    def line(self) -> int | None:
        """Line of ``written``."""
        return self.written.line if self.written else None

    @property
    def written(self) -> SourceLine | None:
        """Where somebody wrote it: the innermost line outside CUDA's headers; None without line information."""
        return self.source.of_user if self.source else None


@dataclass(frozen=True)
class ThreadPlace:
    """One thread of an example."""

    block: Dim3
    warp: int
    lane: int
    value: int | None = None  #: what it stored, as the bits of a word


@dataclass(frozen=True)
class Example:
    """One occurrence. ``address`` is a byte: of global memory virtual, of shared memory within the block."""

    space: str  #: ``shared``, ``global``, ``local`` or empty
    address: int | None = None
    threads: tuple[ThreadPlace, ...] = ()
    element: str = ""  #: ``C[17][4]``, where the buffer is known


@dataclass(frozen=True)
class Finding:
    """One fault. Two sites for a race (first and second in this run's order), else one."""

    tool: Tool
    severity: Severity
    kind: str  #: a row of ``repairs.KINDS``
    message: str
    sites: tuple[Site, ...]
    count: int = 1
    example: Example | None = None
    repair: str = ""
    kernel: str = ""

    @property
    def lines(self) -> tuple[int, ...]:
        """The source lines of the sites, ascending, each once."""
        return tuple(sorted({site.line for site in self.sites if site.line is not None}))
