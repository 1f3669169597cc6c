"""The labelled kernels: what stands in their annotations, what is found in them, and precision and recall of both.

    python -m tests.sass.labelled_kernels [sm_75 sm_89 sm_90 sm_120]

An annotation ``//= block=32x8 expect=uncoalesced,bank conflict may=barrier`` stands on the line before a kernel:
``expect`` are kinds that must be found, ``may`` kinds that are no fault; every other kind found is one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gpuprof.isa.machine import Dim3
from gpuprof.sass.analysis import analyse
from gpuprof.toolchain.elf import read_cubin
from tests.sass.sass_tools import compile_cubin, disassemble, parse_disassembly

FOLDER = Path(__file__).parent / "labelled"
SOURCES = sorted(FOLDER.glob("*.cu"))
ARCHS = ("sm_75", "sm_89", "sm_90", "sm_120")
_LABEL = re.compile(r"//= block=(\S+) expect=(.*?)(?: may=(.*))?$")
_NAME = re.compile(r"^K (?:__launch_bounds__\([^)]*\) )?(\w+)\(")


@dataclass(frozen=True)
class Label:
    """What an annotation says of a kernel."""

    kernel: str
    block: Dim3 | None
    expect: frozenset[str]
    may: frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """Kinds found beside those expected."""

    label: Label
    arch: str
    found: frozenset[str]

    @property
    def wrong(self) -> frozenset[str]:
        return self.found - self.label.expect - self.label.may

    @property
    def missed(self) -> frozenset[str]:
        return self.label.expect - self.found


def labels_of(source: Path) -> list[Label]:
    lines = source.read_text(encoding="utf-8").splitlines()
    found = []
    for line, following in pairwise(lines):
        if match := _LABEL.match(line):
            name = _NAME.match(following)
            assert name, f"{source.name}: no kernel behind {line}"
            found.append(Label(name[1], _block(match[1]), _kinds(match[2]), _kinds(match[3] or "")))
    return found


def _block(text: str) -> Dim3 | None:
    if text == "-":
        return None
    x, y, z = (*(int(part) for part in text.split("x")), 1, 1)[:3]
    return x, y, z


def _kinds(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def verdicts(source: Path, arch: str) -> list[Verdict]:
    """What is found in the kernels of a source, compiled for ``arch``."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = compile_cubin(source, arch, Path(folder))
        code = parse_disassembly(disassemble(cubin))
        facts = read_cubin(cubin)
    parameters = {
        name: tuple((one.offset, one.size) for one in kernel.parameters) for name, kernel in facts.kernels.items()
    }
    found = []
    for label in labels_of(source):
        analysis = analyse(
            code.functions[label.kernel], code.arch, block=label.block, parameters=parameters[label.kernel]
        )
        found.append(Verdict(label, arch, frozenset(finding.kind for finding in analysis.findings)))
    return found


def precision_and_recall(results: list[Verdict]) -> tuple[float, float]:
    """Of the kinds found, how many are expected; of those expected, how many are found. ``may`` counts for neither."""
    right = sum(len(one.found & one.label.expect) for one in results)
    wrong = sum(len(one.wrong) for one in results)
    missed = sum(len(one.missed) for one in results)
    return right / max(1, right + wrong), right / max(1, right + missed)


def main() -> None:
    archs = sys.argv[1:] or ARCHS
    everything: list[Verdict] = []
    for arch in archs:
        results = [verdict for source in SOURCES for verdict in verdicts(source, arch)]
        for one in results:
            if one.wrong or one.missed:
                print(f"  {arch} {one.label.kernel}: wrong {sorted(one.wrong)}, missed {sorted(one.missed)}")
        precision, recall = precision_and_recall(results)
        print(f"{arch}: {len(results)} kernels, precision {100 * precision:.1f} %, recall {100 * recall:.1f} %")
        everything += results
    precision, recall = precision_and_recall(everything)
    print(f"all: {len(everything)} kernels, precision {100 * precision:.1f} %, recall {100 * recall:.1f} %")


if __name__ == "__main__":
    main()
