"""A kernel's machine code with what was found in it, as plain data: the same from the reader to the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuprof.isa.machine import INSTRUCTION_BYTES


@dataclass(frozen=True)
class FindingFacts:
    """A finding of ``gpuprof sass`` at its place; ``file`` is empty where the compiler gave no line."""

    address: int  #: of the first instruction that it names
    sentence: str  #: what was found
    fix: str  #: the usual repair
    saving: str = ""  #: what the repair would save, estimated
    file: str = ""  #: source file; empty where the compiler gave no line
    line: int | None = None  #: in ``file``, from 1


@dataclass(frozen=True)
class Listing:
    """A kernel's machine code as ``gpuprof sass --all`` lists it, and what its analysis found there.

    An instruction is ``CONTROL PLACE TEXT``: control bits as ``B------:R-:W0:-:S02``, ``N:LINE`` of file N in ``files``
    (or ``-``), nvdisasm's text with addresses in place of labels. Addresses count up by 16 from ``start``.
    """

    kernel: str  #: demangled
    arch: str  #: ``sm_89``
    instructions: tuple[str, ...]  #: ``CONTROL PLACE TEXT`` of each
    files: tuple[str, ...] = ()  #: source files that ``PLACE`` counts, from 0
    start: int = 0  #: address of the first instruction
    loops: tuple[tuple[int, int, int], ...] = ()  #: number, first address, address past the last
    findings: tuple[FindingFacts, ...] = ()  #: in the order of their weight

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
