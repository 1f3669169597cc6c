"""The kernels with planted faults: what stands in their files' comments, and launching them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.sanitizer.findings import Finding, Severity
from gpuprof.sanitizer.launch import LaunchRequest, SanitizerSettings, sanitize_launch
from gpuprof.toolchain.model import Build
from tests.sanitizer.launching import KERNELS, build_file, i32

ELEMENTS = 4096
FILES = ("shared_races.cu", "warp_races.cu", "global_races.cu", "unset.cu", "barriers.cu", "bounds.cu", "copies.cu")
#: right kernels in the manner of public code
RIGHT_FILES = ("right_blocks.cu", "right_copies.cu", "right_sums.cu", "right_tiles.cu", "right_warps.cu")
#: what a case says is planted -> the kinds of findings that name it
KINDS = {
    "race_warps": {"race between warps"},
    "race_warp": {"race within a warp"},
    "race_lanes": {"race between warps", "race within a warp", "one element, different values", "race between blocks"},
    "race_blocks": {"race between blocks"},
    "atomic_plain": {"atomic and plain access", "race between blocks"},
    "equal": {"equal values"},
    "copy": {"asynchronous copy"},
    "unset": {"uninitialised read", "unset variable"},
    "barrier": {"divergent barrier", "barrier that never completes"},
    "bounds": {"out of bounds"},
    "absent": {"shuffle from an absent lane"},
    "mask": {"caller not in mask", "lanes never come"},
}


@dataclass(frozen=True)
class Case:
    """One kernel: ``planted`` is a row of KINDS, or ``ok``; ``lines`` are those of the fault."""

    file: str
    kernel: str
    planted: str
    lines: tuple[int, ...]
    grid: int = 1
    block: int = 32
    height: int = 1  #: of the block, in threads
    n: int = 0
    shared: int = 0
    since: int = 0
    hangs: bool = False


_HEAD = re.compile(r"^// CASE (\w+) (\w+)((?: \w+(?:=-?\d+)?)*)$")


@functools.cache
def cases(files: tuple[str, ...] = FILES) -> tuple[Case, ...]:
    """All cases, in the order of the files."""
    return tuple(case for file in files for case in _read(KERNELS / file))


def _read(path: Path) -> list[Case]:
    text = path.read_text(encoding="utf-8").splitlines()
    inlined = tuple(number for number, line in enumerate(text, 1) if line.endswith("//@inlined"))
    heads = [(number, match) for number, line in enumerate(text, 1) if (match := _HEAD.match(line))]
    found = []
    for position, (number, match) in enumerate(heads):
        end = heads[position + 1][0] if position + 1 < len(heads) else len(text) + 1
        lines = tuple(n for n in range(number, end) if text[n - 1].endswith("//@"))
        words = match[3].split()
        values = {key: int(value) for key, _, value in (word.partition("=") for word in words) if value}
        if match[2] != "ok" and not lines:
            lines = inlined
        found.append(Case(path.name, match[1], match[2], lines, hangs="hangs" in words, **values))
    return found


def kernels_of(file: str) -> tuple[str, ...]:
    """The kernels of one file."""
    return tuple(case.kernel for case in cases((file,)))


def build(case: Case, arch: str) -> Build:
    """The case's kernel, with all of its file in one nvcc call."""
    return build_file(case.file, kernels_of(case.file), arch)[case.kernel]


def sanitize(case: Case, arch: str, settings: SanitizerSettings | None = None) -> tuple[Finding, ...]:
    """What the sanitizer finds in one launch of the case."""
    return sanitize_built(case, build(case, arch), settings)


def sanitize_built(case: Case, built: Build, settings: SanitizerSettings | None = None) -> tuple[Finding, ...]:
    """The same, for machine code that was built otherwise."""
    device = EmulatedDevice()
    a = (np.arange(ELEMENTS) * 7 % 101).astype(np.int32)
    arrays = (a, None, (a / 4).astype(np.float32))
    handles = [device.allocate(4 * ELEMENTS) for _ in arrays]
    for handle, array in zip(handles, arrays, strict=True):
        if array is not None:
            device.write(handle, array)
    arguments = (*(Pointer(handle) for handle in handles), i32(case.n))
    launch = Launch(built.cubin, built.symbol, (case.grid, 1, 1), (case.block, case.height, 1), case.shared, arguments)
    image, arena, parameters = device.prepared(launch)
    unset = arena.region_at(device.place(handles[1]))
    assert unset is not None
    request = LaunchRequest(image, arena, launch.grid, launch.block, parameters, case.shared, unset=(unset,))
    return sanitize_launch(request, settings).findings


def names_the_fault(case: Case, findings: tuple[Finding, ...]) -> bool:
    """Whether a finding is of the planted kind and at the planted lines, and none is elsewhere."""
    right = [each for each in findings if each.kind in KINDS[case.planted] and set(each.lines) <= set(case.lines)]
    elsewhere = [each for each in findings if not set(each.lines) <= set(case.lines)]
    named = {line for each in right for line in each.lines}
    return bool(right) and not elsewhere and (case.planted in ("barrier",) or named == set(case.lines))


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Findings in short."""
    return [(each.severity.value, each.kind, each.lines) for each in findings]


__all__ = ["Severity", "build", "cases", "names_the_fault", "sanitize", "told"]
