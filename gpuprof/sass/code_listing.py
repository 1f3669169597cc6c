"""An analysed function as plain lines: instructions with control bits and source places, loops, findings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuprof.isa.listing import FindingFacts, Listing
from gpuprof.sass.analysis import Analysis
from gpuprof.sass.findings import Finding
from gpuprof.sass.model import Control, Instruction

#: A branch's target as nvdisasm prints it.
_LABEL = re.compile(r"`\(([^)]+)\)")


def listing_of(analysis: Analysis, kernel: str) -> Listing:
    """The code without trailing padding; ``kernel`` is its demangled name."""
    body = analysis.function.body
    files: dict[str, int] = {}
    labels = analysis.function.labels
    lines = tuple(_line(instruction, files, labels) for instruction in body)
    return Listing(
        kernel=kernel,
        arch=analysis.arch,
        instructions=lines,
        files=tuple(files),
        start=body[0].address if body else 0,
        loops=tuple((loop.number, loop.start, loop.end) for loop in analysis.loops),
        findings=tuple(_finding(finding) for finding in analysis.findings),
    )


def _line(instruction: Instruction, files: dict[str, int], labels: Mapping[str, int]) -> str:
    source = instruction.source.of_user if instruction.source is not None else None
    place = "-" if source is None else f"{files.setdefault(source.file, len(files))}:{source.line}"
    text = _LABEL.sub(lambda found: f"0x{labels[found[1]]:04x}" if found[1] in labels else found[0], instruction.text)
    return f"{control_text(instruction.control)} {place} {text}"


def _finding(finding: Finding) -> FindingFacts:
    source = finding.source
    return FindingFacts(
        address=finding.address,
        sentence=finding.sentence,
        fix=finding.fix,
        saving=finding.saving.text if finding.saving is not None else "",
        file=source.file if source is not None else "",
        line=source.line if source is not None else None,
    )


def control_text(control: Control) -> str:
    """``B01----:R-:W2:Y:S04``: scoreboards awaited, read and write barrier set, yield, stall cycles."""
    wait = "".join(str(bit) if control.wait_mask >> bit & 1 else "-" for bit in range(6))
    read = "-" if control.read_barrier is None else str(control.read_barrier)
    write = "-" if control.write_barrier is None else str(control.write_barrier)
    return f"B{wait}:R{read}:W{write}:{'Y' if control.yields else '-'}:S{control.stall:02d}"
