"""A kernel's machine code with what was found in it, as plain data: the same from the reader to the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuprof.isa.machine import INSTRUCTION_BYTES


@dataclass(frozen=True)
class FindingFacts:
    """A finding of ``gpuprof sass`` at its place; ``file`` is empty where the compiler gave no line."""

    address: int
    sentence: str
    fix: str
    saving: str = ""
    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Listing:
    """A kernel's machine code as ``gpuprof sass --all`` lists it, and what its analysis found there.

    An instruction is ``CONTROL PLACE TEXT``: control bits as ``B------:R-:W0:-:S02``, ``N:LINE`` of file N in ``files``
    (or ``-``), nvdisasm's text. Addresses count up by 16 from ``start``.
    """

    kernel: str  #: demangled
    arch: str
    instructions: tuple[str, ...]
    files: tuple[str, ...] = ()
    start: int = 0
    loops: tuple[tuple[int, int, int], ...] = ()  #: number, first address, address past the last
    findings: tuple[FindingFacts, ...] = ()

    @property
    def rows(self) -> Iterator[ListedInstruction]:
        """The instructions, taken apart."""
        for number, text in enumerate(self.instructions):
            control, place, code = text.split(" ", 2)
            file, _, line = place.partition(":")
            known = bool(line)
            yield ListedInstruction(
                address=self.start + INSTRUCTION_BYTES * number,
                control=control,
                text=code,
                file=self.files[int(file)] if known else "",
                line=int(line) if known else None,
            )


@dataclass(frozen=True)
class ListedInstruction:
    """One instruction of a ``Listing``; without a source line ``file`` is empty and ``line`` None."""

    address: int
    control: str
    text: str
    file: str
    line: int | None
